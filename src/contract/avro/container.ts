import { limitExpansion } from '../compressed-files.ts';
import { ApiError } from '../errors.ts';
import { isObject, type JsonObject, stringifyJson } from '../json/json.ts';
import { ITEM_VALUES_MAX } from '../json/json-scan.ts';
import { DEPTH_MAX, measure } from '../json/measure.ts';
import { BLOCK_BYTES_MAX, codecOf, type Decompress } from './codecs.ts';
import { AvroCursor, AvroError } from './cursor.ts';
import type { Read } from './logical.ts';
import { type AvroNotes, readerOfSchema } from './schema.ts';

const MAGIC = 'Obj\u0001';
const SYNC_BYTES = 16;
const HEADER_BYTES_MAX = 4 * 1024 * 1024;
const BLOCK_HEAD_BYTES = 20;
/** Records of no bytes in one block. */
const EMPTY_RECORDS_MAX = 100_000;
/** The entries that are created at once, roughly, in records and bytes. */
const SLICE = { records: 5_000, bytes: 2 * 1024 * 1024 };

/** A record of a file as a document, with its size as text; `at` counts them from 1. */
export interface AvroEntry {
  bytes: number;
  entry: { at: number } & ({ document: JsonObject } | { problem: string });
}

/** A file that can be read several times. */
export interface AvroFile {
  /** The first bytes. */
  head: Buffer;
  /** All bytes from the beginning, with how many of the file were read for them. */
  pieces(): AsyncGenerator<{ piece: Buffer; bytesRead: number }>;
}

export interface AvroOpened {
  entries: AsyncGenerator<{ entries: AvroEntry[]; bytesRead: number }>;
  unwritable(): number;
  /** Fields whose decimals are all text, known once the first entries are. */
  asText(): readonly string[];
}

/** Whether a file that begins so is an Avro object container file. */
export function isAvro(head: Buffer): boolean {
  return head.toString('latin1', 0, MAGIC.length) === MAGIC;
}

/** The records of an Avro object container file; `at` counts them. Throws `invalid_input` if it is none. */
export function openAvro(bytes: AvroFile): AvroOpened {
  if (!isAvro(bytes.head)) {
    throw new ApiError('invalid_input', 'The file is no Avro: object container files begin with "Obj" and the byte 1.');
  }
  let unwritable = 0;
  const asText = new Set<string>();
  async function* entries() {
    for (const field of await longDecimalsIn(bytes)) asText.add(field);
    yield* slicesOf(bytes, {
      unwritable: () => {
        unwritable += 1;
      },
      isText: (field) => asText.has(field),
      mayBeLong: () => undefined,
      longDecimal: () => undefined,
    });
  }
  return { entries: entries(), unwritable: () => unwritable, asText: () => [...asText] };
}

/** The fields with a decimal that a number does not keep; only a file that declares such is read for that. */
async function longDecimalsIn(bytes: AvroFile): Promise<Set<string>> {
  const found = new Set<string>();
  let isDeclared = false;
  const slices = slicesOf(bytes, {
    unwritable: () => undefined,
    isText: () => false,
    mayBeLong: () => {
      isDeclared = true;
    },
    longDecimal: (field) => found.add(field),
  });
  try {
    for await (const _ of slices) if (!isDeclared) break;
  } catch (error) {
    // What is wrong is told when the documents before it are in.
    if (!(error instanceof ApiError)) throw error;
  }
  return found;
}

/** Rejects, after the entries before that, where the file cannot be read. */
async function* slicesOf(bytes: AvroFile, notes: AvroNotes): AvroOpened['entries'] {
  const source = new Source(bytes.pieces());
  let at = 0;
  let expanded = 0;
  try {
    const { read, decompress, sync } = await headerOf(source, notes);
    while (await source.has(1)) {
      const { count, content } = await blockOf(source, sync, decompress);
      expanded += content.length;
      limitExpansion(expanded, source.bytesRead);
      const cursor = new AvroCursor(content);
      let entries: AvroEntry[] = [];
      let size = 0;
      for (let index = 0; index < count; index++) {
        let entry: AvroEntry;
        try {
          entry = entryOf(at + 1, cursor, read);
        } catch (error) {
          // Those before it are good.
          yield { entries, bytesRead: source.bytesRead };
          throw error;
        }
        at += 1;
        entries.push(entry);
        size += entry.bytes;
        if (entries.length < SLICE.records && size < SLICE.bytes) continue;
        yield { entries, bytesRead: source.bytesRead };
        entries = [];
        size = 0;
      }
      yield { entries, bytesRead: source.bytesRead };
      if (cursor.left > 0) throw new AvroError(`a block has ${cursor.left} bytes behind its ${count} records`);
    }
  } catch (error) {
    if (!(error instanceof AvroError)) throw error;
    const place = at === 0 ? '' : `, after record ${at.toLocaleString('en-US')}`;
    throw new ApiError('invalid_input', `The file cannot be read as Avro${place}: ${error.message}.`, { cause: error });
  } finally {
    await source.close();
  }
}

