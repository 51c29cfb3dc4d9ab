import * as z from 'zod';
import { contract } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import { counted } from '../../contract/in-words.ts';
import { isObject } from '../../contract/json/json.ts';
import { nearestNames } from '../errors.ts';
import { type Fenced, visibleValue } from '../fence.ts';
import { handTool } from './hand-tool.ts';
import {
  ANY_KEY,
  type InferredField,
  identifier,
  inferFields,
  isUnder,
  LEVELS_MAX,
  quotedIdentifier,
} from './infer.ts';
import { nextStepFor } from './next-steps.ts';
import { type TypePlace, typePlaces } from './sql-type.ts';
import type { Tool, ToolContext } from './tool.ts';

/**
 * A tool for something that no endpoint answers: which fields a collection has. A model cannot write SQL without
 * knowing them, and finding out by queries takes several calls and whole documents.
 */

const NAME = 'describe_collection';
const SAMPLE_DEFAULT = 200;
const SAMPLE_MAX = 1_000;
const FIELDS_MAX = 80;
/** The column for fields that cannot have one of their own. */
const EXTRA_COLUMN = '_extra';
/** The column for values that do not fit theirs, which `SELECT *` puts in their places. */
const STRAYS_COLUMN = '_strays';
const STRAYS_MAX = 10;
/** Columns with times whose spelling is looked at. */
const TIMED_MAX = 50;
const EXAMPLE_CHARS_MAX = 40;
/** A longer type text is that of a nested type, whose fields have lines of their own. */
const TYPE_CHARS_MAX = 24;

interface DescribeInput {
  workspace: string;
  collection: string;
  sample?: number | undefined;
}

/** The fields of a collection or alias, inferred from its first documents: path, type, share of documents, examples. */
export async function describeCollection(
  context: Pick<ToolContext, 'client' | 'signal'>,
  input: DescribeInput,
): Promise<Fenced> {
  const { client, signal } = context;
  const about = await readAbout(context, input);
  const table = `${quotedIdentifier(input.workspace)}.${quotedIdentifier(input.collection)}`;
  const limit = input.sample ?? SAMPLE_DEFAULT;
  const answer = await client.runQuery({ sql: { query: `SELECT * FROM ${table} LIMIT ${limit}` } }, { signal });
  const documents = answer.results ?? [];
  const total = about.documents ?? (documents.length < limit ? documents.length : await count(context, table));
  const columns = answer.column_fields ?? [];
  const places = columns.flatMap(({ name, type }) => typePlaces(name ?? '', type ?? ''));
  const keyed = new Set(places.filter(({ isKeyed }) => isKeyed).map(({ path }) => path));
  const { fields: inferred, left, leftAtTop, isDeeper } = inferFields(documents, FIELDS_MAX, keyed);
  const sqlTypes = new Map(places.map((place) => [place.path, place]));
  const rows = inferred.map((field) => {
    const share = Math.round((100 * field.present) / documents.length);
    return [field.path, typeText(sqlTypes.get(field.path), field), `${share === 0 ? '<1' : share}%`, field.examples];
  });
  const seen = new Set(inferred.map(({ path }) => path));
  const unseen = places
    .filter(({ path, depth }) => depth < LEVELS_MAX && !path.endsWith('[]') && !seen.has(path))
    .toSorted((a, b) => a.depth - b.depth)
    .map(({ path }) => path)
    .slice(0, FIELDS_MAX);
  const strays = await straysOf(context, table, new Map(columns.map(({ name, type }) => [name ?? '', type ?? ''])));
  const inOtherCase = caseTwins(
    documents,
    columns.map(({ name }) => identifier(name ?? '')),
  );
  return {
    data: {
      collection: table,
      ...(about.description ? { description: about.description } : {}),
      ...(about.collections === undefined ? {} : { alias_of: about.collections }),
      ...(about.recognizeTimes === true ? { recognize_times: true } : {}),
      basis: `inferred from ${documents.length.toLocaleString('en-US')} of ${total.toLocaleString('en-US')} documents`,
      columns: ['path', 'type', 'present', 'examples'],
      rows: visibleValue(rows),
      returned: rows.length,
      truncated: left > 0 || isDeeper,
      ...(left > 0 ? { fields_left_out: left } : {}),
      ...(isDeeper ? { levels_shown: LEVELS_MAX } : {}),
      ...(unseen.length > 0 && left === 0 ? { null_in_sample: visibleValue(unseen) } : {}),
      ...(inOtherCase.length > 0 ? { in_other_case: visibleValue(inOtherCase) } : {}),
      ...(strays.length > 0 ? { strays: visibleValue(strays) } : {}),
    },
    next: addressing({
      table,
      paths: inferred.map((field) => field.path),
      jsons: inferred.filter((field) => isJson(sqlTypes.get(field.path))),
      hasExtra: sqlTypes.has(EXTRA_COLUMN),
      hasTwins: inOtherCase.length > 0,
      hasStrays: strays.length > 0,
      leftAtTop,
      leftBelow: left - leftAtTop,
      isDeeper,
    }),
  };
}

