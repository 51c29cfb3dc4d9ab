/** Formats of times, as `strptime` reads them, by what a text looks like. */
const FORMATS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^\d{1,2}\.\d{1,2}\.\d{4}/, ['%d.%m.%Y']],
  [/^\d{1,2}\/\d{1,2}\/\d{4}/, ['%d/%m/%Y', '%m/%d/%Y']],
  [/^\d{1,2}-\d{1,2}-\d{4}/, ['%d-%m-%Y', '%m-%d-%Y']],
  [/^\d{1,2}\.\d{1,2}\.\d{2}(?!\d)/, ['%d.%m.%y']],
  [/^\d{1,2}\/\d{1,2}\/\d{2}(?!\d)/, ['%d/%m/%y', '%m/%d/%y', '%y/%m/%d']],
  [/^\d{1,2}-\d{1,2}-\d{2}(?!\d)/, ['%d-%m-%y', '%m-%d-%y', '%y-%m-%d']],
  // A cast reads the others of ISO 8601.
  [/^\d{4}-\d\d-\d\d(?= \d\d?:\d\d:\d\d [+-]\d{4}$)/, ['%Y-%m-%d']],
  [/^\d{4}\/\d{1,2}\/\d{1,2}/, ['%Y/%m/%d']],
  [/^\d{8}(?!\d)/, ['%Y%m%d']],
  [/^\d{1,2} [A-Z][a-z]{2} \d{4}/, ['%d %b %Y']],
  [/^[A-Z][a-z]{2} \d{1,2}, \d{4}/, ['%b %d, %Y']],
  [/^[A-Z][a-z]{3,8} \d{1,2}, \d{4}/, ['%B %d, %Y']],
  // Of mails and feeds.
  [/^[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{4}/, ['%a, %d %b %Y']],
];
const CLOCKS: readonly (readonly [RegExp, string])[] = [
  [/^$/, ''],
  [/^ \d\d?:\d\d$/, ' %H:%M'],
  [/^ \d\d?:\d\d:\d\d$/, ' %H:%M:%S'],
  [/^ \d\d?:\d\d [AaPp][Mm]$/, ' %I:%M %p'],
  [/^ \d\d?:\d\d:\d\d [AaPp][Mm]$/, ' %I:%M:%S %p'],
  [/^ \d\d?:\d\d:\d\d [+-]\d{4}$/, ' %H:%M:%S %z'],
  [/^ \d\d?:\d\d:\d\d [A-Z]{3}$/, ' %H:%M:%S %Z'],
];

const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');

/** A number that is greater for a later day, of a text in a format. */
export function dayIn(text: string, format: string): number | undefined {
  const parts = text.match(/\d+|[A-Za-z]+/g) ?? [];
  // Digits alone are of one length, and in the order of the format.
  if (format.startsWith('%Y%m%d')) return Number(parts[0]?.slice(0, 8));
  const codes = format.match(/%[A-Za-z]/g) ?? [];
  const partOf = (...of: string[]) => parts[codes.findIndex((code) => of.includes(code))] ?? '';
  const name = partOf('%b', '%B').slice(0, 3).toLowerCase();
  const month = name === '' ? Number(partOf('%m')) : MONTHS.indexOf(name) + 1;
  const short = Number(partOf('%y') || Number.NaN);
  // As strptime has it.
  const year = Number.isNaN(short) ? Number(partOf('%Y')) : short + (short < 69 ? 2_000 : 1_900);
  const day = year * 10_000 + month * 100 + Number(partOf('%d'));
  return Number.isNaN(day) ? undefined : day;
}

/** The formats that a text may have; none: it is no time, or of a form that is not known. */
export function formatsOf(text: string): string[] {
  for (const [date, formats] of FORMATS) {
    const found = date.exec(text);
    const clock = found && CLOCKS.find(([pattern]) => pattern.test(text.slice(found[0].length)));
    if (!clock) continue;
    const which = formats.length === 1 ? formats : formats.filter((format) => mayBeOf(found[0], format));
    return which.map((format) => `${format}${clock[1]}`);
  }
  return [];
}

/** Whether the day and the month of digits with marks between them are such in a format. */
function mayBeOf(text: string, format: string): boolean {
  const numbers = text.split(/\D/).map(Number);
  const codes: string[] = format.match(/%[A-Za-z]/g) ?? [];
  const isIn = (code: string, most: number) => (numbers[codes.indexOf(code)] ?? 0) <= most;
  return isIn('%m', 12) && isIn('%d', 31);
}

/** What a cast takes for the years 1 to 99, and no spelling of ISO 8601: `01/02/24`, `31-12-99 10:00`. */
export const SHORT_YEAR = '^\\s*\\d{1,3}[-/ \\\\]\\d';
const SHORT_YEAR_FORM = new RegExp(SHORT_YEAR);
export const hasShortYear = (text: string): boolean => SHORT_YEAR_FORM.test(text);

/** The text that an error says is no time, as it should be. */
export function noTimeIn(message: string): string | undefined {
  const isTime = /^(?:invalid (?:timestamp|date|time)|(?:timestamp|date|time) field value)/i.test(message);
  return isTime ? message.split('"')[1] : undefined;
}
