import { open } from 'node:fs/promises';
import { openAvro } from '../../contract/avro/container.ts';
import { compressionOf, decompressed, MAGIC_BYTES } from '../../contract/compressed-files.ts';
import { ITEM_BYTES_MAX } from '../../contract/json/json-scan.ts';
import { createPace } from '../../contract/turns/turns.ts';
import type { CsvRows, OpenedRow, ParquetRows } from '../../engine/engine.ts';
import type { CsvSettings } from '../ingest/csv-format.ts';
import { OUTLINE_BYTES, openXml, type XmlSettings } from '../ingest/xml-file.ts';
import { spoolCsv } from '../loading/csv-spool.ts';
import { itemsOf, type JsonPart, jsonParts } from '../loading/json-parts.ts';
import { createSpool, type Spool, type SpoolFile } from '../loading/spool.ts';
import { documentOf, idInText, isUnparsed, mayHaveId } from './items.ts';
import { ObjectRefused } from './object-store.ts';
import type { formatsOf } from './objects-formats.ts';
import type { SourceChange, SourceFiles, TextRows } from './source.ts';
import { findRows } from './text-rows.ts';

/** How far an object is read. */
export interface ObjectPlace {
  /** Documents so far, those that were refused included. */
  rows: number;
  /** The line, or row, of the last one, in files that the engine reads. */
  at: number;
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

export interface ObjectReading {
  key: string;
  formatFor: ReturnType<typeof formatsOf>;
  files: SourceFiles;
  signal: AbortSignal;
}

const HEAD_BYTES = 64 * 1024;
/** Of JSON that is looked at at once. */
const JSON_BYTES = { firstBytes: 64 * 1024, partBytes: 512 * 1024 };
/** Entries that are made at once. */
const AT_ONCE = 500;
/** Rows of text, which take less. */
const ROWS_AT_ONCE = 2_000;

type Entries = AsyncGenerator<ObjectEntry[] | ObjectRows, void>;

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
    const spool = createSpool(reading.files.spool);
    try {
      if (format.kind === 'csv') yield* csvEntries(all, spool, format.csv, from, reading);
      else if (format.kind === 'avro') yield* avroEntries(await spooled(all, spool), head, from);
      else {
        const { path } = await spooled(all, spool);
        yield* rowEntries({ kind: 'parquet', path, skip: 0 }, from, reading);
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
  const place = { rows: 0, at: 0 };
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
      const place = { rows, at: 0 };
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
  spool: Spool,
  csv: CsvSettings,
  from: ObjectPlace,
  reading: ObjectReading,
): Entries {
  const { rows, refused, refusedCount } = await spoolCsv(body, spool, { csv, skip: 0 }, reading.signal);
  // They have no row: those that follow are counted without them, so these are told before the first.
  if (from.at === 0 && refusedCount > 0) {
    const place = { rows: 0, at: 0 };
    const some: ObjectEntry[] = refused.map(({ at, why }) => ({
      place,
      bytes: 0,
      reason: `has line ${at}, which ${why}`,
    }));
    const more = refusedCount - refused.length;
    if (more > 0) some.push({ place, bytes: 0, reason: `has ${more} more lines that are no rows` });
    yield some;
  }
  yield* rowEntries(rows, from, reading);
}

/** Rows that the engine reads from the spool. */
async function* rowEntries(rows: CsvRows | ParquetRows, from: ObjectPlace, { files, signal }: ObjectReading): Entries {
  const opened = await files.openRows(rows, signal);
  const pace = createPace();
  let { rows: row, at } = from;
  for (;;) {
    const found = await opened.next(at, signal);
    if (found.length === 0) return;
    for (let start = 0; start < found.length; start += AT_ONCE) {
      const entries: ObjectEntry[] = [];
      for (const one of found.slice(start, start + AT_ONCE)) {
        row += 1;
        entries.push(entryOf(one, row));
        const turn = pace();
        if (turn !== undefined) await turn;
      }
      yield entries;
    }
    at = found.at(-1)?.at ?? at;
  }
}

function entryOf(one: OpenedRow, rows: number): ObjectEntry {
  const { at, bytes } = one;
  const read = one.read();
  const entry = { place: { rows, at }, bytes };
  return 'why' in read ? { ...entry, reason: `${read.why} (row ${rows})` } : { ...entry, ...read };
}

async function* avroEntries(file: SpoolFile, head: Buffer, from: ObjectPlace): Entries {
  const { entries } = openAvro({ head, pieces: () => piecesOf(file.path) });
  for await (const { entries: some } of entries) {
    const behind = some.filter(({ entry }) => entry.at > from.rows);
    yield behind.map(({ bytes, entry }): ObjectEntry => {
      const place = { rows: entry.at, at: 0 };
      if ('document' in entry) return { place, bytes, document: entry.document };
      return { place, bytes, reason: `${entry.problem} (record ${entry.at})` };
    });
  }
}

async function spooled(body: AsyncIterable<Buffer>, spool: Spool): Promise<SpoolFile> {
  const file = await spool.create();
  for await (const piece of body) await file.write(piece);
  await file.close();
  return file;
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
