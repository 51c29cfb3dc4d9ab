import * as z from 'zod';
import { AnyObject, Json, resource, Timestamp } from './fields.ts';
import type { Contract } from './row.ts';

/**
 * For calls that answer with a QueryResponse: asks to keep the whole result, and to return at most this many of its
 * rows: `x-colloquy-keep: 50`. `default_row_limit` is then not applied. `x-colloquy-keep: whole` keeps it however small it
 * is, and returns no rows. Other services ignore the header.
 */
export const KEEP_HEADER = 'x-colloquy-keep';

export const EXPORT_FORMATS = ['csv', 'jsonl', 'parquet'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** `keeping` in a QueryResponse whose result was to be kept. */
export const Keeping = resource({
  total: z.number().describe('Rows of the whole result, as far as it was read'),
  is_total_exact: z.boolean().describe('False: there are more rows than were read'),
  is_kept: z.boolean(),
  rows_kept: z.number(),
  reason: z.string().describe('Why it is not kept though it should be'),
  expires_at: Timestamp,
});
export type Keeping = z.infer<typeof Keeping>;

export const KeptResult = resource({
  query_id: z.string(),
  rows: z.number(),
  is_whole: z.boolean().describe('False: the result has more rows than are kept'),
  bytes: z.number(),
  columns: z.array(z.string()),
  created_at: Timestamp,
  expires_at: Timestamp,
});
export type KeptResult = z.infer<typeof KeptResult>;

const columnFields = z.array(resource({ name: z.string(), type: z.string() }));

/** A page of a kept result, in the shape of a QueryResponse. */
export const ResultRows = resource({
  query_id: z.string(),
  column_fields: columnFields,
  results: z.array(AnyObject),
  offset: z.number(),
  total: z.number().describe('Kept rows for which the condition holds, whatever the page'),
  rows_kept: z.number(),
  is_whole: z.boolean().describe('False: the result has more rows than are kept'),
  warnings: z.array(z.string()).describe('Of the query, the condition and the order'),
});
export type ResultRows = z.infer<typeof ResultRows>;

const ColumnProfile = resource({
  name: z.string(),
  type: z.string(),
  nulls: z.number(),
  strays: z.number().describe('Values that do not fit the type: the other figures leave them out'),
  distinct: z.number().describe('Null for nested values, which are not compared, and in results of millions of values'),
  min: Json,
  max: Json,
  samples: z.array(Json).describe('Up to five values, the most frequent of the first 10,000 rows first'),
});
export const ResultProfile = resource({
  query_id: z.string(),
  rows: z.number(),
  is_whole: z.boolean().describe('False: the result has more rows, of which this says nothing'),
  columns: z.array(ColumnProfile).describe('The first hundred at most'),
});
export type ResultProfile = z.infer<typeof ResultProfile>;

export const ResultExport = resource({
  query_id: z.string(),
  format: z.enum(EXPORT_FORMATS),
  rows: z.number(),
  is_whole: z.boolean().describe('False: the result has more rows than the file'),
  retyped: z
    .array(resource({ name: z.string(), type: z.string(), written_as: z.string() }))
    .describe('Columns with a type that the format lacks; their values are exact'),
  bytes: z.number(),
  path: z.string().describe("On the service's machine; null for a collection, whose file is only to be fetched"),
  expires_at: Timestamp.describe('When the file is removed'),
});
export type ResultExport = z.infer<typeof ResultExport>;

/** An export that is being written. */
export const RunningExport = resource({
  query_id: z.string(),
  collection: z.string().describe('As workspace.collection; null for a result'),
  format: z.enum(EXPORT_FORMATS),
  rows_done: z.number().describe('Null where the format does not say'),
  rows: z.number().describe('Of the whole file'),
});
export type RunningExport = z.infer<typeof RunningExport>;

export const RemovedExport = resource({ query_id: z.string(), bytes: z.number() });
export type RemovedExport = z.infer<typeof RemovedExport>;

export const ExportPart = resource({
  bytes: z.number().describe('Size of the whole file'),
  data: z.string().describe('This part in Base64'),
});
export type ExportPart = z.infer<typeof ExportPart>;

const path = '/v1/colloquy/results';
const params = z.object({ query_id: z.string().min(1).describe('From the answer of the query') });
const format = z.enum(EXPORT_FORMATS);

/** Most rows of a page, and most bytes of a part of an export. */
export const PAGE_ROWS_MAX = 10_000;
export const PART_BYTES_MAX = 8 * 1024 * 1024;

/** Results of queries, kept unchanged, at most until the service stops, for the API key that ran the query. */
export const results = {
  listResults: {
    method: 'GET',
    path,
    title: 'List kept results',
    summary: 'The results that are kept for the API key, newest first.',
    effect: 'read',
    role: 'read-only',
    result: z.array(KeptResult),
  },
  fetchResult: {
    method: 'POST',
    path: `${path}/{query_id}/rows`,
    title: 'Fetch rows of a kept result',
    summary: 'Page, project, filter and order a result without running its query again.',
    effect: 'read',
    role: 'read-only',
    params,
    body: z.object({
      offset: z.int().min(0).optional(),
      limit: z.int().min(1).max(PAGE_ROWS_MAX).optional().describe('Rows wanted (default 50)'),
      columns: z.array(z.string()).min(1).optional(),
      where: z.string().min(1).optional().describe('SQL condition over its columns'),
      order_by: z.string().min(1).optional().describe('As after ORDER BY'),
    }),
    result: ResultRows,
  },
  profileResult: {
    method: 'GET',
    path: `${path}/{query_id}/profile`,
    title: 'Profile a kept result',
    summary: 'Nulls, different values, bounds and frequent values of each column.',
    effect: 'read',
    role: 'read-only',
    params,
    result: ResultProfile,
  },
  // A `read`: writing what can be read anyway to a file changes nothing that is stored.
  exportResult: {
    method: 'POST',
    path: `${path}/{query_id}/exports`,
    title: 'Export a kept result',
    summary: 'Write all that is kept of a result to a file, as CSV, JSON lines or Parquet.',
    effect: 'read',
    role: 'read-only',
    params,
    body: z.object({ format }),
    result: ResultExport,
  },
  exportCollection: {
    method: 'POST',
    path: '/v1/colloquy/ws/{workspace}/collections/{collection}/exports',
    title: 'Export a collection',
    summary:
      'Write all documents of a collection, as of one moment, to a file that can be read in parts until it is removed or not read for some minutes. Its id is `query_id`.',
    effect: 'read',
    role: 'read-only',
    params: z.object({ workspace: z.string().min(1), collection: z.string().min(1) }),
    body: z.object({ format }),
    result: ResultExport,
  },
  listRunningExports: {
    method: 'GET',
    path: '/v1/colloquy/exports',
    title: 'List running exports',
    summary: 'The exports that are being written now, of results and collections, for the API key.',
    effect: 'read',
    role: 'read-only',
    result: z.array(RunningExport),
  },
  readExport: {
    method: 'GET',
    path: `${path}/{query_id}/exports/{format}`,
    title: 'Read an exported result',
    summary: 'A part of the file of an exported result.',
    effect: 'read',
    role: 'read-only',
    params: z.object({ ...params.shape, format: z.string().min(1) }),
    query: z.object({
      offset: z.int().min(0).optional().describe('Bytes to skip (default 0)'),
      length: z.int().min(1).max(PART_BYTES_MAX).optional().describe(`Bytes wanted (default ${PART_BYTES_MAX})`),
    }),
    result: ExportPart,
  },
  // A `read` as well: it only ends what the caller's own export has begun.
  removeExport: {
    method: 'DELETE',
    path: `${path}/{query_id}/exports/{format}`,
    title: 'Remove an exported collection',
    summary: 'Remove the file of an exported collection before its time.',
    effect: 'read',
    role: 'read-only',
    params: z.object({ ...params.shape, format: z.string().min(1) }),
    result: RemovedExport,
  },
} as const satisfies Contract;
