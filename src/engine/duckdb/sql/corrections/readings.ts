import { TEXT_SUCH_AS } from '../../../../contract/errors.ts';
import { cut } from '../../../../contract/text.ts';
import { quoteText } from '../names.ts';
import { type Cast, isNumber, isTime } from './casts.ts';
import { formatsOf } from './time-formats.ts';

/** A value of a field of text, and whether a cast reads it. */
export interface Sampled {
  text: string;
  isRead: boolean;
}

/** How the texts of a field are read, judging by some of them. */
export interface Reading {
  /** What to write for the cast; undefined: that is not clear. */
  sql?: string;
  /** What to say of it. */
  said?: string;
}

/** Whether a text has a digit: others are words, which no reading has a number or a time for. */
export const hasDigit = ({ text }: Pick<Sampled, 'text'>) => /\d/.test(text);

/** The reading for a cast, given values of what it casts; `right`: it reads all of them. */
export function readingFor(cast: Cast, values: readonly Sampled[]): Reading | 'right' {
  const unread = values.filter(({ isRead }) => !isRead);
  if (unread.length === 0) return 'right';
  return (
    (isTime(cast.type) ? timeReading(cast, values) : numberReading(cast, values)) ??
    (unread.length * 2 < values.length
      ? { sql: tryCast(cast), said: nullsSaid(cast, values, unread) }
      : { said: unclear(cast, values, unread) })
  );
}

const asCast = ({ operand, type }: Cast) => `CAST(${operand} AS ${type})`;
const tryCast = ({ operand, type }: Cast) => `TRY_CAST(${operand} AS ${type})`;

