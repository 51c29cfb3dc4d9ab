import * as z from 'zod';
import { contract } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import { isObject } from '../../contract/json/json.ts';
import { nearest } from '../../contract/nearest.ts';
import { inQuotes, quotedPath } from '../../contract/text.ts';
import { DEFAULT_WORKSPACE } from '../../contract/workspaces.ts';
import { nearestNames } from '../errors.ts';
import { type Fenced, visibleValue } from '../fence.ts';
import { addressing } from './addressing.ts';
import { COUNTED_MAX, EXACT_MAX, FEW, figuresOf } from './field-figures.ts';
import { EXTRA_COLUMN, isJson, linesOf } from './field-lines.ts';
import { straysOf } from './field-strays.ts';
import { type FieldLine, foldLines, withRuns } from './fold-lines.ts';
import { handTool } from './hand-tool.ts';
import { identifier, inferFields, isUnder, LEVELS_MAX } from './infer.ts';
import { nextStepFor } from './next-steps.ts';
import { typePlaces } from './sql-type.ts';
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
  const table = quotedPath(input.workspace, input.collection);
  const limit = input.sample ?? SAMPLE_DEFAULT;
  const answer = await client.runQuery({ sql: { query: `SELECT * FROM ${table} LIMIT ${limit}` } }, { signal });
  const documents = answer.results ?? [];
  const total = about.documents ?? (documents.length < limit ? documents.length : await count(context, table));
  const columns = answer.column_fields ?? [];
  const places = columns.flatMap(({ name, type }) => typePlaces(name ?? '', type ?? ''));
  const keyed = new Map(places.flatMap(({ path, any }) => (any === undefined ? [] : [[path, any] as const])));
  const { fields: inferred, left, leftAtTop, isDeeper } = inferFields(documents, FIELDS_MAX, keyed);
  const sqlTypes = new Map(places.map((place) => [place.path, place]));
  const { strays, more: straysMore } = await straysOf(context, table, places, (path) => isIn(input, path));
  const read = new Map(strays.flatMap((one) => (one.read === undefined ? [] : [[one.path, one.read] as const])));
  const figures =
    documents.length === 0 ? new Map() : await figuresOf(context, table, places, { documents: total, strays: read });
  const all = linesOf(inferred, sqlTypes, figures, {
    sampled: documents.length,
    counted: Math.min(total, COUNTED_MAX),
  });
  const wanted = all.filter(isWanted(input));
  if (input.path !== undefined && all.length > 0 && !all.some(({ path }) => isAt(path, input.path))) {
    throw noSuchField(input.path, all);
  }
  const max = input.lines ?? LINES_DEFAULT;
  // Whoever asks for some fields wants to see each.
  const isAll = input.path === undefined && input.search === undefined;
  const folded = foldLines(isAll ? withRuns(wanted) : wanted, max);
  const rows = folded.slice(0, max).map(({ path, type, rest }) => [path, type, ...rest]);
  const cut = folded.slice(max).map(({ path }) => path);
  const seen = new Set(all.map(({ path }) => path));
  const unseen = places
    .filter(({ path, depth }) => depth < LEVELS_MAX && !path.endsWith('[]') && !seen.has(path))
    .toSorted((a, b) => a.depth - b.depth)
    .map(({ path }) => path)
    .slice(0, NAMES_MAX);
  const shown = new Set(folded.slice(0, max).flatMap(({ path, paths }) => paths ?? path));
  // Integers beyond 2^53 are shown as text.
  const isText = (path: string) => /^(?:VARCHAR|JSON)$/.test(sqlTypes.get(path)?.type ?? 'VARCHAR');
  const numberTexts = inferred
    .filter(({ path, isNumberText }) => isNumberText && path !== '_id' && shown.has(path) && isText(path))
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
      ...(about.loadNotes ? { load_notes: visibleValue(about.loadNotes) } : {}),
      basis: basisOf(documents.length, total, figures.size > 0),
      columns: ['path', 'type', 'present', 'distinct', 'range or examples (all, if as many as distinct)'],
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
      ...(straysMore > 0 ? { more_fields_with_strays: straysMore } : {}),
    },
    next: addressing({
      table,
      paths: all.map((line) => line.path),
      jsons: inferred.filter((field) => isJson(sqlTypes.get(field.path))),
      hasExtra: sqlTypes.has(EXTRA_COLUMN),
      hasTwins: inOtherCase.length > 0,
      hasNumberTexts: numberTexts.length > 0,
      strays,
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

/** Whether a field is the one that was asked for, or within it. */
function isIn({ path }: Pick<DescribeInput, 'path'>, field: string): boolean {
  return path === undefined || isAt(field, path) || isUnder(field.toLowerCase(), path.toLowerCase());
}

/** Whether a field was asked for. */
function isWanted({ path, search }: DescribeInput): (line: FieldLine) => boolean {
  const text = search?.toLowerCase();
  const has = (value: unknown) => text === undefined || String(value).toLowerCase().includes(text);
  return (line) =>
    isIn({ path }, line.path) && (has(line.path) || (/^(?:map|object) of /.test(line.type) && has(line.rest.at(-1))));
}

interface About {
  description?: string | null | undefined;
  /** Number of documents, if the service has counted them. */
  documents?: number | null | undefined;
  recognizeTimes?: boolean | null | undefined;
  /** What loads told of its rows. */
  loadNotes?: readonly string[] | null | undefined;
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
      load_notes: loadNotes,
    } = await client.getCollection({ workspace, collection }, { signal });
    return { description, documents: stats?.doc_count, recognizeTimes, loadNotes };
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
    return column === undefined ? [] : [{ column, read: `${EXTRA_COLUMN}->>${inQuotes(path, "'")}` }];
  });
}

/** The tool; built at its first use, since schemas take time. */
export function describeTool(): Tool {
  const { workspace, collection } = contract.getCollection.params.shape;
  const sample = z.int().min(1).max(SAMPLE_MAX).optional();
  const path = z.string().min(1).optional().describe('Only this field and all in it: "a.b", "items[]"');
  const search = z.string().min(1).optional().describe('Only fields and map keys with this text');
  const lines = z.int().min(1).max(LINES_MAX).optional();
  const shape = { workspace: workspace.default(DEFAULT_WORKSPACE), collection, path, search, lines, sample };
  return handTool<DescribeInput>({
    name: NAME,
    effect: 'read',
    role: 'read-only',
    toolset: 'query',
    title: 'Describe a collection',
    description:
      'List the fields of a collection or alias, nested ones too: type, presence, distinct values, range or examples.',
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
