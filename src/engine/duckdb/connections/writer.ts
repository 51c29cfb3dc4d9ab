import { setImmediate as turn } from 'node:timers/promises';
import {
  DuckDBBlobValue,
  type DuckDBConnection,
  type DuckDBMaterializedResult,
  type DuckDBPreparedStatement,
  type DuckDBValue,
} from '@duckdb/node-api';

/** Runs one statement. The values for `$1`, `$2`, … follow the text. */
export type Run = (text: string, ...values: DuckDBValue[]) => Promise<DuckDBValue[][]>;

/** Statements on one connection. */
export interface Sql extends Run {
  /**
   * The same for a recurring text: it stays prepared. It must read no table: a kept plan is based on what a table held
   * when it was made, and answers wrongly once that has changed. A schema change does no harm.
   */
  again: Run;
}

/** A connection for writing, one statement at a time. */
export interface Writer {
  readonly connection: DuckDBConnection;
  readonly sql: Sql;
}

/** Number of statements that stay prepared. */
const KEPT_MAX = 16;
/** The engine holds a statement's last values as long as the statement: statements with larger ones are not kept. */
const KEPT_BYTES_MAX = 2 * 1024 * 1024;

/** Statements are written here, each with its first word in capitals. */
const CHANGES_SCHEMA = /^\s*(?:CREATE|ALTER|DROP)\b/;
const ENDS = /^(?:COMMIT|ROLLBACK)\b/;

/** Chunks (of 2,048 rows) to read before yielding to other work. */
const CHUNKS_AT_ONCE = 4;

interface Kept {
  connection: DuckDBConnection;
  text: string;
  statement: DuckDBPreparedStatement;
  /** Of the schema when it was prepared. */
  version: number;
}

/**
 * Prepared statements of a database's connections, for recurring texts. Measured: planning an insert into a dozen
 * columns takes as long as inserting 200 documents of one kilobyte. None outlives a change of the schema, of any table: the
 * engine would plan it anew at each run from then on, and compute what depends on its values alone while it does, which
 * takes three times as long for an insert of 1,000 documents.
 */
export class KeptStatements {
  /** The most recently used one comes first. */
  #kept: Kept[] = [];
  #version = 0;

  async take(connection: DuckDBConnection, text: string): Promise<Kept> {
    const at = this.#kept.findIndex((kept) => kept.connection === connection && kept.text === text);
    const [found] = at < 0 ? [] : this.#kept.splice(at, 1);
    const version = this.#version;
    return found ?? { connection, text, version, statement: await connection.prepare(text) };
  }

  giveBack(kept: Kept): void {
    if (kept.version !== this.#version) {
      kept.statement.destroySync();
      return;
    }
    kept.statement.clearBindings();
    this.#kept.unshift(kept);
    if (this.#kept.length > KEPT_MAX) this.#kept.pop()?.statement.destroySync();
  }

  /** To be called when the schema changes, and once more when that is committed. */
  outdate(): void {
    this.#version += 1;
    this.clear();
  }

  /** Releases all; those that are running now are given back later. */
  clear(): void {
    for (const { statement } of this.#kept.splice(0)) statement.destroySync();
  }

  /** To be called before a connection is closed, which ends its statements. */
  forget(connection: DuckDBConnection): void {
    this.#kept = this.#kept.filter((kept) => kept.connection !== connection);
  }
}

export async function openWriter(
  database: { connect(): Promise<DuckDBConnection> },
  statements: KeptStatements,
): Promise<Writer> {
  const connection = await database.connect();
  return { connection, sql: sqlOn(connection, statements) };
}

/**
 * Runs statements on a connection; `statements` keeps some of them prepared: `forget` the connection before closing it.
 */
export function sqlOn(connection: DuckDBConnection, statements: KeptStatements): Sql {
  let isChanging = false;
  const once: Run = async (text, ...values) => {
    const statement = await connection.prepare(text);
    try {
      return await runPrepared(statement, values);
    } finally {
      statement.destroySync();
      if (CHANGES_SCHEMA.test(text)) {
        isChanging = true;
        statements.outdate();
      }
    }
  };
  const again: Run = async (text, ...values) => {
    const kept = await statements.take(connection, text);
    let isKept = false;
    try {
      const rows = await runPrepared(kept.statement, values);
      isKept = values.reduce((sum: number, value) => sum + bytesOf(value), 0) <= KEPT_BYTES_MAX;
      return rows;
    } finally {
      if (isKept) statements.giveBack(kept);
      else kept.statement.destroySync();
      if (isChanging && ENDS.test(text)) {
        isChanging = false;
        statements.outdate();
      }
    }
  };
  return Object.assign(once, { again });
}

/**
 * The whole result is materialized when its statement has run: reading it takes no more turns of the engine's threads.
 */
async function runPrepared(
  statement: DuckDBPreparedStatement,
  values: readonly DuckDBValue[],
): Promise<DuckDBValue[][]> {
  for (const [index, value] of values.entries()) bind(statement, index + 1, value);
  return rowsIn(await statement.run());
}

/** Of a result that is materialized. */
export async function rowsIn(result: DuckDBMaterializedResult): Promise<DuckDBValue[][]> {
  const rows: DuckDBValue[][] = [];
  for (let index = 0; index < result.chunkCount; index++) {
    if (index % CHUNKS_AT_ONCE === CHUNKS_AT_ONCE - 1) await turn();
    rows.push(...result.getChunk(index).getRows());
  }
  return rows;
}

/**
 * Binds integers with the type that statements declare: if a value has another type, the engine plans once more for it.
 */
function bind(statement: DuckDBPreparedStatement, index: number, value: DuckDBValue): void {
  if (typeof value === 'bigint' && BigInt.asIntN(64, value) === value) statement.bindBigInt(index, value);
  else statement.bindValue(index, value);
}

function bytesOf(value: DuckDBValue): number {
  if (typeof value === 'string') return value.length;
  return value instanceof DuckDBBlobValue ? value.bytes.length : 0;
}
