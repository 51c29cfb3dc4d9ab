import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';

/** A file of DuckDB's own: `COPY (query) TO … (options)`. */
export async function copied(query: string, options: string): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'colloquy-objects-'));
  const instance = await DuckDBInstance.create(':memory:');
  try {
    const connection = await instance.connect();
    const file = join(folder, 'file');
    await connection.run(`COPY (${query}) TO '${file}' (${options})`);
    connection.closeSync();
    return await readFile(file);
  } finally {
    instance.closeSync();
    await rm(folder, { recursive: true, force: true });
  }
}

/** The bytes as one frame of zstd, stored as they are. */
export function zstdOf(bytes: Buffer): Buffer {
  const blocks: Buffer[] = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58])];
  const size = 128 * 1024 - 1;
  for (let at = 0; at === 0 || at < bytes.length; at += size) {
    const block = bytes.subarray(at, at + size);
    const isLast = at + size >= bytes.length ? 1 : 0;
    const head = Buffer.alloc(3);
    head.writeUIntLE((block.length << 3) | isLast, 0, 3);
    blocks.push(head, block);
  }
  return Buffer.concat(blocks);
}

export const COMPRESSIONS: readonly (readonly [ending: string, of: (bytes: Buffer) => Buffer])[] = [
  ['', (bytes) => bytes],
  ['.gz', (bytes) => gzipSync(bytes)],
  ['.zst', zstdOf],
];

export const jsonLines = (documents: readonly unknown[]) => documents.map((one) => `${JSON.stringify(one)}\n`).join('');
