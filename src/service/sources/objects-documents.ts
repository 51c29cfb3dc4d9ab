import { open } from 'node:fs/promises';
import { openAvro } from '../../contract/avro/container.ts';
import { compressionOf, decompressed, MAGIC_BYTES } from '../../contract/compressed-files.ts';
import { ITEM_BYTES_MAX } from '../../contract/json/json-scan.ts';
import { createPace } from '../../contract/turns/turns.ts';
import type { CsvRows, OpenedRow, OpenedRows, ParquetRows } from '../../engine/engine.ts';
import type { CsvSettings } from '../ingest/csv-format.ts';
import { problemOfId } from '../ingest/document-id.ts';
import { readOrRefuse } from '../ingest/intake.ts';
import { OUTLINE_BYTES, openXml, type XmlSettings } from '../ingest/xml-file.ts';
import { spoolCsv } from '../loading/csv-spool.ts';
import { itemsOf, type JsonPart, jsonParts } from '../loading/json-parts.ts';
import type { Spool } from '../loading/spool.ts';
import { documentOf, idInText, isUnparsed, mayHaveId } from './items.ts';
import { ObjectRefused } from './object-store.ts';
import type { formatsOf } from './objects-formats.ts';
import type { ObjectSpool, ObjectSpools } from './objects-spools.ts';
import { BATCH_ITEMS_MAX, type FileRows, type SourceChange, type SourceFiles, type TextRows } from './source.ts';
import { findRows } from './text-rows.ts';

/** How far an object is read. */
export interface ObjectPlace {
  /** Documents so far, those that were refused included. */
  rows: number;
}

/**
 * A document of an object, or why it is none: `text` is some of its own. Its row is the place's number of rows. `json`: it is
 * not parsed; `ownId` is its `_id` if it has one.
 */
export type ObjectEntry = { place: ObjectPlace; bytes: number } & (
  | { document: NonNullable<SourceChange['document']>; declared?: SourceChange['declared'] }
  | { json: Buffer; ownId: string | undefined; line: number }
  | { reason: string; text?: Buffer | undefined }
);

/** Documents of an object that are not parsed and have no `_id`, a line each; `place` is that of the last. */
export interface ObjectRows extends Pick<TextRows, 'bytes' | 'ends' | 'line'> {
  place: ObjectPlace;
}

/** Rows of an object that the engine stores itself; `place` is that of the last. */
export interface ObjectPart extends Pick<FileRows, 'part' | 'bytes' | 'release'> {
  place: ObjectPlace;
  /** Why something of the object that has no row is none. */
  faults: readonly string[];
}

export interface ObjectReading {
  key: string;
  /** What the derived ids of its rows begin with. */
  prefix: string;
  formatFor: ReturnType<typeof formatsOf>;
  files: SourceFiles;
  spools: ObjectSpools;
  signal: AbortSignal;
}

const HEAD_BYTES = 64 * 1024;
/** Of JSON that is looked at at once. */
const JSON_BYTES = { firstBytes: 64 * 1024, partBytes: 512 * 1024 };
/** Entries that are made at once. */
const AT_ONCE = 500;
/** Rows of text, which take less. */
const ROWS_AT_ONCE = 2_000;

/** Fewer rows share a batch with those of other objects: each part that the engine stores itself is a durable step. */
const PART_ROWS_MIN = 2_000;

type Entries = AsyncGenerator<ObjectEntry[] | ObjectRows | ObjectPart, void>;

/**
 * The documents of an object behind a place, some at a time, given all its bytes, which the caller closes. Rejects `ObjectRefused` where they cannot be
 * read, after those before that; what the bytes reject with; and `storage_full`.
 */
export async function* entriesOf(body: AsyncIterable<Buffer>, from: ObjectPlace, reading: ObjectReading): Entries {
  const { head, all } = await beginning(await plain(body), HEAD_BYTES);
  if (head.length === 0) return;
  const format = reading.formatFor(reading.key, head);
  if (format === undefined) {
    throw new ObjectRefused(
      'has a key that does not tell its format, by an ending such as .json, .csv, .xml, .parquet or .avro; name it in "format_params"',
    );
  }
  if (format.kind === 'json') yield* jsonEntries(all, format.isLines, from);
  else if (format.kind === 'xml') yield* xmlEntries(all, head, format.xml, from);
  else {
    const spool = reading.spools.create();
    try {
      if (format.kind === 'csv') yield* csvEntries(all, spool, format.csv, from, reading);
      else if (format.kind === 'avro') yield* avroEntries((await spooled(all, spool)).path, head, from);
      else {
        const { path, bytes } = await spooled(all, spool);
        yield* rowEntries({ rows: { kind: 'parquet', path, skip: 0 }, bytes, spool, faults: [] }, from, reading);
      }
    } finally {
      await spool.remove();
    }
  }
}

