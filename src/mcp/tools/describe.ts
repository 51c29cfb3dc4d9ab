import * as z from 'zod';
import { contract } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import { counted } from '../../contract/in-words.ts';
import { isObject } from '../../contract/json/json.ts';
import { nearest } from '../../contract/nearest.ts';
import { STRAYS_COLUMN } from '../../contract/strays.ts';
import { nearestNames } from '../errors.ts';
import { type Fenced, visibleValue } from '../fence.ts';
import { COUNTED_MAX, EXACT_MAX, FEW, type Figures, figuresOf } from './field-figures.ts';
import { straysOf } from './field-strays.ts';
import { type FieldLine, foldLines } from './fold-lines.ts';
import { handTool } from './hand-tool.ts';
import {
  ANY_KEY,
  ancestorsOf,
  type InferredField,
  identifier,
  inferFields,
  isUnder,
  isWithin,
  LEVELS_MAX,
  quotedIdentifier,
  quotedText,
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
/** Fields that are looked at, and lines that are shown unless more are asked for. */
const FIELDS_MAX = 400;
const LINES_DEFAULT = 40;
const LINES_MAX = 200;
/** Further names that are listed. */
const NAMES_MAX = 100;
/** The column for fields that cannot have one of their own. */
const EXTRA_COLUMN = '_extra';
/** A longer type text is that of a nested type, whose fields have lines of their own. */
const TYPE_CHARS_MAX = 24;

interface DescribeInput {
  workspace: string;
  collection: string;
  sample?: number | undefined;
  /** Only what is at and in this field. */
  path?: string | undefined;
  /** Only fields with this text in their path, or among the keys that are their examples. */
  search?: string | undefined;
  lines?: number | undefined;
}

/**
 * The fields of a collection or alias: path, type, share of all documents, number of different values, range or examples.
 * The examples, and what is in JSON, are from its first documents.
 */
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
  const figures = documents.length === 0 ? new Map() : await figuresOf(context, table, places, total);
  const all = linesOf(inferred, sqlTypes, figures, {
    sampled: documents.length,
    counted: Math.min(total, COUNTED_MAX),
  });
  const wanted = all.filter(isWanted(input));
  if (input.path !== undefined && all.length > 0 && !all.some(({ path }) => isAt(path, input.path))) {
    throw noSuchField(input.path, all);
  }
  const max = input.lines ?? LINES_DEFAULT;
  const folded = foldLines(wanted, max);
  const rows = folded.slice(0, max).map(({ path, type, rest }) => [path, type, ...rest]);
  const cut = folded.slice(max).map(({ path }) => path);
  const seen = new Set(all.map(({ path }) => path));
  const unseen = places
    .filter(({ path, depth }) => depth < LEVELS_MAX && !path.endsWith('[]') && !seen.has(path))
    .toSorted((a, b) => a.depth - b.depth)
    .map(({ path }) => path)
    .slice(0, NAMES_MAX);
  const strays = await straysOf(context, table, places);
  const shown = new Set(folded.slice(0, max).map(({ path }) => path));
  const numberTexts = inferred
    .filter(({ path, isNumberText }) => isNumberText && path !== '_id' && shown.has(path))
    .map(({ path }) => path)
    .slice(0, NAMES_MAX);
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
      basis: basisOf(documents.length, total, figures.size > 0),
      columns: ['path', 'type', 'present', 'distinct', 'range or examples'],
      rows: visibleValue(rows),
      returned: rows.length,
      truncated: left > 0 || isDeeper || cut.length > 0,
      ...(left + cut.length > 0 ? { fields_left_out: left + cut.length } : {}),
      ...(cut.length > 0 ? { left_out: visibleValue(cut.slice(0, NAMES_MAX)) } : {}),
      ...(isDeeper ? { levels_shown: LEVELS_MAX } : {}),
      ...(unseen.length > 0 && left === 0
        ? { [figures.size > 0 ? 'without_values' : 'null_in_sample']: visibleValue(unseen) }
        : {}),
      ...(numberTexts.length > 0 ? { numbers_as_text: visibleValue(numberTexts) } : {}),
      ...(inOtherCase.length > 0 ? { in_other_case: visibleValue(inOtherCase) } : {}),
      ...(strays.length > 0 ? { strays: visibleValue(strays) } : {}),
    },
    next: addressing({
      table,
      paths: all.map((line) => line.path),
      jsons: inferred.filter((field) => isJson(sqlTypes.get(field.path))),
      hasExtra: sqlTypes.has(EXTRA_COLUMN),
      hasTwins: inOtherCase.length > 0,
      hasNumberTexts: numberTexts.length > 0,
      hasStrays: strays.length > 0,
      leftAtTop: leftAtTop + cut.filter((path) => !/[.[]/.test(path)).length,
      leftBelow: left - leftAtTop,
      isDeeper,
    }),
  };
}

