import { ApiError } from '../contract/errors.ts';
import { EXPORT_FORMATS, type ExportFormat } from '../contract/results.ts';
import type { Client } from '../http/client.ts';
import { fencedJson } from './data-resources.ts';
import { visibleText, visibleValue } from './fence.ts';
import type { ListedResource, ResourceContent, ResourceContext, ResourceKind } from './resource-kinds.ts';
import { uriOf } from './resource-kinds.ts';

const RESULT = 'colloquy://results/{query_id}';
const EXPORT = 'colloquy://results/{query_id}.{format}';
const JSON_MIME = 'application/json';
/** Most bytes of a result, or of an exported file, that one read gives. */
const BYTES_MAX = 4 * 1024 * 1024;
const PAGE_ROWS = 2_000;

export const EXPORT_MIMES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv',
  jsonl: 'application/jsonl',
  parquet: 'application/vnd.apache.parquet',
};

/** The address of an exported result. */
export function exportUri(queryId: string, format: ExportFormat): string {
  return uriOf(EXPORT, { query_id: queryId, format });
}

async function queryIds({ connect, signal }: ResourceContext): Promise<string[]> {
  const kept = await listed(await connect(), signal);
  return kept.flatMap(({ query_id }) => query_id ?? []);
}

/** None where the service keeps no results, which is then not found. */
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
    const next = `${rows.length} of ${total} rows are here: the tool fetch_result pages and filters, ${exportUri(queryId, 'csv')} is the file.`;
    const types = fields.map(({ type }) => type ?? null);
    const data = { query_id: queryId, columns: names, types, rows, returned: rows.length, total, truncated };
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
  // A fence would make it another file; what a human would not see goes all the same.
  return { mimeType, text: visibleText(Buffer.from(data ?? '', 'base64').toString('utf8')) };
}

/** Results that the service keeps, as they are and as files. */
export const RESULT_RESOURCES: readonly ResourceKind[] = [
  {
    uriTemplate: EXPORT,
    name: 'result_file',
    title: 'Kept result as a file',
    description: 'The whole result of a query as CSV, JSON lines or Parquet (as a tool: export_result)',
    mimeType: EXPORT_MIMES.csv,
    read: async ({ connect, signal }, { query_id = '', format = '' }) => {
      const known = requireFormat(format);
      return readFile(await connect(), query_id, known, signal);
    },
    complete: { query_id: queryIds, format: async () => EXPORT_FORMATS },
  },
  {
    uriTemplate: RESULT,
    name: 'result',
    title: 'Kept result of a query',
    description: 'Columns and rows of a large result, for an hour (as a tool: fetch_result)',
    mimeType: JSON_MIME,
    list: async ({ connect, signal }) =>
      (await listed(await connect(), signal)).map(({ query_id, rows }): ListedResource => {
        const name = query_id ?? '';
        return {
          uri: uriOf(RESULT, { query_id: name }),
          name,
          title: `Result of ${rows ?? 0} rows`,
          mimeType: JSON_MIME,
        };
      }),
    read: async ({ connect, signal }, { query_id = '' }) => readRows(await connect(), query_id, signal),
    complete: { query_id: queryIds },
  },
];