function entryOf(at: number, cursor: AvroCursor, read: Read): AvroEntry {
  cursor.beginRecord();
  const value = read(cursor);
  if (!isObject(value)) return { bytes: 0, entry: { at, problem: 'is no record' } };
  const { values, problem } = cursor;
  if (problem !== undefined) return { bytes: 0, entry: { at, problem } };
  if (values > ITEM_VALUES_MAX)
    return { bytes: 0, entry: { at, problem: `holds more than ${ITEM_VALUES_MAX} values` } };
  const tooDeep = cursor.deepest > DEPTH_MAX ? measure(value).problem : undefined;
  if (tooDeep !== undefined) return { bytes: 0, entry: { at, problem: tooDeep } };
  return { bytes: stringifyJson(value).length, entry: { at, document: value } };
}

async function headerOf(source: Source, notes: AvroNotes) {
  const { meta, length } = await source.parsed(HEADER_BYTES_MAX, 'its header', (cursor) => {
    cursor.take(MAGIC.length);
    const meta = new Map<string, Buffer>();
    for (let items = Number(cursor.long()); items !== 0; items = Number(cursor.long())) {
      if (items < 0) cursor.long();
      for (let index = Math.abs(items); index > 0; index--) meta.set(cursor.text(), cursor.take(cursor.long()));
    }
    return { meta, length: SYNC_BYTES };
  });
  const schema = meta.get('avro.schema');
  if (schema === undefined) throw new AvroError('it has no schema');
  const decompress = codecOf(meta.get('avro.codec')?.toString() ?? 'null');
  return { read: readerOfSchema(schema.toString(), notes), decompress, sync: await source.take(length) };
}

async function blockOf(source: Source, sync: Buffer, decompress: Decompress) {
  const { count, size } = await source.parsed(BLOCK_HEAD_BYTES, 'a block', (cursor) => ({
    count: Number(cursor.long()),
    size: Number(cursor.long()),
  }));
  if (count < 0 || size < 0) throw new AvroError('a block has a negative size');
  if (size > BLOCK_BYTES_MAX) throw new AvroError(`a block claims ${size} bytes; at most 64 MiB are read`);
  const bytes = await source.take(size);
  if (!(await source.take(SYNC_BYTES)).equals(sync))
    throw new AvroError('a block does not end with the mark of the file');
  const content = await decompress(bytes);
  if (count > content.length && count > EMPTY_RECORDS_MAX) {
    throw new AvroError(`a block claims ${count} records in ${content.length} bytes`);
  }
  return { count, content };
}

/** The bytes of a file, from which as many are taken as one knows to need. */
class Source {
  readonly #pieces: ReturnType<AvroFile['pieces']>;
  #ready: Buffer = Buffer.alloc(0);
  bytesRead = 0;

  constructor(pieces: ReturnType<AvroFile['pieces']>) {
    this.#pieces = pieces;
  }

  /** Whether so many bytes are left; then they are at hand. */
  async has(count: number): Promise<boolean> {
    const pieces = [this.#ready];
    let length = this.#ready.length;
    while (length < count) {
      const next = await this.#pieces.next();
      if (next.done === true) break;
      this.bytesRead = next.value.bytesRead;
      pieces.push(next.value.piece);
      length += next.value.piece.length;
    }
    if (pieces.length > 1) this.#ready = Buffer.concat(pieces);
    return length >= count;
  }

  async take(count: number): Promise<Buffer> {
    if (!(await this.has(count))) throw new AvroError('the file ends within a block; it was cut off');
    const taken = this.#ready.subarray(0, count);
    this.#ready = this.#ready.subarray(count);
    return taken;
  }

  /** What the next bytes are parsed to, as many as that takes. */
  async parsed<T>(bytesMax: number, what: string, parse: (cursor: AvroCursor) => T): Promise<T> {
    for (let count = 64; ; count *= 4) {
      const isThere = await this.has(Math.min(count, bytesMax));
      const cursor = new AvroCursor(this.#ready);
      try {
        const found = parse(cursor);
        this.#ready = this.#ready.subarray(this.#ready.length - cursor.left);
        return found;
      } catch (error) {
        if (!(error instanceof AvroError)) throw error;
        if (!isThere) throw new AvroError(`the file ends within ${what}; it was cut off`, { cause: error });
        if (count >= bytesMax) throw new AvroError(`${what} has more than ${bytesMax} bytes`, { cause: error });
      }
    }
  }

  async close(): Promise<void> {
    await this.#pieces.return(undefined);
  }
}
