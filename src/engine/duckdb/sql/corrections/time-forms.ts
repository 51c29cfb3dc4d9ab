import { quoteText } from '../names.ts';
import { ofShape, type Place, type Scale, type Seen, tried } from './quantities.ts';
import { MONTHS, yearOf } from './time-formats.ts';

/*
 * Times that are written as nothing else is read: with names of months, years of two digits, a zone before the year. What a
 * text is made of gives its format, as `strptime` reads it.
 */

/** What a text is as a time. */
interface Form {
  format: string;
  /** The format if the month comes first, where the text may have either. */
  monthFirst?: string;
  /** Of its codes. */
  values: Readonly<Record<string, number>>;
  /** A zone as minutes off. */
  zone: number | undefined;
}

const DAYS = 'monday tuesday wednesday thursday friday saturday sunday'.split(' ');
const TOKENS_MAX = 24;
/** What stands between the parts of a time. */
const BETWEEN = /^(?:[-/.,: ]|, | - |, ')$|^ ?\[$|^\]$/;
const TIME_TYPES = ['TIMESTAMP', 'TIMESTAMPTZ'] as const;

/** The place of a name in a list, by its first three letters or as a whole; -1: it is none of these. */
const placeOf = (name: string, names: readonly string[]) =>
  names.findIndex((one) => one === name.toLowerCase() || one.slice(0, 3) === name.toLowerCase());

interface Reader {
  tokens: readonly string[];
  at: number;
  codes: string[];
  values: Record<string, number>;
  zone: number | undefined;
  /** The numbers of the date, and where their codes are. */
  date: { text: string; at: number }[];
}

/** What a text is made of, if that is a date with or without a time of day. */
function formOf(text: string): Form | undefined {
  const tokens = text.match(/\d+|[A-Za-z]+|[^A-Za-z\d]+/g) ?? [];
  if (tokens.length > TOKENS_MAX || tokens.length < 3) return undefined;
  const reader: Reader = { tokens, at: 0, codes: [], values: {}, zone: undefined, date: [] };
  while (reader.at < tokens.length) if (!readToken(reader)) return undefined;
  const { codes, values, zone } = reader;
  const ways = dateCodes(reader);
  if (ways === undefined) return undefined;
  const formatOf = (given: readonly string[]) => {
    const all = [...codes];
    for (const [at, code] of given.entries()) all[reader.date[at]?.at ?? 0] = code;
    return all.join('').replace('%H', values['%p'] === undefined ? '%H' : '%I');
  };
  const [first = [], second] = ways;
  for (const [at, { text: digits }] of reader.date.entries()) values[`${at}`] = Number(digits);
  return { format: formatOf(first), ...(second && { monthFirst: formatOf(second) }), values, zone };
}

/** Reads a token, or several; false: it is none of a time. */
function readToken(reader: Reader): boolean {
  const { tokens, at, codes, values } = reader;
  const token = tokens[at] ?? '';
  reader.at += 1;
  if (/^[A-Za-z]/.test(token)) return readWord(reader, token);
  if (!/^\d/.test(token)) {
    const isSign = /^ ?[+-]$/.test(token) && values['%H'] !== undefined && /^\d{4}$/.test(tokens[at + 1] ?? '');
    if (!isSign) codes.push(token);
    return isSign ? readZone(reader, token, tokens[at + 1] ?? '') : BETWEEN.test(token);
  }
  const isClock = tokens[at + 1] === ':' && token.length <= 2 && /^\d\d$/.test(tokens[at + 2] ?? '');
  if (!isClock || values['%H'] !== undefined) {
    reader.date.push({ text: token, at: codes.length });
    codes.push('');
    return token.length <= 4 && reader.date.length <= 3;
  }
  const hasSeconds = tokens[at + 3] === ':' && /^\d\d$/.test(tokens[at + 4] ?? '');
  Object.assign(values, { '%H': Number(token), '%M': Number(tokens[at + 2]) });
  if (hasSeconds) values['%S'] = Number(tokens[at + 4]);
  codes.push(hasSeconds ? '%H:%M:%S' : '%H:%M');
  reader.at += hasSeconds ? 4 : 2;
  return true;
}

function readWord({ codes, values }: Reader, word: string): boolean {
  const [month, day] = [placeOf(word, MONTHS), placeOf(word, DAYS)];
  const isHalf = /^[AaPp][Mm]$/.test(word);
  if (month >= 0) values['%b'] = month + 1;
  if (isHalf) values['%p'] = /^p/i.test(word) ? 1 : 0;
  const long = (name: string, upper: string) => (word.length === 3 ? name : upper);
  const code = month >= 0 ? long('%b', '%B') : day >= 0 ? long('%a', '%A') : isHalf ? '%p' : word;
  codes.push(code);
  return code !== word || word === 'T' || word === 'Z' || word === 'GMT' || word === 'UTC';
}

function readZone(reader: Reader, sign: string, digits: string): boolean {
  const minutes = Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2));
  reader.zone = sign.endsWith('-') ? -minutes : minutes;
  reader.codes.push(`${sign.slice(0, -1)}%z`);
  reader.at += 1;
  return true;
}