/** The bytes without their compression, which the first of them tell. */
async function plain(body: AsyncIterable<Buffer>): Promise<AsyncIterable<Buffer>> {
  const { head, all } = await beginning(body, MAGIC_BYTES);
  const compression = compressionOf(head);
  return compression === undefined ? all : decompressed(all, compression);
}

/** The first bytes, about so many or all, and all of them. */
async function beginning(body: AsyncIterable<Buffer>, bytes: number) {
  const pieces = body[Symbol.asyncIterator]();
  const first: Buffer[] = [];
  let length = 0;
  while (length < bytes) {
    const { done, value } = await pieces.next();
    if (done === true) break;
    first.push(value);
    length += value.length;
  }
  async function* all() {
    try {
      yield* first.splice(0);
      for (;;) {
        const { done, value } = await pieces.next();
        if (done === true) return;
        yield value as Buffer;
      }
    } finally {
      await pieces.return?.();
    }
  }
  return { head: Buffer.concat(first), all: all() };
}

async function* jsonEntries(body: AsyncIterable<Buffer>, isLines: boolean, from: ObjectPlace): Entries {
  const place = { rows: 0 };
  for await (const part of jsonParts(body, { isLines, ...JSON_BYTES })) {
    const isWithoutId = !mayHaveId(part.bytes);
    const left = part.isLines && isWithoutId ? yield* rowsOf(part, place, from) : part;
    if (left !== undefined) yield await itemEntries(left, isWithoutId, place, from);
  }
}

/** The documents of a part, as rows of text; returns what follows the last of them, if that needs a closer look. */
async function* rowsOf(
  part: JsonPart,
  place: ObjectPlace,
  from: ObjectPlace,
): AsyncGenerator<ObjectRows, JsonPart | undefined> {
  let next = { at: 0, line: part.line };
  while (next.at < part.bytes.length) {
    const known = from.rows - place.rows;
    const max = known > 0 ? Math.min(known, ROWS_AT_ONCE) : ROWS_AT_ONCE;
    const found = findRows(part.bytes, next, max, ITEM_BYTES_MAX);
    if (found === undefined) return { ...part, bytes: part.bytes.subarray(next.at), line: next.line };
    const { bytes, ends, line } = found;
    place.rows += ends.length;
    // They are kept for longer than the part is.
    if (known <= 0 && ends.length > 0) yield { place: { ...place }, bytes: Buffer.from(bytes), ends, line };
    next = found.next;
  }
  return undefined;
}

async function itemEntries(
  part: JsonPart,
  isWithoutId: boolean,
  place: ObjectPlace,
  from: ObjectPlace,
): Promise<ObjectEntry[]> {
  const pace = createPace();
  const entries: ObjectEntry[] = [];
  // They are kept for longer than the part is.
  const copy = Buffer.from(part.bytes);
  for (const { start, end, line } of itemsOf({ ...part, bytes: copy })) {
    place.rows += 1;
    if (place.rows <= from.rows) continue;
    const bytes = copy.subarray(start, end);
    const entry = { place: { ...place }, bytes: bytes.length };
    const ownId = isWithoutId ? undefined : idInText(bytes);
    if (isUnparsed(bytes) && ownId !== null) entries.push({ ...entry, json: bytes, ownId, line });
    else {
      const found = await documentOf(bytes);
      if ('document' in found) entries.push({ ...entry, document: found.document });
      else entries.push({ ...entry, reason: `${found.reason} (line ${line})`, text: bytes.subarray(0, 8_192) });
    }
    const turn = pace();
    if (turn !== undefined) await turn;
  }
  return entries;
}

async function* xmlEntries(
  body: AsyncIterable<Buffer>,
  head: Buffer,
  settings: XmlSettings,
  from: ObjectPlace,
): Entries {
  // Which elements are documents is seen from the first ones, unless it was said.
  const first = settings.docTag === undefined ? await beginning(body, OUTLINE_BYTES) : { head, all: body };
  const reader = (await openXml({ head, begin: () => inSteps(first.head) }, settings)).newReader();
  let rows = 0;
  function* entriesIn(piece: Buffer | undefined) {
    const { entries, failure } = piece === undefined ? reader.end() : reader.read(piece);
    const some: ObjectEntry[] = [];
    for (const { bytes, entry } of entries) {
      rows += 1;
      if (rows <= from.rows) continue;
      const place = { rows };
      if ('document' in entry) some.push({ place, bytes, document: entry.document });
      else some.push({ place, bytes, reason: `${entry.problem} (line ${entry.at})` });
    }
    yield some;
    if (failure !== undefined) throw failure;
  }
  for await (const piece of first.all) {
    for await (const step of inSteps(piece)) yield* entriesIn(step);
  }
  yield* entriesIn(undefined);
}

