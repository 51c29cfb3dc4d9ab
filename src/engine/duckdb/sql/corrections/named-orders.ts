import type { Place, Scale, Seen } from './quantities.ts';
import { hasDigit } from './readings.ts';

/*
 * Text whose order everybody knows, and which is none of its characters: names of months and of days of the week, quarters of
 * years, and ranges such as those of ages.
 */

/** The share of the values that has to be of one kind. */
const SHARE = 0.9;

const MONTHS = 'january february march april may june july august september october november december'.split(' ');
const DAYS = 'monday tuesday wednesday thursday friday saturday sunday'.split(' ');
const LETTERS = 3;
const QUARTER = /^Q([1-4])[ /-]?((?:19|20)\d\d)$/;
const RANGE = /^(\d{1,9}) ?[-–] ?(\d{1,9})$/;
const OPEN_RANGE = /^(\d{1,9}) ?\+$/;

export function namedOrders(seen: Seen): Scale[] {
  const [first = ''] = seen.present;
  const all = hasDigit({ text: first }) ? [quarters(seen), ranges(seen)] : [names(seen, MONTHS), names(seen, DAYS)];
  return all.filter((one) => one !== undefined);
}

function scaleOf({ present }: Seen, key: (text: string) => Place['key'] | undefined, sql: string): Scale | undefined {
  const fitting = present.filter((text) => key(text) !== undefined);
  if (fitting.length === 0 || fitting.length < present.length * SHARE) return undefined;
  const way = (text: string) => {
    const place = key(text);
    return place === undefined ? undefined : { of: '', key: place };
  };
  return { ways: [way], sql, said: `In its order: ${sql}.` };
}

/** `March` or `Mar`: the first letters tell. */
function names(seen: Seen, all: readonly string[]): Scale | undefined {
  const known = new Map(all.flatMap((name, at) => [name, name.slice(0, LETTERS)].map((one) => [one, at] as const)));
  const starts = all.map((name) => name.slice(0, LETTERS)).join('');
  return scaleOf(
    seen,
    (text) => known.get(text.toLowerCase()),
    `instr('${starts}', lower(left(${seen.operand}, ${LETTERS})))`,
  );
}

/** `Q1 2024`. */
function quarters(seen: Seen): Scale | undefined {
  const key = (text: string) => {
    const [, quarter, year] = QUARTER.exec(text) ?? [];
    return year === undefined ? undefined : `${year} ${quarter}`;
  };
  return scaleOf(seen, key, `right(${seen.operand}, 4) || left(${seen.operand}, 2)`);
}

/** `5-9` and `100+`; ranges alone are numbers that a text has. */
function ranges(seen: Seen): Scale | undefined {
  const key = (text: string) => {
    const [, from, to] = RANGE.exec(text) ?? OPEN_RANGE.exec(text) ?? [];
    return from === undefined || Number(to) < Number(from) ? undefined : Number(from);
  };
  if (!seen.present.some((text) => OPEN_RANGE.test(text))) return undefined;
  return scaleOf(seen, key, `TRY_CAST(regexp_extract(${seen.operand}, '[0-9]+') AS BIGINT)`);
}
