import { strayRead } from '../../../../contract/strays.ts';
import type { DayOf, Moment } from '../../gate/day-uses.ts';
import { isText, type Origin } from '../../gate/field-origins.ts';
import { ITEM, quoteText } from '../../sql/names.ts';
import { type Look, otherText } from './look.ts';
import { type Data, isAny, ROWS_MAX, textsWhere } from './samples.ts';

/*
 * Days and hours of times that were written at an offset: those of a TIMESTAMPTZ are of UTC, and those of its text as written.
 */

const OFFSET = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*([+-]\d\d):?(\d\d)$/;
const OFFSETS_MAX = 2;
/** Any time: its spelling has the zone. */
const SOME_TIME = '2024-01-01 00:00:00.000000+00';

/** Fields that are looked at. */
const DAYS_MAX = 3;
const MOMENTS_MAX = 3;

export const zones: Look = ({ days }, { data }) =>
  days.slice(0, DAYS_MAX).map((part) => ({
    kind: 'zone',
    samples: isText(part) ? [{ field: part, types: [] }] : [],
    said: async ([texts = []]) => {
      const offsets = isText(part) ? offsetsIn(texts.map(({ text }) => text)) : await offsetsOf(part, data);
      return offsets.length > 0 && (await isMoved(part, offsets, data)) ? zoneSaid(part, offsets) : undefined;
    },
  }));

/** What a day, or a time without seconds, lacks of a moment. */
const NO_TIME = '2024-01-01T00:00:00';
/** A moment without a zone. */
const A_MOMENT = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?$/;

/** Times that were written at an offset, and are compared with moments of UTC. */
export const moments: Look = ({ moments: all }, { values, data }) => {
  const fields = new Map(all.map((one) => [one.written, one]));
  return [...fields.values()].slice(0, DAYS_MAX).map((field) => ({
    kind: 'zone',
    samples: [],
    said: async () => {
      const same = all.filter(({ written }) => written === field.written);
      const texts = same.map(({ other }) => otherText(other, values) ?? '').filter((text) => A_MOMENT.test(text));
      const offsets = texts.length === 0 ? [] : await offsetsOf(field, data);
      if (offsets.length === 0) return undefined;
      for (const text of texts.slice(0, MOMENTS_MAX)) {
        const isBehind = (offset?: string) =>
          `${localSql('epoch_us(v)', offset)} >= CAST(${quoteText(text)} AS TIMESTAMP)`;
        const differs = offsets.map((offset) => `(${isBehind()}) <> (${isBehind(offset)})`).join(' OR ');
        if (await isAny(field, differs, data)) return momentSaid(field, text, offsets);
      }
      return undefined;
    },
  }));
};

function momentSaid({ written: x }: Moment, text: string, offsets: readonly string[]): string {
  const [offset = ''] = offsets;
  const at = `${text.slice(0, 19)}${NO_TIME.slice(text.length)}${offset}`;
  const theirs = offsets.length === 1 ? quoteText(at) : `${quoteText(at)}, or ${x} AT TIME ZONE by their zone's name,`;
  return `${x} is compared with ${quoteText(text)} of UTC, and values near it were written at ${offsets.join(' and ')}: ${theirs} compares with it there.`;
}

/** The time at an offset, as a TIMESTAMP; `micros`: SQL of the moment. */
function localSql(micros: string, offset = '+00:00'): string {
  const [hours, minutes] = offset.split(':').map(Number);
  const more = 1_000_000 * 60 * (60 * (hours ?? 0) + (offset.startsWith('-') ? -1 : 1) * (minutes ?? 0));
  return `make_timestamp(${micros} + ${more})`;
}

/** Whether a value is near enough to the border of a day, or of what else is taken, to be in another one at these offsets. */
async function isMoved(part: DayOf, offsets: readonly string[], data: Data): Promise<boolean> {
  if (part.units.includes('hour')) return true;
  const time = isText(part) ? 'epoch_us(TRY_CAST(v AS TIMESTAMPTZ))' : 'epoch_us(v)';
  const at = (unit: string, offset?: string) => `date_trunc('${unit}', ${localSql(time, offset)})`;
  const differs = part.units.flatMap((unit) => offsets.map((offset) => `${at(unit)} <> ${at(unit, offset)}`));
  return isAny(part, differs.join(' OR '), data, isText(part) ? ROWS_MAX : undefined);
}

/** What to say of a part of a time whose values were written at these offsets. */
function zoneSaid(part: DayOf, offsets: readonly string[]): string {
  const { written: x } = part;
  const [offset = ''] = offsets;
  const at = `written at ${offsets.join(' and ')}`;
  if (isText(part))
    return `${x} is text, ${at}, and CAST(${x} AS DATE) gives the days as written; those of UTC are CAST(CAST(${x} AS TIMESTAMPTZ) AS DATE).`;
  const region = offset.startsWith('-') ? 'America' : Number(offset.slice(1, 3)) > 3 ? 'Asia' : 'Europe';
  const fixed = offsets.length > 1 || !offset.endsWith(':00') ? undefined : etcName(offset);
  const zone =
    fixed === undefined
      ? `'${region}/…', by the name of their zone,`
      : `'${fixed}' (or their zone's name, '${region}/…')`;
  return `Days and hours of ${x} are of UTC here, and its values were ${at}: ${x} AT TIME ZONE ${zone} has theirs.`;
}

/** The zone at an offset of whole hours, which counts the other way round. */
const etcName = (offset: string) => `Etc/GMT${offset.startsWith('-') ? '+' : '-'}${Number(offset.slice(1, 3))}`;

/** Those of a field of times: of its first value, as the column keeps it, and of some that are spelled otherwise. */
async function offsetsOf({ table, path }: Origin, data: Data): Promise<string[]> {
  if (path.includes(ITEM)) return [];
  const tables = [table, ...(table.behind?.() ?? [])];
  const own = tables.flatMap((one) => {
    const place = one.placeOf?.(path);
    const text = place === undefined ? undefined : one.written?.(place)?.(SOME_TIME);
    return typeof text === 'string' ? [text] : [];
  });
  const place = table.placeOf?.(path);
  const hasOthers = place !== undefined && [...(table.strays ?? [])].some((column) => column === path[0]);
  const others = hasOthers ? await textsWhere(strayRead(place), '_strays IS NOT NULL', table, data) : [];
  return offsetsIn([...own, ...others]);
}

function offsetsIn(texts: readonly string[]): string[] {
  const found = new Set<string>();
  for (const text of texts) {
    const [, hours = '+00', minutes = '00'] = OFFSET.exec(text) ?? [];
    if (found.size < OFFSETS_MAX && (Number(hours) !== 0 || minutes !== '00')) found.add(`${hours}:${minutes}`);
  }
  return [...found];
}
