import type { DuckDBAppender, DuckDBConnection, DuckDBDataChunk, DuckDBResult, DuckDBType } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import type { EngineLimits } from '../../engine.ts';
import type { Log } from '../../log.ts';
import type { Keeping, KeepRequest } from '../../results.ts';
import { isFatal } from '../connections/engine-error.ts';
import type { Folders } from '../connections/folders.ts';
import { createSessions, type Sessions } from '../connections/sessions.ts';
import { foldName, quoteName } from '../sql/names.ts';
import { uniqueNames } from '../sql/result-names.ts';
import type { Shown, TakeChunk } from '../values/rows.ts';
import { typeName } from '../values/values.ts';
import { vectorBytes } from '../values/vector-bytes.ts';
import { openResultDatabase, type ResultDatabase } from './result-database.ts';

/** Name of the table that holds a result; each has its own schema. */
export const RESULT_TABLE = 'result';

export interface KeptColumn {
  /** As in SQL: unique regardless of letter case. */
  name: string;
  type: DuckDBType;
}

export interface KeptTable {
  id: string;
  schema: string;
  /** All of them. */
  stored: readonly KeptColumn[];
  /** Those that are shown. */
  columns: readonly KeptColumn[];
  /** Set if one of those stored has the strays of the others. */
  shown: Shown | undefined;
  rows: number;
  bytes: number;
  /** What the answer of its query said of the data: it holds for every page. */
  warnings: readonly string[];
}

/** A kept result as SQL names it, on the database of the results. */
export function fromTable({ schema }: KeptTable): string {
  return `${quoteName(schema)}.${RESULT_TABLE}`;
}

/** Takes the chunks of one result. */
export interface Keeper {
  take: TakeChunk;
  /** After the last chunk; `carried` is the number of rows that the outcome has. */
  finish(carried: number): Promise<Keeping>;
  /** Drops what was taken: the query failed. */
  discard(): Promise<void>;
}

export interface ResultStore {
  /** `names` are those of its columns. */
  keeper(request: KeepRequest, result: DuckDBResult, names: readonly string[], shown?: Shown): Keeper;
  /** Keeps what the answer of a result's query says of the data, if the result is kept. */
  warn(id: string, warnings: readonly string[]): void;
  /** Throws `not_found`. */
  find(id: string): KeptTable;
  /** As `Sessions.run`, on the database of the results. */
  run<T>(signal: AbortSignal, work: (connection: DuckDBConnection) => Promise<T>): Promise<T>;
  drop(id: string): Promise<void>;
  close(): void;
}

/** A result with more rows or more bytes than this is kept. */
const FEW_ROWS = 50;
const FEW_BYTES = 8_000;
/** Rows and bytes after which appended data is flushed to the table, which holds up everything else meanwhile. */
const FLUSH_ROWS = 16_384;
const FLUSH_BYTES = 4 * 1024 * 1024;

function notKept(id: string): ApiError {
  return new ApiError('not_found', `The result ${JSON.stringify(id)} is no longer kept: run the query again.`, {
    messageKey: 'QUERY_NOT_FOUND',
  });
}

interface Opened {
  database: ResultDatabase;
  sessions: Sessions;
}

/** Opened at the first result. */
export function createResultStore(folders: Folders, limits: EngineLimits, log: Log): ResultStore {
  const tables = new Map<string, KeptTable>();
  let opened: Promise<Opened> | undefined;
  let openings = 0;
  let isClosed = false;

  const open = async (): Promise<Opened> => {
    if (isClosed) throw new ApiError('not_ready', 'The service is shutting down. Try again in a moment.');
    opened ??= openResultDatabase(folders, limits, ++openings).then((database) => ({
      database,
      sessions: createSessions(database),
    }));
    const current = opened;
    return current.catch((error: unknown) => {
      if (opened === current) opened = undefined;
      throw error;
    });
  };

  const closeOpened = () => {
    tables.clear();
    opened
      ?.then(async ({ database, sessions }) => {
        await sessions.close();
        database.close();
      })
      .catch(() => undefined);
    opened = undefined;
  };

  /** If the database fails, all results are lost with it; the next result to keep opens another. */
  const noteFailure = (error: unknown) => {
    if (!isFatal(error)) return;
    log.error({ err: error }, 'the database of the results failed; what was kept is gone');
    closeOpened();
  };

  const dropSchema = async (connection: DuckDBConnection, schema: string) => {
    await connection.run(`DROP SCHEMA IF EXISTS ${quoteName(schema)} CASCADE`).catch((error: unknown) => {
      log.warn({ err: error }, 'a kept result could not be dropped');
      noteFailure(error);
    });
  };

  return {
    keeper: (request, result, names, shown) =>
      createKeeper(
        request,
        { columns: columnsOf(result, names), shown },
        {
          limits,
          connect: async () => (await open()).database.connect(),
          add: (table) => tables.set(table.id, table),
          dropSchema,
          onFailure(error) {
            log.warn({ err: error }, 'a result could not be kept');
            noteFailure(error);
          },
        },
      ),
    warn(id, warnings) {
      const table = tables.get(id);
      if (table !== undefined) tables.set(id, { ...table, warnings });
    },
    find(id) {
      const table = tables.get(id);
      if (table === undefined) throw notKept(id);
      return table;
    },
    async run(signal, work) {
      const { sessions } = await open();
      try {
        return await sessions.run(signal, work);
      } catch (error) {
        noteFailure(error instanceof ApiError ? error.cause : error);
        throw error;
      }
    },
    async drop(id) {
      const table = tables.get(id);
      if (table === undefined || opened === undefined) return;
      tables.delete(id);
      const { database } = await opened;
      const connection = await database.connect();
      await dropSchema(connection, table.schema);
      connection.closeSync();
    },
    close() {
      isClosed = true;
      closeOpened();
    },
  };
}

