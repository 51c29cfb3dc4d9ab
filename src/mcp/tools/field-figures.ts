import { inQuotes } from '../../contract/text.ts';
import { ANY_FIELD, ANY_KEY, isWithin } from './infer.ts';
import type { TypePlace } from './sql-type.ts';
import type { ToolContext } from './tool.ts';

/** What all documents have at a place. */
export interface Figures {
  /** Documents in which it is not null. */
  present: number;
  /** Different values; approximate for many documents. For a map, its different keys. */
  distinct?: number | undefined;
  /** Of numbers and times. */
  least?: string | undefined;
  most?: string | undefined;
  /** Of text: all different values, if they are few and short. */
  values?: readonly string[] | undefined;
}

/** Documents that are counted; of larger collections the first ones. */
export const COUNTED_MAX = 1_000_000;
/** In more documents than this, more different values than `FEW` are estimated. */
export const EXACT_MAX = 100_000;
export const FEW = 10_000;
/** One in so many values is counted, chosen by its hash: 10,000 are told to within 5 % or so, more values more closely. */
const SHARE = 8;
/** So many different texts are all listed, if none is longer than this, nor all together. */
const LISTED_MAX = 12;
const LISTED_CHARS_MAX = 40;
const LIST_CHARS_MAX = 160;
/** Places that are counted, and in one query. */
const PLACES_MAX = 400;
const AT_ONCE = 50;

const RANGED = /^(?:(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DOUBLE|FLOAT|DECIMAL.*|DATE|TIME|TIMESTAMP.*)$/;
const COUNTED = /^(?:VARCHAR|UUID|BOOLEAN)$/;

/**
 * Counts the values of places in all documents of a table; the places that cannot be counted are missing. `strays`: SQL, by
 * path, that reads the values that do not fit theirs, which are present, too.
 */
export async function figuresOf(
  { client, signal }: Pick<ToolContext, 'client' | 'signal'>,
  table: string,
  places: readonly TypePlace[],
  { documents, strays }: { documents: number; strays: ReadonlyMap<string, string> },
): Promise<Map<string, Figures>> {
  const found = new Map<string, Figures>();
  // Which does not have the column of strays.
  const from = documents > COUNTED_MAX ? `(SELECT * FROM ${table} LIMIT ${COUNTED_MAX})` : table;
  // The fields of an object that are shown as one have no place of their own.
  const asOne = places.filter(({ any }) => any === ANY_FIELD);
  const paths = new Set(asOne.map(({ path }) => path));
  const known = places.filter(({ path }) => !isWithin(path, paths));
  for (let at = 0; at < Math.min(known.length, PLACES_MAX); at += AT_ONCE) {
    const some = known.slice(at, Math.min(at + AT_ONCE, PLACES_MAX));
    const columns = some.flatMap((place, index) =>
      columnsOf(place, index, from, { all: documents, stray: from === table ? strays.get(place.path) : undefined }),
    );
    const ask = async (list: readonly string[]) => {
      const query = `SELECT ${list.join(', ')} FROM ${from}`;
      return (await client.runQuery({ sql: { query } }, { signal })).results?.[0] ?? {};
    };
    const row = await ask(columns);
    const few = documents <= EXACT_MAX ? [] : some.flatMap((place, index) => exactly(place, index, row[`d${index}`]));
    if (few.length > 0) Object.assign(row, await ask(few));
    const listed = some.flatMap((place, index) => listOf(place, index, row[`d${index}`]));
    if (listed.length > 0) Object.assign(row, await ask(listed));
    for (const [index, place] of some.entries()) {
      const present = row[`p${index}`];
      if (present === undefined) continue;
      const textOf = (name: string) => (row[name] === null || row[name] === undefined ? undefined : String(row[name]));
      const distinct = row[`d${index}`];
      const isMap = place.type.startsWith('MAP');
      found.set(place.path, {
        present: Number(present),
        // An estimate may be too high.
        distinct: distinct === undefined ? undefined : Math.min(Number(distinct), isMap ? Infinity : Number(present)),
        least: textOf(`a${index}`),
        most: textOf(`b${index}`),
        values: shortList(row[`l${index}`], distinct),
      });
    }
  }
  return found;
}

/** A step into a value: the name of a field, the items of a list, or the values of a map. */
type Step = { name: string } | 'item' | 'value';

/** The column of a path as `typePlaces` spells it, as SQL, and the steps into it; the value, if it is one of a document. */
export function readPath(path: string): { column: string; steps: Step[]; value?: string } {
  const [column = '', ...rest] = path.match(/"(?:[^"]|"")*"|\[\]|<key>|[^.[\]]+/g) ?? [];
  const steps = rest.map((part): Step => {
    if (part === '[]') return 'item';
    if (part === ANY_KEY) return 'value';
    return { name: nameOf(part) };
  });
  const sql = inQuotes(nameOf(column), '"');
  const names = steps.flatMap((step) => (typeof step === 'object' ? step.name : []));
  return { column: sql, steps, ...(names.length < steps.length ? {} : { value: names.reduce(fieldOf, sql) }) };
}

