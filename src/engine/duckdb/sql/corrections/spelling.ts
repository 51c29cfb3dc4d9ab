import { isMark, wordOf } from '../forms/edit.ts';
import { quoteName } from '../names.ts';
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

/** A path behind a colon: `x:a`. */
const colon: Correct = (faulty) => {
  const { message, list, at } = faulty;
  if (!message.includes('instead of x:a')) return [];
  const index = [at, at - 1].find((one) => isMark(list[one], ':')) ?? -1;
  return index === -1 ? [] : [[instead(faulty, index, index + 1, '.')]];
};

export const CORRECT: readonly Correct[] = [reserved, zoned, typed, comma, colon];
