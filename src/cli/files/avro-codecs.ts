import { promisify } from 'node:util';
import { crc32, inflateRaw } from 'node:zlib';
import { AvroError } from './avro-cursor.ts';

/** The most bytes of a block, also when it is decompressed; writers make blocks of 16 kB to a few MB. */
export const BLOCK_BYTES_MAX = 64 * 1024 * 1024;

export type Decompress = (bytes: Buffer) => Promise<Buffer>;

const TOO_LARGE = `a block expands to more than ${BLOCK_BYTES_MAX} bytes (64 MiB)`;

/** How blocks of a codec are decompressed. Throws an `AvroError` for one that is not read here. */
export function codecOf(name: string): Decompress {
  switch (name) {
    case 'null':
      return async (bytes) => bytes;
    case 'deflate':
      return inflated;
    case 'snappy':
      return unsnappedChecked;
    case 'zstandard':
      return unzstd;
    default:
      throw new AvroError(
        `its blocks are compressed with ${JSON.stringify(name.slice(0, 40))}; write it with deflate, snappy, zstandard or without a codec`,
      );
  }
}

async function inflated(bytes: Buffer): Promise<Buffer> {
  try {
    return await promisify(inflateRaw)(bytes, { maxOutputLength: BLOCK_BYTES_MAX });
  } catch (error) {
    const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    throw new AvroError(isTooLarge ? TOO_LARGE : `a block cannot be decompressed: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function unzstd(bytes: Buffer): Promise<Buffer> {
  const { Decompress } = await import('fzstd');
  const pieces: Buffer[] = [];
  let length = 0;
  const decompress = new Decompress((piece) => {
    length += piece.length;
    if (length > BLOCK_BYTES_MAX) throw new AvroError(TOO_LARGE);
    pieces.push(Buffer.from(piece));
  });
  try {
    // Few bytes may stand for many, and each piece is checked.
    for (let from = 0; from < bytes.length; from += 2_048) decompress.push(bytes.subarray(from, from + 2_048));
    decompress.push(new Uint8Array(0), true);
  } catch (error) {
    if (error instanceof AvroError) throw error;
    throw new AvroError(`a block cannot be decompressed: ${(error as Error).message}`, { cause: error });
  }
  return Buffer.concat(pieces);
}

/** Avro puts the checksum of the content behind it. */
async function unsnappedChecked(bytes: Buffer): Promise<Buffer> {
  if (bytes.length < 5) throw new AvroError('a block is too short');
  const content = unsnapped(bytes.subarray(0, -4));
  if (crc32(content) !== bytes.readUInt32BE(bytes.length - 4)) throw new AvroError('the checksum of a block is wrong');
  return content;
}

/** The content of raw Snappy: its length, and then parts that are either literal or copies of what came before. */
function unsnapped(bytes: Buffer): Buffer {
  let at = 0;
  const next = () => {
    const byte = bytes[at++];
    if (byte === undefined) throw new AvroError('a block cannot be decompressed: it ends too early');
    return byte;
  };
  const little = (count: number) => {
    let value = 0;
    for (let index = 0; index < count; index++) value += next() * 256 ** index;
    return value;
  };
  let length = 0;
  for (let unit = 1; ; unit *= 128) {
    const byte = next();
    length += (byte & 0x7f) * unit;
    if (length > BLOCK_BYTES_MAX || unit > 2 ** 28) throw new AvroError(TOO_LARGE);
    if (byte < 0x80) break;
  }
  const content = Buffer.alloc(length);
  let filled = 0;
  while (at < bytes.length) {
    const tag = next();
    const kind = tag & 3;
    let size = (tag >> 2) + 1;
    let offset = 0;
    if (kind === 0 && size > 60) size = little(size - 60) + 1;
    if (kind === 1) {
      offset = (tag >> 5) * 256 + next();
      size = ((tag >> 2) & 7) + 4;
    } else if (kind > 1) offset = little(kind === 2 ? 2 : 4);
    const isWrong = kind === 0 ? at + size > bytes.length : offset === 0 || offset > filled;
    if (isWrong || filled + size > length) throw new AvroError('a block cannot be decompressed: it is damaged');
    if (kind === 0) {
      bytes.copy(content, filled, at, at + size);
      at += size;
    } else for (let index = 0; index < size; index++) content[filled + index] = content[filled + index - offset] ?? 0;
    filled += size;
  }
  if (filled < length) throw new AvroError('a block cannot be decompressed: it ends too early');
  return content;
}