function nameOf(part: string): string {
  return part.startsWith('"') ? part.slice(1, -1).replaceAll('""', '"') : part;
}

function columnsOf(
  { path, type, any }: TypePlace,
  index: number,
  from: string,
  { all, stray }: { all: number; stray: string | undefined },
): string[] {
  const { column, steps, value } = readPath(path);
  const isStray = stray === undefined ? '' : ` OR ${stray} IS NOT NULL`;
  const present = `count(*) FILTER (WHERE ${hasAny(column, steps, 0)}${isStray}) AS p${index}`;
  if (value === undefined) return [present];
  if (any === ANY_KEY) {
    return [
      present,
      `(SELECT count(DISTINCT k) FROM (SELECT unnest(map_keys(${value})) AS k FROM ${from})) AS d${index}`,
    ];
  }
  const isRanged = RANGED.test(type);
  if (!isRanged && !COUNTED.test(type)) return [present];
  const distinct =
    all <= EXACT_MAX
      ? `count(DISTINCT ${value})`
      : `${SHARE} * count(DISTINCT ${value}) FILTER (WHERE hash(${value}) % ${SHARE} = 0)`;
  const range = isRanged ? [`min(${value}) AS a${index}`, `max(${value}) AS b${index}`] : [];
  return [present, `${distinct} AS d${index}`, ...range];
}

/** SQL that counts the different values of a place, if it is estimated to have few, or is the key. */
function exactly({ path, type }: TypePlace, index: number, estimated: unknown): string[] {
  if (path === '_id') return [`count(*) AS d${index}`];
  if (estimated === undefined || type.startsWith('MAP') || Number(estimated) > FEW) return [];
  return [`count(DISTINCT ${readPath(path).value}) AS d${index}`];
}

/** SQL for the different texts of a place that has few of them. */
function listOf({ path, type }: TypePlace, index: number, distinct: unknown): string[] {
  const { value } = readPath(path);
  if (type !== 'VARCHAR' || value === undefined || distinct === undefined || Number(distinct) > LISTED_MAX) return [];
  return [
    `list_sort(list(DISTINCT left(${value}, ${LISTED_CHARS_MAX + 1})) FILTER (WHERE ${value} IS NOT NULL)) AS l${index}`,
  ];
}

function shortList(list: unknown, distinct: unknown): string[] | undefined {
  if (!Array.isArray(list) || list.length !== Number(distinct)) return undefined;
  const texts = list.map(String);
  const isShort =
    texts.every((text) => text.length <= LISTED_CHARS_MAX) && JSON.stringify(texts).length <= LIST_CHARS_MAX;
  return isShort ? texts : undefined;
}

function fieldOf(value: string, name: string): string {
  return `struct_extract(${value}, ${inQuotes(name, "'")})`;
}

/** SQL condition: there is a value at these steps from `value` on. */
function hasAny(value: string, [step, ...rest]: readonly Step[], level: number): string {
  if (step === undefined) return `${value} IS NOT NULL`;
  if (typeof step === 'object') return hasAny(fieldOf(value, step.name), rest, level);
  const list = step === 'item' ? value : `map_values(${value})`;
  const item = `x${level}`;
  return `len(list_filter(${list}, lambda ${item}: ${hasAny(item, rest, level + 1)})) > 0`;
}