async function* inSteps(bytes: Buffer): AsyncGenerator<Buffer> {
  const pace = createPace();
  for (let at = 0; at < bytes.length; at += HEAD_BYTES) {
    yield bytes.subarray(at, at + HEAD_BYTES);
    const turn = pace();
    if (turn !== undefined) await turn;
  }
}

async function* csvEntries(
  body: AsyncIterable<Buffer>,
  spool: ObjectSpool,
  csv: CsvSettings,
  from: ObjectPlace,
  reading: ObjectReading,
): Entries {
  const how = { csv, skip: 0, isByRow: true };
  const { rows, refused, refusedCount, bytes } = await spoolCsv(body, spool, how, reading.signal);
  // They have no row: those that follow are counted without them, so these are told with the first.
  const faults = from.rows > 0 ? [] : refused.map(({ at, why }) => `has line ${at}, which ${why}`);
  const more = from.rows > 0 ? 0 : refusedCount - refused.length;
  if (more > 0) faults.push(`has ${more} more lines that are no rows`);
  yield* rowEntries({ rows, bytes, spool, faults }, from, reading);
}

interface SpooledRows {
  rows: CsvRows | ParquetRows;
  bytes: number;
  spool: ObjectSpool;
  /** What is to be told of the object besides. */
  faults: readonly string[];
}

/** Rows that the engine reads from the spool: it stores them itself where it may, and they are worth a step of their own. */
async function* rowEntries(
  { rows, bytes, spool, faults }: SpooledRows,
  from: ObjectPlace,
  reading: ObjectReading,
): Entries {
  const { files, prefix, signal } = reading;
  const opened = await files.openRows(rows, signal);
  const takesRows = files.takesRows && problemOfId(prefix) === undefined;
  const bytesOfRow = bytes / Math.max(1, opened.lasts.at(-1) ?? 0);
  let row = from.rows;
  let untold = faults;
  for (const last of opened.lasts) {
    const count = last - row;
    const options = { prefix, read: readOrRefuse, refusedMax: BATCH_ITEMS_MAX };
    const part = takesRows && count >= PART_ROWS_MIN ? await opened.partBehind(row, options, signal) : undefined;
    if (part === undefined) {
      yield faultEntries(untold);
      yield* rowsTo(opened, row, last, signal);
    } else {
      const bytesOfPart = Math.round(count * bytesOfRow);
      yield { place: { rows: last }, part, bytes: bytesOfPart, release: spool.hold(), faults: untold };
    }
    untold = [];
    row = last;
  }
  yield faultEntries(untold);
}

function faultEntries(faults: readonly string[]): ObjectEntry[] {
  return faults.map((reason) => ({ place: { rows: 0 }, bytes: 0, reason }));
}

/** The rows behind a row up to another one, as documents. */
async function* rowsTo(opened: OpenedRows, after: number, last: number, signal: AbortSignal): Entries {
  const pace = createPace();
  for (let row = after; row < last; ) {
    const found = await opened.next(row, signal);
    for (let start = 0; start < found.length; start += AT_ONCE) {
      const entries: ObjectEntry[] = [];
      for (const one of found.slice(start, start + AT_ONCE)) {
        entries.push(entryOf(one));
        const turn = pace();
        if (turn !== undefined) await turn;
      }
      yield entries;
    }
    row = found.at(-1)?.at ?? last;
  }
}

function entryOf(one: OpenedRow): ObjectEntry {
  const { at: rows, bytes } = one;
  const read = one.read();
  const entry = { place: { rows }, bytes };
  return 'why' in read ? { ...entry, reason: `${read.why} (row ${rows})` } : { ...entry, ...read };
}

async function* avroEntries(path: string, head: Buffer, from: ObjectPlace): Entries {
  const { entries } = openAvro({ head, pieces: () => piecesOf(path) });
  for await (const { entries: some } of entries) {
    const behind = some.filter(({ entry }) => entry.at > from.rows);
    yield behind.map(({ bytes, entry }): ObjectEntry => {
      const place = { rows: entry.at };
      if ('document' in entry) return { place, bytes, document: entry.document };
      return { place, bytes, reason: `${entry.problem} (record ${entry.at})` };
    });
  }
}

async function spooled(body: AsyncIterable<Buffer>, spool: Spool): Promise<{ path: string; bytes: number }> {
  const file = await spool.create();
  let bytes = 0;
  for await (const piece of body) {
    await file.write(piece);
    bytes += piece.length;
  }
  await file.close();
  return { path: file.path, bytes };
}

async function* piecesOf(path: string) {
  const handle = await open(path);
  try {
    for (let bytesRead = 0; ; ) {
      const { buffer, bytesRead: count } = await handle.read(Buffer.allocUnsafe(HEAD_BYTES), 0, HEAD_BYTES, bytesRead);
      if (count === 0) return;
      bytesRead += count;
      yield { piece: buffer.subarray(0, count), bytesRead };
    }
  } finally {
    await handle.close();
  }
}
