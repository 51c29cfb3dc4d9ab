import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { ApiError } from '../../contract/errors.ts';
import type { FilePiece } from '../../mcp/tools/file.ts';

const PIECE_BYTES = 512 * 1024;
const HEAD_BYTES = 64 * 1024;
/** A piece of zstd expands at once: 4 bytes may stand for 128 KiB. */
const ZSTD_PIECE_BYTES = 2 * 1024;
/** A file may expand to this many bytes, and beyond that to so many times its size; JSON logs expand to 10 to 60 times. */
const FREE_BYTES = 64 * 1024 * 1024;
const RATIO_MAX = 250;

/** What is in a file, decompressed if it is compressed. */
export interface FileBytes {
  compression: Compression | undefined;
  /** The first bytes. */
  head: Buffer;
  /** Whether `head` is all there is. */
  isWhole: boolean;
  /** All bytes from the beginning, each time it is called. */
  pieces(): AsyncGenerator<FilePiece>;
}

type Compression = 'gzip' | 'zstd';

/** The content of an open file; how it is compressed is seen from its first bytes. Rejects `invalid_input`. */
export async function fileBytes(handle: FileHandle): Promise<FileBytes> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
  const compression = compressionOf(buffer.subarray(0, bytesRead));
  const pieces = () => {
    if (compression === undefined) return plain(handle, PIECE_BYTES);
    return compression === 'gzip' ? gunzipped(handle) : unzstd(handle);
  };
  const first: Buffer[] = [];
  let bytes = 0;
  let isWhole = true;
  for await (const { piece } of pieces()) {
    first.push(piece);
    bytes += piece.length;
    if (bytes < HEAD_BYTES) continue;
    isWhole = false;
    break;
  }
  return { compression, head: Buffer.concat(first).subarray(0, HEAD_BYTES), isWhole, pieces };
}

function compressionOf(begin: Buffer): Compression | undefined {
  if (begin.length > 1 && begin[0] === 0x1f && begin[1] === 0x8b) return 'gzip';
  return begin.length === 4 && begin.readUInt32LE() === 0xfd2fb528 ? 'zstd' : undefined;
}

async function* plain(handle: FileHandle, size: number): AsyncGenerator<FilePiece> {
  for (let bytesRead = 0; ; ) {
    const { buffer, bytesRead: count } = await handle.read(Buffer.allocUnsafe(size), 0, size, bytesRead);
    if (count === 0) return;
    bytesRead += count;
    yield { piece: buffer.subarray(0, count), bytesRead };
  }
}

async function* gunzipped(handle: FileHandle): AsyncGenerator<FilePiece> {
  let bytesRead = 0;
  const source = Readable.from(
    (async function* () {
      for await (const one of plain(handle, HEAD_BYTES)) {
        bytesRead = one.bytesRead;
        yield one.piece;
      }
    })(),
  );
  const gunzip = createGunzip({ chunkSize: HEAD_BYTES });
  source.on('error', (error) => gunzip.destroy(error)).pipe(gunzip);
  let expanded = 0;
  try {
    for await (const piece of gunzip as AsyncIterable<Buffer>) {
      expanded += piece.length;
      limitExpansion(expanded, bytesRead);
      yield { piece, bytesRead };
    }
  } catch (error) {
    throw broken('gzip', error);
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

async function* unzstd(handle: FileHandle): AsyncGenerator<FilePiece> {
  const { Decompress } = await import('fzstd');
  let [bytesRead, expanded] = [0, 0];
  let ready: Buffer[] = [];
  const decompress = new Decompress((piece) => {
    expanded += piece.length;
    limitExpansion(expanded, bytesRead);
    // The decompressor goes on to use its memory.
    if (piece.length > 0) ready.push(Buffer.from(piece));
  });
  try {
    for await (const one of plain(handle, ZSTD_PIECE_BYTES)) {
      bytesRead = one.bytesRead;
      decompress.push(one.piece);
      for (const piece of ready) yield { piece, bytesRead };
      ready = [];
    }
    decompress.push(new Uint8Array(0), true);
    for (const piece of ready) yield { piece, bytesRead };
  } catch (error) {
    throw broken('zstd', error);
  }
}

/** Throws `invalid_input` for content that is out of proportion to the bytes of the file that it comes from. */
export function limitExpansion(expanded: number, bytesRead: number): void {
  if (expanded <= Math.max(FREE_BYTES, bytesRead * RATIO_MAX)) return;
  throw new ApiError(
    'invalid_input',
    `The compressed file expands to more than ${RATIO_MAX} times its size, which files of documents do not: reading ended after ${bytesRead.toLocaleString('en-US')} of its bytes. If it is meant to be so, decompress it first.`,
  );
}

function broken(compression: Compression, error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new ApiError(
    'invalid_input',
    `The file cannot be decompressed (${compression}): ${why}. It is damaged or was cut off; get it anew.`,
    { cause: error },
  );
}
