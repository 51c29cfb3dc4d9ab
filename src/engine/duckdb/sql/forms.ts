import { restFor } from '../../../contract/turns/turns.ts';
import { parseFormat, writtenFormat } from './compat/formats.ts';
import { arrowEdits, isArrow } from './forms/arrows.ts';
import {
  arrayEdits,
  countIfEdits,
  dateEdits,
  distinctEdits,
  extractEdits,
  extractedEdits,
  extremeEdits,
  formatEdits,
  hashEdits,
  hexEdits,
  ifEdits,
  intervalEdits,
  lengthEdits,
  objectEdits,
  undefinedEdits,
  zipEdits,
} from './forms/calls.ts';
import { castEdits, isWideType, momentEdits, shortCastEdits, shortTimeEdits } from './forms/casts.ts';
import { type Edit, inOrder, isMark, replacing, wordOf } from './forms/edit.ts';
import { Clauses, exceptEdits, hintEdits, sampleEdits, unnestEdits, valuesEdits } from './forms/relations.ts';
import type { Spliced } from './splices.ts';
import { type TokenList, tokenList } from './token-list.ts';
import { type Token, tokens } from './tokens.ts';

/**
 * Rewrites spellings of other SQL services into the engine's own before it parses: `names` in backticks, `* EXCEPT(a)`,
 * `UNNEST(list AS x) u`, `VALUES(object)` and others. Positions in the new text map back to the caller's.
 */

/** Replaces backticks by double quotes, in a text of the same length. The name between them could confuse the lexer, so lexing resumes after it. */
export function withoutBackticks(sql: string): string {
  if (!sql.includes('`')) return sql;
  const parts: string[] = [];
  let at = 0;
  let from = 0;
  for (let pair = nextPair(sql, from); pair !== null; pair = nextPair(sql, from)) {
    const name = sql.slice(pair.start + 1, pair.end);
    parts.push(sql.slice(at, pair.start), name.includes('"') ? `\`${name}\`` : `"${name}"`);
    at = pair.end + 1;
    from = at;
  }
  return parts.join('') + sql.slice(at);
}

function nextPair(sql: string, from: number): { start: number; end: number } | null {
  for (const token of tokens(sql, from)) {
    if (!isMark(token, '`')) continue;
    const end = sql.indexOf('`', token.end);
    return end === -1 ? null : { start: token.start, end };
  }
  return null;
}

type Form = (read: Reading, index: number) => Edit[];

/** What decides how a text is spelled beside the text itself. */
export interface Spelled {
  /** Where those words with two spellings begin that get the second one, in UTF-16 units. */
  second: ReadonlySet<number>;
  /** The parameters, in lower case, of which the value is a time with an offset, as text. */
  moments: ReadonlySet<string>;
}

/** What the forms are found in. */
interface Reading extends Spelled {
  sql: string;
  list: TokenList;
  clauses: Clauses;
}

const cast: Form = ({ list, second }, index) => castEdits(list, index, ({ start }) => second.has(start));
const shortCast: Form = ({ list, second }, index) => shortCastEdits(list, index, second.has(list[index]?.start ?? -1));
const inList =
  (edits: (list: TokenList, index: number) => Edit[]): Form =>
  ({ list }, index) =>
    edits(list, index);
const moment: Form = ({ list, moments }, index) => momentEdits(list, index, moments);
const parsed: Form = ({ list }, index) => formatEdits(list, index, parseFormat);
const written: Form = ({ list }, index) => formatEdits(list, index, writtenFormat);

const lengthOf: Form = ({ list, second }, index) => {
  const token = list[index];
  return second.has(token?.start ?? -1) ? replacing(token, token, 'cardinality') : lengthEdits(list, index);
};

