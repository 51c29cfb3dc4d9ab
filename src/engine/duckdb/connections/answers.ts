import type { DuckDBConnection } from '@duckdb/node-api';

/** Answers to SELECTs of our own, of transactions that see the same data. */
export interface Answers {
  /** By their text. */
  rows: Map<string, unknown[][]>;
  /** Of all of them, in rows. */
  size: number;
  /** Whether a transaction that was begun on them is sure to see these data; once it is not, they are given up. */
  areSure: boolean;
}

export const newAnswers = (): Answers => ({ rows: new Map(), size: 0, areSure: true });

/** Further ones take the place of all of them. */
const ROWS_MAX = 20_000;
/** Characters of a SELECT that take the place of a row: it may have a condition of the caller's. */
const CHARS_OF_ROW = 100;

const known = new WeakMap<DuckDBConnection, Answers>();

/** From now on the connection's transaction sees the data of these answers; undefined: nobody knows which it sees. */
export function setAnswers(connection: DuckDBConnection, answers: Answers | undefined): void {
  if (answers === undefined) known.delete(connection);
  else known.set(connection, answers);
}

/** The rows of a SELECT of our own of which nothing but the data decides. They are not the caller's to change. */
export async function answerOf(connection: DuckDBConnection, sql: string): Promise<unknown[][]> {
  const answers = known.get(connection);
  const before = answers?.areSure === true ? answers.rows.get(sql) : undefined;
  if (before !== undefined) return before;
  const rows = (await connection.runAndReadAll(sql)).getRows();
  if (answers?.areSure !== true) return rows;
  // One without rows takes its place, too.
  const size = rows.length + 1 + sql.length / CHARS_OF_ROW;
  if (answers.size + size > ROWS_MAX) {
    answers.rows.clear();
    answers.size = 0;
  }
  // Another look may have asked the same meanwhile.
  if (!answers.rows.has(sql)) answers.size += size;
  answers.rows.set(sql, rows);
  return rows;
}
