import {
  type DuckDBConnection,
  type DuckDBDecimalValue,
  DuckDBInstance,
  type DuckDBResult,
  DuckDBTypeId,
} from '@duckdb/node-api';
import { ApiError } from '../../src/contract/errors.ts';
import { type JsonObject, type JsonValue, parseJson } from '../../src/contract/json/json.ts';
import { quoteName, quoteText } from '../../src/engine/duckdb/sql/names.ts';
import { uniqueNames } from '../../src/engine/duckdb/sql/result-names.ts';
import { AS_NUMBERS, estimateBytes, exactDecimal, readerOf, typeName } from '../../src/engine/duckdb/values/values.ts';

/** A Parquet file, read by a separate engine instance that sees nothing else. */
export interface ParquetFile {
  rows: number;
  /** The rows as documents, without null members, in batches: small ones if rows are large. */
  documents: AsyncIterable<JsonObject[]>;
  /** Number of values so far that JSON cannot express (NaN, infinities); they are null. */
  unwritable(): number;
  /**
   * Columns whose decimals are all text, known once the first documents are: some of them have more digits than a
   * document's number keeps.
   */
  asText(): readonly string[];
  /** Also ends `documents`. */
  close(): void;
}

const MEMORY = '512MB';
/** Size of the documents created at once, roughly, in bytes. */
const SLICE_BYTES = 4 * 1024 * 1024;

/**
 * Opens the Parquet file at an absolute path. Rejects `invalid_input` if it is not one.
 *
 * Values are as in query results, except integers beyond 2^53, which are `bigint`, and decimals, which have one type
 * throughout a column.
 */
export async function openParquet(path: string): Promise<ParquetFile> {
  const instance = await DuckDBInstance.create(':memory:', {
    threads: '2',
    memory_limit: MEMORY,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
  });
  let connection: DuckDBConnection | undefined;
  try {
    connection = await instance.connect();
    await connection.run(`SET GLOBAL TimeZone = 'UTC'`);
    await connection.run(`SET GLOBAL temp_directory = ''`);
    await connection.run(`SET GLOBAL allowed_paths = [${quoteText(path)}]`);
    await connection.run('SET GLOBAL enable_external_access = false');
    await connection.run('SET GLOBAL lock_configuration = true');
    const counted = await connection.runAndReadAll(
      `SELECT coalesce(sum(num_rows), 0)::BIGINT FROM parquet_file_metadata(${quoteText(path)})`,
    );
    return reading(instance, connection, path, Number(counted.getRows()[0]?.[0] ?? 0));
  } catch (error) {
    connection?.closeSync();
    instance.closeSync();
    throw unreadable(error);
  }
}

function reading(instance: DuckDBInstance, connection: DuckDBConnection, path: string, rows: number): ParquetFile {
  let unwritable = 0;
  let isClosed = false;
  let asText: string[] = [];
  const numbers = {
    ...AS_NUMBERS,
    json: jsonOrText,
    double(value: number) {
      if (Number.isFinite(value)) return value;
      unwritable += 1;
      return null;
    },
  };
  async function* documents() {
    try {
      const source = `read_parquet(${quoteText(path)})`;
      asText = await longDecimals(connection, source, () => isClosed);
      const result = await connection.stream(`SELECT * FROM ${source}`);
      const names = uniqueNames(result.columnNames());
      const readers = result.columnTypes().map((type, index) => {
        const isText = asText.includes(names[index] ?? '');
        return readerOf(type, isText ? { ...numbers, decimal: String } : numbers);
      });
      while (!isClosed) {
        const chunk = await result.fetchChunk();
        if (chunk === null || chunk.rowCount === 0) return;
        const vectors = readers.map((_, index) => chunk.getColumnVector(index));
        const documentAt = (row: number) => {
          const fields = vectors.flatMap((vector, index): [string, JsonValue][] => {
            const value = readers[index]?.(vector, row) ?? null;
            return value === null ? [] : [[names[index] ?? '', value]];
          });
          return Object.fromEntries(fields);
        };
        yield* slices(chunk.rowCount, documentAt);
      }
    } catch (error) {
      throw unreadable(error);
    }
  }
  return {
    rows,
    documents: documents(),
    unwritable: () => unwritable,
    asText: () => asText,
    close() {
      if (isClosed) return;
      isClosed = true;
      connection.closeSync();
      instance.closeSync();
    },
  };
}

/**
 * The columns with a decimal, at any depth, that a number does not keep; only columns with decimals are read for that.
 */
async function longDecimals(connection: DuckDBConnection, source: string, isEnded: () => boolean): Promise<string[]> {
  const none = await connection.stream(`SELECT * FROM ${source} LIMIT 0`);
  const types = none.columnTypes();
  const candidates = uniqueNames(none.columnNames()).filter((_, index) => {
    let isCandidate = false;
    const type = types[index];
    if (type !== undefined) {
      typeName(type, (part) => {
        isCandidate ||= part.typeId === DuckDBTypeId.DECIMAL && part.scale > 0;
        return undefined;
      });
    }
    return isCandidate;
  });
  if (candidates.length === 0) return [];
  return hasLong(await connection.stream(`SELECT ${candidates.map(quoteName).join(', ')} FROM ${source}`), isEnded);
}

async function hasLong(result: DuckDBResult, isEnded: () => boolean): Promise<string[]> {
  const found = new Set<string>();
  const names = uniqueNames(result.columnNames());
  const readers = result.columnTypes().map((type, index) => {
    const decimal = (value: DuckDBDecimalValue) => {
      if (typeof exactDecimal(value) === 'string') found.add(names[index] ?? '');
      return null;
    };
    return readerOf(type, { ...AS_NUMBERS, json: () => null, decimal });
  });
  while (!isEnded() && found.size < names.length) {
    const chunk = await result.fetchChunk();
    if (chunk === null || chunk.rowCount === 0) break;
    for (const [index, read] of readers.entries()) {
      if (found.has(names[index] ?? '')) continue;
      const vector = chunk.getColumnVector(index);
      for (let row = 0; row < chunk.rowCount; row++) read(vector, row);
    }
  }
  return names.filter((name) => found.has(name));
}

/** A few bytes of a file may expand to many, so not all rows of a chunk are created at once. */
function* slices(count: number, documentAt: (row: number) => JsonObject): Generator<JsonObject[]> {
  let slice: JsonObject[] = [];
  let bytes = 0;
  for (let row = 0; row < count; row++) {
    const document = documentAt(row);
    slice.push(document);
    bytes += estimateBytes(document);
    if (bytes < SLICE_BYTES) continue;
    yield slice;
    slice = [];
    bytes = 0;
  }
  if (slice.length > 0) yield slice;
}

function jsonOrText(text: string): JsonValue {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

function unreadable(error: unknown): ApiError {
  const why = error instanceof Error ? error.message.split('\n', 1)[0] : String(error);
  return new ApiError('invalid_input', `The file cannot be read as Parquet: ${why}`, { cause: error });
}
