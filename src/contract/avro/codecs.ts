import { crc32 } from 'node:zlib';
import { CompressionError, inflated, unsnapped, unzstd } from '../compressed-blocks.ts';
import { AvroError } from './cursor.ts';

/** The most bytes of a block, also when it is decompressed; writers make blocks of 16 kB to a few MB. */
export const BLOCK_BYTES_MAX = 64 * 1024 * 1024;

export type Decompress = (bytes: Buffer) => Promise<Buffer>;

/** How blocks of a codec are decompressed. Throws an `AvroError` for one that is not read here. */
export function codecOf(name: string): Decompress {
  switch (name) {
    case 'null':
      return async (bytes) => bytes;
    case 'deflate':
      return (bytes) => blockOf(inflated(bytes, BLOCK_BYTES_MAX));
    case 'snappy':
      return (bytes) => blockOf(unsnappedChecked(bytes));
    case 'zstandard':
      return (bytes) => blockOf(unzstd(bytes, BLOCK_BYTES_MAX));
    default:
      throw new AvroError(
        `its blocks are compressed with ${JSON.stringify(name.slice(0, 40))}; write it with deflate, snappy, zstandard or without a codec`,
      );
  }
}

async function blockOf(content: Promise<Buffer>): Promise<Buffer> {
  try {
    return await content;
  } catch (error) {
    if (error instanceof CompressionError) throw new AvroError(`a block ${error.message}`, { cause: error });
    throw error;
  }
}

/** Avro puts the checksum of the content behind it. */
async function unsnappedChecked(bytes: Buffer): Promise<Buffer> {
  if (bytes.length < 5) throw new AvroError('a block is too short');
  const content = unsnapped(bytes.subarray(0, -4), BLOCK_BYTES_MAX);
  if (crc32(content) !== bytes.readUInt32BE(bytes.length - 4)) throw new AvroError('the checksum of a block is wrong');
  return content;
}
