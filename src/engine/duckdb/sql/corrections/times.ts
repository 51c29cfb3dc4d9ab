/*
 * Times that are written as no cast reads them: `31.12.2024`, `Jan-24`, with a zone before the year. What a text is made of
 * gives its formats, as `strptime` reads them.
 */

/** Which part of a date of digits comes first. */
export type First = 'day' | 'month' | 'year';

/** What a text is in a format. */
interface Reading {
  format: string;
  /** Milliseconds since 1970. */
  time: number;
}

/** What a text is as a time: one reading, or one by what comes first. */
type Form = { clear: Reading } | Readonly<Partial<Record<First, Reading>>>;

const MONTHS = 'january february march april may june july august september october november december'.split(' ');
const DAYS = 'monday tuesday wednesday thursday friday saturday sunday'.split(' ');
/** Longer texts are no times. */
const CHARS_MAX = 64;
/** What stands between the parts of a time. */
const BETWEEN = /^(?:[-/.,: ]|, | - |, ')$|^ ?\[$|^\]$/;

/** The year of two digits, as strptime has it. */
const yearOf = (short: number) => short + (short < 69 ? 2_000 : 1_900);

/** The place of a name in a list, by its first three letters or as a whole; -1: it is none of these. */
function placeOf(name: string, names: readonly string[]): number {
  const small = name.toLowerCase();
  return names.findIndex((one) => one === small || (small.length === 3 && one.startsWith(small)));
}

/** A text while it is read. */
interface Reader {
  tokens: readonly string[];
  at: number;
  codes: string[];
  /** Of codes that are read. */
  values: Record<string, number>;
  /** Minutes. */
  zone: number;
  /** The numbers of the date, and where their codes are. */
  date: { text: string; at: number }[];
}

/** What the texts are that were read last: what is asked of a field reads each of its values several times. */
const known = new Map<string, Form | undefined>();
const KNOWN_MAX = 2_000;

/** What a text is, if that is a date with or without a time of day; undefined: it is none that is known. */
export function formOf(text: string): Form | undefined {
  if (text.length > CHARS_MAX || !/\d/.test(text)) return undefined;
  if (known.has(text)) return known.get(text);
  if (known.size >= KNOWN_MAX) known.clear();
  const form = readForm(text);
  known.set(text, form);
  return form;
}

function readForm(text: string): Form | undefined {
  const tokens = text.trim().match(/\d+|[A-Za-z]+|[^A-Za-z\d]+/g) ?? [];
  const reader: Reader = { tokens, at: 0, codes: [], values: {}, zone: 0, date: [] };
  while (reader.at < tokens.length) if (!readToken(reader)) return undefined;
  const ways = dateCodes(reader).flatMap(([first, given]) => {
    const reading = readingIn(reader, given);
    return reading === undefined ? [] : [[first, reading] as const];
  });
  return ways.length === 0 ? undefined : (Object.fromEntries(ways) as Form);
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
    return token.length <= 4 || (token.length === 8 && at === 0);
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
  if (month >= 0) values['%b'] = month + 1;
  const isHalf = /^[AaPp][Mm]$/.test(word);
  if (isHalf) values['%p'] = /^p/i.test(word) ? 1 : 0;
  const long = (name: string, upper: string) => (word.length === 3 ? name : upper);
  const isZone = values['%H'] !== undefined && /^[A-Z]{3}$/.test(word);
  const name = month >= 0 ? long('%b', '%B') : day >= 0 ? long('%a', '%A') : isHalf ? '%p' : isZone ? '%Z' : undefined;
  codes.push(name ?? word);
  return name !== undefined || word === 'T' || word === 'Z';
}

function readZone(reader: Reader, sign: string, digits: string): boolean {
  const minutes = Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2));
  reader.zone = sign.endsWith('-') ? -minutes : minutes;
  reader.codes.push(`${sign.slice(0, -1)}%z`);
  reader.at += 1;
  return true;
}