function basisOf(sampled: number, total: number, isCounted: boolean): string {
  const [some, all] = [sampled.toLocaleString('en-US'), total.toLocaleString('en-US')];
  if (!isCounted) return `inferred from ${some} of ${all} documents`;
  const counted = total > COUNTED_MAX ? `the first ${COUNTED_MAX.toLocaleString('en-US')} of ${all}` : `all ${all}`;
  const estimated = total > EXACT_MAX ? `over ${FEW.toLocaleString('en-US')} distinct values estimated; ` : '';
  return `${counted} documents; ${estimated}examples from ${some}`;
}

const isAt = (path: string, wanted = '') => path.toLowerCase() === wanted.toLowerCase();

function noSuchField(path: string, lines: readonly FieldLine[]): ApiError {
  const known = lines.map((line) => line.path);
  const near = nearest(path, known);
  return new ApiError(
    'invalid_input',
    `There is no field ${JSON.stringify(path)}. ${near.length > 0 ? `Did you mean ${near.join(' or ')}?` : 'Leave "path" out to see all.'}`,
  );
}

/** Whether a field was asked for. */
function isWanted({ path, search }: DescribeInput): (line: FieldLine) => boolean {
  const text = search?.toLowerCase();
  const has = (value: unknown) => text === undefined || String(value).toLowerCase().includes(text);
  const isIn = (line: FieldLine) =>
    path === undefined || isAt(line.path, path) || isUnder(line.path.toLowerCase(), path.toLowerCase());
  return (line) => isIn(line) && (has(line.path) || (/^(?:map|object) of /.test(line.type) && has(line.rest.at(-1))));
}

const JSON_TYPE = /^JSON(?:\[\d*\])*$/;

/** A line per field: of those with a type in all documents, and of those within JSON in the sample. */
function linesOf(
  inferred: readonly InferredField[],
  places: ReadonlyMap<string, TypePlace>,
  figures: ReadonlyMap<string, Figures>,
  { sampled, counted }: { sampled: number; counted: number },
): FieldLine[] {
  const rank = new Map([...places.keys()].map((path, index) => [path, index]));
  const known = new Set(inferred.map(({ path }) => path));
  const jsons = new Set([...places.values()].filter(({ type }) => JSON_TYPE.test(type)).map(({ path }) => path));
  // What is within a column and has no place in its type does not fit: it is told with the strays.
  const fitting = inferred.filter(({ path }) => places.size === 0 || places.has(path) || isWithin(path, jsons));
  const unseen = [...places.values()].filter(({ path }) => !known.has(path) && (figures.get(path)?.present ?? 0) > 0);
  const rankOf = (path: string): number => {
    for (const of of [path, ...ancestorsOf(path)]) {
      const found = rank.get(of);
      if (found !== undefined) return found;
    }
    return -1;
  };
  const fields: InferredField[] = [
    ...fitting,
    ...unseen.map(({ path, depth }) => ({ path, depth, type: '', present: 0, examples: [] })),
  ];
  // What has no place of its own is within JSON, and stays behind that.
  const ordered = places.size === 0 ? fields : fields.toSorted((a, b) => rankOf(a.path) - rankOf(b.path));
  return ordered.map((field) => {
    const figure = figures.get(field.path);
    const [present, of] = figure === undefined ? [field.present, sampled] : [figure.present, counted];
    const share = Math.round((100 * present) / of);
    const shown = share === 0 ? '<1%' : share === 100 && present < of ? '>99%' : `${share}%`;
    const { least, most, distinct } = figure ?? {};
    const values = least === undefined ? field.examples : least === most ? least : `${least} … ${most}`;
    return {
      path: field.path,
      depth: field.depth,
      type: typeText(places.get(field.path), field, distinct),
      rest: [shown, field.keys === undefined ? (distinct ?? null) : null, values],
    };
  });
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

/** Whether a place has the type JSON, which by itself does not say what values to expect. */
function isJson(place: TypePlace | undefined): boolean {
  return place?.type === 'JSON' && place.path !== EXTRA_COLUMN;
}

/** Nested fields have the words that fields within JSON have. */
const WORDS: Record<string, string> = {
  VARCHAR: 'text',
  BIGINT: 'integer',
  HUGEINT: 'integer',
  DOUBLE: 'number',
  BOOLEAN: 'boolean',
};

function typeText(place: TypePlace | undefined, { type, keys }: InferredField, distinct: number | undefined): string {
  if (place?.type.startsWith('MAP(VARCHAR')) return `map of ${counted(distinct ?? keys ?? 0, 'keys')}`;
  if (keys !== undefined) return `object of ${counted(keys, 'keys')}`;
  if (isJson(place)) return `JSON (${type || 'null'})`;
  const own = place?.type ?? '';
  if (own.endsWith(']')) return own.length <= TYPE_CHARS_MAX ? own : 'array';
  if (own.startsWith('STRUCT')) return 'object';
  return place?.depth === 0 ? own : (WORDS[own] ?? (own === '' ? type : own));
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
    return column === undefined ? [] : [{ column, read: `${EXTRA_COLUMN}->>${quotedText(path)}` }];
  });
}

