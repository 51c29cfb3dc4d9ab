import { quoteText } from '../names.ts';
import { hasDigit, isCode, numbersIn, readingFor } from './readings.ts';
import { formOf } from './times.ts';

/*
 * Text that means a quantity which no cast reads: numbers with units, lengths of time and times of day, numbers of parts
 * such as versions.
 */

/** Where a text is on a scale: texts are compared only within one. */
export interface Place {
  /** The unit, where units cannot be compared; else empty. */
  of: string;
  key: number | string;
}

/** What texts of one shape mean. */
export interface Scale {
  /** What a text may mean; several if it is not clear which. */
  ways: readonly ((text: string) => Place | undefined)[];
  /** What to say of how they are read. */
  said: string;
  /** The value that is meant; undefined: that is not clear. */
  sql?: string | undefined;
}

/** The share of the values with a digit that have to be of one shape, and of such among all that are no word for nothing. */
const SHARE = 0.9;
const DIGITS_SHARE = 0.5;
const FIRST_VALUES = 20;

/** The values that are to be of one shape; empty: too few of them are. */
export function ofShape(present: readonly string[], isOf: (text: string) => boolean): string[] {
  const digits = present.filter((text) => hasDigit({ text }));
  if (digits.length <= present.length * DIGITS_SHARE) return [];
  // Most fields are of none of the shapes, as their first values tell.
  const first = digits.slice(0, FIRST_VALUES);
  if (first.filter(isOf).length * 2 < first.length) return [];
  const fitting = digits.filter(isOf);
  return fitting.length >= digits.length * SHARE ? fitting : [];
}

/** What is known of a field. */
export interface Seen {
  /** As SQL names it. */
  operand: string;
  /** Values, but for words that stand for none. */
  present: readonly string[];
  hasMissing: boolean;
}

/** Scales of texts that are no times of a day in a year: those that fit. */
export function quantitiesIn(seen: Seen): Scale[] {
  return [clocks, units, parts, numbered].flatMap((scale) => scale(seen) ?? []);
}

/** What stands before a cast, or the name of a function, given the texts that it reads. */
const tried = ({ present, hasMissing }: Seen, texts: readonly string[], prefix = 'TRY_') =>
  hasMissing || texts.length < present.length ? prefix : '';

const CLOCK = /^\d{1,4}(?::[0-5]\d){1,2}(?:\.\d{1,6})?$/;
const MERIDIEM = /^\d{1,2}(?::[0-5]\d){0,2} ?[AaPp][Mm]$/;

/** Times of day, and lengths of time. */
function clocks(seen: Seen): Scale | undefined {
  const { operand, present } = seen;
  const halves = ofShape(present, (text) => MERIDIEM.test(text));
  if (halves.length > 0) return halfDays(seen, halves);
  const texts = ofShape(present, (text) => CLOCK.test(text));
  if (texts.length === 0) return undefined;
  const counts = new Set(texts.map((text) => text.split(':').length));
  const isOfDay = counts.size === 1 && texts.every((text) => Number(text.split(':')[0]) < 24);
  const type = isOfDay ? 'TIME' : 'INTERVAL';
  // `9:59` beside `1:02:00` has minutes and seconds.
  const value =
    counts.size > 1 ? `CASE WHEN ${operand} LIKE '%:%:%' THEN ${operand} ELSE '0:' || ${operand} END` : operand;
  const sql = `${tried(seen, texts)}CAST(${value} AS ${type})`;
  const way = (text: string) => (CLOCK.test(text) ? { of: '', key: secondsOf(text, counts.size > 1) } : undefined);
  return { ways: [way], sql, said: `As a ${isOfDay ? 'time of day' : 'length of time'}: ${sql}.` };
}

function secondsOf(clock: string, isToTheRight: boolean): number {
  const numbers = clock.split(':').map(Number);
  const all = isToTheRight ? [...Array<number>(3 - numbers.length).fill(0), ...numbers] : numbers;
  return all.reduce((sum, number, at) => sum + number * 60 ** (2 - at), 0);
}

function halfDays(seen: Seen, texts: readonly string[]): Scale {
  const { operand } = seen;
  const formats = new Set(texts.map(halfDayFormat));
  const given = [...formats].map(quoteText);
  const read = `${tried(seen, texts, 'try_')}strptime(${operand}, ${given.length === 1 ? given.join() : `[${given.join(', ')}]`})`;
  const sql = `CAST(${read} AS TIME)`;
  const way = (text: string) => {
    if (!MERIDIEM.test(text)) return undefined;
    const seconds = secondsOf(text.replace(/[ A-Za-z]/g, ''), false);
    return { of: '', key: (seconds % (12 * 3_600)) + (/p/i.test(text) ? 12 * 3_600 : 0) };
  };
  return { ways: [way], sql, said: `As a time of day: ${sql}.` };
}

const halfDayFormat = (text: string) =>
  `${['%I', '%I:%M', '%I:%M:%S'][text.split(':').length - 1] ?? ''}${text.includes(' ') ? ' ' : ''}%p`;

