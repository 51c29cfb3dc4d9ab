import { setImmediate as turn } from 'node:timers/promises';
import { type DuckDBDataChunk, DuckDBMaterializedResult, type DuckDBResult, type DuckDBVector } from '@duckdb/node-api';
import { isObject, type JsonValue } from '../../../contract/json/json.ts';
import { mapInTurns } from '../../../contract/turns/turns.ts';
import type { QueryOutcome } from '../../engine.ts';
import type { ResultRows } from '../../results.ts';
import { uniqueNames } from '../sql/result-names.ts';
import { mergeIntoRow, type ShownAt, shownAt } from './strays.ts';
import { estimateBytes, type Numbers, type Reader, readerOf, straysReader, typeName } from './values.ts';
import { itemsIn, rowOfLongText, vectorBytes } from './vector-bytes.ts';

export type Rows = Pick<QueryOutcome, 'columns' | 'rows'> & Pick<ResultRows, 'cut'>;

export interface Caps {
  rowsMax: number;
  bytesMax: number;
  /** Absent: as for answers. */
  numbers?: Numbers | undefined;
  /** Names of the columns; absent: the engine's. */
  names?: readonly string[] | undefined;
  shown?: Shown | undefined;
}

/** Says how the rows of a result show what documents have. */
export interface Shown {
  /** Index of the column of strays, which is left out; undefined: there is none. */
  strays: number | undefined;
  columns: readonly ShownColumn[];
  /** As of `mergeIntoRow`. */
  fieldAt: ((place: string) => string) | undefined;
}

export interface ShownColumn {
  /** As in `strays.ts`, and as the query spells it; null: it is no field of documents. */
  place: string | null;
  /** What a document has there but for its strays, given what the column has; undefined: the same. */
  written: ((value: JsonValue) => JsonValue) | undefined;
}

/** Receives every chunk of a result, even beyond what is returned; returns whether it wants the next one. */
export type TakeChunk = (chunk: DuckDBDataChunk) => Promise<boolean>;

/** Reads chunk by chunk, so that never more of a result is in memory than may be returned. */
export async function readRows(
  result: DuckDBResult,
  caps: Caps,
  signal: AbortSignal,
  take?: TakeChunk | undefined,
): Promise<Rows> {
  const names = uniqueNames(caps.names ?? result.columnNames());
  const typed = await mapInTurns(names, (name, index) => {
    const type = result.columnType(index);
    const reader = index === caps.shown?.strays ? straysReader(caps.numbers) : readerOf(type, caps.numbers);
    return { column: { name, type: typeName(type) }, reader };
  });
  const columns = typed.map(({ column }) => column).filter((_, index) => index !== caps.shown?.strays);
  const decode = decoder(
    typed.map(({ reader }) => reader),
    caps,
  );
  const rows: JsonValue[][] = [];
  let cut: Rows['cut'] = null;
  const next = nextOf(result);
  for (let chunk = await next(); chunk !== null && chunk.rowCount > 0; chunk = await next()) {
    if (signal.aborted) throw signal.reason;
    cut ??= await decode(chunk, rows);
    if (take === undefined ? cut !== null : !(await take(chunk))) break;
  }
  return { columns, rows, cut };
}

/** A function that returns the chunks of a result in order, then null. */
function nextOf(result: DuckDBResult): () => Promise<DuckDBDataChunk | null> | DuckDBDataChunk | null {
  if (!(result instanceof DuckDBMaterializedResult)) return () => result.fetchChunk();
  let index = 0;
  return () => (index < result.chunkCount ? result.getChunk(index++) : null);
}

/** How many times more space values may take in the engine than as JSON text. */
const FAR = 3;

/** Maximum time to read rows in one go before yielding to other work. */
const TURN_MS = 10;
/** Rows between two checks of the clock, at most; and about as many bytes. */
const LOOK_ROWS = 64;
const LOOK_BYTES = 64 * 1024;
/**
 * If a column's chunk has more list items than this, its values are read bit by bit: one value may have all of them.
 */
const BITWISE_ITEMS = 50_000;
/** The same for the bytes of its JSON text, and of what else can be read so. */
const BITWISE_BYTES = 1024 * 1024;

