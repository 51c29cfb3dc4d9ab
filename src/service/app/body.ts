import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import { parse as parseLossless } from 'lossless-json';
import { WRITE_BYTES_MAX } from '../../contract/documents.ts';
import { ApiError } from '../../contract/errors.ts';
import { isCrowd, type JsonValue, parseJson, VALUES_MAX } from '../../contract/json.ts';

/** Most bytes of a request that says what something is: what it makes stays in memory, and in every list. */
export const DEFINITION_BYTES_MAX = 1024 * 1024;

/** How much of an oversized body is read before the answer, which a client that still writes may not read otherwise. */
const DRAIN_BYTES_MAX = 8 * WRITE_BYTES_MAX;

/**
 * Buffers for large bodies, reused from one request to the next. Measured: with new buffers, garbage collection scans
 * the whole heap every ten requests of 1 MB, which takes a third of the processor time of a load.
 */
const rooms: Buffer[] = [];
const ROOMS_MAX = 2;
/** Smaller bodies do not use one of these buffers. */
const ROOM_BYTES_MIN = 64 * 1024;
const NO_BYTES = Buffer.alloc(0);
const MEBIBYTE = 1024 * 1024;

/** A request body that has not been parsed yet. */
export class RawBody {
  #bytes: Buffer;
  #room: Buffer | undefined;

  constructor(bytes: Buffer, room?: Buffer) {
    this.#bytes = bytes;
    this.#room = room;
  }

  /** Must not be used after `release()`: another request may write there then. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  /** To be called when nobody reads the bytes any more; `bytes` is empty from then on. Idempotent. */
  release(): void {
    const room = this.#room;
    this.#bytes = NO_BYTES;
    this.#room = undefined;
    if (room === undefined || rooms.includes(room)) return;
    rooms.push(room);
    // Larger buffers fit more bodies.
    if (rooms.length > ROOMS_MAX) rooms.sort((a, b) => b.length - a.length).pop();
  }

  /** Throws `content_too_large` for more values than are read while nobody else is served. */
  refuseCrowd(): void {
    if (!isCrowd(this.#bytes)) return;
    const most = VALUES_MAX.toLocaleString('en-US');
    throw new ApiError('content_too_large', `The request body holds more than ${most} values. Send fewer at once.`);
  }

  /**
   * The JSON value, with integers of any size kept exactly; undefined if the body is empty. Throws `invalid_input`,
   * with the position, for text that is not JSON.
   */
  parse(): JsonValue | undefined {
    const text = decode(this.bytes);
    return text.trim() === '' ? undefined : parseBody(text);
  }
}

/** A list in a body: the offset of its `[`, and of the byte after its `]`. */
export interface ListPlace {
  start: number;
  end: number;
}

const DATA_LIST = /^[ \t\r\n]*\{[ \t\r\n]*"data"[ \t\r\n]*:[ \t\r\n]*\[/;
const LIST_END = /\][ \t\r\n]*\}[ \t\r\n]*$/;
/** Only this many bytes at each end are searched, since there is rarely more white space. */
const EDGE_BYTES = 256;

/** Where the list is in a body of the form `{"data": […]}` in UTF-8; undefined for any other body. */
export function dataListOf({ bytes }: RawBody): ListPlace | undefined {
  const head = DATA_LIST.exec(bytes.toString('latin1', 0, EDGE_BYTES));
  const tail = LIST_END.exec(bytes.toString('latin1', Math.max(0, bytes.length - EDGE_BYTES)));
  if (head === null || tail === null || !isUtf8(bytes)) return undefined;
  return { start: head[0].length - 1, end: bytes.length - tail[0].length + 1 };
}

/** Reads a request body to its end. Throws `content_too_large` above `bytesMax`, by default 10 MiB. */
export async function readBody(payload: Readable, bytesMax = WRITE_BYTES_MAX): Promise<RawBody> {
  const { bytes, chunks } = await collect(payload, bytesMax);
  if (bytes > bytesMax) {
    const what = bytesMax < WRITE_BYTES_MAX ? 'a request of this kind' : 'one request';
    const fix = bytesMax < WRITE_BYTES_MAX ? 'Shorten its texts and lists.' : 'Send smaller batches.';
    throw new ApiError(
      'content_too_large',
      `The request body is larger than ${bytesMax} bytes (${bytesMax / MEBIBYTE} MiB), the most that ${what} may have. ${fix}`,
    );
  }
  return bytes < ROOM_BYTES_MIN ? new RawBody(Buffer.concat(chunks)) : inRoom(chunks, bytes);
}

function inRoom(chunks: readonly Buffer[], bytes: number): RawBody {
  const at = rooms.findIndex((room) => room.length >= bytes);
  // The bodies of one load are of similar length.
  const [room = Buffer.allocUnsafeSlow(Math.ceil(bytes * 1.25))] = at < 0 ? [] : rooms.splice(at, 1);
  let length = 0;
  for (const chunk of chunks) length += chunk.copy(room, length);
  return new RawBody(room.subarray(0, length), room);
}

async function collect(payload: Readable, bytesMax: number): Promise<{ bytes: number; chunks: Buffer[] }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    // Giving up must not destroy the connection, which still carries the answer.
    for await (const chunk of payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes <= bytesMax) chunks.push(chunk);
      else if (bytes <= DRAIN_BYTES_MAX) chunks.length = 0;
      else break;
    }
  } catch (error) {
    throw new ApiError('invalid_input', 'The request ended before its body was complete. Send it again.', {
      cause: error,
    });
  }
  return { bytes, chunks };
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new ApiError('invalid_input', 'The request body is not valid UTF-8. Send JSON text encoded as UTF-8.', {
      cause: error,
    });
  }
}

function parseBody(text: string): JsonValue {
  try {
    return parseJson(text);
  } catch (error) {
    throw new ApiError(
      'invalid_input',
      `The request body is not valid JSON${positionOf(text, error)}: ${whyOf(error)}`,
      {
        cause: error,
      },
    );
  }
}

/** The parser's message without its excerpt of the body, which may contain part of a secret. */
function whyOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return /is not valid JSON$/.test(message) ? 'unexpected character' : message;
}

/** The position, as ` at line 2, column 7 (position 15)`; some messages of the built-in parser lack it. */
function positionOf(text: string, error: unknown): string {
  const position = positionIn(error) ?? positionIn(locate(text));
  if (position === undefined) return '';
  const before = text.slice(0, position).split('\n');
  return ` at line ${before.length}, column ${(before.at(-1) ?? '').length + 1} (position ${position})`;
}

function locate(text: string): unknown {
  try {
    parseLossless(text);
  } catch (error) {
    return error;
  }
  return undefined;
}

function positionIn(error: unknown): number | undefined {
  const match = error instanceof SyntaxError ? /at position (\d+)/.exec(error.message) : null;
  return match === null ? undefined : Number(match[1]);
}