interface KeeperContext {
  limits: EngineLimits;
  connect: () => Promise<DuckDBConnection>;
  add: (table: KeptTable) => void;
  dropSchema: (connection: DuckDBConnection, schema: string) => Promise<void>;
  onFailure: (error: unknown) => void;
}

interface Writing {
  connection: DuckDBConnection;
  appender: DuckDBAppender;
  rows: number;
  /** Rows since the last flush. */
  rowsWaiting: number;
  bytesWaiting: number;
}

function createKeeper(
  { id, rowsMax }: KeepRequest,
  { columns, shown }: { columns: readonly KeptColumn[]; shown: Shown | undefined },
  context: KeeperContext,
): Keeper {
  const schema = `r_${id}`;
  let pending: DuckDBDataChunk[] = [];
  let writing: Writing | undefined;
  let failure: string | null = null;
  let total = 0;
  let bytes = 0;
  let isTotalExact = true;

  const append = (chunk: DuckDBDataChunk, size: number) => {
    if (writing === undefined) return;
    writing.appender.appendDataChunk(chunk);
    writing.rows += chunk.rowCount;
    writing.rowsWaiting += chunk.rowCount;
    writing.bytesWaiting += size;
    if (writing.rowsWaiting < FLUSH_ROWS && writing.bytesWaiting < FLUSH_BYTES) return;
    writing.appender.flushSync();
    writing.rowsWaiting = 0;
    writing.bytesWaiting = 0;
  };

  const stop = async () => {
    pending = [];
    if (writing === undefined) return;
    const { appender, connection } = writing;
    writing = undefined;
    try {
      appender.closeSync();
    } catch {
      // It may complain of unwritten data, which is dropped anyway.
    }
    await context.dropSchema(connection, schema);
    connection.closeSync();
  };

  const fail = async (error: unknown) => {
    failure = reasonOf(error);
    context.onFailure(error);
    await stop();
  };

  const begin = async () => {
    const connection = await context.connect();
    try {
      const definitions = columns.map(({ name, type }) => `${quoteName(name)} ${typeName(type)}`);
      await connection.run(`CREATE SCHEMA ${quoteName(schema)}`);
      await connection.run(`CREATE TABLE ${quoteName(schema)}.${RESULT_TABLE} (${definitions.join(', ')})`);
      const appender = await connection.createAppender(RESULT_TABLE, schema);
      writing = { connection, appender, rows: 0, rowsWaiting: 0, bytesWaiting: 0 };
    } catch (error) {
      await context.dropSchema(connection, schema);
      connection.closeSync();
      throw error;
    }
    for (const chunk of pending.splice(0)) append(chunk, 0);
  };

  return {
    async take(chunk) {
      const room = context.limits.resultRowsMax - total;
      if (chunk.rowCount > room) {
        isTotalExact = false;
        if (room === 0) return false;
        chunk.rowCount = room;
      }
      let size = 0;
      for (let index = 0; index < columns.length; index++) size += vectorBytes(chunk.getColumnVector(index));
      if (bytes + size > context.limits.resultBytesMax) {
        isTotalExact = false;
        return false;
      }
      total += chunk.rowCount;
      bytes += size;
      if (failure !== null) return isTotalExact;
      try {
        if (writing !== undefined) append(chunk, size);
        else {
          pending.push(chunk);
          if (total > FEW_ROWS || bytes > FEW_BYTES || total > rowsMax) await begin();
        }
      } catch (error) {
        await fail(error);
      }
      return isTotalExact;
    },
    async finish(carried) {
      let kept: Keeping['kept'] = null;
      if (rowsMax === 0 && writing === undefined && failure === null) await begin().catch(fail);
      if (writing !== undefined) {
        const { appender, connection, rows } = writing;
        try {
          appender.flushSync();
          appender.closeSync();
          connection.closeSync();
          writing = undefined;
          kept = { rows, bytes };
          const visible = columns.filter((_, index) => index !== shown?.strays);
          context.add({ id, schema, stored: columns, columns: visible, shown, rows, bytes, warnings: [] });
        } catch (error) {
          await fail(error);
        }
      } else if (failure === null && carried > total) failure = 'its rows are too large';
      return { total: Math.max(total, carried), isTotalExact, kept, failure };
    },
    discard: stop,
  };
}

/** The names as in the table that keeps the result, where `a` and `A` are the same. */
export function keptNames(names: readonly string[]): string[] {
  return uniqueNames(names, foldName);
}

function columnsOf(result: DuckDBResult, names: readonly string[]): KeptColumn[] {
  const types = result.columnTypes();
  return keptNames(names).map((name, index) => ({ name, type: types[index] as DuckDBType }));
}

/** A reason that a model may read; the log has the details. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (/Out of Memory|max_temp_directory_size|No space left|disk/i.test(message)) return 'there is no room to keep it';
  if (/Parser|Catalog|Binder|Not implemented/i.test(message)) return 'a column of its type cannot be kept';
  return 'keeping it failed';
}
