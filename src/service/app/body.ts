import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { WRITE_BYTES_MAX } from '../../contract/documents.ts';
import { ApiError } from '../../contract/errors.ts';
import { checkJson, isObject, type JsonValue, parseJson, parseJsonInTurns } from '../../contract/json/json.ts';
import { JsonTextError } from '../../contract/json/json-reader.ts';
import { type ListPlace, type ScanOptions, scanJson } from '../../contract/json/json-scan.ts';
import { createPace } from '../../contract/turns/turns.ts';

/** Most bytes of a request that says what something is: what it makes stays in memory, and in every list. */
export const DEFINITION_BYTES_MAX = 1024 * 1024;
/** Most bytes of a request that only reads: a statement with its parameters. */
export const READ_BYTES_MAX = 4 * 1024 * 1024;

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
/** Longer entries are parsed in turns. */
const ENTRY_CHARS = 64 * 1024;
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

  /**
   * The JSON value, with integers of any size kept exactly; undefined if the body is empty. The list `data` may have
   * `itemsMax` entries, each bounded by itself; without it, the whole is. Throws `invalid_input`, with the position, for
   * text that is not JSON, and names the limit for what is over one.
   */
  async parse(data?: ScanOptions['data']): Promise<JsonValue | undefined> {
    const { bytes } = this;
    const list = await scanJson(bytes, { what: 'The request body', ...(data === undefined ? {} : { data }) });
    if (!isUtf8(bytes)) {
      throw new ApiError('invalid_input', 'The request body is not valid UTF-8. Send JSON text encoded as UTF-8.');
    }
    if (list !== undefined) return parseWithList(bytes, list);
    const text = decode(bytes);
    if (text.trim() === '') return undefined;
    return withPlace(text, async () => {
      if (data !== undefined && bytes.length > DEFINITION_BYTES_MAX) {
        await checkJson(text);
        throw tooMuchBeside(bytes.length);
      }
      return parseJsonInTurns(text);
    });
  }
}

/** Stands for the list `data` while what is around it is parsed: nobody can send it, or know it. */
const PLACEHOLDER = JSON.stringify(`data ${randomUUID()}`);

/** Parses a body entry by entry, so that no text is long. */
async function parseWithList(bytes: Buffer, { start, end, items }: ListPlace): Promise<JsonValue> {
  const beside = bytes.length - (end - start);
  if (beside > DEFINITION_BYTES_MAX) throw tooMuchBeside(beside);
  const around = decode(Buffer.concat([bytes.subarray(0, start), Buffer.from(PLACEHOLDER), bytes.subarray(end)]));
  try {
    const body = await parseJsonInTurns(around);
    // Another key may mean `data` as well, if it is written with escapes, and then the last one counts.
    if (!isObject(body) || body['data'] !== JSON.parse(PLACEHOLDER)) return body;
    const pace = createPace();
    const entries: JsonValue[] = [];
    for (let at = 0; at < items.length; at += 2) {
      entries.push(await parseEntry(bytes.toString('utf8', items[at], items[at + 1])));
      const turn = pace();
      if (turn !== undefined) await turn;
    }
    return { ...body, data: entries };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const text = decode(bytes);
    // Again, for the position in the whole.
    await withPlace(text, () => checkJson(text));
    throw error;
  }
}

function parseEntry(text: string): JsonValue | Promise<JsonValue> {
  return text.length > ENTRY_CHARS ? parseJsonInTurns(text) : parseJson(text);
}

function tooMuchBeside(bytes: number): ApiError {
  return new ApiError(
    'content_too_large',
    `The request body has ${bytes} bytes beside the list "data", and ${DEFINITION_BYTES_MAX} are the most.`,
  );
}

/** Where the list is in a body of the form `{"data": […]}` in UTF-8; undefined for any other body. */
export function dataListOf({ bytes }: RawBody): Pick<ListPlace, 'start' | 'end'> | undefined {
  const head = DATA_LIST.exec(bytes.toString('latin1', 0, EDGE_BYTES));
  const tail = LIST_END.exec(bytes.toString('latin1', Math.max(0, bytes.length - EDGE_BYTES)));
  if (head === null || tail === null || !isUtf8(bytes)) return undefined;
  return { start: head[0].length - 1, end: bytes.length - tail[0].length + 1 };
}

const DATA_LIST = /^[ \t\r\n]*\{[ \t\r\n]*"data"[ \t\r\n]*:[ \t\r\n]*\[/;
const LIST_END = /\][ \t\r\n]*\}[ \t\r\n]*$/;
/** Only this many bytes at each end are searched, since there is rarely more white space. */
const EDGE_BYTES = 256;

/**
 * Reads a request body to its end. Throws `content_too_large` above `bytesMax`, by default 10 MiB. Nothing that takes
 * time is done with its bytes before `enter`, given their number, has resolved.
 */
export async function readBody(
  payload: Readable,
  bytesMax = WRITE_BYTES_MAX,
  enter: (bytes: number) => Promise<void> = async () => {},
): Promise<RawBody> {
  const { bytes, chunks } = await collect(payload, bytesMax);
  if (bytes > bytesMax) {
    const what = bytesMax < WRITE_BYTES_MAX ? 'a request of this kind' : 'one request';
    const fix = bytesMax < WRITE_BYTES_MAX ? 'Shorten its texts and lists.' : 'Send smaller batches.';
    throw new ApiError(
      'content_too_large',
      `The request body is larger than ${bytesMax} bytes (${bytesMax / MEBIBYTE} MiB), the most that ${what} may have. ${fix}`,
    );
  }
  await enter(bytes);
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

/**
 * Reads what nobody else has begun to read of a request, bounded like a body that is too large: if a connection closes
 * while its caller still writes, the caller learns that it broke, and not the answer.
 */
export async function discardBody(payload: Readable): Promise<void> {
  if (payload.readableDidRead) return;
  // A caller that hung up needs no answer.
  await collect(payload, 0).catch(() => undefined);
}

/** Without a byte order mark. */
function decode(bytes: Buffer): string {
  return new TextDecoder('utf-8').decode(bytes);
}

/** Runs `work` on a text; if that is not JSON, the error says where. */
async function withPlace<T>(text: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    throw new ApiError('invalid_input', `The request body is not valid JSON${placeOf(text, error)}: ${error.message}.`);
  }
}

/** The place of an error, as ` at line 2, column 7 (position 15)`. */
function placeOf(text: string, { position }: JsonTextError): string {
  let line = 1;
  let lineStart = 0;
  for (let at = text.indexOf('\n'); at >= 0 && at < position; at = text.indexOf('\n', lineStart)) {
    line += 1;
    lineStart = at + 1;
  }
  return ` at line ${line}, column ${position - lineStart + 1} (position ${position})`;
}
