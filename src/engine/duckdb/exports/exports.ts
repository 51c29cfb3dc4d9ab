import { existsSync } from 'node:fs';
import { chmod, open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { DuckDBConnection, DuckDBType } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import { csvLine, jsonMembers } from '../../../contract/json/file-lines.ts';
import { STRAYS_COLUMN } from '../../../contract/strays.ts';
import { inQuotes } from '../../../contract/text.ts';
import { createPace } from '../../../contract/turns/turns.ts';
import { type ExportedTable, type Retyped, requireSpace, type TableExport } from '../../engine.ts';
import { createSessions } from '../connections/sessions.ts';
import type { Store } from '../connections/store.ts';
import { AS_COLLECTION } from '../loading/beside.ts';
import { EXTRA_COLUMN, ID_COLUMN, quoteName, TIME_COLUMN } from '../sql/names.ts';
import { dataTable, storedShape } from '../tables/catalog.ts';
import { columnNames, IS_LIVE, type TableShape } from '../tables/columns.ts';
import { columnsText, documentOf } from '../tables/read-back.ts';
import { andKept } from '../tables/retention.ts';
import { csvHeadCells, csvRecord, documentHead, documentLine } from './document-sql.ts';

/*
 * Writes whole collections to files. The file is what makes an export independent of who reads it: the transaction
 * that reads lasts as long as the disk takes, like that of a query, and not as long as a slow client, which would keep
 * the log from being merged all that time. In memory there is one chunk of the engine.
 */

export interface Exports {
  write(request: TableExport): Promise<ExportedTable>;
  /** Stops those that run; resolves when they have ended. */
  close(): Promise<void>;
}

/** Writes a table, as SQL names it, to a new Parquet file. */
type WriteParquet = (
  connection: DuckDBConnection,
  source: { table: string; columns: readonly { name: string; type: DuckDBType }[]; option: string },
  path: string,
) => Promise<Retyped[]>;

interface Context {
  store: Pick<Store, 'connect' | 'reading'>;
  /** Where the files go. */
  folder: string;
  writeParquet: WriteParquet;
}

/** More would only share the disk, and take the engine's threads from queries. */
const RUNNING_MAX = 2;
/** How often it is looked at while the engine writes a file itself. */
const LOOK_MS = 250;
/** Text is written in pieces of about this size, in characters. */
const PIECE_CHARS = 1024 * 1024;
/** So many characters between two looks at the disk, and rows between two at the clock. */
const LOOK_CHARS = 32 * 1024 * 1024;
const LOOK_ROWS = 16;

export function createExports(context: Context): Exports {
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  const waiting: (() => void)[] = [];
  let places = RUNNING_MAX;

  async function inPlace<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (places === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    else places -= 1;
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) places += 1;
      else next();
    }
  }

  return {
    write(request) {
      const signal = AbortSignal.any([closing.signal, ...(request.signal === undefined ? [] : [request.signal])]);
      const written = inPlace(signal, () => writeTable(context, request, signal)).catch((error: unknown) => {
        throw signal.aborted ? givenUp(signal.reason) : error;
      });
      const settled = written.catch(() => undefined).finally(() => running.delete(settled));
      running.add(settled);
      return written;
    },
    async close() {
      closing.abort(new ApiError('not_ready', 'The service is shutting down. Try again in a moment.'));
      await Promise.all(running);
    },
  };
}

function givenUp(reason: unknown): ApiError {
  return reason instanceof ApiError ? reason : new ApiError('aborted', 'The export was given up by its caller.');
}

async function writeTable(context: Context, request: TableExport, signal: AbortSignal): Promise<ExportedTable> {
  const { store, folder } = context;
  const path = join(folder, request.name);
  if (existsSync(path)) throw new Error(`the file ${request.name} exists already`);
  await requireSpace(dirname(path), 'export');
  // A connection of its own: what was read of a result that is given up stays with it until it is closed.
  const sessions = createSessions(store);
  try {
    return await store.reading(
      () => sessions.run(signal, (connection) => writeWith(connection, context, { ...request, signal }, path)),
      signal,
    );
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await sessions.close();
  }
}

type Running = TableExport & { signal: AbortSignal };

async function writeWith(
  connection: DuckDBConnection,
  { writeParquet }: Context,
  request: Running,
  path: string,
): Promise<ExportedTable> {
  const { table, format } = request;
  // Not what the catalog in memory says: the transaction may have begun before or after a change of columns.
  const found = await connection.runAndReadAll(
    'SELECT shape, retention_secs FROM "_meta"."tables" WHERE id = $1 AND trashed IS NOT TRUE',
    [table],
  );
  const [row] = found.getRows();
  if (row === undefined) throw gone();
  const [shapeText, retention] = row;
  const shape = storedShape(table, String(shapeText));
  const kept = andKept(typeof retention === 'bigint' ? Number(retention) : null);
  const visible = `FROM ${dataTable(table)} WHERE ${IS_LIVE}${kept}`;
  if (format === 'parquet') {
    const columns = columnNames(shape);
    const source = `(SELECT ${columns.map(quoteName).join(', ')} ${visible})`;
    const types = (await connection.stream(`SELECT * FROM ${source} LIMIT 0`)).columnTypes();
    const typed = columns.map((name, index) => ({ name, type: types[index] as DuckDBType }));
    const retyped = await watched(path, connection, () =>
      writeParquet(connection, { table: source, columns: typed, option: AS_COLLECTION }, path),
    );
    await chmod(path, 0o600);
    const [count] = (await connection.runAndReadAll(`SELECT count(*) ${visible}`)).getRows();
    return { rows: Number(count?.[0] ?? 0), retyped };
  }
  const rows = await writeText(connection, { shape, visible }, request, path);
  return { rows, retyped: [] };
}

