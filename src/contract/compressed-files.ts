import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { ApiError } from './errors.ts';
import { messageOf } from './text.ts';
import { createPace } from './turns/turns.ts';

/** Files that are compressed as a whole, read as they come. */

export type Compression = 'gzip' | 'zstd';

const PIECE_BYTES = 64 * 1024;
/** A piece of zstd expands at once: 4 bytes may stand for 128 KiB. */
const ZSTD_PIECE_BYTES = 2 * 1024;
/** A file may expand to this many bytes, and beyond that to so many times its size; JSON logs expand to 10 to 60 times. */
const FREE_BYTES = 64 * 1024 * 1024;
const RATIO_MAX = 250;
/** The bytes by which `compressionOf` tells. */
export const MAGIC_BYTES = 4;

/** How a file is compressed, by its first bytes. */
export function compressionOf(begin: Buffer): Compression | undefined {
  if (begin.length > 1 && begin[0] === 0x1f && begin[1] === 0x8b) return 'gzip';
  return begin.length >= MAGIC_BYTES && begin.readUInt32LE() === 0xfd2fb528 ? 'zstd' : undefined;
}

/**
 * The content of a compressed file. Rejects `invalid_input` if it is damaged or expands out of proportion, and with what the
 * file's own bytes reject with.
 */
export function decompressed(body: AsyncIterable<Buffer>, compression: Compression): AsyncGenerator<Buffer> {
  return compression === 'gzip' ? gunzipped(body) : unzstd(body);
}

async function* gunzipped(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const reading = watched(body);
  const source = Readable.from(reading.pieces());
  const gunzip = createGunzip({ chunkSize: PIECE_BYTES });
  source.on('error', (error) => gunzip.destroy(error)).pipe(gunzip);
  let expanded = 0;
  try {
    for await (const piece of gunzip as AsyncIterable<Buffer>) {
      expanded += piece.length;
      limitExpansion(expanded, reading.bytes);
      yield piece;
    }
  } catch (error) {
    throw reading.failure?.error ?? broken('gzip', error);
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

async function* unzstd(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const { Decompress } = await import('fzstd');
  const reading = watched(body);
  const pace = createPace();
  let expanded = 0;
  let ready: Buffer[] = [];
  const decompress = new Decompress((piece) => {
    expanded += piece.length;
    limitExpansion(expanded, reading.bytes);
    // The decompressor goes on to use its memory.
    if (piece.length > 0) ready.push(Buffer.from(piece));
  });
  try {
    for await (const one of reading.pieces()) {
      for (let from = 0; from < one.length; from += ZSTD_PIECE_BYTES) {
        decompress.push(one.subarray(from, from + ZSTD_PIECE_BYTES));
        yield* ready;
        ready = [];
        const turn = pace();
        if (turn !== undefined) await turn;
      }
    }
    decompress.push(new Uint8Array(0), true);
    yield* ready;
  } catch (error) {
    throw reading.failure?.error ?? broken('zstd', error);
  }
}

/** Keeps the bytes read, and the failure to read them apart from those to decompress them. */
function watched(body: AsyncIterable<Buffer>) {
  const reading: { bytes: number; failure?: { error: unknown }; pieces(): AsyncGenerator<Buffer> } = {
    bytes: 0,
    async *pieces() {
      try {
        for await (const piece of body) {
          reading.bytes += piece.length;
          yield piece;
        }
      } catch (error) {
        reading.failure = { error };
        throw error;
      }
    },
  };
  return reading;
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
  const why = messageOf(error);
  return new ApiError(
    'invalid_input',
    `The file cannot be decompressed (${compression}): ${why}. It is damaged or was cut off; get it anew.`,
    { cause: error },
  );
}