/** Units that can be compared, each as how many of the least. */
const FAMILIES: readonly Readonly<Record<string, number>>[] = [
  { st: 1, nd: 1, rd: 1, th: 1 },
  { '': 1, k: 1e3, m: 1e6, mn: 1e6, mio: 1e6, b: 1e9, bn: 1e9, g: 1e9, t: 1e12 },
  { b: 1, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12, pb: 1e15, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30, tib: 2 ** 40 },
  { b: 1, bytes: 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 },
  { ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 },
  { sec: 1, secs: 1, min: 60, mins: 60, h: 3_600, hr: 3_600, hrs: 3_600 },
  {
    second: 1,
    seconds: 1,
    minute: 60,
    minutes: 60,
    hour: 3_600,
    hours: 3_600,
    day: 86_400,
    days: 86_400,
    week: 604_800,
    weeks: 604_800,
    month: 2_629_800,
    months: 2_629_800,
    year: 31_557_600,
    years: 31_557_600,
  },
  { mg: 1, g: 1e3, kg: 1e6, t: 1e9 },
  { mm: 1, cm: 10, m: 1e3, km: 1e6 },
  { ml: 1, cl: 10, dl: 100, l: 1e3 },
  { 'mm²': 1, 'cm²': 1e2, 'm²': 1e6, m2: 1e6, qm: 1e6, sqm: 1e6, ha: 1e10, 'km²': 1e12, km2: 1e12 },
];
/** Different units of a field, if they cannot be compared. */
const UNITS_MAX = 3;
/** More characters are a word rather than a unit. */
const UNIT_CHARS_MAX = 12;
const UNITS_SHOWN_MAX = 4;
/** Units of one character that stand close to their number; others are those of codes, such as `12A`. */
const CLOSE_UNIT = /^[KMBGTkmgtlLshdwx$€£¥]$/;
const IN_UNIT = /[\p{L}°/$€£¥]/u;
/** Fields whose numbers are names of something, in no order that anybody asks for. */
export const A_NAME = /(?:^|[^A-Za-z])(?:id|key|code|zip|plz|postcode|phone|tel|isbn|ean|sku)"?$/i;

/** That of an area or a volume, behind its letters. */
const POWER = /(?:[²³]|(?<=(?:[mcdk]?m|ft|in|yd|mi)\^?)[23])$/;

/** A text as a number and a unit, either of which may be of any form. */
function divided(text: string): { number: string; unit: string } | undefined {
  const bare = text.trim();
  let at = bare.length - (POWER.exec(bare)?.[0] ?? '').length;
  while (at > 0 && IN_UNIT.test(bare[at - 1] ?? '')) at--;
  const [number, unit] = [bare.slice(0, at), bare.slice(at)];
  const isClose = unit.length === 1 && number === number.trim() && !CLOSE_UNIT.test(unit);
  if (isClose || unit.length > UNIT_CHARS_MAX) return undefined;
  return numbersIn(number).every((one) => one === undefined) ? undefined : { number: number.trim(), unit };
}

/** Sides of accounts: credit and debit, and in German. The second of two is the minus, or the only one beside none. */
const SIDES: readonly (readonly string[])[] = [
  ['CR', 'DR'],
  ['H', 'S'],
];

/** What to say of numbers with sides; undefined: these are none. */
function sidesSaid(operand: string, found: readonly string[], number: string | undefined): string | undefined {
  const given = found.filter((unit) => unit !== '').map((unit) => unit.toUpperCase());
  const sides = SIDES.find((both) => given.every((unit) => both.includes(unit)));
  const minus = sides?.findLast((side) => given.includes(side));
  if (minus === undefined || number === undefined) return undefined;
  return `With ${minus} as minus: ${number} * if(upper(trim(${operand})) LIKE '%${minus}', -1, 1).`;
}

