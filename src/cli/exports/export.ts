import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { ApiError } from '../../contract/errors.ts';
import { bytesText, counted } from '../../contract/in-words.ts';
import { type ExportFormat, Keeping, type ResultExport, type RunningExport } from '../../contract/results.ts';
import type { Client } from '../../http/client.ts';
import {
  EXPORT_TIMEOUT_MS,
  exportParts,
  kindOfName,
  withCollectionFile,
  withProgress,
} from '../../mcp/export-parts.ts';
import type { Config } from '../../settings.ts';
import { plainText } from '../log.ts';
import { forPerson, withService } from '../person.ts';
import { shownProgress } from '../progress.ts';
import { exportAll, type TakeCollection } from './export-all.ts';
import type { ExportRequest } from './export-request.ts';
import { requireFree, writeNewFile } from './new-file.ts';

/** Where an export goes, and as what. */
interface Target {
  format: ExportFormat;
  gzip: boolean;
  /** Undefined: standard output. */
  path: string | undefined;
  force: boolean;
}

/**
 * Writes a collection, the result of a statement, or a kept result to a file or to standard output, where nothing else
 * goes then. Errors go to standard error and make the exit code 1; a file is there whole or not at all, also if this is
 * interrupted.
 */
export function exportData(request: ExportRequest & { config: Config }, bin: string): Promise<number> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop.abort());
  return forPerson(
    async () => {
      const target = targetOf(request);
      // Before the work, and not only after it.
      if (target.path !== undefined && request.source !== 'all') await requireFree(target.path, target.force);
      const shown = shownProgress(process.stderr);
      try {
        const take = (client: Client) => (file: ResultExport) => fetchFile(client, file, target, shown, stop.signal);
        await withService(request.config, bin, (client) =>
          request.source === 'all'
            ? exportAll(client, { ...target, folder: target.path ?? '' }, stop.signal, (place, takeOne) =>
                collectionFile(client, place, shown, stop.signal, takeOne),
              )
            : run(client, request.source, target, shown, stop.signal, take(client)),
        );
        return 0;
      } catch (error) {
        // The reader of the output has gone (`| head`): it knows.
        if ((error as NodeJS.ErrnoException).code === 'EPIPE' && target.path === undefined) return 1;
        throw error;
      } finally {
        shown.clear();
      }
    },
    { endsWithOutput: false },
  );
}

function targetOf({ source, format, gzip, to, force }: ExportRequest): Target {
  const named = to === undefined || source === 'all' ? undefined : kindOfName(to);
  const target = {
    format: format ?? named?.format ?? 'jsonl',
    gzip: gzip || named?.isGzip === true,
    path: to,
    force,
  };
  const refuse = (why: string) => new ApiError('invalid_input', `Cannot export: ${why}.`);
  if (target.gzip && target.format === 'parquet') throw refuse('Parquet is compressed by itself, so leave gzip out');
  const isBinary = target.gzip || target.format === 'parquet';
  if (to === undefined && isBinary && process.stdout.isTTY)
    throw refuse('a terminal cannot show this; name a file with --to, or send it to a program');
  return target;
}

type Shown = ReturnType<typeof shownProgress>;

/** Has the service write the file, and `take` fetch it. */
async function run(
  client: Client,
  source: Exclude<ExportRequest['source'], 'all'>,
  { format }: Target,
  shown: Shown,
  signal: AbortSignal,
  take: (file: ResultExport) => Promise<void>,
): Promise<void> {
  if ('collection' in source) return await collectionFile(client, { ...source, format }, shown, signal, take);
  const query_id = 'sql' in source ? await keptResult(client, source.sql, signal) : source.result;
  await take(await client.exportResult({ query_id, format }, { signal, timeoutMs: EXPORT_TIMEOUT_MS }));
}

async function collectionFile(
  client: Client,
  { workspace, collection, format }: Parameters<TakeCollection>[0],
  shown: Shown,
  signal: AbortSignal,
  take: (file: ResultExport) => Promise<void>,
): Promise<void> {
  const isMine = (one: RunningExport) => one.collection === `${workspace}.${collection}` && one.format === format;
  await withProgress(client, shown.report, isMine, () =>
    withCollectionFile(client, { workspace, collection, format }, signal, take),
  );
}

/** Runs a statement, and returns the id of its whole result. */
async function keptResult(client: Client, sql: string, signal: AbortSignal): Promise<string> {
  const { query_id, ...answer } = await client.runQuery({ sql: { query: sql } }, { signal, keepResult: 'whole' });
  const keeping = Keeping.safeParse(answer.keeping ?? undefined).data;
  if (keeping?.is_kept !== true || typeof query_id !== 'string') {
    const why =
      keeping == null ? 'only what a SELECT returns can be' : (keeping.reason ?? 'the service did not keep it');
    throw new ApiError('invalid_input', `Cannot export the result: ${why}.`);
  }
  if (keeping.is_total_exact === true && keeping.rows_kept === keeping.total) return query_id;
  throw new ApiError(
    'resource_exceeded',
    `Cannot export the result: it has more than the ${counted(keeping.rows_kept ?? 0, 'rows')} to which the service limits results. Export it in parts, each with a WHERE of its own, raise --rows-max of the service, or export the collection, which has no such limit.`,
  );
}

async function fetchFile(
  client: Client,
  file: ResultExport,
  { path, gzip, force, format }: Target,
  shown: Shown,
  signal: AbortSignal,
): Promise<void> {
  const parts = counting(exportParts(client, file, signal), file.bytes ?? 0, shown);
  const rows = counted(file.rows ?? 0, 'rows');
  if (path === undefined) {
    const stages = gzip ? [createGzip()] : [];
    // Whoever started this process may still write there.
    const source = Readable.from(parts, { objectMode: false });
    await pipeline([source, ...stages, process.stdout], { signal, end: false }).catch((error: unknown) => {
      throw signal.aborted ? new ApiError('aborted', 'The export was given up; what was written is not whole.') : error;
    });
  } else {
    const bytes = await writeNewFile(path, parts, { gzip, force, signal });
    shown.clear();
    process.stdout.write(plainText(`Exported: ${rows}, ${bytesText(bytes)}, in "${path}".\n`));
  }
  shown.clear();
  const notes = [
    file.is_whole === false && `Only the first ${rows} of the result are kept, and in the export.`,
    ...(file.retyped ?? []).map(
      ({ name, type, written_as }) => `Column "${name}" is of type ${written_as}, since ${format} has no ${type}.`,
    ),
  ];
  for (const note of notes) if (typeof note === 'string') process.stderr.write(`colloquy: ${plainText(note)}\n`);
}

async function* counting(parts: AsyncIterable<Buffer>, total: number, shown: Shown): AsyncGenerator<Buffer> {
  let done = 0;
  for await (const part of parts) {
    yield part;
    done += part.length;
    shown.report(done, total, `${bytesText(done)} of ${bytesText(total)} are fetched`);
  }
}
