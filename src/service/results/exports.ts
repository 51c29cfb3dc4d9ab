import type { ParsedInput } from '../../contract/contract.ts';
import { isoOf } from '../../contract/moment.ts';
import {
  type ExportPart,
  PART_BYTES_MAX,
  type RemovedExport,
  type ResultExport,
  type RunningExport,
} from '../../contract/results.ts';
import { collectionKey, requireCollection } from '../catalog/not-found.ts';
import type { CallContext } from '../context.ts';
import { resultGone } from './kept-results.ts';

/** Writes a kept result to a file. Throws `not_found`, or `storage_full` if the disk is full. */
export async function exportResult(ctx: CallContext, input: ParsedInput<'exportResult'>): Promise<ResultExport> {
  const { query_id: queryId, format } = input;
  const existing = await ctx.resultFiles.find(ctx.caller.keyHash, queryId, format);
  const file =
    existing ??
    (await ctx.results.use(ctx.caller, queryId, (entry) => ctx.resultFiles.write(entry, format, ctx.signal)));
  return {
    query_id: file.queryId,
    format: file.format,
    rows: file.rows,
    is_whole: file.isWhole,
    retyped: file.retyped.map(({ writtenAs, ...column }) => ({ ...column, written_as: writtenAs })),
    bytes: file.bytes,
    path: file.path,
    expires_at: isoOf(file.expiresAt),
  };
}

/**
 * Writes all documents of a collection to a file, which is there to be fetched. Throws `not_found`, `storage_full`, or
 * `resource_exceeded` while many are fetched.
 */
export async function exportCollection(
  ctx: CallContext,
  input: ParsedInput<'exportCollection'>,
): Promise<ResultExport> {
  const record = requireCollection(ctx.catalog, input.workspace, input.collection);
  const { table, workspace, name } = record;
  const { docCount: rows } = await ctx.engine.stats(table);
  const source = { owner: ctx.caller.keyHash, collection: collectionKey(workspace, name), table, rows };
  const file = await ctx.collectionFiles.write(source, input.format, ctx.signal);
  ctx.usage.queried(record);
  return {
    query_id: file.id,
    format: file.format,
    rows: file.rows,
    is_whole: true,
    retyped: file.retyped.map(({ writtenAs, ...column }) => ({ ...column, written_as: writtenAs })),
    bytes: file.bytes,
    path: null,
    expires_at: isoOf(file.expiresAt),
  };
}

/** The exports being written for the caller's key, with their progress. */
export function listRunningExports(ctx: CallContext): RunningExport[] {
  const owner = ctx.caller.keyHash;
  const results = ctx.resultFiles.running(owner).map((one) => ({ ...one, id: one.queryId, collection: null }));
  return [...results, ...ctx.collectionFiles.running(owner)].map(({ id, collection, format, rowsDone, rows }) => ({
    query_id: id,
    collection,
    format,
    rows_done: rowsDone,
    rows,
  }));
}

/** A part of an exported file. Throws `not_found`. */
export async function readExport(ctx: CallContext, input: ParsedInput<'readExport'>): Promise<ExportPart> {
  const { query_id: id, format, offset = 0, length = PART_BYTES_MAX } = input;
  const owner = ctx.caller.keyHash;
  const file = ctx.collectionFiles.find(owner, id, format) ?? (await ctx.resultFiles.find(owner, id, format));
  if (file === undefined) throw resultGone(id);
  try {
    const part = await ctx.resultFiles.read(file, offset, length);
    return { bytes: file.bytes, data: part.toString('base64') };
  } catch {
    // The file was removed.
    throw resultGone(id);
  }
}

/** Removes the file of a collection. Throws `not_found`; files of results stay, since others may have been told of them. */
export async function removeExport(ctx: CallContext, input: ParsedInput<'removeExport'>): Promise<RemovedExport> {
  const file = ctx.collectionFiles.find(ctx.caller.keyHash, input.query_id, input.format);
  if (file === undefined) throw resultGone(input.query_id);
  await ctx.collectionFiles.remove(file);
  return { query_id: file.id, bytes: file.bytes };
}
