import * as z from 'zod';
import type { RefusalKind } from './errors.ts';
import { CollectionParam, WorkspaceParam } from './fields.ts';
import type { JsonObject } from './json/json.ts';
import type { Row } from './row.ts';

/*
 * The one endpoint that takes documents as a stream of bytes. It is beside the API: no tool, and its answer is a stream, too,
 * of JSON lines, so that whoever sends knows at every moment what is in: `{"progress": …}` after each step that is durable,
 * and at the end `{"data": …}`, or `{"error": …, "status": …}` with the error as every endpoint has it. Before the first
 * line an error is answered as such; that of a load which ended with nothing stored has its result as `data`.
 */

const NO_NUL = /^[^\0]*$/;
const LOAD_FORMATS = ['json', 'jsonl', 'csv', 'parquet'] as const;
export type LoadFormat = (typeof LOAD_FORMATS)[number];

/** What the entries of a file are counted in. */
export const ENTRY_UNITS = ['line', 'row', 'element'] as const;
export type EntryUnit = (typeof ENTRY_UNITS)[number];

const FILE_FIELD_CHARS_MAX = 200;
const FILE_NAME_CHARS_MAX = 4_096;

const Count = z.coerce.number().int().min(0);

export const LOAD = {
  method: 'POST',
  path: '/v1/orgs/self/ws/{workspace}/collections/{collection}/load',
  title: 'Load documents',
  summary: 'Add the documents of a stream of bytes to a collection.',
  effect: 'update',
  role: 'member',
  params: z.object({ workspace: WorkspaceParam, collection: CollectionParam }),
  query: z.object({
    format: z.enum(LOAD_FORMATS),
    id_field: z.string().min(1).optional().describe('The field whose text or number is the _id, too'),
    file_field: z
      .string()
      .min(1)
      .max(FILE_FIELD_CHARS_MAX)
      .regex(NO_NUL)
      .optional()
      .describe('A field that gets file_name, in each document'),
    file_name: z
      .string()
      .max(FILE_NAME_CHARS_MAX)
      .regex(NO_NUL)
      .optional()
      .describe('The name of the file, for file_field'),
    sample: Count.optional().describe(
      'Only read this many entries, answer them, and write nothing; the collection may be missing',
    ),
    skip: Count.optional().describe('Entries to leave out at the beginning'),
    line: Count.optional().describe('Number of the first line, for a part of a file'),
    unit: z
      .enum(ENTRY_UNITS)
      .optional()
      .describe('What the lines of jsonl are of the file that they were made of (default line)'),
    header_row: Count.optional().describe('Number of the line of CSV that names its columns (default 1)'),
    on_error: z
      .enum(['stop', 'skip'])
      .optional()
      .describe('Whether the first refused entry ends the load (the default)'),
    csv: z.string().optional().describe('How CSV is read, as JSON: the fields of format_params.csv'),
    types: z.string().optional().describe('Of CSV: infer (the default), text, or types of columns by name, as JSON'),
  }),
  result: z.unknown(),
} as const satisfies Row;

/** How much is in. */
export interface LoadProgress {
  entries: number;
  added: number;
  replaced: number;
}

export interface LoadResult extends LoadProgress {
  /** Documents whose `_id` was generated. */
  without_id: number;
  refused_count: number;
  /** The first of them, with their line or row. */
  refused: { at: number; _id: string | null; error: string; kind?: RefusalKind }[];
  warnings: string[];
  /** Why it ended before the end; null: it did not. */
  stopped: string | null;
  /** With what the cells of CSV were separated. */
  separator?: string;
  /** The documents that were asked for, and whether they are all. */
  sample?: JsonObject[];
  is_all?: boolean;
  /** The columns of a new collection of these documents, with their types as SQL; of rows, of all that was looked at. */
  columns?: { name: string; type: string }[];
}

/** The type of a load's body. */
export const LOAD_TYPE = 'application/octet-stream';
export const LOAD_ANSWER_TYPE = 'application/x-ndjson';
