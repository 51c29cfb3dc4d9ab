import * as z from 'zod';
import { ApiError } from '../../contract/errors.ts';
import type { QueryResponse } from '../../contract/queries.ts';
import { PAGE_ROWS_MAX, results } from '../../contract/results.ts';
import type { Fenced } from '../fence.ts';
import { RESULT_VIEW_META } from '../result-view.ts';
import { BUDGET, presentRows } from '../results.ts';
import { ROWS_FIELDS } from './catalog.ts';
import { handTool } from './hand-tool.ts';
import type { Tool, ToolContext } from './tool.ts';

/**
 * The service keeps results that are too large for an answer, and this tool and `export_result` read them: without these a model
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

/** Explains a `not_found` from another implementation of the service, which does not know the path at all. */
export async function orUnknown<T>(call: Promise<T>): Promise<T> {
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

export function nextForGone(error: ApiError): string | undefined {
  return error.code === 'not_found' ? 'Run the query again with run_query.' : undefined;
}

export const queryId = z.string().regex(/^[0-9A-Za-z-]{1,64}$/, 'is an id from an answer of run_query');

/** Pages through a kept result. */
export function fetchResultTool(): Tool {
  const { offset, columns, where, order_by } = results.fetchResult.body.shape;
  const limit = z.int().min(1).max(PAGE_ROWS_MAX).optional();
  const shape = { query_id: queryId, offset, limit, columns, where, order_by };
  return handTool<FetchInput>({
    name: 'fetch_result',
    effect: 'read',
    role: 'read-only',
    toolset: 'query',
    title: 'Fetch rows of a kept result',
    description: 'Page, project, filter or order the kept rows of an earlier query, by its query_id.',
    shape,
    output: ROWS_FIELDS,
    meta: RESULT_VIEW_META,
    run: fetchResult,
    next: nextForGone,
  });
}
