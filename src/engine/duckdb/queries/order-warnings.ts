import { isOfText, type TextCast, type TextField, type TextOrder, type TextUses } from '../gate/text-orders.ts';
import type { Cast } from '../sql/corrections/casts.ts';
import { isMissing, type Misordered, misordered } from '../sql/corrections/misordered.ts';
import { hasDigit, nullsSaid, readingFor } from '../sql/corrections/readings.ts';
import { foldName } from '../sql/names.ts';
import { objectValue } from '../sql/object-values.ts';
import type { Typed } from '../values/typed-json.ts';
import { type Data, fewTextsOf, sampled } from './text-values.ts';
import { zoneSaid } from './zone-warnings.ts';

const WARNINGS_MAX = 3;

/**
 * Says that text was put in order as text where its values are numbers, or days that are not spelled by ISO 8601, which of its
 * values a TRY_CAST has made NULL, and of which zone the days of times are.
 */
export async function textWarnings(
  { orders, casts, days }: TextUses,
  values: ReadonlyMap<string, Typed>,
  data: Data,
): Promise<string[]> {
  const warnings: string[] = [];
  for (const order of orders) {
    const other = otherText(order.other, values);
    if (warnings.length >= WARNINGS_MAX) break;
    if (!isOfText(order)) {
      warnings.push(wholeSaid(order));
      continue;
    }
    // A word is not meant as a number, and what is no text casts the field.
    if (order.other !== undefined && (other === undefined || !/\d/.test(other))) continue;
    const found = await misorderOf(order, order.written, data, other);
    if (found !== undefined) warnings.push(found.said);
  }
  for (const cast of casts) {
    const said = await nullsOf(cast, data);
    if (said !== undefined) warnings.push(said);
  }
  for (const day of days) {
    const said = await zoneSaid(day, data);
    if (said !== undefined) warnings.push(said);
  }
  return warnings;
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

/** Which values of a field a TRY_CAST makes NULL, and what reads them; undefined: none but words. */
async function nullsOf(cast: TextCast, data: Data): Promise<string | undefined> {
  const { written: operand, type } = cast;
  const values = (await fewTextsOf(cast, [type], data)).map(sampled);
  const lost = values.filter((one) => !one.isRead && hasDigit(one));
  if (lost.length === 0) return undefined;
  const asked: Cast = { operand, type, range: [0, 0] };
  const nulls = nullsSaid(asked, values, lost);
  const reading = readingFor(
    asked,
    values.filter(({ text }) => !isMissing(text)),
  );
  const isSame = reading === 'right' || reading.sql === `TRY_CAST(${operand} AS ${type})`;
  if (isSame) return `${nulls}.`;
  return reading.sql === undefined ? `${nulls}.` : `${nulls}. ${triedSql(reading.sql)} reads them.`;
}

/** Words among the values are to be NULL, as with the cast that there was. */
const triedSql = (sql: string) => sql.replace(/^CAST/, 'TRY_CAST').replace(/\bstrptime\(/, 'try_strptime(');

/** Whether the values of a field have another order as text than is meant. */
export async function misorderOf(
  field: TextField,
  written: string,
  data: Data,
  other?: string,
): Promise<Misordered | undefined> {
  const texts = await fewTextsOf(field, ['DOUBLE', 'TIMESTAMP'], data);
  const values = texts.map(({ text, reads: [isNumber = false, isTime = false] }) => ({ text, isNumber, isTime }));
  return misordered(written, values, other);
}

/** The text that a field is compared with; undefined: it is none. */
export function otherText(other: TextOrder['other'], values: ReadonlyMap<string, Typed>): string | undefined {
  if (other === undefined || 'text' in other) return other?.text;
  for (const [name, { value }] of values)
    if (foldName(name) === other.parameter && typeof value === 'string') return value;
  return undefined;
}
