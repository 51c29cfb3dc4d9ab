import { blobValue } from '@duckdb/node-api';
import { mapInTurns } from '../../../contract/turns/turns.ts';
import { type DocumentsText, derivedId } from '../../documents.ts';
import type { Run } from '../connections/store.ts';
import { dataTable, type Table } from '../tables/catalog.ts';
import { ID_SEPARATOR, insertLinesStatement, insertStatement, isListed, lineOf, linesIn } from '../tables/insert.ts';
import { TEXT_MAX } from '../values/lines.ts';
import { sortedMaps } from '../values/sorted-maps.ts';
import type { TextDocument } from './unparsed.ts';

/**
 * Buffer for the text of a statement, reused for the next one: allocating a new one each time triggers a full garbage
 * collection every few requests.
 */
let spare: Buffer | undefined;

/** Runs `work` with a buffer of at least `size` bytes. */
async function withRoom(size: number, work: (room: Buffer) => Promise<void>): Promise<void> {
  const room = spare !== undefined && spare.length >= size ? spare : Buffer.allocUnsafeSlow(size);
  spare = undefined;
  try {
    await work(room);
  } finally {
    if (room.length <= TEXT_MAX * 2) spare = room;
  }
}

/** Separates documents: a byte that JSON text never contains. */
const SEPARATOR = 0x1e;

/** Documents of a text in parts, each for one statement: of at most `max` bytes unless a single document is longer. */
export function partsOfText(documents: readonly TextDocument[], max: number): TextDocument[][] {
  // The first of a table are parsed, since nothing is known of it, and those behind them are lines.
  const parsedTo = documents.findLastIndex(({ parsed }) => parsed !== null) + 1;
  const cut = documents.length - parsedTo < LINES_MIN ? 0 : parsedTo;
  const parts: TextDocument[][] = [];
  for (let from = 0; from < documents.length; ) {
    let size = 0;
    let to = from;
    for (; to < documents.length; to += 1) {
      const { start = 0, end = 0 } = documents[to] ?? {};
      if (to > from && (to === cut || size + end - start > max)) break;
      size += end - start;
    }
    parts.push(documents.slice(from, to));
    from = to;
  }
  return parts;
}

/** Inserts documents of a text without parsing them; the statements, one for each part, are like those of `insertDocuments`. */
export async function insertText(
  run: Run,
  table: Table,
  text: Buffer,
  parts: readonly (readonly TextDocument[])[],
  timeOf: (document: TextDocument) => bigint,
): Promise<void> {
  for (const some of parts) {
    if (table.shape.columns.size > 0 && areLines(text, some)) {
      const lines = text.subarray(some[0]?.start, some.at(-1)?.end);
      const ids = some.map(({ id }) => id);
      const times = some.map(timeOf);
      const [first = 0n] = times;
      await insertLines(run, table, lines, ids, times.every((time) => time === first) ? first : times);
    } else await insertSome(run, table, text, some, timeOf);
  }
}

/** Fewer are not worth a statement of their own. */
const LINES_MIN = 200;
const LINE_FEED = 10;

/** Whether each document is one line, as it is: then nothing has to be copied. */
function areLines(text: Buffer, documents: readonly TextDocument[]): boolean {
  if (documents.length < LINES_MIN) return false;
  let feed = (documents[0]?.start ?? 0) - 1;
  return documents.every(({ id, start, end, parsed }, place) => {
    // The one before is behind the document before, and before this one.
    if (parsed !== null || feed >= start || !isListed(id)) return false;
    if (place === documents.length - 1) {
      const next = text.indexOf(LINE_FEED, feed + 1);
      return next < 0 || next >= end;
    }
    feed = text.indexOf(LINE_FEED, feed + 1);
    return feed >= end;
  });
}

/** Inserts documents that are the lines of a text; `times`: one for each, or for all of them. */
async function insertLines(
  run: Run,
  table: Table,
  lines: Buffer,
  ids: readonly string[],
  times: readonly bigint[] | bigint,
): Promise<void> {
  const isOne = typeof times === 'bigint';
  const statement = insertLinesStatement(dataTable(table.id), table.shape, isOne, sortedMaps);
  await run(statement, blobValue(lines), ids.join(ID_SEPARATOR), isOne ? String(times) : times.join(','));
}

/**
 * Inserts the numbered lines of a text, which `tryLines` has found to fit; as `insertText` otherwise. `timeOfAll`: the event time
 * of each, if it is the same.
 */
export async function insertNumbered(
  run: Run,
  table: Table,
  { bytes, start, numbered = [] }: DocumentsText,
  { max, timeOf, timeOfAll }: { max: number; timeOf: (id: string) => bigint; timeOfAll: bigint | undefined },
): Promise<void> {
  let [from, to] = [start, start];
  let ids: string[] = [];
  const insert = async () => {
    const some = ids;
    ids = [];
    await insertLines(run, table, bytes.subarray(from, to), some, timeOfAll ?? some.map(timeOf));
    from = to + 1;
  };
  for (const { prefix, first, ends } of numbered) {
    for (const [place, end] of ends.entries()) {
      if (end - from > max && ids.length > 0) await insert();
      ids.push(derivedId(prefix, first + place));
      to = end;
    }
  }
  if (ids.length > 0) await insert();
}

async function insertSome(
  run: Run,
  table: Table,
  text: Buffer,
  documents: readonly TextDocument[],
  timeOf: (document: TextDocument) => bigint,
): Promise<void> {
  const lines = await mapInTurns(documents, (document): Line => {
    const { id, parsed } = document;
    const eventTimeMicros = timeOf(document);
    if (parsed !== null) return lineOf({ ...parsed, id, eventTimeMicros }, table.shape);
    return [`{"i":${JSON.stringify(id)},"t":${eventTimeMicros},"f":{`, '}'];
  });
  const size = documents.reduce((sum, document, index) => sum + roomOf(lines[index] ?? '', document), 0);
  const statement = insertStatement(
    dataTable(table.id),
    table.shape,
    linesIn('decode($1::BLOB)', SEPARATOR, documents.length),
    sortedMaps,
  );
  await withRoom(size, async (room) => {
    await run(statement, blobValue(room.subarray(0, join(room, text, documents, lines))));
  });
}

/**
 * How a document is written into a statement's text: two texts to put before and after its own text without the opening
 * brace, or one text to use instead.
 */
type Line = string | readonly [string, string];

/** Writes documents into `room` with separators between them; returns the number of bytes written. */
function join(room: Buffer, text: Buffer, documents: readonly TextDocument[], lines: readonly Line[]): number {
  let at = 0;
  for (const [index, { start, end }] of documents.entries()) {
    const line = lines[index] ?? '';
    if (at > 0) room[at++] = SEPARATOR;
    if (typeof line === 'string') at += room.write(line, at);
    else {
      at += room.write(line[0], at);
      at += text.copy(room, at, start + 1, end);
      at += room.write(line[1], at);
    }
  }
  return at;
}

/** An upper bound for the bytes of a document and its separator. */
function roomOf(line: Line, { start, end }: TextDocument): number {
  if (typeof line === 'string') return Buffer.byteLength(line) + 1;
  return Buffer.byteLength(line[0]) + end - start + line[1].length + 1;
}
