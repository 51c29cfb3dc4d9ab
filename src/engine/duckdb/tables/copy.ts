import { existsSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { CopyOptions, StoredCopy, StoredCounts } from '../../engine.ts';
import type { Sql } from '../connections/store.ts';
import { LOG_SUFFIXES } from '../storage/log-check.ts';
import { MERGING_SUFFIX } from '../storage/log-marks.ts';
import { dataTable } from './catalog.ts';
import { IS_LIVE } from './columns.ts';
import { STORED_VERSION } from './stored-schema.ts';

/** How much is copied between two checks whether the copy is still wanted. */
const PIECE_BYTES = 4 * 1024 * 1024;
/** Number of tables counted by one statement. */
const TABLES_PER_STATEMENT = 100;
const OWNER_ONLY = 0o600;

/** Counts what is stored. Documents past their retention count until they are removed. */
export async function countStored(sql: Sql): Promise<StoredCounts> {
  const tables = await sql('SELECT id, trashed FROM "_meta"."tables"');
  const trashed = tables.filter(([, isTrashed]) => isTrashed === true);
  const ofTrashed = await countDocuments(sql, trashed);
  const ofOthers = await countDocuments(
    sql,
    tables.filter((table) => !trashed.includes(table)),
  );
  const [records] = await sql('SELECT count(*) FROM "_meta"."records"');
  const [asText] = await sql('SELECT count(*) FROM "_meta"."trash_documents"');
  return {
    collections: tables.length,
    documents: ofTrashed.live + ofOthers.live,
    records: Number(records?.[0] ?? 0),
    trashedCollections: trashed.length,
    trashedDocuments: ofTrashed.live,
    deletedDocuments: ofTrashed.deleted + ofOthers.deleted + Number(asText?.[0] ?? 0),
  };
}

async function countDocuments(sql: Sql, tables: readonly (readonly unknown[])[]) {
  const documents = { live: 0, deleted: 0 };
  for (let at = 0; at < tables.length; at += TABLES_PER_STATEMENT) {
    const counts = tables
      .slice(at, at + TABLES_PER_STATEMENT)
      .map(([id]) => `SELECT count(*) AS n, count(*) FILTER (WHERE ${IS_LIVE}) AS live FROM ${dataTable(String(id))}`);
    const [row] = await sql(`SELECT sum(live), sum(n - live) FROM (${counts.join(' UNION ALL ')})`);
    documents.live += Number(row?.[0] ?? 0);
    documents.deleted += Number(row?.[1] ?? 0);
  }
  return documents;
}

/**
 * Copies the database and its log into `folder`; the caller ensures that nobody changes them meanwhile. The copies are
 * durable after `syncCopy`.
 */
export async function copyStored(
  { file, sql, reader }: { file: string; sql: Sql; reader: FileHandle },
  folder: string,
  { signal, onBytes }: CopyOptions,
): Promise<StoredCopy> {
  const beside = [...LOG_SUFFIXES, MERGING_SUFFIX];
  const logs = beside.map((suffix) => file + suffix).filter((log) => existsSync(log));
  const sizes = await Promise.all([file, ...logs].map(async (path) => (await stat(path)).size));
  const total = sizes.reduce((sum, bytes) => sum + bytes, 0);
  let done = 0;
  const count = (bytes: number) => {
    done += bytes;
    onBytes?.(done, total);
  };
  await copyFrom(reader, join(folder, basename(file)), signal, count);
  for (const log of logs) {
    const source = await open(log, 'r');
    try {
      await copyFrom(source, join(folder, basename(log)), signal, count);
    } finally {
      await source.close();
    }
  }
  const files = [file, ...logs].map((path) => basename(path));
  return { files, storedVersion: STORED_VERSION, counts: await countStored(sql) };
}

/** Resolves when the copy would survive a power loss. */
export async function syncCopy(folder: string, files: readonly string[]): Promise<void> {
  for (const name of files) {
    const handle = await open(join(folder, name), 'r+');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
}

async function copyFrom(
  source: FileHandle,
  to: string,
  signal: AbortSignal | undefined,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const target = await open(to, 'wx', OWNER_ONLY);
  try {
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    for (let at = 0; ; ) {
      signal?.throwIfAborted();
      const { bytesRead } = await source.read(piece, 0, piece.length, at);
      if (bytesRead === 0) return;
      for (let from = 0; from < bytesRead; ) {
        from += (await target.write(piece, from, bytesRead - from)).bytesWritten;
      }
      at += bytesRead;
      onBytes(bytesRead);
    }
  } finally {
    await target.close();
  }
}
