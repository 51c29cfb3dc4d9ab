import { ApiError } from '../contract/errors.ts';
import type { ExportFormat, ResultExport, RunningExport } from '../contract/results.ts';
import { PART_BYTES_MAX } from '../contract/results.ts';
import type { Client } from '../http/client.ts';
import { type Progress, whileLooking } from './progress.ts';

/** An exported file takes as long to write as the disk needs. */
export const EXPORT_TIMEOUT_MS = 2 ** 31 - 1;

/** The file of a collection stays while it is read, and whoever takes the parts may be slow. */
const STILL_HERE_MS = 60_000;
/** How long the service may take to remove a file that is not needed any more. */
const REMOVE_MS = 10_000;

/** The bytes of an exported file, in parts, one of which is fetched ahead. Rejects if it is not all there. */
export async function* exportParts(
  client: Pick<Client, 'readExport'>,
  { query_id, format, bytes }: Pick<ResultExport, 'query_id' | 'format' | 'bytes'>,
  signal?: AbortSignal,
): AsyncGenerator<Buffer, void, void> {
  const over = new AbortController();
  const either = AbortSignal.any([over.signal, ...(signal === undefined ? [] : [signal])]);
  const file = { query_id: query_id ?? '', format: format as ExportFormat };
  const total = bytes ?? 0;
  const read = async (offset: number) => {
    if (offset >= total) return undefined;
    const { data } = await client.readExport({ ...file, offset, length: PART_BYTES_MAX }, { signal: either });
    const part = Buffer.from(data ?? '', 'base64');
    if (part.length === 0 || offset + part.length > total)
      throw new ApiError('contract_mismatch', 'The service sent another file than it said: export it again.');
    return part;
  };
  const stillHere = setInterval(() => {
    client.readExport({ ...file, offset: 0, length: 1 }, { signal: either }).catch(() => undefined);
  }, STILL_HERE_MS);
  try {
    let at = 0;
    let next = read(at);
    for (let part = await next; part !== undefined; part = await next) {
      at += part.length;
      next = read(at);
      // It may fail while the part before it is still written.
      next.catch(() => undefined);
      yield part;
    }
  } finally {
    clearInterval(stillHere);
    over.abort();
  }
}

/** Exports a collection, has `work` fetch the file, and has it removed whatever happens. */
export async function withCollectionFile<T>(
  client: Pick<Client, 'exportCollection' | 'removeExport'>,
  source: { workspace: string; collection: string; format: ExportFormat },
  signal: AbortSignal | undefined,
  work: (file: ResultExport) => Promise<T>,
): Promise<T> {
  const file = await client.exportCollection(source, { signal, timeoutMs: EXPORT_TIMEOUT_MS });
  try {
    return await work(file);
  } finally {
    const { query_id } = file;
    // If that fails, it goes after a while by itself.
    await client
      .removeExport({ query_id: query_id ?? '', format: source.format }, { timeoutMs: REMOVE_MS })
      .catch(() => undefined);
  }
}

/** Runs `work`, an export, and meanwhile reports the rows written so far, as told by the service. */
export async function withProgress<T>(
  client: Pick<Client, 'listRunningExports'>,
  progress: Progress,
  isMine: (one: RunningExport) => boolean,
  work: () => Promise<T>,
): Promise<T> {
  const look = async (signal: AbortSignal) => {
    const all = await client.listRunningExports({}, { signal });
    const { rows_done: done, rows } = all.find(isMine) ?? {};
    // If the service does not say, the elapsed time is reported instead.
    if (done != null && done > 0) progress(done, rows ?? undefined, `${done.toLocaleString('en-US')} rows are written`);
  };
  return whileLooking(look, work);
}

/** What the name of a file says of what is in it. */
export function kindOfName(name: string): { format: ExportFormat | undefined; isGzip: boolean } {
  const [, kind = '', gz] = /(?:\.(csv|jsonl|ndjson|parquet))?(\.gz)?$/i.exec(name) ?? [];
  const lower = kind.toLowerCase();
  const format = lower === 'ndjson' ? 'jsonl' : lower === '' ? undefined : (lower as ExportFormat);
  return { format, isGzip: gz !== undefined };
}