/** Longest text of one value, in bytes: it is decoded in one go. */
const TEXT_BYTES_MAX = 16 * 1024 * 1024;

/** Adds the rows of one chunk after another to `rows`; returns which limit it reached. */
function decoder(readers: readonly Reader[], caps: Caps) {
  let bytes = 0;
  const shown = shownAt(caps.shown?.columns.map(({ place }) => place) ?? []);
  return async (chunk: DuckDBDataChunk, rows: JsonValue[][]): Promise<Rows['cut']> => {
    const { rowCount } = chunk;
    if (rowCount > 0 && rows.length === caps.rowsMax) return { reason: 'rows', limit: caps.rowsMax };
    let readableRows = Number.POSITIVE_INFINITY;
    // The driver copies the values of a column here.
    const vectors = await mapInTurns(readers, (_, index) => {
      const vector = chunk.getColumnVector(index);
      readableRows = Math.min(readableRows, rowOfLongText(vector, TEXT_BYTES_MAX));
      return vector;
    });
    if (rowCount === 1 && rows.length === 0 && (await isFarTooLarge(vectors, caps))) {
      return { reason: 'bytes', limit: caps.bytesMax };
    }
    const bitwise = await mapInTurns(vectors, (vector, index) => {
      const bits = readers[index]?.bits;
      if (bits === undefined) return undefined;
      return itemsIn(vector) > BITWISE_ITEMS || vectorBytes(vector) > BITWISE_BYTES ? bits : undefined;
    });
    let turnedAt = performance.now();
    let looked = { row: 0, bytes };
    const giveTurn = async () => {
      if (performance.now() - turnedAt < TURN_MS) return;
      await turn();
      turnedAt = performance.now();
    };
    /** Undefined if the value exceeds the limit. */
    const readBits = async (read: NonNullable<Reader['bits']>, vector: DuckDBVector, row: number) => {
      const bits = read(vector, row);
      for (let bit = bits.next(); ; bit = bits.next()) {
        if (bit.done === true) return bit.value;
        bytes += bit.value;
        if (bytes > caps.bytesMax) return undefined;
        await giveTurn();
      }
    };
    for (let row = 0; row < rowCount; row++) {
      if (rows.length === caps.rowsMax) return { reason: 'rows', limit: caps.rowsMax };
      if (row >= readableRows) return { reason: 'bytes', limit: Math.min(caps.bytesMax, TEXT_BYTES_MAX) };
      const values: JsonValue[] = new Array(readers.length);
      for (let index = 0; index < readers.length; index++) {
        const reader = readers[index];
        const vector = vectors[index];
        const bits = bitwise[index];
        if (bits !== undefined && vector !== undefined) {
          const value = await readBits(bits, vector, row);
          if (value === undefined) return { reason: 'bytes', limit: caps.bytesMax };
          values[index] = value;
          continue;
        }
        const value = reader === undefined || vector === undefined ? null : reader(vector, row);
        values[index] = value;
        bytes += estimateBytes(value);
      }
      if (bytes > caps.bytesMax) return { reason: 'bytes', limit: caps.bytesMax };
      rows.push(caps.shown === undefined ? values : shownRow(values, caps.shown, shown));
      if (row - looked.row < LOOK_ROWS && bytes - looked.bytes < LOOK_BYTES) continue;
      looked = { row, bytes };
      await giveTurn();
    }
    return null;
  };
}

/** A row with its values as they were written, and its strays in their places. */
function shownRow(values: JsonValue[], { strays, columns, fieldAt }: Shown, at: ShownAt): JsonValue[] {
  const found = strays === undefined ? null : values[strays];
  for (const [index, { written }] of columns.entries()) {
    if (written !== undefined) values[index] = written(values[index] ?? null);
  }
  if (isObject(found)) mergeIntoRow(values, at, new Map(Object.entries(found)), fieldAt);
  return strays === undefined ? values : values.toSpliced(strays, 1);
}

/** Whether reading is pointless: a row of many millions of items would take long to read, only to be left out. */
async function isFarTooLarge(vectors: readonly DuckDBVector[], { bytesMax }: Caps): Promise<boolean> {
  const sizes = await mapInTurns(vectors, vectorBytes);
  return sizes.reduce((sum, bytes) => sum + bytes, 0) > FAR * bytesMax;
}
