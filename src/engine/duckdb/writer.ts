import {
  DuckDBBlobValue,
  type DuckDBConnection,
  type DuckDBPreparedStatement,
  type DuckDBValue,
} from '@duckdb/node-api';
import type { Database } from './database.ts';

/** Runs one statement. Values for `$1`, `$2`, … come after the text. */
export type Run = (text: string, ...values: DuckDBValue[]) => Promise<DuckDBValue[][]>;

/** Statements on one connection. */
export interface Sql extends Run {
  /**
   * The same for a text that comes often: it stays prepared. It must read no table: a plan that is kept knows what a table
   * held when it was made, and answers wrongly once that has changed. A change of the schema does no harm.
   */
  again: Run;
}

/** A connection that writes, one statement at a time. */
export interface Writer {
  readonly connection: DuckDBConnection;
  readonly sql: Sql;
}

/** So many statements stay prepared. */
const KEPT_MAX = 16;
/** The engine holds a statement's last values for as long as the statement: one with larger ones goes. */
const KEPT_BYTES_MAX = 2 * 1024 * 1024;

interface Kept {
  connection: DuckDBConnection;
  text: string;
  statement: DuckDBPreparedStatement;
}

/**
 * Prepared statements of the connections of a database, for those that come again and again. Measured: planning an insert
 * into a dozen columns takes as long as inserting 200 documents of one kilobyte. The engine plans anew by itself where what
 * a statement names has changed.
 */
export class KeptStatements {
  /** The last used one comes first. */
  #kept: Kept[] = [];

  async take(connection: DuckDBConnection, text: string): Promise<DuckDBPreparedStatement> {
    const at = this.#kept.findIndex((kept) => kept.connection === connection && kept.text === text);
    const [found] = at < 0 ? [] : this.#kept.splice(at, 1);
    return found?.statement ?? connection.prepare(text);
  }

  giveBack(kept: Kept): void {
    kept.statement.clearBindings();
    this.#kept.unshift(kept);
    if (this.#kept.length > KEPT_MAX) this.#kept.pop()?.statement.destroySync();
  }

  /** Lets go of all; those that run now come back. */
  clear(): void {
    for (const { statement } of this.#kept.splice(0)) statement.destroySync();
  }

  /** For a connection that is closed, which ends its statements. */
  forget(connection: DuckDBConnection): void {
    this.#kept = this.#kept.filter((kept) => kept.connection !== connection);
  }
}

/** `onFreed` hears of rows that were deleted, whose room may be taken back. */
export async function openWriter(
  database: Database,
  statements: KeptStatements,
  onFreed?: () => void,
): Promise<Writer> {
  const connection = await database.connect();
  return { connection, sql: sqlOn(connection, statements, onFreed) };
}

/** What deletes rows: to change one may be to delete it and to insert another. Both answer how many it were. */
const FREEING = /^\s*(?:DELETE|UPDATE)\b/;

/** Statements on a connection, of which `statements` keeps some; `forget` it before the connection is closed. */
export function sqlOn(connection: DuckDBConnection, statements: KeptStatements, onFreed?: () => void): Sql {
  const once: Run = async (text, ...values) => {
    const statement = await connection.prepare(text);
    try {
      const rows = await runPrepared(statement, values);
      if (onFreed !== undefined && FREEING.test(text) && Number(rows[0]?.[0]) > 0) onFreed();
      return rows;
    } finally {
      statement.destroySync();
    }
  };
  const again: Run = async (text, ...values) => {
    const statement = await statements.take(connection, text);
    let isKept = false;
    try {
      const rows = await runPrepared(statement, values);
      isKept = values.reduce((sum: number, value) => sum + bytesOf(value), 0) <= KEPT_BYTES_MAX;
      return rows;
    } finally {
      if (isKept) statements.giveBack({ connection, text, statement });
      else statement.destroySync();
    }
  };
  return Object.assign(once, { again });
}

/** All of a result is there when its statement has run: to read it takes no more turns of the engine's threads. */
async function runPrepared(
  statement: DuckDBPreparedStatement,
  values: readonly DuckDBValue[],
): Promise<DuckDBValue[][]> {
  for (const [index, value] of values.entries()) bind(statement, index + 1, value);
  const result = await statement.run();
  const rows: DuckDBValue[][] = [];
  for (let index = 0; index < result.chunkCount; index++) rows.push(...result.getChunk(index).getRows());
  return rows;
}

/** Integers with the type that statements declare: where a value has another one, the engine plans once more for it. */
function bind(statement: DuckDBPreparedStatement, index: number, value: DuckDBValue): void {
  if (typeof value === 'bigint' && BigInt.asIntN(64, value) === value) statement.bindBigInt(index, value);
  else statement.bindValue(index, value);
}

function bytesOf(value: DuckDBValue): number {
  if (typeof value === 'string') return value.length;
  return value instanceof DuckDBBlobValue ? value.bytes.length : 0;
}
