import { promisify } from 'node:util';
import { inflateRaw, unzip } from 'node:zlib';
import { createPace } from './turns/turns.ts';

/*
 * Compressed blocks within formats such as Avro and records of Kafka. Each is decompressed to at most `max` bytes, while
 * others get their turn where that takes long.
 */

/** Why a block cannot be decompressed: a clause that follows its name. */
export class CompressionError extends Error {}

const MIB = 1024 * 1024;
const EARLY = 'cannot be decompressed: it ends too early';
const DAMAGED = 'cannot be decompressed: it is damaged';

function tooLarge(max: number): CompressionError {
  const unit = max % MIB === 0 ? ` (${max / MIB} MiB)` : '';
  return new CompressionError(`expands to more than ${max} bytes${unit}`);
}

/** Deflate without a header. */
export function inflated(bytes: Buffer, max: number): Promise<Buffer> {
  return byZlib(inflateRaw, bytes, max);
}

export function unzipped(bytes: Buffer, max: number): Promise<Buffer> {
  return byZlib(unzip, bytes, max);
}

async function byZlib(method: typeof inflateRaw | typeof unzip, bytes: Buffer, max: number): Promise<Buffer> {
  try {
    return await promisify(method)(bytes, { maxOutputLength: max });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(max);
    throw new CompressionError(`cannot be decompressed: ${(error as Error).message}`, { cause: error });
  }
}

export async function unzstd(bytes: Buffer, max: number): Promise<Buffer> {
  const { Decompress } = await import('fzstd');
  const pieces: Buffer[] = [];
  const pace = createPace();
  let length = 0;
  const decompress = new Decompress((piece) => {
    length += piece.length;
    if (length > max) throw tooLarge(max);
    pieces.push(Buffer.from(piece));
  });
  try {
    // Few bytes may stand for many, and each piece is checked.
    for (let from = 0; from < bytes.length; from += 2_048) {
      decompress.push(bytes.subarray(from, from + 2_048));
      const turn = pace();
      if (turn !== undefined) await turn;
    }
    decompress.push(new Uint8Array(0), true);
  } catch (error) {
    if (error instanceof CompressionError) throw error;
    throw new CompressionError(`cannot be decompressed: ${(error as Error).message}`, { cause: error });
  }
  return Buffer.concat(pieces);
}

/** The content of raw Snappy: its length, and then parts that are either literal or copies of what came before. */
export function unsnapped(bytes: Buffer, max: number): Buffer {
  let at = 0;
  const next = () => {
    const byte = bytes[at++];
    if (byte === undefined) throw new CompressionError(EARLY);
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
    if (length > max || unit > 2 ** 28) throw tooLarge(max);
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
    if (isWrong || filled + size > length) throw new CompressionError(DAMAGED);
    if (kind === 0) {
      bytes.copy(content, filled, at, at + size);
      at += size;
    } else copyWithin(content, filled, offset, size);
    filled += size;
  }
  if (filled < length) throw new CompressionError(EARLY);
  return content;
}

/** Repeats what is `offset` bytes before; a part may begin within itself. */
function copyWithin(content: Buffer, filled: number, offset: number, size: number): void {
  for (let index = 0; index < size; index++) content[filled + index] = content[filled + index - offset] ?? 0;
}

const LZ4_MAGIC = 0x184d2204;
/** The most bytes of a block of an LZ4 frame, by the number in its head. */
const LZ4_BLOCK_BYTES: Readonly<Record<number, number>> = { 4: MIB / 16, 5: MIB / 4, 6: MIB, 7: 4 * MIB };

/** The content of an LZ4 frame. Its checksums are not looked at. */
export async function unlz4(bytes: Buffer, max: number): Promise<Buffer> {
  if (bytes.length < 7) throw new CompressionError(EARLY);
  const [flags = 0, head = 0] = bytes.subarray(4, 6);
  const blockMax = LZ4_BLOCK_BYTES[(head >> 4) & 7];
  // Frames with a dictionary cannot be read without it.
  const isFrame = bytes.readUInt32LE(0) === LZ4_MAGIC && flags >> 6 === 1 && (flags & 1) === 0;
  if (!isFrame || blockMax === undefined) throw new CompressionError(DAMAGED);
  const pace = createPace();
  let content = Buffer.alloc(Math.min(max, Math.max(blockMax, 4 * bytes.length)));
  let filled = 0;
  for (let at = 7 + ((flags & 8) === 0 ? 0 : 8); ; ) {
    if (at + 4 > bytes.length) throw new CompressionError(EARLY);
    const word = bytes.readUInt32LE(at);
    if (word === 0) return content.subarray(0, filled);
    const size = word & 0x7fffffff;
    const block = bytes.subarray(at + 4, at + 4 + size);
    if (block.length < size) throw new CompressionError(EARLY);
    at += 4 + size + ((flags & 16) === 0 ? 0 : 4);
    if (filled + blockMax > content.length && content.length < max) {
      const larger = Buffer.alloc(Math.min(max, 2 * (content.length + blockMax)));
      content.copy(larger, 0, 0, filled);
      content = larger;
    }
    const end = Math.min(content.length, filled + blockMax);
    const added = word === size ? lz4Block(block, content, filled, end) : lz4Plain(block, content, filled, end);
    if (added < 0) throw filled + blockMax > max ? tooLarge(max) : new CompressionError(DAMAGED);
    filled += added;
    const turn = pace();
    if (turn !== undefined) await turn;
  }
}

function lz4Plain(block: Buffer, content: Buffer, filled: number, end: number): number {
  return filled + block.length > end ? -1 : block.copy(content, filled);
}

/** Writes what a block holds to `content`, from `start` and not beyond `end`; returns how much, -1 if it does not fit. */
function lz4Block(block: Buffer, content: Buffer, start: number, end: number): number {
  let at = 0;
  let filled = start;
  const next = () => {
    const byte = block[at++];
    if (byte === undefined) throw new CompressionError(EARLY);
    return byte;
  };
  const lengthFrom = (nibble: number) => {
    let length = nibble;
    if (nibble < 15) return length;
    for (let byte = 255; byte === 255; ) {
      byte = next();
      length += byte;
    }
    return length;
  };
  while (at < block.length) {
    const token = next();
    const literal = lengthFrom(token >> 4);
    if (at + literal > block.length) throw new CompressionError(EARLY);
    if (filled + literal > end) return -1;
    block.copy(content, filled, at, at + literal);
    at += literal;
    filled += literal;
    if (at === block.length) break;
    const offset = next() + 256 * next();
    const size = lengthFrom(token & 15) + 4;
    if (offset === 0 || offset > filled) throw new CompressionError(DAMAGED);
    if (filled + size > end) return -1;
    copyWithin(content, filled, offset, size);
    filled += size;
  }
  return filled - start;
}
