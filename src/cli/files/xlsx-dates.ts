import { withoutTrailing } from '../../contract/text.ts';

/** What a number format shows: a day, a time of day, both, or a length of time ("[h]:mm"), which is a number of days. */
export type TimeKind = 'date' | 'time' | 'datetime' | 'duration';

/** The formats that every workbook has, by their number. */
const BUILT_IN: readonly [from: number, to: number, kind: TimeKind][] = [
  [14, 17, 'date'],
  [18, 21, 'time'],
  [22, 22, 'datetime'],
  [27, 31, 'date'],
  [32, 33, 'time'],
  [34, 36, 'date'],
  [45, 45, 'time'],
  [46, 46, 'duration'],
  [47, 47, 'time'],
  [50, 58, 'date'],
];

export function builtInKind(id: number): TimeKind | undefined {
  return BUILT_IN.find(([from, to]) => id >= from && id <= to)?.[2];
}

/** The kind of a format by its code; undefined if it shows no time. */
export function kindOf(code: string): TimeKind | undefined {
  const [first = ''] = code.slice(0, 1_000).split(';', 1);
  const plain = first.replace(/"[^"]*"|\\.|[_*]./g, '').toLowerCase();
  if (/\[[hms]{1,9}\]/.test(plain)) return 'duration';
  const signs = plain.replace(/\[[^[\]]*\]/g, '').replace(/general/g, '');
  const hasTime = /[hs]/.test(signs);
  // "m" is a month, or minutes beside hours or seconds.
  const hasDate = /[dy]/.test(signs) || (/m/.test(signs) && !hasTime);
  if (hasDate) return hasTime ? 'datetime' : 'date';
  return hasTime ? 'time' : undefined;
}

const DAY_MS = 86_400_000;
const DAYS_MAX = 2_958_466;

/** A number of days as ISO text without a zone; undefined if it is none that a workbook shows. */
export function timeText(serial: number, kind: TimeKind, is1904: boolean): string | undefined {
  if (kind === 'duration' || !(serial >= 0 && serial < DAYS_MAX)) return undefined;
  const ms = Math.round(serial * DAY_MS);
  if (kind === 'time' && ms < DAY_MS) return shortened(new Date(ms).toISOString().slice(11, -1));
  // The day 60 is the 29th of February 1900, which never was, so that earlier days are one off.
  const epoch = is1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, serial < 60 ? 31 : 30);
  const text = new Date(epoch + ms).toISOString().slice(0, -1);
  return kind === 'date' && ms % DAY_MS === 0 ? text.slice(0, 10) : shortened(text);
}

function shortened(text: string): string {
  return text.endsWith('.000') ? text.slice(0, -4) : withoutTrailing(text, '0');
}
