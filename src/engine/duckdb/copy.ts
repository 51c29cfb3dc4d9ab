import { type FileHandle, open, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { CopyOptions, StoredCopy, StoredCounts } from '../engine.ts';
import { dataTable } from './catalog.ts';
import { LOG_SUFFIXES } from './log-check.ts';
import { STORED_VERSION } from './migrations.ts';
import type { Sql } from './store.ts';

/** So much is copied between two looks at whether anybody still wants it. */
const PIECE_BYTES = 4 * 1024 * 1024;
/** Tables that one statement counts. */
const TABLES_PER_STATEMENT = 100;
const OWNER_ONLY = 0o600;

/** What is stored, counted. Documents past their retention count until they are removed. */
export async function countStored(sql: Sql): Promise<StoredCounts> {
  const tables = await sql('SELECT id FROM "_meta"."tables"');
  let documents = 0;
  for (let at = 0; at < tables.length; at += TABLES_PER_STATEMENT) {
    const counts = tables
      .slice(at, at + TABLES_PER_STATEMENT)
      .map(([id]) => `SELECT count(*) AS n FROM ${dataTable(String(id))}`);
    const [row] = await sql(`SELECT sum(n) FROM (${counts.join(' UNION ALL ')})`);
    documents += Number(row?.[0] ?? 0);
  }
  const [records] = await sql('SELECT count(*) FROM "_meta"."records"');
  return { collections: tables.length, documents, records: Number(records?.[0] ?? 0) };
}

/** Copies the database and its log into `folder`, while the caller sees to it that nobody changes them. */
export async function copyStored(
  sql: Sql,
  file: string,
  folder: string,
  { signal, onBytes }: CopyOptions,
): Promise<StoredCopy> {
  const found = await Promise.all(['', ...LOG_SUFFIXES].map((suffix) => sizeOf(file + suffix)));
  const sources = found.filter((source) => source !== undefined);
  const total = sources.reduce((sum, { bytes }) => sum + bytes, 0);
  let done = 0;
  for (const { path } of sources) {
    await copyFile(path, join(folder, basename(path)), signal, (bytes) => {
      done += bytes;
      onBytes?.(done, total);
    });
  }
  return {
    files: sources.map(({ path }) => basename(path)),
    storedVersion: STORED_VERSION,
    counts: await countStored(sql),
  };
}

async function sizeOf(path: string): Promise<{ path: string; bytes: number } | undefined> {
  try {
    return { path, bytes: (await stat(path)).size };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Copies a file piece by piece, to the disk. */
async function copyFile(
  from: string,
  to: string,
  signal: AbortSignal | undefined,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const source = await open(from, 'r');
  let target: FileHandle | undefined;
  try {
    target = await open(to, 'wx', OWNER_ONLY);
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    for (;;) {
      signal?.throwIfAborted();
      const { bytesRead } = await source.read(piece, 0, piece.length);
      if (bytesRead === 0) break;
      for (let at = 0; at < bytesRead; ) at += (await target.write(piece, at, bytesRead - at)).bytesWritten;
      onBytes(bytesRead);
    }
    await target.sync();
  } finally {
    await target?.close();
    await source.close();
  }
}
