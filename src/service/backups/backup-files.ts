import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import * as z from 'zod';
import { ApiError } from '../../contract/errors.ts';

/** Version of the layout of backups. */
export const BACKUP_FORMAT = 1;
export const MANIFEST = 'manifest.json';
/** Names of the key files in a backup, whatever they are called in the data folder. */
export const KEY_FILES = ['admin.key', 'secret.key'] as const;

/** Counts from the engine. */
const Counts = z.object({
  collections: z.number(),
  documents: z.number(),
  records: z.number(),
  trashedCollections: z.number(),
  trashedDocuments: z.number(),
  deletedDocuments: z.number(),
});
export type Counts = z.infer<typeof Counts>;

/** Counts to show: what can be queried, and what is in the trash. */
export function liveCounts(counts: Counts): { collections: number; documents: number; trashedDocuments: number } {
  const { trashedCollections, trashedDocuments, deletedDocuments } = counts;
  return {
    collections: counts.collections - trashedCollections,
    documents: counts.documents - trashedDocuments,
    trashedDocuments: trashedDocuments + deletedDocuments,
  };
}

/** The description of a backup inside it. */
export const Manifest = z.object({
  format: z.number(),
  /** Version of the program that made it. */
  version: z.string(),
  created_at: z.string(),
  /** Versions of the stored schema and of the metadata; null if the database was not opened. */
  stored_version: z.number().nullable(),
  metadata_version: z.number().nullable(),
  /** Null if the database was not opened. */
  counts: Counts.nullable(),
  /** The database comes first. */
  files: z.array(
    z.object({
      name: z.string().regex(/^[\w-][\w.-]*$/, 'no name of a file in a backup'),
      bytes: z.number(),
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  ),
});
export type Manifest = z.infer<typeof Manifest>;
export type BackupFile = Manifest['files'][number];

const PIECE_BYTES = 1024 * 1024;
const OWNER_ONLY = 0o600;

export interface ReadOptions {
  signal?: AbortSignal | undefined;
  onBytes?: ((bytes: number) => void) | undefined;
}

/** Size and SHA-256 of a file; `copyTo` also copies it there, durably. */
export async function digestFile(path: string, options: ReadOptions & { copyTo?: string } = {}): Promise<BackupFile> {
  const hash = createHash('sha256');
  const piece = Buffer.allocUnsafe(PIECE_BYTES);
  const source = await open(path, 'r');
  let target: FileHandle | undefined;
  let bytes = 0;
  try {
    if (options.copyTo !== undefined) target = await open(options.copyTo, 'wx', OWNER_ONLY);
    for (;;) {
      options.signal?.throwIfAborted();
      const { bytesRead } = await source.read(piece, 0, piece.length);
      if (bytesRead === 0) break;
      const part = piece.subarray(0, bytesRead);
      hash.update(part);
      await target?.appendFile(part);
      bytes += bytesRead;
      options.onBytes?.(bytesRead);
    }
    await target?.sync();
    return { name: basename(path), bytes, sha256: hash.digest('hex') };
  } finally {
    await target?.close();
    await source.close();
  }
}

export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/**
 * Reads the manifest of a backup, given its folder or the manifest's own path; returns the folder as well. Throws
 * `not_found` if there is none, `invalid_input` if it cannot be read or is of a later version.
 */
export async function readManifest(path: string): Promise<{ folder: string; manifest: Manifest }> {
  const file = basename(path) === MANIFEST ? path : join(path, MANIFEST);
  const what = `Cannot restore ${JSON.stringify(path)}`;
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    const missing = existsSync(path) ? `it has no ${MANIFEST}, so that it is no whole backup` : 'it does not exist';
    const why = /^(ENOENT|ENOTDIR)$/.test(code) ? missing : code;
    throw new ApiError('not_found', `${what}: ${why}. Name the folder that "colloquy backup" made.`);
  }
  const value = jsonOf(text);
  const format = typeof value === 'object' && value !== null && 'format' in value ? value.format : undefined;
  if (typeof format === 'number' && format > BACKUP_FORMAT) {
    throw new ApiError(
      'invalid_input',
      `${what}: its layout has version ${format}, and this program knows version ${BACKUP_FORMAT}. Update this program.`,
    );
  }
  const checked = Manifest.safeParse(value);
  if (!checked.success || checked.data.files.length === 0) {
    const why = checked.success ? 'it names no files' : (checked.error.issues[0]?.message ?? 'it is damaged');
    throw new ApiError('invalid_input', `${what}: its ${MANIFEST} cannot be read (${why}). Use another backup.`);
  }
  return { folder: dirname(file), manifest: checked.data };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