interface Found {
  table: string;
  paths: readonly string[];
  /** The fields of type JSON. */
  jsons: readonly InferredField[];
  hasExtra: boolean;
  hasTwins: boolean;
  hasNumberTexts: boolean;
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
  if (found.hasNumberTexts)
    hints.push('numbers_as_text: text that sorts and compares as text; TRY_CAST(x AS DOUBLE) is the number');
  if (found.hasTwins)
    hints.push(
      `in_other_case: keys that differ from a column only in case, where that is NULL; coalesce reads both (coalesce(x, ${EXTRA_COLUMN}->>'X'))`,
    );
  if (found.hasStrays)
    hints.push(
      `strays: values that do not fit the type of their field, counted in all documents; SELECT of the field shows them, what is computed sees NULL (their text in a field of text): SELECT _id, ${STRAYS_COLUMN} FROM ${from} WHERE ${STRAYS_COLUMN} IS NOT NULL`,
    );
  if (leftAtTop > 0)
    hints.push(`${leftAtTop} of the fields left out are at the top: run_query with SHOW ${from} lists all columns`);
  if (leftBelow > 0)
    hints.push(`${leftBelow} of the fields left out are nested: SELECT their parent for a few documents to see them`);
  if (found.isDeeper)
    hints.push(`what is deeper than ${LEVELS_MAX} levels is left out: SELECT its parent for a few documents to see it`);
  return `${hints.join('; ')}.`;
}

/** The tool; built at its first use, since schemas take time. */
export function describeTool(): Tool {
  const { workspace, collection } = contract.getCollection.params.shape;
  const sample = z
    .int()
    .min(1)
    .max(SAMPLE_MAX)
    .optional()
    .describe(`Documents that examples come from (default ${SAMPLE_DEFAULT})`);
  const path = z
    .string()
    .min(1)
    .optional()
    .describe('Only this field and what is in it, at all levels: "a.b", "items[]"');
  const search = z.string().min(1).optional().describe('Only fields, and keys of maps, with this text');
  const lines = z
    .int()
    .min(1)
    .max(LINES_MAX)
    .optional()
    .describe(`Default ${LINES_DEFAULT}; deeper fields fold into their parents`);
  const shape = { workspace, collection, path, search, lines, sample };
  return handTool<DescribeInput>({
    name: NAME,
    effect: 'read',
    role: 'read-only',
    toolset: 'query',
    title: 'Describe a collection',
    description:
      'List the fields of a collection or alias, nested ones too: type, presence, distinct values, range or examples. Counted in all documents; use it before run_query.',
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
