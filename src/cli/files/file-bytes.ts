import type { FileHandle } from 'node:fs/promises';
import { type Compression, compressionOf, decompressed, MAGIC_BYTES } from '../../contract/compressed-files.ts';
import type { FilePiece } from '../../mcp/tools/file.ts';

const PIECE_BYTES = 512 * 1024;
const HEAD_BYTES = 64 * 1024;

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

/** The content of an open file; how it is compressed is seen from its first bytes. Rejects `invalid_input`. */
export async function fileBytes(handle: FileHandle): Promise<FileBytes> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAGIC_BYTES), 0, MAGIC_BYTES, 0);
  const compression = compressionOf(buffer.subarray(0, bytesRead));
  const pieces = () => (compression === undefined ? plain(handle, PIECE_BYTES) : expanded(handle, compression));
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

async function* plain(handle: FileHandle, size: number): AsyncGenerator<FilePiece> {
  for (let bytesRead = 0; ; ) {
    const { buffer, bytesRead: count } = await handle.read(Buffer.allocUnsafe(size), 0, size, bytesRead);
    if (count === 0) return;
    bytesRead += count;
    yield { piece: buffer.subarray(0, count), bytesRead };
  }
}

async function* expanded(handle: FileHandle, compression: Compression): AsyncGenerator<FilePiece> {
  let bytesRead = 0;
  async function* body() {
    for await (const one of plain(handle, HEAD_BYTES)) {
      bytesRead = one.bytesRead;
      yield one.piece;
    }
  }
  for await (const piece of decompressed(body(), compression)) yield { piece, bytesRead };
}
