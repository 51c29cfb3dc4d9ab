import type { ApiError } from '../../../contract/errors.ts';
import { pathOf } from '../sql/corrections/casts.ts';
import { epochCall } from '../sql/corrections/epochs.ts';
import { edited, type Faulty, instead, textOf } from '../sql/corrections/faulty.ts';
import { tablesNamed } from '../sql/corrections/names.ts';
import { nullsSaid, type Reading } from '../sql/corrections/readings.ts';
import { isoTime } from '../sql/corrections/times.ts';
import { type Edit, isMark, wordOf } from '../sql/forms/edit.ts';
import { quoteText } from '../sql/names.ts';
import { pathStart } from '../sql/paths.ts';
import { fieldName } from '../sql/syntax-hints.ts';
import { tokenList } from '../sql/token-list.ts';
import { nearlySame } from './looks/alike.ts';
import { unitIn } from './looks/epochs.ts';
import { dataOf, rowsOf, textsOf } from './looks/samples.ts';
import { boundOf, isBound, type Meaning } from './meaning.ts';
import { tokenAt } from './spellings.ts';

/*
 * SQL that has failed at a value, without a cast of its own there: what was meant depends on the values that the field has.
 */

type Written = Pick<Faulty, 'sql' | 'list'>;

/** What was probably meant; undefined: that is not clear, or it fails for another reason. */
export async function byValues(error: ApiError, sql: string, meaning: Meaning): Promise<Reading | undefined> {
  const list = tokenList(sql);
  const written = { sql, list };
  const [said = ''] = error.message.split('\n', 1);
  if (said.startsWith('Could not parse string ')) return parsed(written, meaning);
  if (!said.startsWith('Could not convert string ')) return undefined;
  const at = tokenAt(sql, list, error);
  if (at === -1) return undefined;
  return list[at]?.kind === 'string' ? asTime(written, at, meaning) : asText(written, at, meaning);
}

/** Fewer values than these of 100 may be of another form; else the format is wrong. */
const LOST_PERCENT = 50;

/** `strptime(v, '%d.%m.%y')` of a field with values that are not so. */
async function parsed(written: Written, meaning: Meaning): Promise<Reading | undefined> {
  const { sql, list } = written;
  const calls = list.flatMap((token, at) => (wordOf(token) === 'strptime' && isMark(list[at + 1], '(') ? [at] : []));
  const [call] = calls;
  const [comma, end] = call === undefined ? [] : list.endsOf(call + 1);
  if (call === undefined || calls.length > 1 || comma === undefined || end === undefined) return undefined;
  const operand = textOf(written, call + 2, comma);
  const text = edited(sql, [instead(written, call, call + 1, 'try_strptime')]);
  const path = pathOf(operand);
  const format = list[end - 1]?.kind === 'string' && end === comma + 2 ? textOf(written, comma + 1, end) : undefined;
  const tables = tablesNamed(list, meaning.names);
  const isText = (from: number) => tables.filter((one) => one.typeAt?.(path?.slice(from) ?? []) === 'VARCHAR');
  const from = [0, 1].find((step) => isText(step).length === 1);
  const [table] = from === undefined ? [] : isText(from);
  if (path === undefined || format === undefined || table === undefined || !isBound(await boundOf(text, meaning)))
    return undefined;
  const data = dataOf(meaning.names, meaning.connection);
  const [seen = []] = await textsOf([{ field: { table, path: path.slice(from) }, types: [] }], data);
  const texts = seen.map((one) => quoteText(one.text.replaceAll('\0', ''))).join(', ');
  const run = `SELECT try_strptime(v, ${format}) IS NOT NULL FROM (SELECT unnest([${texts}]::VARCHAR[]) AS v)`;
  const rows = await rowsOf(data.connection, run);
  const values = seen.map((one, at) => ({ text: one.text, isRead: rows[at]?.[0] === true }));
  const nulls = values.filter(({ isRead }) => !isRead);
  if (nulls.length * 100 >= values.length * LOST_PERCENT && nulls.length > 1) return undefined;
  const cast = { operand, type: 'TIMESTAMP' };
  return { sql: text, ...(nulls.length > 0 && { said: nullsSaid(cast, values, nulls) }) };
}

