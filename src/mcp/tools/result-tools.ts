import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { ApiError } from '../../contract/errors.ts';
import type { QueryResponse } from '../../contract/queries.ts';
import { EXPORT_FORMATS, type ExportFormat, PAGE_ROWS_MAX, results } from '../../contract/results.ts';
import type { Fenced } from '../fence.ts';
import { EXPORT_MIMES, exportUri } from '../resources/result-resources.ts';
import { RESULT_VIEW_META } from '../result-view.ts';
import { BUDGET, presentRows } from '../results.ts';
import { ROWS_FIELDS } from './catalog.ts';
import { handTool } from './hand-tool.ts';
import type { Tool, ToolContext } from './tool.ts';

/**
 * The service keeps results that are too large for an answer, and these two tools read them: without the tools a model
 * would run the same query again for every page. Their endpoints are not part of the API; a service
 * that keeps no results does not have them.
 */

interface FetchInput {
  query_id: string;
  offset?: number | undefined;
  limit?: number | undefined;
  columns?: string[] | undefined;
  where?: string | undefined;
  order_by?: string | undefined;
}

async function fetchResult({ client, signal }: ToolContext, input: FetchInput): Promise<Fenced> {
  const limit = input.limit ?? BUDGET.rowsMax;
  const page = await orUnknown(client.fetchResult({ ...input, limit }, { signal }));
  const { column_fields, results: rows, total, rows_kept, offset, is_whole, warnings } = page;
  return presentRows(
    { column_fields, results: rows, warnings } as QueryResponse,
    { ...BUDGET, rowsMax: limit },
    Infinity,
    {
      queryId: input.query_id,
      total: total ?? rows?.length ?? 0,
      isTotalExact: is_whole !== false,
      keptRows: rows_kept ?? total ?? 0,
      offset: offset ?? 0,
      isPage: true,
    },
  );
}

async function exportResult(
  { client, signal, means, progress }: ToolContext,
  { query_id, format }: { query_id: string; format: ExportFormat },
): Promise<Fenced> {
  const { rows, bytes, path, expires_at, is_whole, retyped } = await withProgress(
    client,
    progress,
    { query_id, format },
    () => orUnknown(client.exportResult({ query_id, format }, { signal })),
  );
  const uri = exportUri(query_id, format);
  const firstRows = is_whole === false ? `the first ${rows ?? 0} rows` : undefined;
  const written = (retyped ?? []).map(({ name, type, written_as }) => [name, type, written_as]);
  const hints = [
    means.isElsewhere
      ? 'The resource link is the file, for the human to open or save.'
      : 'Tell the human the path, which is on the machine of the service; the resource link has the same file.',
    firstRows !== undefined &&
      `The file is NOT the whole result: it has ${firstRows}, and the query has more. Tell the human so. For the rest, export the query in parts, each with a WHERE of its own.`,
    written.length > 0 &&
      'written_as lists columns (name, type, type in the file) whose type Parquet does not have; their values are exact. CAST such columns in the SQL to choose another type.',
    format === 'jsonl' && 'Integers are numbers with all their digits; decimals of more than 15 digits are text.',
  ];
  return {
    data: {
      query_id,
      format,
      rows: rows ?? null,
      bytes: bytes ?? null,
      uri,
      ...(means.isElsewhere ? {} : { path: path ?? null }),
      expires_at: expires_at ?? null,
      ...(firstRows === undefined ? {} : { truncated: true, holds: `only ${firstRows}` }),
      ...(written.length > 0 ? { written_as: written } : {}),
    },
    next: hints.filter(Boolean).join(' '),
    links: [
      {
        type: 'resource_link',
        uri,
        name: `${query_id}.${format}`,
        ...(firstRows === undefined ? {} : { description: `Only ${firstRows} of a larger result` }),
        mimeType: EXPORT_MIMES[format],
        size: bytes ?? undefined,
      },
    ],
  };
}

const LOOK_MS = 500;

/** Runs `work`, an export, and meanwhile reports the rows written so far, as told by the service. */
async function withProgress<T>(
  client: Pick<ToolContext['client'], 'listRunningExports'>,
  progress: ToolContext['progress'],
  { query_id, format }: { query_id: string; format: ExportFormat },
  work: () => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const { signal } = over;
  const look = async () => {
    for (;;) {
      await delay(LOOK_MS, undefined, { signal });
      const all = await client.listRunningExports({}, { signal });
      const mine = all.find((one) => one.query_id === query_id && one.format === format);
      const { rows_done: done, rows } = mine ?? {};
      // If the service does not say, the elapsed time is reported instead.
      if (done == null || done === 0) continue;
      progress(done, rows ?? undefined, `${done.toLocaleString('en-US')} rows are written`);
    }
  };
  // Progress is optional: the export itself says what went wrong.
  const looking = look().catch(() => undefined);
  try {
    return await work();
  } finally {
    over.abort();
    await looking;
  }
}

/** Explains a `not_found` from another implementation of the service, which does not know the path at all. */
async function orUnknown<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    const isForeign =
      error instanceof ApiError && error.code === 'not_found' && error.details.messageKey !== 'QUERY_NOT_FOUND';
    if (!isForeign) throw error;
    throw new ApiError(
      'not_found',
      'This service keeps no results: run the query again with ORDER BY, LIMIT and OFFSET.',
      { cause: error },
    );
  }
}

function nextForGone(error: ApiError): string | undefined {
  return error.code === 'not_found' ? 'Run the query again with run_query.' : undefined;
}

const queryId = z.string().regex(/^[0-9A-Za-z-]{1,64}$/, 'is an id from an answer of run_query');

/** Pages through a kept result. */
export function fetchResultTool(): Tool {
  const { offset, columns, where, order_by } = results.fetchResult.body.shape;
  const limit = z.int().min(1).max(PAGE_ROWS_MAX).optional().describe(`Default ${BUDGET.rowsMax}`);
  const shape = { query_id: queryId, offset, limit, columns, where, order_by };
  return handTool<FetchInput>({
    name: 'fetch_result',
    effect: 'read',
    role: 'read-only',
    toolset: 'query',
    title: 'Fetch rows of a kept result',
    description:
      'Page, project, filter or order the kept rows of an earlier query by its query_id, without running it again.',
    shape,
    output: ROWS_FIELDS,
    meta: RESULT_VIEW_META,
    run: fetchResult,
    next: nextForGone,
    nearest: async () => [],
  });
}

/** Exports a kept result. */
export function exportResultTool(): Tool {
  const shape = { query_id: queryId, format: z.enum(EXPORT_FORMATS) };
  return handTool<{ query_id: string; format: ExportFormat }>({
    name: 'export_result',
    effect: 'read',
    role: 'read-only',
    toolset: 'query',
    title: 'Export a kept result',
    description: 'Write the kept rows of an earlier query to a file, for a human or another program.',
    shape,
    output: {
      uri: { type: 'string' },
      path: { type: 'string' },
      rows: { type: 'integer' },
      bytes: { type: 'integer' },
    },
    run: exportResult,
    next: nextForGone,
    nearest: async () => [],
  });
}