function gone(): ApiError {
  return new ApiError('not_found', 'The collection was deleted before it could be exported.', {
    messageKey: 'COLLECTION_DOES_NOT_EXIST',
  });
}

/** How the rows of a table become lines. */
interface Lines {
  header: string | undefined;
  /** SQL for the line of a row without strays. */
  whole: string;
  /** SQL for the beginning of another row's line, and what its fields make of the rest. */
  head: string;
  rest(shape: TableShape, texts: readonly unknown[]): string;
}

function linesOf(shape: TableShape, format: 'csv' | 'jsonl'): Lines {
  if (format === 'jsonl') {
    return {
      header: undefined,
      whole: documentLine(shape),
      head: `'{' || ${documentHead()}`,
      rest: (own, texts) => `,${jsonMembers(documentOf(own, texts))}}`,
    };
  }
  const names = [...shape.columns.keys()];
  return {
    header: csvLine([ID_COLUMN, TIME_COLUMN, ...names, ...(shape.extra ? [EXTRA_COLUMN] : [])]),
    whole: csvRecord(shape),
    head: csvHeadCells(),
    rest(own, [text, extra, strays]) {
      const document = documentOf(own, [text, null, strays]);
      const cells = names.map((name) => document[name] ?? null);
      const last = shape.extra ? `,${typeof extra === 'string' ? inQuotes(extra, '"') : ''}` : '';
      return `,${csvLine(cells)}${last}`;
    },
  };
}

async function writeText(
  connection: DuckDBConnection,
  { shape, visible }: { shape: TableShape; visible: string },
  { format, signal, onRows }: Running,
  path: string,
): Promise<number> {
  const { header, whole, head, rest } = linesOf(shape, format === 'csv' ? 'csv' : 'jsonl');
  const isStray = `${quoteName(STRAYS_COLUMN)} IS NOT NULL`;
  const own = shape.strays.size === 0 ? [] : textsOf(shape).map((text) => `CASE WHEN ${isStray} THEN ${text} END`);
  const line = own.length === 0 ? whole : `CASE WHEN ${isStray} THEN ${head} ELSE ${whole} END`;
  const out = await openText(path);
  try {
    const result = await connection.stream(`SELECT ${[line, ...own].join(', ')} ${visible}`);
    if (header !== undefined) out.add(header);
    const pace = createPace();
    let rows = 0;
    for (
      let chunk = await result.fetchChunk();
      chunk !== null && chunk.rowCount > 0;
      chunk = await result.fetchChunk()
    ) {
      signal.throwIfAborted();
      const [lines, ...texts] = Array.from({ length: chunk.columnCount }, (_, index) => chunk?.getColumnVector(index));
      for (let row = 0; row < chunk.rowCount; row++) {
        const text = String(lines?.getItem(row));
        const split = texts.map((vector) => vector?.getItem(row) ?? null);
        out.add(split.every((one) => one === null) ? text : `${text}${rest(shape, split)}`);
        if (out.isFull) await out.flush();
        const next = row % LOOK_ROWS === 0 ? pace() : undefined;
        if (next !== undefined) await next;
      }
      rows += chunk.rowCount;
      onRows?.(rows);
    }
    await out.flush();
    return rows;
  } finally {
    await out.close();
  }
}

/** SQL for the texts that `documentOf` reads. */
function textsOf({ columns, extra }: TableShape): string[] {
  const extraText = extra ? `CAST(${quoteName(EXTRA_COLUMN)} AS VARCHAR)` : 'NULL::VARCHAR';
  return [columnsText([...columns.keys()], columns), extraText, `CAST(${quoteName(STRAYS_COLUMN)} AS VARCHAR)`];
}

/** A new file of lines. */
async function openText(path: string) {
  const handle = await open(path, 'wx', 0o600);
  let lines: string[] = [];
  let chars = 0;
  let unlooked = 0;
  return {
    add(line: string) {
      lines.push(line);
      chars += line.length;
    },
    get isFull() {
      return chars > PIECE_CHARS;
    },
    async flush() {
      if (lines.length === 0) return;
      unlooked += chars;
      if (unlooked > LOOK_CHARS) {
        await requireSpace(dirname(path), 'export');
        unlooked = 0;
      }
      // Not `write`: that may write less than it was given, and says so only in its result.
      await handle.appendFile(`${lines.join('\n')}\n`);
      lines = [];
      chars = 0;
    },
    close: () => handle.close(),
  };
}

/** Runs `work`, which writes a file by itself, and stops it when there is too little space. */
async function watched<T>(path: string, connection: DuckDBConnection, work: () => Promise<T>): Promise<T> {
  let full: unknown;
  const timer = setInterval(() => {
    requireSpace(dirname(path), 'export').catch((error: unknown) => {
      full = error;
      connection.interrupt();
    });
  }, LOOK_MS);
  try {
    return await work();
  } catch (error) {
    throw full ?? error;
  } finally {
    clearInterval(timer);
  }
}
