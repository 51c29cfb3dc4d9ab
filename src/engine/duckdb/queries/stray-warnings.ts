import type { DuckDBConnection } from '@duckdb/node-api';
import { holdsTextOf, literally, placeOf, STRAYS_COLUMN, strayCountsSql, strayRead } from '../../../contract/strays.ts';
import { cut } from '../../../contract/text.ts';
import { createPace } from '../../../contract/turns/turns.ts';
import { answerOf } from '../connections/answers.ts';
import type { Place } from '../gate/field-origins.ts';
import { type FieldReads, isMapKey, mayRead } from '../gate/field-reads.ts';
import {
  CATALOG,
  EXTRA_COLUMN,
  foldName,
  ITEM,
  jsonPath,
  type NamedTable,
  type Names,
  quoteName,
  quoteText,
} from '../sql/names.ts';
import { rowsWithoutTries } from '../sql/own-rows.ts';
import { fieldName } from '../sql/syntax-hints.ts';
import { inTime, LOOKS_MS } from './looks/in-time.ts';

/** Fields that are named, and different places that are counted. */
const FIELDS_MAX = 5;
const PLACES_MAX = 1_000;
/** A longer pattern is not looked for: then all of a column counts as read. */
const PATTERN_CHARS_MAX = 5_000;
/** How much of a name or a type a warning shows. */
const TEXT_CHARS_MAX = 40;
const PATH_CHARS_MAX = 100;

/**
 * Says of the fields that a statement computes with how many of their values do not fit. Numbers of a field of text, whose
 * texts are all there is to them, are told where it is `ordered`. `ran`: the statement as it ran.
 */
export async function strayWarnings(
  connection: DuckDBConnection,
  names: Names,
  reads: FieldReads,
  tables: readonly NamedTable[],
  ordered: readonly Place[] = [],
  ran = '',
): Promise<string[]> {
  const warnings = await spellingWarnings(connection, names, reads, tables);
  const { all, paths, readStrays } = reads;
  if (readStrays === 'all' || (!all && paths.length === 0)) return warnings;
  const pace = createPace();
  const until = performance.now() + LOOKS_MS;
  for (const table of tables) {
    const isNew = (column: string) => !readStrays.has(foldName(column)) && mayRead(reads, column);
    const columns = [...(table.strays ?? [])].filter(isNew);
    const { fieldAt } = table;
    if (fieldAt === undefined || columns.length === 0) continue;
    const counts = countsOf(connection, table, readSql(reads, columns, table));
    const fieldsOf = async (rows: string): Promise<FieldCounts> => {
      const { places, more } = await counts(rows);
      return { fields: await fieldsIn(fieldAt, places, ordered, pace), more };
    };
    const whole = await fieldsOf(viewOf(names, table.workspace, table.name));
    if (whole.fields.length === 0) continue;
    // Those that WHERE leaves out are not read. For a value that does not fit its own field is NULL there.
    const own = rowsWithoutTries(ran, undefined, [STRAYS_COLUMN, ...(table.strays ?? [])]);
    const kept = own === undefined ? whole : await inTime(connection, until, () => fieldsOf(`(SELECT * FROM ${own})`));
    const { fields, more } = kept ?? whole;
    if (fields.length > 0) warnings.push(warningOf(`${table.workspace}.${table.name}`, fields, more));
  }
  return warnings;
}

/** The fields with strays, those with the most first; `more`: places that were not counted. */
interface FieldCounts {
  fields: [path: string, field: FieldCount][];
  more: number;
}

/** Values that are their text, as the engine's `json_type`. */
const IS_SCALAR = /^(?:U?BIGINT|DOUBLE|BOOLEAN)$/;
const isWithin = (place: string, around: string) => foldName(`${place}/`).startsWith(foldName(`${around}/`));

/** The fields of a table that do not have all that is in these places. */
async function fieldsIn(
  fieldAt: NonNullable<NamedTable['fieldAt']>,
  places: readonly PlaceCount[],
  ordered: readonly Place[],
  pace: ReturnType<typeof createPace>,
): Promise<FieldCounts['fields']> {
  const found = new Map<string, FieldCount>();
  const isOrdered = (place: string) => ordered.some(({ path: [first = ''] }) => isWithin(place, placeOf([first])));
  const kinds = new Map<string, number>();
  for (const { place } of places) kinds.set(place, (kinds.get(place) ?? 0) + 1);
  for (const { place, time, json, count, items, areUneven } of places) {
    const turn = pace();
    if (turn !== undefined) await turn;
    const { path, type } = fieldAt(place);
    const isSame =
      type === 'VARCHAR' && IS_SCALAR.test(json) && !((areUneven || kinds.get(place) !== 1) && isOrdered(place));
    if (isSame || holdsTextOf(type, time)) continue;
    const known = found.get(path) ?? { type, count: 0, whole: 0, items: 0, place };
    known.count += count;
    if (isWhole(type, json)) {
      known.whole += count;
      known.items += items;
    }
    found.set(path, known);
  }
  return [...found].sort(([, a], [, b]) => b.count - a.count);
}

