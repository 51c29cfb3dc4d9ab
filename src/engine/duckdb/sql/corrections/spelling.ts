import { isMark, wordOf } from '../forms/edit.ts';
import { quoteName } from '../names.ts';
import { pathStart } from '../paths.ts';
import { type Correct, instead, textOf } from './faulty.ts';

/** What the parser stops at. */

/** A word of SQL that names a field. */
const reserved: Correct = (faulty) => {
  const { said, list, at } = faulty;
  const [before, rest] = said.split(' is a reserved word: ');
  if (rest === undefined || at === -1) return [];
  const word = before?.split('"').at(-2)?.toLowerCase();
  const index = [at - 1, at].find((one) => wordOf(list[one]) === word) ?? -1;
  return index === -1 ? [] : [[instead(faulty, index, index + 1, quoteName(list[index]?.text ?? ''))]];
};

/** `at AT TIME ZONE 'UTC'` of a field of that name, of which the engine takes the first for the operator's. */
const zoned: Correct = (faulty) => {
  const { said, list, at } = faulty;
  const isZone = wordOf(list[at]) === 'at' && wordOf(list[at + 1]) === 'time' && wordOf(list[at - 1]) === 'at';
  if (!said.startsWith('syntax error') || !isZone) return [];
  return [[instead(faulty, at - 1, at, quoteName(list[at - 1]?.text ?? ''))]];
};

/** A comma too many. */
const comma: Correct = (faulty) => {
  const { said, list, at } = faulty;
  if (!said.startsWith('syntax error')) return [];
  const places = [at, at - 1].filter((one) => isMark(list[one], ','));
  return places.map((one) => [instead(faulty, one, one + 1, '')]);
};

const TIME_TYPES = new Set(['timestamp', 'timestamptz', 'datetime', 'date', 'time']);

/** `TIMESTAMP :t`, which only a text may be written behind. */
const typed: Correct = (faulty) => {
  const { said, list, at } = faulty;
  const end = isMark(list[at], ':') ? at + 2 : list[at]?.kind === 'parameter' ? at + 1 : -1;
  if (!said.startsWith('syntax error') || end === -1 || !TIME_TYPES.has(wordOf(list[at - 1]))) return [];
  return [[instead(faulty, at - 1, end, `CAST(${textOf(faulty, at, end)} AS ${list[at - 1]?.text})`)]];
};

/** Words of other dialects for which there is another one. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ['safe_cast', 'TRY_CAST'],
  ['minus', 'EXCEPT'],
]);

const word: Correct = (faulty) => {
  const { said, list, at } = faulty;
  if (!said.startsWith('syntax error') || at === -1) return [];
  const index = list.findLastIndex((token, place) => place <= at && WORDS.has(wordOf(token)));
  return index === -1 ? [] : [[instead(faulty, index, index + 1, WORDS.get(wordOf(list[index])) ?? '')]];
};

/** A path behind a colon: `x:a`. */
const colon: Correct = (faulty) => {
  const { message, list, at } = faulty;
  if (!message.includes('instead of x:a')) return [];
  const index = [at, at - 1].find((one) => isMark(list[one], ':')) ?? -1;
  return index === -1 ? [] : [[instead(faulty, index, index + 1, '.')]];
};

/** `x[OFFSET(0)]`, and `x RLIKE 'pattern'`. */
const operator: Correct = (faulty) => {
  const { said, list, at } = faulty;
  if (!said.startsWith('syntax error') || at < 1) return [];
  const number = list[at + 2]?.kind === 'number' ? Number(list[at + 2]?.text) : Number.NaN;
  const from = { offset: 1, ordinal: 0 }[wordOf(list[at])];
  if (from !== undefined && Number.isInteger(number)) return [[instead(faulty, at, at + 4, String(number + from))]];
  const index = [at, at - 1].find((one) => /^(?:rlike|regexp)$/.test(wordOf(list[one]))) ?? -1;
  const start = pathStart(list, index);
  if (index === -1 || start >= index || list[index + 1]?.kind !== 'string') return [];
  const [text, pattern] = [textOf(faulty, start, index), textOf(faulty, index + 1, index + 2)];
  return [[instead(faulty, start, index + 2, `regexp_matches(${text}, ${pattern})`)]];
};

export const CORRECT: readonly Correct[] = [reserved, zoned, typed, comma, word, operator, colon];