interface About {
  description?: string | null | undefined;
  /** Number of documents, if the service has counted them. */
  documents?: number | null | undefined;
  recognizeTimes?: boolean | null | undefined;
  /** For an alias: the collections behind it. */
  collections?: readonly string[] | undefined;
}

/** Reads the collection with this name, or else the alias. Rejects `not_found` as for a collection. */
async function readAbout(
  { client, signal }: Pick<ToolContext, 'client' | 'signal'>,
  { workspace, collection }: DescribeInput,
): Promise<About> {
  try {
    const {
      description,
      stats,
      recognize_times: recognizeTimes,
    } = await client.getCollection({ workspace, collection }, { signal });
    return { description, documents: stats?.doc_count, recognizeTimes };
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'not_found') throw error;
    const alias = await client.getAlias({ workspace, alias: collection }, { signal }).catch(() => undefined);
    if (alias === undefined) throw error;
    return { description: alias.description, collections: alias.collections ?? [] };
  }
}

async function count({ client, signal }: Pick<ToolContext, 'client' | 'signal'>, table: string): Promise<number> {
  const { results } = await client.runQuery({ sql: { query: `SELECT count(*) AS n FROM ${table}` } }, { signal });
  return Number(results?.[0]?.['n']);
}

const DAY = '\\d{4}-\\d\\d-\\d\\d';
const CLOCK = '[T ][\\d:.]+';
/** SQL for the type of the time that a text `t` is, by its look. */
const TIME_TYPE = `CASE WHEN regexp_full_match(t, '${DAY}') THEN 'DATE' WHEN regexp_full_match(t, '${DAY}${CLOCK}') THEN 'TIMESTAMP'
  WHEN regexp_full_match(t, '${DAY}${CLOCK}(Z|[+-][\\d:]+)') THEN 'TIMESTAMP WITH TIME ZONE' END`;

/**
 * The places of values that do not fit, those with the most first: `[]` for all items of a list. Not those of times that
 * are only spelled otherwise than most of their column.
 */
async function straysOf(
  { client, signal }: Pick<ToolContext, 'client' | 'signal'>,
  table: string,
  types: ReadonlyMap<string, string>,
): Promise<Record<string, unknown>[]> {
  const rowsOf = async (query: string) => (await client.runQuery({ sql: { query } }, { signal })).results ?? [];
  const column = `SELECT true AS has_strays FROM (DESCRIBE ${table}) WHERE column_name = '${STRAYS_COLUMN}' AND column_type = 'JSON'`;
  if ((await rowsOf(column))[0]?.['has_strays'] !== true) return [];
  const pointer = `'/' || replace(replace(p, '~', '~0'), '/', '~1')`;
  const timed = [...types].filter(([, type]) => /TIMESTAMP|DATE/.test(type)).slice(0, TIMED_MAX);
  const isSpelling = timed.map(([name, type]) => {
    const place = text(identifier(name).replaceAll('~', '~0').replaceAll('/', '~1'));
    return `((p = ${place} OR starts_with(p, ${place} || '/')) AND contains(${text(type)}, ${TIME_TYPE}))`;
  });
  return rowsOf(
    `SELECT regexp_replace(p, '/[0-9]+\\b', '/[]', 'g') AS place, count(*) AS "values",
       left(any_value(v::VARCHAR), ${EXAMPLE_CHARS_MAX}) AS example
     FROM (SELECT p, json_extract(s, ${pointer}) AS v, (v->>'$') AS t
       FROM (SELECT ${STRAYS_COLUMN} AS s, unnest(json_keys(${STRAYS_COLUMN})) AS p FROM ${table} WHERE ${STRAYS_COLUMN} IS NOT NULL))
     WHERE NOT coalesce(${[...isSpelling, 'false'].join(' OR ')}, false)
     GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${STRAYS_MAX}`,
  );
}

const text = (value: string) => `'${value.replaceAll("'", "''")}'`;

/** Whether a place has the type JSON, which by itself does not say what values to expect. */
function isJson(place: TypePlace | undefined): boolean {
  return place?.type === 'JSON' && place.path !== EXTRA_COLUMN;
}

function typeText(place: TypePlace | undefined, { type, keys }: InferredField): string {
  if (keys !== undefined) return `${place?.type.startsWith('MAP') ? 'map' : 'object'} of ${counted(keys, 'keys')}`;
  if (isJson(place)) return `JSON (${type})`;
  const own = place?.depth === 0 ? place.type : '';
  return own !== '' && own.length <= TYPE_CHARS_MAX ? own : type;
}

/**
 * Keys in `_extra` that are spelled differently from a column only in case, and how SQL reads them: selecting the
 * column gives NULL, and nobody would think of looking in `_extra`.
 */