/** Where the path begins that is compared with what stands at an index; the index: there is none. */
function comparedBefore({ list }: Written, at: number): [start: number, end: number] {
  let end = at;
  while (/^[=<>!]$/.test(list[end - 1]?.text ?? '')) end -= 1;
  if (end === at && wordOf(list[at - 1]) === 'between') end = wordOf(list[at - 2]) === 'not' ? at - 2 : at - 1;
  return end === at ? [at, at] : [pathStart(list, end), end];
}

/** A day that numbers of seconds since 1970 are compared with. */
async function asTime(written: Written, at: number, meaning: Meaning): Promise<Reading | undefined> {
  const { sql, list } = written;
  const isDay = (index: number) =>
    list[index]?.kind === 'string' && isoTime(list[index]?.text.slice(1, -1) ?? '') !== undefined;
  const [start, end] = comparedBefore(written, at);
  if (!isDay(at) || start >= end) return undefined;
  const path = textOf(written, start, end);
  const places = list.flatMap((_, index) => {
    const [from, to] = isDay(index) ? comparedBefore(written, index) : [index, index];
    return from < to && textOf(written, from, to) === path ? [[from, to] as const] : [];
  });
  const withCall = (call: string) =>
    edited(
      sql,
      places.map((range) => instead(written, ...range, call)),
    );
  const bound = await boundOf(withCall(epochCall('seconds', path, false)), meaning);
  const named = pathOf(path)?.map(fieldName).join('.');
  const use = isBound(bound) ? bound.passed.valueUses.epochs.find((one) => one.written === named) : undefined;
  const unit = use && (await unitIn(use.fields, dataOf(meaning.names, meaning.connection)));
  if (unit === undefined) return undefined;
  const text = withCall(epochCall(unit, path, false));
  return isBound(await boundOf(text, meaning)) ? { sql: text, said: `${path} is ${unit} since 1970` } : undefined;
}

/** Numbers that a field of text is compared with, of which not all are: `room = 7` of `007` and `A1`. `at` is in its name. */
async function asText(written: Written, at: number, meaning: Meaning): Promise<Reading | undefined> {
  const { sql, list } = written;
  let end = at + 1;
  while (isMark(list[end], '.')) end += 2;
  let from = end;
  while (/^[=<>!]$/.test(list[from]?.text ?? '')) from += 1;
  const start = pathStart(list, end);
  const first = wordOf(list[end]) === 'not' ? end + 1 : end;
  const numbers =
    wordOf(list[first]) === 'in'
      ? numbersIn(written, first)
      : from > end && list[from]?.kind === 'number'
        ? [from]
        : [];
  if (start >= end || numbers.length === 0) return undefined;
  const path = textOf(written, start, end);
  const quoted = numbers.map((index) => instead(written, index, index + 1, quoteText(list[index]?.text ?? '')));
  const bound = await boundOf(edited(sql, quoted), meaning);
  const named = pathOf(path)?.map(fieldName).join('.');
  const equality = isBound(bound) ? bound.passed.valueUses.equalities.find((one) => one.written === named) : undefined;
  if (equality === undefined) return undefined;
  const data = dataOf(meaning.names, meaning.connection);
  const edits: Edit[] = [];
  for (const index of numbers) {
    const number = list[index]?.text ?? '';
    const texts = await nearlySame(equality, number, data);
    if (texts.length > 1) return undefined;
    edits.push(instead(written, index, index + 1, quoteText(texts[0] ?? number)));
  }
  const text = edited(sql, edits);
  return isBound(await boundOf(text, meaning)) ? { sql: text, said: `${path} is text` } : undefined;
}

/** The numbers in the brackets of an IN; empty if there is something else. */
function numbersIn({ list }: Written, at: number): number[] {
  if (!isMark(list[at + 1], '(')) return [];
  const ends = list.endsOf(at + 1);
  const all = ends.map((end) => end - 1);
  const isPlain = ends.every((end, index) => end - (index === 0 ? at + 1 : (ends[index - 1] ?? 0)) === 2);
  return isPlain && all.every((index) => list[index]?.kind === 'number') ? all : [];
}