/** Says of the fields that a statement names in how many documents they have another spelling, which it does not read. */
async function spellingWarnings(
  connection: DuckDBConnection,
  names: Names,
  reads: FieldReads,
  tables: readonly NamedTable[],
): Promise<string[]> {
  const warnings: string[] = [];
  const named = { ...reads, all: false, paths: reads.named };
  // Whoever reads this may know.
  if (mayRead(named, EXTRA_COLUMN)) return warnings;
  for (const { workspace, name, spellings = [] } of tables) {
    const view = viewOf(names, workspace, name);
    for (const { field, column, sql } of spellings) {
      if (!mayRead(named, column)) continue;
      const [row] = await answerOf(
        connection,
        `SELECT count(*) FROM ${view} WHERE (${EXTRA_COLUMN}->${quoteText(jsonPath(field))}) IS NOT NULL`,
      );
      const count = Number(row?.[0]);
      if (count === 0) continue;
      const [documents, have] = count === 1 ? ['document', 'has'] : ['documents', 'have'];
      warnings.push(
        `${count.toLocaleString('en-US')} ${documents} of ${workspace}.${name} ${have} ${JSON.stringify(cut(field, TEXT_CHARS_MAX))}, which SQL does not tell from ${JSON.stringify(cut(column, TEXT_CHARS_MAX))}, and does not read: it is in _extra. ${sql} reads both.`,
      );
    }
  }
  return warnings;
}

interface FieldCount {
  type: string | null;
  count: number;
  /** How many of these are kept as a whole, and how many items they have. */
  whole: number;
  items: number;
  /** The first of its places. */
  place: string;
}

