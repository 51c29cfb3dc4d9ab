import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import { limitExpansion } from '../../contract/compressed-files.ts';
import { ApiError } from '../../contract/errors.ts';

/** Parts of a ZIP archive, found by its directory; nothing is read but what is asked for. */

const END_BYTES = 22;
const COMMENT_BYTES_MAX = 0xffff;
const DIRECTORY_BYTES_MAX = 4 * 1024 * 1024;
const PARTS_MAX = 10_000;
const PIECE_BYTES = 64 * 1024;
const WIDE = 0xffff_ffff;

interface Part {
  name: string;
  method: number;
  isEncrypted: boolean;
  crc: number;
  /** Bytes in the file. */
  bytes: number;
  offset: number;
}

export interface ZipPiece {
  piece: Buffer;
  /** The bytes of the part in the file that have been read, of all. */
  read: number;
  all: number;
}

export class Zip {
  readonly #handle: FileHandle;
  readonly #parts: ReadonlyMap<string, Part>;

  private constructor(handle: FileHandle, parts: ReadonlyMap<string, Part>) {
    this.#handle = handle;
    this.#parts = parts;
  }

  /** Rejects `invalid_input` for a file that is no ZIP archive, or is cut off. */
  static async open(handle: FileHandle): Promise<Zip> {
    const { size } = await handle.stat();
    const { directory, count } = await directoryOf(handle, size);
    const parts = new Map<string, Part>();
    let at = 0;
    for (let index = 0; index < Math.min(count, PARTS_MAX); index++) {
      if (at + 46 > directory.length || directory.readUInt32LE(at) !== 0x02014b50) throw damaged('its directory');
      const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((place) => directory.readUInt16LE(at + place));
      const end = at + 46 + (nameBytes ?? 0);
      const part = partAt(directory, at, end, end + (extraBytes ?? 0));
      parts.set(part.name, part);
      at = end + (extraBytes ?? 0) + (commentBytes ?? 0);
    }
    return new Zip(handle, parts);
  }

  has(name: string): boolean {
    return this.#parts.has(name);
  }

  /** The content of a part; rejects `invalid_input` if it is missing, damaged, or out of proportion to its size. */
  async *pieces(name: string): AsyncGenerator<ZipPiece> {
    const part = this.#parts.get(name);
    if (part === undefined) throw damaged(`it has no part ${JSON.stringify(name)}, which`);
    if (part.isEncrypted)
      throw new ApiError('invalid_input', 'The file is encrypted. Save it without a password first.');
    if (part.method !== 0 && part.method !== 8) throw damaged(`its part ${JSON.stringify(name)}`);
    let read = 0;
    const raw = counted(this.#raw(part), (bytes) => {
      read += bytes;
    });
    let [expanded, crc] = [0, 0];
    for await (const piece of part.method === 0 ? raw : inflated(raw, name)) {
      expanded += piece.length;
      limitExpansion(expanded, read);
      crc = crc32(piece, crc);
      yield { piece, read, all: part.bytes };
    }
    if (crc !== part.crc) throw damaged(`its part ${JSON.stringify(name)}`);
  }

  async *#raw({ name, offset, bytes }: Part): AsyncGenerator<Buffer> {
    const head = await readAt(this.#handle, offset, 30);
    if (head.length < 30 || head.readUInt32LE() !== 0x04034b50) throw damaged(`its part ${JSON.stringify(name)}`);
    let at = offset + 30 + head.readUInt16LE(26) + head.readUInt16LE(28);
    for (let left = bytes; left > 0; ) {
      const piece = await readAt(this.#handle, at, Math.min(left, PIECE_BYTES));
      if (piece.length === 0) throw damaged(`its part ${JSON.stringify(name)}`);
      at += piece.length;
      left -= piece.length;
      yield piece;
    }
  }
}

function partAt(directory: Buffer, at: number, end: number, extraEnd: number): Part {
  let bytes = directory.readUInt32LE(at + 20);
  let offset = directory.readUInt32LE(at + 42);
  const expanded = directory.readUInt32LE(at + 24);
  // Numbers that need 64 bits stand behind the name, those of them that do.
  for (let extra = end; extra + 4 <= Math.min(extraEnd, directory.length); ) {
    const [kind, length] = [directory.readUInt16LE(extra), directory.readUInt16LE(extra + 2)];
    let field = extra + 4;
    extra = field + length;
    if (kind !== 1 || extra > directory.length) continue;
    const wide = () => {
      field += 8;
      return field <= extra ? Number(directory.readBigUInt64LE(field - 8)) : WIDE;
    };
    if (expanded === WIDE) wide();
    if (bytes === WIDE) bytes = wide();
    if (offset === WIDE) offset = wide();
  }
  return {
    name: directory.toString('utf8', at + 46, end),
    method: directory.readUInt16LE(at + 10),
    isEncrypted: (directory.readUInt16LE(at + 8) & 1) === 1,
    crc: directory.readUInt32LE(at + 16),
    bytes,
    offset,
  };
}

async function directoryOf(handle: FileHandle, size: number): Promise<{ directory: Buffer; count: number }> {
  const tail = await readAt(handle, Math.max(0, size - END_BYTES - COMMENT_BYTES_MAX), END_BYTES + COMMENT_BYTES_MAX);
  const at = tail.lastIndexOf(Buffer.from('PK\u0005\u0006'));
  if (at < 0 || at + END_BYTES > tail.length) throw damaged('its directory');
  let count = tail.readUInt16LE(at + 10);
  let bytes = tail.readUInt32LE(at + 12);
  let offset = tail.readUInt32LE(at + 16);
  if (count === 0xffff || bytes === WIDE || offset === WIDE) {
    if (at < 20 || tail.readUInt32LE(at - 20) !== 0x07064b50) throw damaged('its directory');
    const wide = await readAt(handle, Number(tail.readBigUInt64LE(at - 12)), 56);
    if (wide.length < 56 || wide.readUInt32LE() !== 0x06064b50) throw damaged('its directory');
    [count, bytes, offset] = [32, 40, 48].map((place) => Number(wide.readBigUInt64LE(place))) as [
      number,
      number,
      number,
    ];
  }
  if (bytes > DIRECTORY_BYTES_MAX) throw damaged('its directory');
  const directory = await readAt(handle, offset, bytes);
  if (directory.length < bytes) throw damaged('its directory');
  return { directory, count };
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  if (!Number.isSafeInteger(position)) return Buffer.alloc(0);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}

async function* counted(pieces: AsyncGenerator<Buffer>, tell: (bytes: number) => void): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    tell(piece.length);
    yield piece;
  }
}

async function* inflated(pieces: AsyncGenerator<Buffer>, name: string): AsyncGenerator<Buffer> {
  const source = Readable.from(pieces);
  const inflate = createInflateRaw({ chunkSize: PIECE_BYTES });
  source.on('error', (error) => inflate.destroy(error)).pipe(inflate);
  try {
    for await (const piece of inflate) yield piece as Buffer;
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw damaged(`its part ${JSON.stringify(name)}`, error);
  } finally {
    source.destroy();
    inflate.destroy();
  }
}

function damaged(what: string, cause?: unknown): ApiError {
  const message = `The file cannot be read as a ZIP archive, as workbooks are: ${what} is missing or damaged. It may have been cut off; get it anew.`;
  return new ApiError('invalid_input', message, { cause });
}
