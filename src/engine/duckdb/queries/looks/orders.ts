import { isText, type Place, type Sources } from '../../gate/field-origins.ts';
import type { TextOrder } from '../../gate/value-uses.ts';
import { type Misordered, misordered, sentence } from '../../sql/corrections/misordered.ts';
import { objectValue } from '../../sql/object-values.ts';
import { type Look, otherText, type Question } from './look.ts';
import { readingOf } from './readings.ts';
import type { Data, Sample, SeenText } from './samples.ts';

/*
 * Text that is put in order as text where its values are numbers, or days that are not spelled by ISO 8601.
 */

export const orders: Look = (uses, { values, data }) =>
  uses.orders.flatMap((order): Question[] => {
    const other = otherText(order.other, values);
    if (!isText(order)) return [{ kind: 'order', samples: [], said: () => wholeSaid(order) }];
    // A word is not meant as a number, and what is no text casts the field.
    if (order.other !== undefined && (other === undefined || !/\d/.test(other))) return [];
    return [
      {
        kind: 'order',
        samples: [orderSample(order)],
        said([texts = []]) {
          const found = misorderOf(order.written, texts, other);
          return found === undefined || order.beside === undefined
            ? ofNumber(found, order.number)
            : besideSaid(order, order.beside, found, data);
        },
      },
    ];
  });

/** What has to be known of a field to tell the order of its texts. */
export const orderSample = (field: Place): Sample => ({ field, types: ['DOUBLE', 'TIMESTAMP'] });

/** Whether texts, which are those of `orderSample`, have another order than is meant. */
export function misorderOf(written: string, texts: readonly SeenText[], other?: string): Misordered | undefined {
  const values = texts.map(({ text, reads: [isNumber = false, isTime = false] }) => ({ text, isNumber, isTime }));
  return misordered(written, values, other);
}

/** What is said of an order; `number`: what the texts are made of, if that is a number, as SQL. */
export const ofNumber = (found: Misordered | undefined, number: string | undefined): string | undefined =>
  number === undefined ? found?.said : found?.said.replace(found.sql ?? '', () => number);

/** What is said of an order of values that come from more than one field: what reads them is asked of all of these. */
async function besideSaid(
  { written: operand }: TextOrder,
  beside: Sources,
  { said, sql, type }: Misordered,
  data: Data,
): Promise<string> {
  if (sql === undefined || type === undefined || !said.includes(sql)) return said;
  const reading = await readingOf({ operand, type }, beside, data);
  if (reading === undefined || reading === 'right' || reading.sql === sql) return said;
  if (reading.sql !== undefined) return said.replace(sql, () => reading.sql ?? '');
  return `${said.slice(0, said.lastIndexOf('. ') + 1)} ${sentence(reading.said ?? '')}`;
}

/** That objects are put in order as a whole, and what else may be meant. */
function wholeSaid({ written, type }: TextOrder): string {
  if (type.endsWith('[]'))
    return `${written} is a list of objects, ordered by the first of them as a whole: unnest(${written}) gives them one by one.`;
  const value = objectValue(type);
  if (value === undefined)
    return `${written} is a map, ordered by its entries as a whole: ${written}['key'] is the value of a key.`;
  const [first = ''] = value.names;
  const meant =
    value.scalar === undefined ? `one of its fields is ${written}.${first}` : `its value is ${written}.${value.scalar}`;
  return `${written} is an object, ordered by all its fields, ${first} before the others: ${meant}.`;
}
