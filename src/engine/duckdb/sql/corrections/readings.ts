import { TEXT_SUCH_AS } from '../../../../contract/errors.ts';
import { cut } from '../../../../contract/text.ts';
import { quoteText } from '../names.ts';
import { type Cast, isNumber, isTime } from './casts.ts';
import { epochCall, unitOf } from './epochs.ts';
import { type TimeWay, timeWays } from './times.ts';

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
  /** Of what is said, the sentence with several ways to read it. */
  ways?: string;
  /** The SQL of these, of a number. */
  either?: readonly string[];
}

/** Whether a text has a digit: others are words, which no reading has a number or a time for. */
export const hasDigit = ({ text }: Pick<Sampled, 'text'>) => /\d/.test(text);

/** The reading for a cast, given values of what it casts; `right`: it reads all of them. */
export function readingFor(cast: Cast, values: readonly Sampled[]): Reading | 'right' {
  const unread = values.filter(({ isRead }) => !isRead);
  if (unread.length === 0) return (isNumber(cast.type) && thousandsReading(cast, values)) || 'right';
  return (
    (isTime(cast.type) ? timeReading(cast, values) : numberReading(cast, values)) ??
    (unread.length * 2 < values.length
      ? { sql: tryCast(cast), said: nullsSaid(cast, values, unread) }
      : unclearReading(cast, values))
  );
}

/** What to say of values that nothing reads. */
export function unclearReading(cast: Cast, values: readonly Sampled[]): Reading {
  return {
    said: unclear(
      cast,
      values,
      values.filter(({ isRead }) => !isRead),
    ),
  };
}

export const asCast = ({ operand, type }: Cast) => `CAST(${operand} AS ${type})`;
export const tryCast = ({ operand, type }: Cast) => `TRY_CAST(${operand} AS ${type})`;

/** A currency, or a unit, before or after a number, and the sign before that. */
const UNIT_BEFORE = /^[+−-]?(?:[$€£¥%]|[A-Z]{2,4}\.?|\p{L}{1,12}\.)\s?/u;
const UNIT_BEHIND = /\s?(?:[$€£¥%]|\p{L}{1,12}[²³]?\.?|(?:[mcdk]?m|ft|in|yd|mi)\^?[23])$/u;
/** `PO-990`, in which the hyphen is no sign. */
const NUMBERED = /^[A-Z]{2,4}[−-]\d+$/;
/** Short names of currencies: those of ISO 4217, and others that stand before numbers. */
const CURRENCIES: ReadonlySet<string> = new Set([
  ...Intl.supportedValuesOf('currency'),
  ...'RM RS TL KR DM SFR'.split(' '),
]);
const LETTERS_BEFORE = /^([A-Z]{2,4})\d+$/;
/** Whether a text is a code, such as `SO11` and `LH4`, and no number of a currency. */
export function isCode(text: string): boolean {
  const letters = LETTERS_BEFORE.exec(text)?.[1];
  return letters !== undefined && !CURRENCIES.has(letters);
}
const withoutUnit = (text: string) =>
  NUMBERED.test(text) || isCode(text) ? text : text.replace(UNIT_BEFORE, '').replace(UNIT_BEHIND, '');
