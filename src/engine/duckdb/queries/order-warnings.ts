import type { TextField, TextOrder } from '../gate/text-orders.ts';
import { type Misordered, misordered } from '../sql/corrections/misordered.ts';
import { foldName } from '../sql/names.ts';
import type { Typed } from '../values/typed-json.ts';
import { type Data, fewTextsOf } from './text-values.ts';

const WARNINGS_MAX = 3;

/** Says that text was put in order as text where its values are numbers, or days that are not spelled by ISO 8601. */
export async function orderWarnings(
  orders: readonly TextOrder[],
  values: ReadonlyMap<string, Typed>,
  data: Data,
): Promise<string[]> {
  const warnings: string[] = [];
  for (const order of orders) {
    const other = otherText(order.other, values);
    if (warnings.length >= WARNINGS_MAX) break;
    // A word is not meant as a number, and what is no text casts the field.
    if (order.other !== undefined && (other === undefined || !/\d/.test(other))) continue;
    const said = await misorderOf(order, order.written, data, other);
    if (said !== undefined) warnings.push(said.said);
  }
  return warnings;
}

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

function otherText(other: TextOrder['other'], values: ReadonlyMap<string, Typed>): string | undefined {
  if (other === undefined || 'text' in other) return other?.text;
  for (const [name, { value }] of values)
    if (foldName(name) === other.parameter && typeof value === 'string') return value;
  return undefined;
}