const SIGN = /[$€£¥%]/;
/** `$1,200.50`, `12.5 %`; also with the groups of two digits that India has. */
const POINTED = /^[+-]?(?:[$€£¥] ?)?[+-]?(?:\d+|[1-9]\d{0,2}(?:,\d{2,3}){0,9},\d{3})?(?:\.\d*)?(?: ?[$€£¥%])?$/;
/** `1.200,50 €`, `3 145,26`. */
const COMMAED = /^[+-]?(?:[$€£¥]\s?)?(?:\d+|[1-9]\d{0,2}(?:[.\s'’]\d{3}){1,9})(?:,\d*)?(?:\s?[$€£¥%])?$/;

/** `(5.00)`, which is negative. */
const BRACKETED = /^\(([^()]+)\)$/;

/** The numbers that a text may be, if its point is the decimal one, and if its comma is; undefined: it is none. */
export function numbersIn(text: string): [byPoint: number | undefined, byComma: number | undefined] {
  const inner = BRACKETED.exec(text.trim())?.[1];
  const bare = inner ?? text.trim();
  if (!hasDigit({ text })) return [undefined, undefined];
  const number = (digits: string) => (inner === undefined ? 1 : -1) * Number(digits);
  return [
    POINTED.test(bare) ? number(bare.replace(/[^0-9.+-]/g, '')) : undefined,
    COMMAED.test(bare) ? number(bare.replace(/[^0-9,+-]/g, '').replace(',', '.')) : undefined,
  ];
}

/** Numbers that are not spelled as SQL has them; undefined: nothing is known of them. */
function numberReading(cast: Cast, values: readonly Sampled[]): Reading | undefined {
  const { operand, type } = cast;
  if (!isNumber(type)) return undefined;
  if (values.every(({ text }) => /^\s*(?:true|false)\s*$/i.test(text))) return { sql: `${operand}::BOOLEAN::INT` };
  const numbers = values.filter(hasDigit);
  const unread = values.filter((one) => !one.isRead);
  // Words have no number: NULL leaves none out.
  if (numbers.length > 0 && numbers.every(({ isRead }) => isRead))
    return { sql: tryCast(cast), said: nullsSaid(cast, values, unread) };
  // What is a percentage beside what is none, or in several currencies, has no sum.
  const signs = new Set(numbers.map(({ text }) => SIGN.exec(text)?.[0] ?? ''));
  if (signs.has('%') ? signs.size > 1 : signs.size > (signs.has('') ? 2 : 1)) return undefined;
  const words = values.filter((one) => !hasDigit(one) && !one.isRead);
  const as = (number: string) =>
    words.length === 0
      ? { sql: `CAST(${number} AS ${type})` }
      : { sql: `TRY_CAST(${number} AS ${type})`, said: nullsSaid(cast, values, words) };
  const isNegative = numbers.some(({ text }) => BRACKETED.test(text.trim()));
  const bare = numbers.map(({ text }) => BRACKETED.exec(text.trim())?.[1] ?? text.trim());
  const digits = (point: string) => {
    const kept = `regexp_replace(${operand}, '[^0-9${point}${isNegative ? '(' : ''}+-]', '', 'g')`;
    return isNegative ? `replace(${kept}, '(', '-')` : kept;
  };
  const [pointed, commaed] = [digits('.'), `replace(${digits(',')}, ',', '.')`];
  const [isPointed, isCommaed] = [POINTED, COMMAED].map((spelled) => bare.every((text) => spelled.test(text)));
  if (isPointed && isCommaed && bare.some((text) => /[.,]/.test(text))) {
    const [byPoint, byComma] = [as(pointed).sql, as(commaed).sql];
    const either = `If a comma parts thousands: ${byPoint}; if it is the decimal point: ${byComma}.`;
    return { said: `${unclear(cast, values, unread)} ${either}` };
  }
  return isPointed ? as(pointed) : isCommaed ? as(commaed) : undefined;
}

/** Times in a format that no cast reads; undefined: it is not known, or they have several. */
function timeReading(cast: Cast, values: readonly Sampled[]): Reading | undefined {
  const { operand, type } = cast;
  const unread = values.filter((one) => !one.isRead);
  const [words, others] = [unread.filter((one) => !hasDigit(one)), unread.filter(hasDigit)];
  const [first, ...rest] = others.map(({ text }) => new Set(formatsOf(text.trim())));
  const formats = [...(first ?? [])].filter((format) => rest.every((one) => one.has(format)));
  const [format = '', other] = formats;
  if (formats.length === 0) return undefined;
  const isDate = /^date$/i.test(type);
  const read = (one: string) => {
    const parsed = `${words.length > 0 ? 'try_' : ''}strptime(${operand}, ${quoteText(one)})`;
    return isDate ? `CAST(${parsed} AS DATE)` : parsed;
  };
  if (other !== undefined) {
    const either = `If the day is first: ${read(format)}; if the month is: ${read(other)}.`;
    return { said: `${unclear(cast, values, unread)} ${either}` };
  }
  const isMixed = unread.length < values.length;
  const sql = isMixed ? `coalesce(${tryCast(cast)}, ${read(format)})` : read(format);
  return words.length === 0 ? { sql } : { sql, said: nullsSaid(cast, values, words) };
}

const EXAMPLES = 2;
const CHARS_MAX = 40;

/** Different texts of values, the first ones. */
function examples(values: readonly Sampled[]): string {
  const texts = new Set<string>();
  for (const { text } of values)
    if (texts.size < EXAMPLES) texts.add(quoteText(cut(text.replace(/[\r\n\t]+/g, ' '), CHARS_MAX)));
  return [...texts].join(' and ');
}

const count = (number: number) => number.toLocaleString('en-US');

/** How many values a cast makes NULL, and which. */
export function nullsSaid({ operand }: Cast, values: readonly Sampled[], nulls: readonly Sampled[]): string {
  const become = nulls.length === 1 ? 'becomes' : 'become';
  return `${count(nulls.length)} of the ${count(values.length)} values of ${operand} that were looked at ${become} NULL, such as ${examples(nulls)}`;
}

function unclear(cast: Cast, values: readonly Sampled[], unread: readonly Sampled[]): string {
  const read = values.length - unread.length;
  const some = read === 0 ? 'none of the values' : `${count(read)} of the ${count(values.length)} values`;
  // The oddest one is what keeps the others from being read.
  const odd = unread.filter(({ text }) => !POINTED.test(text.trim()) && !COMMAED.test(text.trim()));
  return `${cast.operand}${TEXT_SUCH_AS}${examples([...unread.slice(0, 1), ...odd, ...unread])}: ${asCast(cast)} reads ${some} that were looked at.`;
}