/** The codes of a date's numbers, in one order or two; undefined: it is no date, or which is not clear. */
function dateCodes({ date, values, codes }: Reader): string[][] | undefined {
  const lengths = date.map(({ text }) => text.length);
  const year = (at: number) => (lengths[at] === 4 ? '%Y' : lengths[at] === 2 ? '%y' : undefined);
  const [first, second = 0, third] = lengths;
  if (values['%b'] !== undefined) {
    // `Jan-24`, and not `Jan 24`, which may be a day.
    const isMonth =
      first === 4 || (first === 2 && codes.join('').startsWith('%') && codes.some((one) => /^[-/']$/.test(one)));
    if (lengths.length === 1) return isMonth ? [[year(0) ?? '']] : undefined;
    if (lengths.length !== 2) return undefined;
    if (first === 4) return second <= 2 ? [['%Y', '%d']] : undefined;
    const code = year(1);
    return code === undefined || (first ?? 3) > 2 ? undefined : [['%d', code]];
  }
  if (lengths.length === 2 && second === 4 && (first ?? 3) <= 2 && codes.includes('/')) return [['%m', '%Y']];
  if (lengths.length !== 3 || second > 2) return undefined;
  if (first === 4) return (third ?? 3) <= 2 ? [['%Y', '%m', '%d']] : undefined;
  const code = year(2);
  if (code === undefined || (first ?? 3) > 2) return undefined;
  const dayFirst = ['%d', '%m', code];
  return codes.includes('.') ? [dayFirst] : [dayFirst, ['%m', '%d', code]];
}

/** Milliseconds of a form; undefined: there is no such day. */
function timeOf(form: Form, format: string): number | undefined {
  const { values, zone = 0 } = form;
  const codes = (format.match(/%[A-Za-z]/g) ?? []).filter((code) => /%[YymdbB]/.test(code));
  let at = 0;
  const found: Record<string, number> = {};
  for (const code of codes) {
    const isName = /%[bB]/.test(code);
    found[isName ? '%m' : code] = (isName ? values['%b'] : values[`${at++}`]) ?? 0;
  }
  const year = found['%Y'] ?? yearOf(found['%y'] ?? 0);
  const [month = 1, day = 1] = [found['%m'], found['%d']];
  if (month < 1 || month > 12 || day < 1 || day > 31) return undefined;
  const half = values['%p'];
  const hour = half === undefined ? (values['%H'] ?? 0) : ((values['%H'] ?? 0) % 12) + 12 * half;
  return Date.UTC(year, month - 1, day, hour, (values['%M'] ?? 0) - zone, values['%S'] ?? 0);
}

/** Formats of one field that are still named. */
const FORMATS_MAX = 3;

/** The scales of days and times that texts are on; none: they are no times, in the order of these, or of too many forms. */
export function timesIn(seen: Seen): Scale[] {
  const iso = ofShape(seen.present, (text) => ISO.test(text));
  if (iso.length > 0) return isEven(iso) ? [] : [isoScale(seen, iso)];
  return [epochsIn, formsIn].flatMap((scale) => scale(seen) ?? []).slice(0, 1);
}

function formsIn(seen: Seen): Scale | undefined {
  const { operand, present } = seen;
  const texts = ofShape(present, (text) => formOf(text) !== undefined);
  if (texts.length === 0) return undefined;
  const forms = texts.flatMap((text) => formOf(text) ?? []);
  const isOf = (format: string, form: Form) => timeOf(form, format) !== undefined;
  const orders = [false, true].filter((isMonthFirst) =>
    forms.every((form) => isOf(isMonthFirst ? (form.monthFirst ?? form.format) : form.format, form)),
  );
  const areClear = forms.every(({ monthFirst }) => monthFirst === undefined);
  const sqlOf = (isMonthFirst: boolean) => {
    const formats = [...new Set(forms.map((form) => (isMonthFirst ? (form.monthFirst ?? form.format) : form.format)))];
    const written = formats.map(quoteText).join(', ');
    if (formats.length > FORMATS_MAX) return undefined;
    return `${tried(seen, texts, 'try_')}strptime(${operand}, ${formats.length === 1 ? written : `[${written}]`})`;
  };
  const asked = areClear ? orders.slice(0, 1) : orders;
  const [sql, other] = asked.map(sqlOf);
  if (sql === undefined) return undefined;
  const ways = asked.map((isMonthFirst) => (text: string): Place | undefined => {
    const form = formOf(text);
    const key = form && timeOf(form, isMonthFirst ? (form.monthFirst ?? form.format) : form.format);
    return key === undefined ? undefined : { of: '', key };
  });
  if (other !== undefined)
    return { ways, said: `If the day is first: ${sql}; if the month is: ${other}.`, isTime: true };
  return { ways, sql, said: `As a time: ${sql}.`, isTime: true };
}

const EPOCH = /^\/Date\((-?\d{1,15})(?:[+-]\d{4})?\)\/$/;

/** `/Date(1704067200000)/`. */
function epochsIn(seen: Seen): Scale | undefined {
  const { operand, present } = seen;
  const texts = ofShape(present, (text) => EPOCH.test(text));
  if (texts.length === 0) return undefined;
  const sql = `epoch_ms(${tried(seen, texts)}CAST(regexp_extract(${operand}, '-?[0-9]+') AS BIGINT))`;
  const way = (text: string) => {
    const [, millis] = EPOCH.exec(text) ?? [];
    return millis === undefined ? undefined : { of: '', key: Number(millis) };
  };
  return { ways: [way], sql, said: `As a time: ${sql}.`, isTime: true };
}

const ISO = /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d\d)(?::(\d\d)(\.\d{1,9})?)?(?: ?(Z|[+-]\d\d:?\d\d))?)?$/;

/** Texts of one length that are in the order of their times. */
function isEven(texts: readonly string[]): boolean {
  const [first = ''] = texts;
  const isAlike = (text: string) =>
    text.length === first.length && text[7] === '-' && text[10] === first[10] && text.slice(19) === first.slice(19);
  return texts.every(isAlike);
}

/** Nearly ISO 8601, as a cast reads it: digits left out, zones that differ, `T` in some. */
function isoScale(seen: Seen, texts: readonly string[]): Scale {
  const { operand } = seen;
  const type = TIME_TYPES[texts.some((text) => ISO.exec(text)?.[8] !== undefined) ? 1 : 0];
  const sql = `${tried(seen, texts)}CAST(${operand} AS ${type})`;
  return { ways: [isoPlace], sql, said: `As a time: ${sql}.`, isTime: true };
}

function isoPlace(text: string): Place | undefined {
  const [all, year, month, day, hour = 0, minute = 0, second = 0, fraction = 0, zone = 'Z'] = ISO.exec(text) ?? [];
  if (all === undefined) return undefined;
  const [hours, minutes] = zone === 'Z' ? [0, 0] : [Number(zone.slice(1, 3)), Number(zone.slice(-2))];
  const off = (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
  const millis = Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute) - off,
    Number(second),
  );
  return { of: '', key: millis + Number(fraction) * 1e3 };
}