function caseTwins(documents: readonly Readonly<Record<string, unknown>>[], columns: readonly string[]): object[] {
  const byLower = new Map(columns.map((column) => [column.toLowerCase(), column]));
  const keys = new Set<string>();
  for (const { [EXTRA_COLUMN]: extra } of documents) {
    if (!isObject(extra)) continue;
    for (const key of Object.keys(extra)) if (keys.size < FIELDS_MAX) keys.add(key);
  }
  return [...keys].flatMap((key) => {
    const column = byLower.get(identifier(key).toLowerCase());
    const path = /^\w+$/.test(key) ? key : `$.${JSON.stringify(key)}`;
    return column === undefined ? [] : [{ column, read: `${EXTRA_COLUMN}->>'${path.replaceAll("'", "''")}'` }];
  });
}

interface Found {
  table: string;
  paths: readonly string[];
  /** The fields of type JSON. */
  jsons: readonly InferredField[];
  hasExtra: boolean;
  hasTwins: boolean;
  hasStrays: boolean;
  leftAtTop: number;
  leftBelow: number;
  isDeeper: boolean;
}

/** How to address the fields in SQL. Stands outside the fence, so it names no field of a document. */
function addressing({ table, paths, jsons, leftAtTop, leftBelow, ...found }: Found): string {
  // A name that this service would not allow is not repeated outside the fence.
  const from = /^"[\w.-]+"\."[\w-]+"$/.test(table) ? table : 'the collection';
  const hints = [`run_query with FROM ${from}`];
  if (paths.some((path) => path.includes('.'))) hints.push('nested fields by their path (SELECT a.b)');
  if (paths.some((path) => path.includes(`.${ANY_KEY}`)))
    hints.push(
      `${ANY_KEY} is any key: m.key or m['odd key'] for one (in a map in the letter case of the documents, and NULL where it is missing); for key and value of all, unnest(map_entries(m)) of a map, json_each(m) of an object`,
    );
  const lists = paths.filter((path) => path.endsWith('[]'));
  const isInJson = (list: string) =>
    [EXTRA_COLUMN, ...jsons.map(({ path }) => path)].some((path) => isUnder(list, path));
  if (!lists.every(isInJson)) hints.push('x[] by unnest (SELECT unnest(x) AS item)');
  if (jsons.some(({ type }) => /text|integer|number|boolean/.test(type)))
    hints.push(
      "x of type JSON by a cast (TRY_CAST(x->>'$' AS DOUBLE), text by (x->>'$')): bare it sorts and compares as text. GROUP BY json_type(x) counts what all documents have there",
    );
  if (jsons.some(({ type }) => type.includes('array')))
    hints.push('arrays in JSON by unnest(TRY_CAST(x AS JSON[])), and (x->>0) is the first item');
  if (found.hasExtra)
    hints.push(
      `further fields are in the column ${EXTRA_COLUMN}, by their key (${EXTRA_COLUMN}->>'$.key', '$."odd key"')`,
    );
  if (found.hasTwins)
    hints.push(
      `in_other_case: keys that differ from a column only in case, where that is NULL; coalesce reads both (coalesce(x, ${EXTRA_COLUMN}->>'X'))`,
    );
  if (found.hasStrays)
    hints.push(
      `strays: values that do not fit the type of their field, counted in all documents; SELECT of the field shows them, what is computed sees NULL (their text in a field of text): SELECT _id, ${STRAYS_COLUMN} FROM ${from} WHERE ${STRAYS_COLUMN} IS NOT NULL`,
    );
  if (leftAtTop > 0)
    hints.push(`${leftAtTop} of the fields left out are at the top: run_query with DESCRIBE ${from} lists all columns`);
  if (leftBelow > 0)
    hints.push(`${leftBelow} of the fields left out are nested: SELECT their parent for a few documents to see them`);
  if (found.isDeeper)
    hints.push(`what is deeper than ${LEVELS_MAX} levels is left out: SELECT its parent for a few documents to see it`);
  return `${hints.join('; ')}.`;
}

/** The tool; built at its first use, since schemas take time. */
export function describeTool(): Tool {
  const { workspace, collection } = contract.getCollection.params.shape;
  const sample = z.int().min(1).max(SAMPLE_MAX).optional().describe(`Documents to look at (default ${SAMPLE_DEFAULT})`);
  const shape = { workspace, collection, sample };
  return handTool<DescribeInput>({
    name: NAME,
    effect: 'read',
    role: 'read-only',
    toolset: 'query',
    title: 'Describe a collection',
    description:
      'List the fields of a collection or alias, nested ones too, with types, presence and examples. Inferred from a sample; use it before run_query.',
    shape,
    output: {
      basis: { type: 'string' },
      columns: { type: 'array' },
      rows: { type: 'array' },
      truncated: { type: 'boolean' },
    },
    run: describeCollection,
    next: (error) => nextStepFor(contract.getCollection, error),
    nearest: async ({ client, signal }, input, error) => {
      const alias = { ...input, alias: input['collection'] };
      const near = await Promise.all([
        nearestNames(client, contract.getCollection, input, error, signal),
        nearestNames(client, contract.getAlias, alias, error, signal),
      ]);
      return [...new Set(near.flat())];
    },
  });
}
