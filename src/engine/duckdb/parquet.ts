import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { ApiError } from '../../contract/errors.ts';
import { type JsonObject, type JsonValue, parseJson } from '../../contract/json.ts';
import { quoteText } from './names.ts';
import { AS_NUMBERS, readerOf, uniqueNames } from './values.ts';

/** A Parquet file, read by an engine of its own that sees nothing else. */
export interface ParquetFile {
  rows: number;
  /** The rows as documents, without members that are null, some thousand at a time. */
  documents: AsyncIterable<JsonObject[]>;
  /** Numbers so far that JSON does not have (NaN, infinities); they are null. */
  unwritable(): number;
  /** Also ends `documents`. */
  close(): void;
}

const MEMORY = '512MB';

/**
 * Opens the Parquet file at an absolute path. Rejects `invalid_input` for a file that is none.
 *
 * The values are those that the engine gives for a query, but for integers beyond 2^53, which are `bigint`.
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
      const result = await connection.stream(`SELECT * FROM read_parquet(${quoteText(path)})`);
      const names = uniqueNames(result.columnNames());
      const readers = result.columnTypes().map((type) => readerOf(type, numbers));
      while (!isClosed) {
        const chunk = await result.fetchChunk();
        if (chunk === null || chunk.rowCount === 0) return;
        const vectors = readers.map((_, index) => chunk.getColumnVector(index));
        yield Array.from({ length: chunk.rowCount }, (_, row) => {
          const fields = vectors.flatMap((vector, index): [string, JsonValue][] => {
            const value = readers[index]?.(vector, row) ?? null;
            return value === null ? [] : [[names[index] ?? '', value]];
          });
          return Object.fromEntries(fields);
        });
      }
    } catch (error) {
      throw unreadable(error);
    }
  }
  return {
    rows,
    documents: documents(),
    unwritable: () => unwritable,
    close() {
      if (isClosed) return;
      isClosed = true;
      connection.closeSync();
      instance.closeSync();
    },
  };
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