/** Whether a stray is of the type of its field, and so one for what is within: see `STRAYS_MAX` in `values/strays.ts`. */
function isWhole(type: string | null, json: string): boolean {
  if (type?.endsWith('[]')) return json === 'ARRAY';
  return /^(?:STRUCT|MAP)\(/.test(type ?? '') && json === 'OBJECT';
}

interface PlaceCount {
  /** That of the first for the items of a list, and the values of a map. */
  place: string;
  time: string | null;
  /** As the engine's `json_type`. */
  json: string;
  count: number;
  /** Those of lists. */
  items: number;
  /** Whether their texts differ in length, as of numbers that have another order then. */
  areUneven: boolean;
}

/** How many strays each place has in some rows, those of places that are not read left out; `more`: places that are not counted. */
const countsOf =
  (connection: DuckDBConnection, { written, strays, itemPlaces }: NamedTable, where: string) =>
  async (from: string): Promise<{ places: PlaceCount[]; more: number }> => {
    const items = [...(strays ?? [])].flatMap((column) => itemPlaces?.(column) ?? []);
    const counts = strayCountsSql(from, { where, items, areTyped: written !== undefined });
    const rows = await answerOf(
      connection,
      `SELECT place, type, json, "values", items, uneven, count(*) OVER () FROM ${counts} ORDER BY 4 DESC LIMIT ${PLACES_MAX}`,
    );
    const places = rows.map(([place, time, json, count, items, uneven]) => ({
      place: String(place),
      time: time === null ? null : String(time),
      json: String(json),
      count: Number(count),
      items: Number(items),
      areUneven: uneven === true,
    }));
    return { places, more: Number(rows[0]?.[6] ?? 0) - rows.length };
  };

/** SQL for whether a place `p` may be read, or what is around it; `columns` are those that may. */
function readSql(
  reads: FieldReads,
  columns: readonly string[],
  { jsonFields }: Pick<NamedTable, 'jsonFields'>,
): string {
  const fields = jsonFields?.();
  const isKey = (path: readonly string[]) => fields !== undefined && isMapKey(fields, path);
  const whole: string[] = [];
  const within: string[] = [];
  for (const column of columns) {
    const patterns = patternsIn(reads, column, isKey);
    const isLong = patterns.join('|').length > PATTERN_CHARS_MAX;
    if (reads.all || isLong || patterns.includes('')) whole.push(quoteText(placeOf([column])));
    else within.push(...patterns.map((pattern) => `${literally(placeOf([column]))}${pattern}`));
  }
  const isWhole = whole.length > 0 ? `split_part(p, '/', 1) IN (${whole.join(', ')})` : 'false';
  return `(${isWhole} OR regexp_full_match(p, ${quoteText(within.join('|'))}, 's'))`;
}

/** Regular expressions for what of a column's place comes after its name; one is empty if all of them are read. */
function patternsIn({ paths }: FieldReads, column: string, isKey: (path: readonly string[]) => boolean): string[] {
  const patterns = new Set<string>();
  for (const [first = '', ...rest] of paths) {
    if (foldName(first) !== foldName(column)) continue;
    const steps = rest.map((step, at) => {
      if (step === ITEM) return '[^/]*';
      const key = literally(placeOf([step]));
      return isKey([column, ...rest.slice(0, at + 1)]) ? key : `(?i:${key})`;
    });
    patterns.add(steps.reduceRight((after, step) => `(/${step}${after === '' ? '(/.*)?' : after})?`, ''));
  }
  return [...patterns];
}

/** The view by which SQL sees a collection or an alias. */
export function viewOf(names: Names, workspace: string, name: string): string {
  return [CATALOG, names.schemaOf(workspace), name].map(quoteName).join('.');
}

/** The warning about the fields of a table, those with the most first; `more`: further ones that are not counted. */
function warningOf(table: string, fields: readonly [path: string, field: FieldCount][], more: number): string {
  const some = fields.slice(0, FIELDS_MAX);
  // Said once if it is the same of all.
  const ways = new Set(some.flatMap(([, { type }]) => (type === null ? [] : (SEEN[type] ?? 'NULL'))));
  const seen = ways.size === 1 ? [...ways].join() : 'NULL';
  const shown = some.map(([path, field]) => fieldSaid(path, field, seen));
  const rest = fields.length - shown.length + more;
  if (rest > 0) shown.push(`and ${rest.toLocaleString('en-US')} more ${rest === 1 ? 'field' : 'fields'}`);
  const isAny =
    fields.some(([path, { type, place }]) => type === null || readAt(path, place) === undefined) || rest > 0;
  const any = isAny ? `. SELECT _id, _strays FROM ${table} WHERE _strays IS NOT NULL has all` : '';
  return `${table}: values that do not fit their field are${ways.size > 1 ? ', unless said otherwise,' : ''} ${seen} here: ${shown.join('; ')}${any}.`;
}

/** Whether all strays of a field have one place. */
const isPlain = (path: string) => !path.includes('[]') && !path.includes('<key>');

/** A step of a path and of a place that is written the same in both, and in a text of SQL. */
const PLAIN_STEP = /^\w+$/;

/** SQL for a field with its strays; undefined: these have many places, of several lists or of keys. */
function readAt(path: string, place: string): string | undefined {
  if (isPlain(path)) return strayRead(place);
  const parts = path.replaceAll('"', '').split('[]');
  const [list = [], item = []] = parts.map((part) => part.split('.').filter((step) => step !== ''));
  const isOne = parts.length === 2 && [...list, ...item].every((step) => PLAIN_STEP.test(step));
  if (!isOne) return undefined;
  const of = list.map(fieldName).join('.');
  const read = [`${of}[i+1]`, ...item.map(fieldName)].join('.');
  const at = `'${list.join('/')}/'||i${item.length === 0 ? '' : `||'/${item.join('/')}'`}`;
  return `coalesce(${STRAYS_COLUMN}->>(${at}), ${read}::VARCHAR) with UNNEST(range(len(${of}))) AS u(i) in FROM`;
}

/** What SQL sees of strays in place of NULL, by the type of their field. */
const SEEN: Readonly<Record<string, string>> = { VARCHAR: 'text', DOUBLE: 'NULL or rounded' };

function fieldSaid(path: string, { type, count, whole, items, place }: FieldCount, seen: string): string {
  const short = path.replace(/"((?:[^"]|"")*)"/g, (_, name: string) => fieldName(name.replaceAll('""', '"')));
  const some = `${count.toLocaleString('en-US')} of ${cut(short, PATH_CHARS_MAX)}`;
  if (type === null) return `${some}, which cannot be a field`;
  const own = SEEN[type] ?? 'NULL';
  const [kept, with_] = [whole.toLocaleString('en-US'), items.toLocaleString('en-US')];
  const ofThese =
    whole === 0
      ? ''
      : ` (${whole === count ? 'kept' : `${kept} kept`} as a whole${items === 0 ? '' : `, with ${with_} items`}, as too many within do not fit)`;
  const sql = readAt(path, place);
  const read = sql === undefined ? '' : `: ${sql}`;
  return `${some} (${cut(type, TEXT_CHARS_MAX)}${own === seen ? '' : `, ${own}`})${ofThese}${read}`;
}
