import type { DuckDBConnection } from '@duckdb/node-api';
import type { JsonValue } from '../../../contract/json/json.ts';
import type { TextOrder } from '../gate/text-orders.ts';
import { readingFor, type Sampled } from '../sql/corrections/readings.ts';
import { foldName, type Names, quoteText } from '../sql/names.ts';
import { fieldName } from '../sql/syntax-hints.ts';
import type { Typed } from '../values/typed-json.ts';
import { valuesOf } from './text-values.ts';

/** Rows of an answer in which numbers are looked for. */
const ROWS_MAX = 100;
const A_NUMBER = /^[+-]?\d+(?:\.\d+)?$/;
const A_DAY = /^\d{4}-\d\d(?:-\d\d)?/;

/**
 * Says that text was put in order as text where its values are numbers, or days that are not spelled by ISO 8601. Values are
 * looked at only if the answer, or what they are compared with, looks like that.
 */
export async function orderWarnings(
  orders: readonly TextOrder[],
  { rows, values }: { rows: readonly (readonly JsonValue[])[]; values: ReadonlyMap<string, Typed> },
  given: { connection: DuckDBConnection; names: Names },
): Promise<string[]> {
  const warnings: string[] = [];
  for (const { table, path, written, other } of orders) {
    const text =
      other === undefined ? shownNumber(rows) : 'text' in other ? other.text : textOfParameter(values, other.parameter);
    if (text === undefined) continue;
    const type = A_NUMBER.test(text) ? 'DOUBLE' : A_DAY.test(text) && other !== undefined ? 'TIMESTAMP' : undefined;
    if (type === undefined) continue;
    const found = await valuesOf({ table, path }, type, given);
    // What is compared is put in order, too.
    if (type === 'DOUBLE' && other !== undefined && found.length > 0) found.push({ text, isRead: true });
    const said = saidOf(written.map(fieldName).join('.'), type, found);
    if (said !== undefined) warnings.push(said);
  }
  return warnings;
}

function shownNumber(rows: readonly (readonly JsonValue[])[]): string | undefined {
  for (const row of rows.slice(0, ROWS_MAX)) {
    const number = row.find((value) => typeof value === 'string' && A_NUMBER.test(value));
    if (typeof number === 'string') return number;
  }
  return undefined;
}

function textOfParameter(values: ReadonlyMap<string, Typed>, folded: string): string | undefined {
  for (const [name, { value }] of values) if (foldName(name) === folded && typeof value === 'string') return value;
  return undefined;
}

function saidOf(operand: string, type: 'DOUBLE' | 'TIMESTAMP', values: readonly Sampled[]): string | undefined {
  const read = values.filter(({ isRead }) => isRead);
  const reading = readingFor({ operand, type, range: [0, 0] }, values);
  if (type === 'TIMESTAMP') {
    if (reading === 'right' || read.length > 0 || reading.sql === undefined) return undefined;
    return `${operand} is text such as ${quoteText(values[0]?.text ?? '')}, compared as text and not as a time: ${reading.sql} is the time.`;
  }
  const pair = read.length * 2 > values.length ? misplaced(read) : undefined;
  if (pair === undefined) return undefined;
  const sql = reading === 'right' ? `CAST(${operand} AS DOUBLE)` : (reading.sql ?? `TRY_CAST(${operand} AS DOUBLE)`);
  return `${operand} is text, ordered as text: ${pair.map(quoteText).join(' comes before ')}. As a number: ${sql}.`;
}

/** Two neighbours by text that are the other way round by number; undefined: there are none, as of numbers of one length. */
function misplaced(values: readonly Sampled[]): [string, string] | undefined {
  const texts = [...new Set(values.map(({ text }) => text))].sort();
  for (const [at, text] of texts.entries()) {
    const next = texts[at + 1];
    if (next !== undefined && Number(text) > Number(next)) return [text, next];
  }
  return undefined;
}