/** `1,200.50`, `1'200.50`, `300.25-`; also with the groups of two digits that India has. */
const POINTED = /^[+−-]?(?:\d+|[1-9]\d?\d?(?:[,'’]\d\d\d?)*[,'’]\d\d\d)?(?:\.\d*)?[−-]?$/;
/** `1.200,50`, `3 145,26`. */
const COMMAED = /^[+−-]?(?:\d+|[1-9]\d?\d?(?:[.\s'’]\d\d\d)+)(?:,\d*)?[−-]?$/;
const isPointed = (text: string) => POINTED.test(withoutUnit(text));
const isCommaed = (text: string) => COMMAED.test(withoutUnit(text));
/** What stands beside the digits. */
const UNIT = /[$€£¥%]|(?:[mcdk]?m|ft|in|yd|mi)\^?[23]\b|\p{L}+[²³]?/gu;
/** Currencies that have a sign, too: beside each other both are one unit. */
const SIGNS: Readonly<Record<string, string>> = {
  $: 'USD',
  '€': 'EUR',
  '£': 'GBP',
  '¥': 'JPY',
  Euro: 'EUR',
  Eur: 'EUR',
};
const unitsIn = (text: string) => (text.match(UNIT) ?? []).map((unit) => SIGNS[unit] ?? unit).join(' ');

/** A unit as it is written, with a value that has it. */
export interface UnitSeen {
  unit: string;
  example: string;
}

/** The units of values that are numbers, if they have several. */
export function unitsThatDiffer(values: readonly Pick<Sampled, 'text'>[]): UnitSeen[] {
  const found = new Map<string, UnitSeen>();
  let numbers = 0;
  for (const { text } of values) {
    if (numbersIn(text).every((one) => one === undefined)) continue;
    numbers += 1;
    const unit = unitsIn(text);
    if (unit !== '' && !found.has(unit)) found.set(unit, { unit: text.match(UNIT)?.[0] ?? unit, example: text });
  }
  return found.size > 1 && numbers * 2 > values.length ? [...found.values()] : [];
}

/** Whether a unit has what is taken for a part of the number, if all but digits and points is left out: `Rs. 500`, `50 m2`. */
const isOddUnit = (text: string) => withoutUnit(text).replace(/[^\d.,]/g, '') !== text.replace(/[^\d.,]/g, '');

/** `(5.00)`, which is negative. */
const BRACKETED = /^\(([^()]+)\)$/;

/** The numbers that a text may be, if its point is the decimal one, and if its comma is; undefined: it is none. */
export function numbersIn(text: string): [byPoint: number | undefined, byComma: number | undefined] {
  const inner = BRACKETED.exec(text.trim())?.[1];
  const bare = inner ?? text.trim();
  if (!hasDigit({ text })) return [undefined, undefined];
  const isNegative = inner !== undefined || /[−-]/.test(bare);
  const number = (digits: string) => (isNegative ? -1 : 1) * Number(digits);
  return [
    isPointed(bare) ? number(withoutUnit(bare).replace(/[^0-9.]/g, '')) : undefined,
    isCommaed(bare)
      ? number(
          withoutUnit(bare)
            .replace(/[^0-9,]/g, '')
            .replace(',', '.'),
        )
      : undefined,
  ];
}

/** Whether a text is a number whose comma can only be the decimal one. */
export function isDecimalComma(text: string): boolean {
  const [byPoint, byComma] = text.includes(',') ? numbersIn(text) : [];
  return byPoint === undefined && byComma !== undefined;
}

/** `1.234`, of which nobody knows whether it is more than a thousand. */
export const MAYBE_THOUSANDS = '-?[1-9][0-9]{0,2}[.][0-9]{3}';
const IS_MAYBE_THOUSANDS = new RegExp(`^${MAYBE_THOUSANDS}$`);
/** What would have a dot, too, if that were between thousands. */
const FOUR_DIGITS = /^-?\d{4,}$/;

/** SQL for a number whose dots are between thousands; `written`: how it is cast, with TRY_CAST where there are other texts. */
export const withoutDots = (operand: string, written = asCast) =>
  written({ operand: dotless(operand), type: 'BIGINT' });
const dotless = (operand: string) => `replace(${operand}, '.', '')`;

/** The number of each whose dot may be between thousands, if it may in all that have one; undefined: they are as a cast has them. */
function thousandsReading(cast: Cast, values: readonly Sampled[], written = asCast): Reading | undefined {
  const dotted = values.filter(({ text }) => text.includes('.'));
  const isMaybe = dotted.length > 0 && dotted.every(({ text }) => IS_MAYBE_THOUSANDS.test(text.trim()));
  if (!isMaybe || values.some(({ text }) => FOUR_DIGITS.test(text.trim()))) return undefined;
  const bare = written({ ...cast, operand: dotless(cast.operand) });
  const ways = `If they are: ${bare}; if they are decimal points: ${written(cast)}.`;
  return {
    said: `${cast.operand}${TEXT_SUCH_AS}${examples(dotted)}, whose dots may be between thousands. ${ways}`,
    ways,
  };
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
    return thousandsReading(cast, numbers, tryCast) ?? { sql: tryCast(cast), said: nullsSaid(cast, values, unread) };
  // What is a percentage beside what is none, or in several currencies or units, has no sum.
  const units = new Set(numbers.map(({ text }) => unitsIn(text)));
  if (units.has('%') && units.size === 2 && units.has('')) return { said: partlyPercent(cast, values, numbers) };
  if (units.has('%') ? units.size > 1 : units.size > (units.has('') ? 2 : 1)) return undefined;
  const words = values.filter((one) => !hasDigit(one) && !one.isRead);
  const as = (number: string) =>
    words.length === 0
      ? { sql: `CAST(${number} AS ${type})` }
      : { sql: `TRY_CAST(${number} AS ${type})`, said: nullsSaid(cast, values, words) };
  const isNegative = numbers.some(({ text }) => BRACKETED.test(text.trim()));
  const bare = numbers.map(({ text }) => BRACKETED.exec(text.trim())?.[1] ?? text.trim());
  const isSigned = bare.some((text) => text.includes('−'));
  const isBehind = bare.some((text) => /\d[.,]?[−-]/.test(text));
  const isOdd = bare.some(isOddUnit);
  if (isOdd && (isBehind || isNegative || bare.some((text) => /^[+−-]\D/.test(text)))) return undefined;
  const digits = (point: string) => {
    const all = isSigned ? `replace(${operand}, '−', '-')` : operand;
    const of = isOdd ? `regexp_extract(${all}, '[+-]?[0-9][0-9., ]*')` : all;
    const kept = `regexp_replace(${of}, '[^0-9${point}${isNegative ? '(' : ''}+-]', '', 'g')`;
    const first = isBehind ? `regexp_replace(${kept}, '^(.*)-$', '-\\1')` : kept;
    return isNegative ? `replace(${first}, '(', '-')` : first;
  };
  const [pointed, commaed] = [digits('.'), `replace(${digits(',')}, ',', '.')`];
  const [arePointed, areCommaed] = [bare.every(isPointed), bare.every(isCommaed)];
  if (arePointed && areCommaed && bare.some((text) => /[.,]/.test(withoutUnit(text)))) {
    const [byPoint, byComma] = [as(pointed).sql, as(commaed).sql];
    const either = `If a comma parts thousands: ${byPoint}; if it is the decimal point: ${byComma}.`;
    return { said: `${unclear(cast, values, unread)} ${either}`, ways: either, either: [byPoint, byComma] };
  }
  return arePointed ? as(pointed) : areCommaed ? as(commaed) : undefined;
}

/** Times in formats that no cast reads; undefined: they are not known. */
function timeReading(cast: Cast, values: readonly Sampled[]): Reading | undefined {
  const { operand, type } = cast;
  const unread = values.filter((one) => !one.isRead);
  const [words, others] = [unread.filter((one) => !hasDigit(one)), unread.filter(hasDigit)];
  const texts = others.map(({ text }) => text);
  const ways = likelier(timeWays(texts), texts);
  const [way, other] = ways;
  if (way === undefined) return epochReading(cast, values, others);
  const isShort = way.formats.some((format) => format.includes('%y'));
  const isMixed = unread.length < values.length;
  const isDate = /^date$/i.test(type);
  const read = ({ formats }: TimeWay) => {
    const given = formats.map(quoteText).join(', ');
    const parsed = `${words.length > 0 || (isMixed && isShort) ? 'try_' : ''}strptime(${operand}, ${formats.length > 1 ? `[${given}]` : given})`;
    return isDate ? `CAST(${parsed} AS DATE)` : parsed;
  };
  if (other !== undefined) {
    const each = ways.map(
      (one, at) => `${at === 0 ? 'If' : 'if'} the ${one.first} is${at === 0 ? ' first' : ''}: ${read(one)}`,
    );
    const either = `${each.join('; ')}.`;
    return { said: `${unclear(cast, values, unread)} ${either}`, ways: either };
  }
  // A cast would take two digits of a year for all of it.
  const both = isShort ? [read(way), tryCast(cast)] : [tryCast(cast), read(way)];
  const sql = isMixed ? `coalesce(${both.join(', ')})` : read(way);
  return words.length === 0 ? { sql } : { sql, said: nullsSaid(cast, values, words) };
}

/** Without the ways that are unlikely beside the others: of a year and a day, the latter has more values. */
function likelier(ways: readonly TimeWay[], texts: readonly string[]): readonly TimeWay[] {
  const years = ways.filter(({ first }) => first === 'year');
  if (years.length === 0 || years.length === ways.length) return ways;
  const parts = texts.map((text) => text.trim().split(/\D/, 3));
  const [first, last] = [0, 2].map((at) => new Set(parts.map((one) => one[at])).size);
  if (first === last) return ways;
  return Number(first) > Number(last) ? ways.filter(({ first: part }) => part !== 'year') : years;
}

/** Numbers of seconds since 1970, or of smaller units, that are text. */
function epochReading(cast: Cast, values: readonly Sampled[], others: readonly Sampled[]): Reading | undefined {
  const { operand, type } = cast;
  if (others.length < values.length || values.some(({ text }) => !/^\s*\d{9,17}\s*$/.test(text))) return undefined;
  const [unit, ...more] = new Set(others.map(({ text }) => unitOf(Number(text))));
  if (unit === undefined || more.length > 0) return undefined;
  const sql = epochCall(unit, operand);
  return { sql: /^date$/i.test(type) ? `CAST(${sql} AS DATE)` : sql };
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

function partlyPercent(cast: Cast, values: readonly Sampled[], numbers: readonly Sampled[]): string {
  const isPercent = ({ text }: Sampled) => text.includes('%');
  const [percent, plain] = [numbers.filter(isPercent), numbers.filter((one) => !isPercent(one))];
  return `${cast.operand}${TEXT_SUCH_AS}${examples([...percent.slice(0, 1), ...plain])}: ${count(percent.length)} of the ${count(values.length)} values that were looked at are percentages, so what the others count has to be settled first: CAST(rtrim(${cast.operand}, ' %') AS ${cast.type}) is the number alone.`;
}

function unclear(cast: Cast, values: readonly Sampled[], unread: readonly Sampled[]): string {
  const read = values.length - unread.length;
  const some = read === 0 ? 'none of the values' : `${count(read)} of the ${count(values.length)} values`;
  // The oddest one is what keeps the others from being read.
  const unit = unitsIn(unread[0]?.text ?? '');
  const odd = unread.filter(({ text }) => {
    return (!isPointed(text.trim()) && !isCommaed(text.trim())) || unitsIn(text) !== unit;
  });
  return `${cast.operand}${TEXT_SUCH_AS}${examples([...unread.slice(0, 1), ...odd, ...unread])}: ${asCast(cast)} reads ${some} that were looked at.`;
}