/** Numbers with units behind them. */
export function units(seen: Seen): Scale | undefined {
  const { operand, present } = seen;
  if (A_NAME.test(operand)) return undefined;
  const texts = ofShape(present, (text) => divided(text) !== undefined);
  const all = texts.flatMap((text) => divided(text) ?? []);
  const found = [...new Set(all.map(({ unit }) => unit))];
  if (found.every((unit) => unit === '')) return undefined;
  const family = FAMILIES.find((one) => found.every((unit) => one[unit.toLowerCase()] !== undefined));
  // Words with a capital are names, such as those of streets.
  const areNames = found.length > 1 && found.some((unit) => /^\p{Lu}\p{Ll}/u.test(unit));
  if (family === undefined && (found.length > UNITS_MAX || areNames)) return undefined;
  const isPointed = all.every(({ number }) => numbersIn(number)[0] !== undefined);
  const way = (text: string): Place | undefined => {
    const { number = '', unit = '' } = divided(text) ?? {};
    const [byPoint, byComma] = numbersIn(number);
    const key = isPointed ? byPoint : byComma;
    if (key === undefined) return undefined;
    if (found.length === 1) return { of: '', key };
    const times = family?.[unit.toLowerCase()];
    return times === undefined ? { of: unit, key } : { of: '', key: key * times };
  };
  const hasPower = found.some((unit) => hasDigit({ text: unit }));
  const values = all.map(({ number }) => ({ text: hasPower ? `${number} m2` : number, isRead: false }));
  const words = tried(seen, texts) === '' ? [] : [{ text: '', isRead: false }];
  const reading = readingFor({ operand, type: 'DOUBLE' }, [...values, ...words]);
  const { sql, said = '' } = reading === 'right' ? {} : reading;
  const isOne = found.length === 1 || FAMILIES[0] === family;
  if (isOne) return { ways: [way], sql, said: sql === undefined ? said : `As a number: ${sql}.` };
  const sides = sidesSaid(operand, found, sql);
  if (sides !== undefined) return { ways: [way], said: sides };
  const shown = found.slice(0, UNITS_SHOWN_MAX).map((unit) => unit || 'none');
  const names = `${shown.join(', ')}${found.length > shown.length ? ' and others' : ''}`;
  const read =
    sql === undefined
      ? ''
      : `: ${sql} is the number, regexp_extract(${operand}, '[^0-9., ]*${hasPower ? '[23]?' : ''}$') the unit`;
  return { ways: [way], said: `Units differ (${names})${read}.` };
}

const PARTS = /^[vV]?\d{1,9}(?:\.\d{1,9})*$/;
const VERSION = /^[vV]?\d{1,9}(?:\.\d{1,9}){2,}$/;
const SHORT_DAY = /^\d\d\.\d\d\.\d\d$/;
/** `1.234.567` has points between thousands. */
const THOUSANDS = /^\d{1,3}(?:\.\d{3})+$/;

/** Numbers of parts: versions, addresses, chapters. */
function parts(seen: Seen): Scale | undefined {
  const { operand, present } = seen;
  if (A_NAME.test(operand)) return undefined;
  const texts = ofShape(present, (text) => PARTS.test(text));
  const isOther = (test: (text: string) => boolean) => texts.length > 0 && texts.every(test);
  if (isOther((text) => THOUSANDS.test(text)) || isOther((text) => SHORT_DAY.test(text))) return undefined;
  if (texts.filter((text) => formOf(text) !== undefined).length * 2 > texts.length) return undefined;
  if (!texts.some((text) => VERSION.test(text))) return undefined;
  const bare = texts.some((text) => /^v/i.test(text)) ? `ltrim(${operand}, 'vV')` : operand;
  const sql = `${tried(seen, texts)}CAST(string_split(${bare}, '.') AS INT[])`;
  const way = (text: string) =>
    PARTS.test(text)
      ? {
          of: '',
          key: text
            .replace(/^v/i, '')
            .split('.')
            .map((part) => part.padStart(9, '0'))
            .join('.'),
        }
      : undefined;
  return { ways: [way], sql, said: `By its parts: ${sql}.` };
}

const NUMBER_BEHIND = /\d{1,15}$/;
const PREFIX_CHARS_MAX = 24;
/** Without a digit, and with a mark or, behind one word, a space that parts it from the number. */
const MARKED = /^(?:\D+[-−_#/]|\p{L}+ |\p{L}{1,4})$/u;

const A_TITLE = /(?:^|[^A-Za-z])(?:name|title|titel)"?$/i;

/** `PO-` and `990`; undefined: a text is something else, such as a number with a unit, or of several numbers. */
function numberedIn(text: string): { prefix: string; number: string } | undefined {
  const number = NUMBER_BEHIND.exec(text)?.[0] ?? '';
  const prefix = text.slice(0, text.length - number.length);
  const isName = number !== '' && prefix.length <= PREFIX_CHARS_MAX && /\p{L}/u.test(prefix) && MARKED.test(prefix);
  return isName && !isCode(text) && numbersIn(text).every((one) => one === undefined) ? { prefix, number } : undefined;
}

/** Numbers behind the same text: `A-9`, `A-10`. */
function numbered(seen: Seen): Scale | undefined {
  const { operand, present } = seen;
  const isName = A_NAME.test(operand);
  const texts = ofShape(present, (text) => numberedIn(text) !== undefined);
  const [prefix, ...others] = new Set(texts.map((text) => numberedIn(text)?.prefix));
  // `A109` of a code, and `Rocky 2` of a title, is a name as a whole.
  if (
    prefix === undefined ||
    (isName && /\p{L} ?$/u.test(prefix)) ||
    (prefix.endsWith(' ') && A_TITLE.test(operand)) ||
    others.length > 0 ||
    texts.some((text) => formOf(text) !== undefined)
  )
    return undefined;
  const way = (text: string) => {
    const found = numberedIn(text);
    return found?.prefix === prefix ? { of: '', key: Number(found.number) } : undefined;
  };
  const sql = `CAST(regexp_extract(${operand}, '[0-9]+$') AS BIGINT)`;
  return { ways: [way], sql, said: `By its number: ${sql}.` };
}