/** By the word that they begin with, or have in them. */
const FORMS: ReadonlyMap<string, Form> = new Map<string, Form>([
  ['except', ({ sql, list }, index) => exceptEdits(sql, list, index)],
  ['unnest', ({ list, clauses }, index) => unnestEdits(list, index, !clauses.areExpressions)],
  ['values', ({ list, clauses }, index) => valuesEdits(list, index, clauses.areExpressions)],
  ['tablesample', inList(sampleEdits)],
  ['hint', inList(hintEdits)],
  ['count_if', inList(countIfEdits)],
  ['approx_distinct', inList(distinctEdits)],
  ['approx_count_distinct', inList(distinctEdits)],
  ['object', inList(objectEdits)],
  ['array_create', inList(arrayEdits)],
  ['zip', inList(zipEdits)],
  ['if', inList(ifEdits)],
  ['hash', inList(hashEdits)],
  ['to_hex', inList(hexEdits)],
  ['regexp_extract', inList(extractedEdits)],
  ['extract', inList(extractEdits)],
  ['interval', inList(intervalEdits)],
  ['greatest', inList(extremeEdits)],
  ['least', inList(extremeEdits)],
  ['date', inList(dateEdits)],
  ['time', ({ list }, index) => [...dateEdits(list, index), ...shortTimeEdits(list, index)]],
  ['timestamp', moment],
  ['datetime', moment],
  ['undefined', inList(undefinedEdits)],
  ['length', lengthOf],
  ...['cast', 'try_cast', 'static_cast', 'try_static_cast'].map((word) => [word, cast] as const),
  ...['int', 'integer', 'float', 'real', 'struct', 'map', 'union'].map((word) => [word, shortCast] as const),
  ...['parse_timestamp', 'parse_datetime', 'parse_date', 'parse_time'].map((word) => [word, parsed] as const),
  ...['format_timestamp', 'format_datetime', 'format_date', 'format_time'].map((word) => [word, written] as const),
]);
/** Whether the word has two spellings, of which the first may fit no call. */
export function hasSecondSpelling(list: TokenList, index: number): boolean {
  return (wordOf(list[index]) === 'length' && isMark(list[index + 1], '(')) || isWideType(list, index);
}

const MAY_HAVE_FORMS = new RegExp(`->|\\b(?:${[...FORMS.keys()].join('|')})\\b`, 'i');

/** Whether a word with brackets is the name of a table, or of an entry of WITH, with its columns. */
function isTableName(list: TokenList, index: number): boolean {
  if (!isMark(list[index + 1], '(')) return false;
  if (/^(?:as|with|recursive)$/.test(wordOf(list[index - 1]))) return wordOf(list[index]) !== 'unnest';
  const next = list.closeOf(index + 1) + 1;
  const isQuery = isMark(list[next + 1], '(') || /^(?:not|materialized)$/.test(wordOf(list[next + 1]));
  return wordOf(list[next]) === 'as' && isQuery;
}

async function editsOf(sql: string, { second, moments }: Spelled): Promise<Edit[]> {
  const list = tokenList(sql);
  const edits: Edit[] = [];
  const keys = new Map<number, number>();
  const reading: Reading = { sql, list, clauses: new Clauses(), second, moments };
  await restFor(sql);
  for (let index = 0; index < list.length; index++) {
    const token = list[index] as Token;
    const form = token.kind === 'word' && !isTableName(list, index) ? FORMS.get(wordOf(token)) : undefined;
    if (form !== undefined) for (const edit of form(reading, index)) edits.push(edit);
    if (isArrow(list, index)) edits.push(...arrowEdits(list, index, keys));
    if (second.has(token.start) && !hasSecondSpelling(list, index))
      edits.push({ start: token.start, end: token.start, text: 'AS ' });
    reading.clauses.see(token, list[index - 1]);
  }
  await restFor(sql);
  return inOrder(edits);
}

/**
 * The text as the engine spells it. Some words have two spellings there: a cast to INT is one of 64 bits or as it is
 * written, LENGTH is the engine's own or counts the keys of an object, and any other is that word alone or with AS before
 * it.
 */
export async function ownForms(text: string, spelled: Partial<Spelled> = {}): Promise<Spliced> {
  const sql = withoutBackticks(text);
  const { second = new Set(), moments = new Set() } = spelled;
  const edits = second.size > 0 || MAY_HAVE_FORMS.test(sql) ? await editsOf(sql, { second, moments }) : [];
  if (edits.length === 0) return { sql, originOf: (offset) => offset };
  const parts: string[] = [];
  /** New pieces, as byte offsets in the new text, with what they replaced in the original. */
  const pieces: { start: number; end: number; origin: number; originEnd: number }[] = [];
  let at = 0;
  let [bytes, originBytes] = [0, 0];
  for (const edit of edits) {
    // An edit within a part that was already replaced no longer applies.
    if (edit.start < at) continue;
    const kept = sql.slice(at, edit.start);
    const replaced = Buffer.byteLength(sql.slice(edit.start, edit.end));
    parts.push(kept, edit.text);
    bytes += Buffer.byteLength(kept);
    originBytes += Buffer.byteLength(kept);
    const end = bytes + Buffer.byteLength(edit.text);
    pieces.push({ start: bytes, end, origin: originBytes, originEnd: originBytes + replaced });
    [bytes, originBytes, at] = [end, originBytes + replaced, edit.end];
  }
  const originOf = (offset: number) => {
    const piece = pieces.findLast(({ start }) => start <= offset);
    if (piece === undefined) return offset;
    return offset < piece.end ? piece.origin : offset - piece.end + piece.originEnd;
  };
  return { sql: parts.join('') + sql.slice(at), originOf };
}