/** The codes of a date's numbers, by what comes first where that is not clear; empty: it is no date. */
function dateCodes({ date, values, codes }: Reader): (readonly [First | 'clear', readonly string[]])[] {
  const lengths = date.map(({ text }) => text.length);
  const year = (at: number) => (lengths[at] === 4 ? '%Y' : lengths[at] === 2 ? '%y' : undefined);
  const [first = 9, second = 0, third = 9] = lengths;
  const clear = (...given: (string | undefined)[]) =>
    given.every((code): code is string => code !== undefined) ? [['clear', given] as const] : [];
  if (values['%b'] !== undefined) {
    // `Jan-24`, and not `Jan 24`, which may be a day.
    const isMonth =
      first === 4 || (first === 2 && codes.join('').startsWith('%') && codes.some((one) => /^[-/']$/.test(one)));
    if (lengths.length === 1) return isMonth ? clear(year(0)) : [];
    if (lengths.length !== 2) return [];
    if (first === 4) return second <= 2 ? clear('%Y', '%d') : [];
    return first <= 2 ? clear('%d', year(1)) : [];
  }
  if (lengths.length === 1) return first === 8 ? clear('%Y%m%d') : [];
  if (lengths.length === 2) return second === 4 && first <= 2 && codes.includes('/') ? clear('%m', '%Y') : [];
  if (lengths.length !== 3 || second > 2) return [];
  if (first === 4) return third <= 2 ? clear('%Y', '%m', '%d') : [];
  const code = year(2);
  if (code === undefined || first > 2) return [];
  if (codes.includes('.')) return clear('%d', '%m', code);
  const ways = [['day', ['%d', '%m', code]] as const, ['month', ['%m', '%d', code]] as const];
  return code === '%y' && first === 2 ? [...ways, ['year', ['%y', '%m', '%d']] as const] : ways;
}

/** What a text is by the codes of its date; undefined: there is no such day. */
function readingIn({ codes, values, date, zone }: Reader, given: readonly string[]): Reading | undefined {
  const all = [...codes];
  const found: Record<string, number> = { '%m': values['%b'] ?? 1 };
  for (const [at, { text, at: place }] of date.entries()) {
    const code = given[at] ?? '';
    all[place] = code;
    if (code === '%Y%m%d')
      Object.assign(found, { '%Y': text.slice(0, 4), '%m': text.slice(4, 6), '%d': text.slice(6) });
    else found[code] = Number(text);
  }
  const year = Number(found['%Y'] ?? yearOf(found['%y'] ?? 0));
  const [month, day] = [Number(found['%m']), Number(found['%d'] ?? 1)];
  if (month < 1 || month > 12 || day < 1 || day > 31) return undefined;
  const half = values['%p'];
  const hour = half === undefined ? (values['%H'] ?? 0) : ((values['%H'] ?? 0) % 12) + 12 * half;
  const format = all.join('').replace('%H', half === undefined ? '%H' : '%I');
  return { format, time: Date.UTC(year, month - 1, day, hour, (values['%M'] ?? 0) - zone, values['%S'] ?? 0) };
}

/** How texts are read, all of them. */
export interface TimeWay {
  /** The first of two ways may be the day. */
  first: First;
  formats: readonly string[];
  /** The texts' milliseconds since 1970, in their order. */
  times: readonly number[];
}

/** Milliseconds of a text in its likeliest form, where several texts have no way in common. */
export const timeIn = (text: string): number | undefined => Object.values(formOf(text) ?? {})[0]?.time;

/** Formats of one field that are still named. */
const FORMATS_MAX = 3;

/** The ways to read texts, several if which part comes first is not clear; none: not all are times, or of too many forms. */
export function timeWays(texts: readonly string[]): TimeWay[] {
  const forms: Form[] = [];
  for (const text of texts) {
    const form = formOf(text);
    if (form === undefined) return [];
    forms.push(form);
  }
  const found = new Map<string, TimeWay>();
  for (const first of ['day', 'month', 'year'] as const) {
    const readings = forms.flatMap((form) => ('clear' in form ? form.clear : form[first]) ?? []);
    // %Y would read two digits of a year as all of it.
    const isShort = (format: string) => Number(format.includes('%y'));
    const formats = [...new Set(readings.map(({ format }) => format))].sort((a, b) => isShort(b) - isShort(a));
    const key = formats.join('\n');
    if (readings.length < forms.length || formats.length > FORMATS_MAX || found.has(key) || key === '') continue;
    found.set(key, { first, formats, times: readings.map(({ time }) => time) });
  }
  return [...found.values()];
}

const ISO = /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d\d)(?::(\d\d)(\.\d{1,9})?)?(?: ?(Z|[+-]\d\d:?\d\d))?)?$/;

/** Milliseconds of nearly ISO 8601, as a cast reads it: digits left out, zones that differ, `T` in some; undefined: it is none. */
export function isoTime(text: string): number | undefined {
  const [all, year, month, day, hour = 0, minute = 0, second = 0, fraction = 0, zone = 'Z'] = ISO.exec(text) ?? [];
  if (all === undefined) return undefined;
  const [hours, minutes] = zone === 'Z' ? [0, 0] : [Number(zone.slice(1, 3)), Number(zone.slice(-2))];
  const off = (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
  const clock = [Number(hour), Number(minute) - off, Number(second)] as const;
  return Date.UTC(Number(year), Number(month) - 1, Number(day), ...clock) + Number(fraction) * 1e3;
}

export const hasIsoZone = (text: string): boolean => ISO.exec(text)?.[8] !== undefined;

/** What a cast takes for the years 1 to 99, and no spelling of ISO 8601: `01/02/24`, `31-12-99 10:00`. */
export const SHORT_YEAR = '^\\s*\\d{1,3}[-/ \\\\]\\d';
const HAS_SHORT_YEAR = new RegExp(SHORT_YEAR);
export const hasShortYear = (text: string): boolean => HAS_SHORT_YEAR.test(text);

/** The text that an error says is no time, as it should be. */
export function noTimeIn(message: string): string | undefined {
  const isTime = /^(?:invalid (?:timestamp|date|time)|(?:timestamp|date|time) field value)/i.test(message);
  return isTime ? message.split('"')[1] : undefined;
}

/** Whether a text is hours and minutes of more than a day, `25:10`, which no time of day is. */
export function isDuration(text: string): boolean {
  const [, hours, minutes] = /^\s*(\d{1,4}):(\d\d)(?::\d\d(?:\.\d+)?)?\s*$/.exec(text) ?? [];
  return Number(hours) >= 24 && Number(minutes) < 60;
}
