import { ApiError } from '../../contract/errors.ts';
import { EXPORT_FORMATS, type ExportFormat } from '../../contract/results.ts';
import { visibleJson, visibleText } from '../../contract/visible.ts';
import type { Client } from '../../http/client.ts';
import { visibleValue } from '../fence.ts';
import { fencedJson } from './data-resources.ts';
import type { ListedResource, ResourceContent, ResourceContext, ResourceKind } from './resource-kinds.ts';
import { uriOf } from './resource-kinds.ts';

const RESULT = 'colloquy://results/{query_id}';
const EXPORT = 'colloquy://results/{query_id}.{format}';
const JSON_MIME = 'application/json';
/** Most bytes of a result or exported file that one read returns. */
const BYTES_MAX = 4 * 1024 * 1024;
const PAGE_ROWS = 2_000;

export const EXPORT_MIMES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv',
  jsonl: 'application/jsonl',
  parquet: 'application/vnd.apache.parquet',
};

export function exportUri(queryId: string, format: ExportFormat): string {
  return uriOf(EXPORT, { query_id: queryId, format });
}

async function queryIds({ connect, signal }: ResourceContext): Promise<string[]> {
  const kept = await listed(await connect(), signal);
  return kept.flatMap(({ query_id }) => query_id ?? []);
}

/** Empty if the service keeps no results and answers `not_found`. */
async function listed(client: Client, signal: AbortSignal | undefined) {
  return client.listResults({}, { signal }).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'not_found') return [];
    throw error;
  });
}

async function readRows(client: Client, queryId: string, signal: AbortSignal | undefined): Promise<ResourceContent> {
  const rows: unknown[][] = [];
  let bytes = 0;
  for (;;) {
    const page = await client.fetchResult({ query_id: queryId, offset: rows.length, limit: PAGE_ROWS }, { signal });
    const fields = page.column_fields ?? [];
    const names = fields.map(({ name }) => name ?? '');
    const before = rows.length;
    for (const row of page.results ?? []) {
      const values = names.map((name) => visibleValue(Object.hasOwn(row, name) ? row[name] : null));
      bytes += Buffer.byteLength(JSON.stringify(values));
      if (bytes > BYTES_MAX) break;
      rows.push(values);
    }
    const total = page.total ?? rows.length;
    if (bytes <= BYTES_MAX && rows.length > before && rows.length < total) continue;
    const truncated = rows.length < total || page.is_whole === false;
    const isPart = page.is_whole === false;
    const more = isPart ? ` The query has more rows than these ${total}, which are the first; no more are kept.` : '';
    const next = `${rows.length} of ${total} rows are here: the tool fetch_result pages and filters, ${exportUri(queryId, 'csv')} is the file.${more}`;
    const types = fields.map(({ type }) => type ?? null);
    const extent = isPart ? { at_least: total, kept: `only the first ${total} rows` } : { total };
    const data = { query_id: queryId, columns: names, types, rows, returned: rows.length, ...extent, truncated };
    return fencedJson({ data, next: truncated ? next : undefined });
  }
}

function requireFormat(format: string): ExportFormat {
  const known = EXPORT_FORMATS.find((one) => one === format);
  if (known !== undefined) return known;
  throw new ApiError('not_found', `there is no format "${format}"; the formats are ${EXPORT_FORMATS.join(', ')}.`);
}

async function readFile(
  client: Client,
  queryId: string,
  format: ExportFormat,
  signal: AbortSignal | undefined,
): Promise<ResourceContent> {
  const file = await client.exportResult({ query_id: queryId, format }, { signal });
  const size = file.bytes ?? 0;
  if (size > BYTES_MAX) {
    throw new ApiError(
      'content_too_large',
      `the file has ${size} bytes, and one read gives at most ${BYTES_MAX}. fetch_result reads the result in pages, and export_result says where the file is.`,
    );
  }
  const { data } = await client.readExport({ query_id: queryId, format, length: BYTES_MAX }, { signal });
  const mimeType = EXPORT_MIMES[format];
  if (format === 'parquet') return { mimeType, blob: data ?? '' };
  // No fence, which would make it another file; invisible characters are shown nevertheless.
  const text = Buffer.from(data ?? '', 'base64').toString('utf8');
  return { mimeType, text: format === 'jsonl' ? visibleJson(text) : visibleText(text) };
}

/** Results that the service keeps, and exported files. */
export const RESULT_RESOURCES: readonly ResourceKind[] = [
  {
    uriTemplate: EXPORT,
    tool: 'export_result',
    name: 'result_file',
    title: 'Kept result as a file',
    description:
      'All that is kept of a result, as CSV, JSON lines or Parquet, for up to a day (as a tool: export_result)',
    mimeType: EXPORT_MIMES.csv,
    read: async ({ connect, signal }, { query_id = '', format = '' }) => {
      const known = requireFormat(format);
      return readFile(await connect(), query_id, known, signal);
    },
    complete: { query_id: queryIds, format: async () => EXPORT_FORMATS },
  },
  {
    uriTemplate: RESULT,
    tool: 'fetch_result',
    name: 'result',
    title: 'Kept result of a query',
    description:
      'Columns and rows of a large result, for up to an hour while the service runs (as a tool: fetch_result)',
    mimeType: JSON_MIME,
    list: async ({ connect, signal }) =>
      (await listed(await connect(), signal)).map(({ query_id, rows, is_whole }): ListedResource => {
        const name = query_id ?? '';
        return {
          uri: uriOf(RESULT, { query_id: name }),
          name,
          title: is_whole === false ? `First ${rows ?? 0} rows of a larger result` : `Result of ${rows ?? 0} rows`,
          mimeType: JSON_MIME,
        };
      }),
    read: async ({ connect, signal }, { query_id = '' }) => readRows(await connect(), query_id, signal),
    complete: { query_id: queryIds },
  },
];
