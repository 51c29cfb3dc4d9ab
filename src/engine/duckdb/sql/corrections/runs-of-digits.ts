import { A_NAME, ofShape, type Place, type Scale, type Seen } from './quantities.ts';
import { formOf } from './times.ts';

/*
 * Text of several numbers: `RE-2024-99`, `2024-W9`, `9/10`. By text 10 comes before 9 in each of its places.
 */

/** What may stand beside the numbers: no words, and no points, which are those of decimals and of names. */
const BESIDE = /^[-−/_# ]{0,3}\p{L}{0,4}[-−/_# ]{0,3}$/u;
/** And what parts them: `1E5` is a code. */
const PARTS = /[-−/_# ]/;
const RUN_MAX = 15;
const CHARS_MAX = 40;
const FIRST_VALUES = 5;
const YEAR = /^(?:19|20)\d\d$/;

interface Runs {
  /** What stands beside the numbers. */
  shape: string;
  numbers: readonly string[];
}

function runsIn(text: string): Runs | undefined {
  if (text.length > CHARS_MAX) return undefined;
  const numbers = text.match(/\d+/g) ?? [];
  const beside = text.split(/\d+/);
  const isFit =
    numbers.every((one) => one.length <= RUN_MAX) &&
    beside.every((one) => BESIDE.test(one)) &&
    beside.slice(1, -1).every((one) => PARTS.test(one));
  return numbers.length > 1 && isFit ? { shape: beside.join('0'), numbers } : undefined;
}

export function runsOfDigits(seen: Seen): Scale | undefined {
  const { operand, present } = seen;
  if (A_NAME.test(operand)) return undefined;
  const first = present
    .slice(0, FIRST_VALUES)
    .map(runsIn)
    .find((one) => one !== undefined);
  if (first === undefined || present.slice(0, FIRST_VALUES).every(isTime)) return undefined;
  const texts = ofShape(present, (text) => runsIn(text)?.shape === first.shape);
  if (texts.length === 0) return undefined;
  const places = first.numbers.map((_, at) => new Set(texts.map((text) => runsIn(text)?.numbers[at] ?? '')));
  // In such a place the numbers are codes, such as `030`.
  if (
    places.some((numbers) => new Set([...numbers].map(({ length }) => length)).size > 1 && [...numbers].some(isPadded))
  )
    return undefined;
  // `12-2021`, whose year counts more than what is before it.
  if (places.slice(1).some((numbers) => [...numbers].every((one) => YEAR.test(one)))) return undefined;
  const way = (text: string): Place | undefined => {
    const { shape, numbers = [] } = runsIn(text) ?? {};
    if (shape !== first.shape) return undefined;
    return { of: '', key: numbers.map((one) => one.padStart(RUN_MAX, '0')).join() };
  };
  const sql = `CAST(regexp_extract_all(${operand}, '[0-9]+') AS BIGINT[])`;
  return { ways: [way], sql, said: `By its numbers: ${sql}.` };
}

const isPadded = (number: string) => number.length > 1 && number.startsWith('0');
const isTime = (text: string) => formOf(text) !== undefined || /^\d{4}-\d\d-\d\d|^\d{1,4}:\d\d/.test(text);
