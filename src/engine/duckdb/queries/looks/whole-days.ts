import { A_DAY, type WholeDay } from '../../gate/day-uses.ts';
import { isText } from '../../gate/field-origins.ts';
import { quoteText } from '../../sql/names.ts';
import { type Asked, type Look, otherText, type Question } from './look.ts';
import { type Data, isAny, type SeenText } from './samples.ts';

/*
 * Times of a day that is meant as a whole, and of which only midnight is taken.
 */

/** Fields that are asked about. */
const ASKED_MAX = 3;
const DAY_MS = 86_400_000;
const WEEK_DAYS = 7;
/** Whoever writes `> '2024-02-01'` may mean all of the month. */
const FIRST_DAY = '-01';
const A_MOMENT = /^\d{4}-\d\d-\d\d[T ]\d/;

export const wholeDays: Look = ({ wholeDays: all }, { values, data }) => {
  const asked = all.flatMap((one): Question[] => {
    const days = typeof one.days === 'string' ? [] : daysOf(one.days, values);
    const [first] = days;
    if (first === undefined && typeof one.days !== 'string') return [];
    const end = otherText(one.end, values);
    const ends = one.by === '>' ? [first, end] : [end, first];
    if (isPeriod(...(ends as [string?, string?])) || (one.by === '>' && first?.endsWith(FIRST_DAY) === true)) return [];
    const said = saidOf(one, typeof one.days === 'string' ? one.days : quoteText(first ?? ''), first);
    // Texts that are days, as the first ones tell, are not looked through.
    const samples = isText(one) ? [{ field: one, types: [] }] : [];
    const mayRest = (texts: readonly SeenText[] | undefined) => texts?.some(({ text }) => A_MOMENT.test(text)) ?? true;
    return [
      {
        kind: 'time',
        samples,
        said: async ([texts]) => (mayRest(texts) && (await hasRest(one, days, data)) ? said : undefined),
      },
    ];
  });
  return asked.slice(0, ASKED_MAX);
};

const daysOf = (days: Exclude<WholeDay['days'], string>, values: Asked['values']): string[] =>
  days.flatMap((day) => {
    const text = otherText(day, values);
    return text !== undefined && A_DAY.test(text) && dayAfter(text) !== undefined ? [text] : [];
  });

function saidOf({ written: x, by, ...field }: WholeDay, day: string, first = ''): string {
  if (by === '<=')
    return `${x} up to ${day} ends at its first moment, and leaves out the rest of that day: ${x} < '${dayAfter(first)}' has all of it.`;
  if (by === '>') return `${x} > ${day} has the times of that day, too: ${x} >= '${dayAfter(first)}' begins behind it.`;
  const days = by.endsWith('IN') ? `(${day}${field.days.length > 1 ? ', …' : ''})` : day;
  // Text need not be a time.
  const meant = `${isText(field) ? `${x}[:10]` : `CAST(${x} AS DATE)`} ${by} ${days}`;
  const own = `${x} ${by} ${days}`;
  return by === '<>' || by === 'NOT IN'
    ? `${own} leaves out the first moment of a day only: ${meant} leaves out all of it.`
    : `${own} takes the first moment of a day only: ${meant} has all of it.`;
}

/** Whether times behind one midnight and up to another are a day, a week, a month or the like on purpose. */
function isPeriod(least?: string, most?: string): boolean {
  if (least === undefined || most === undefined) return false;
  const days = (Date.parse(most) - Date.parse(least)) / DAY_MS;
  return days === 1 || days === WEEK_DAYS || (days > 0 && least.slice(-2) === most.slice(-2));
}

/** Whether a field has times of these days, or of any if there are none, that are not their first moments. */
function hasRest(field: WholeDay, days: readonly string[], data: Data): Promise<boolean> {
  const type = isText(field) ? 'VARCHAR' : field.type;
  const at = (day = '') => `CAST(${quoteText(day)} AS ${type})`;
  const rests = days.map((day) => `(v > ${at(day)} AND v < ${at(dayAfter(day))})`);
  const isRest = rests.length > 0 ? `(${rests.join(' OR ')})` : `v <> date_trunc('day', v)`;
  const isTime = isText(field) ? `regexp_matches(v[11:12], '^[T ]\\d')` : 'true';
  return isAny(field, `${isRest} AND ${isTime}`, data);
}

function dayAfter(day: string): string | undefined {
  const time = Date.parse(`${day}T00:00:00Z`) + DAY_MS;
  return Number.isNaN(time) ? undefined : new Date(time).toISOString().slice(0, 10);
}
