import { existsSync, readFileSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ApiError } from '../../../contract/errors.ts';
import type { Run } from '../connections/writer.ts';
import { CATALOG, quoteName, quoteText } from '../sql/names.ts';

/**
 * A database file tells whether a log belongs to it, so that it is not taken for the whole database without one.
 *
 * Before a merge, the number of that merge is stored as begun, and so gets into the file; right after it the same number
 * is stored as followed, which begins the next log. A file that says "begun" and not "followed" lacks its log. Between
 * the two there is none, and a file beside the database says so, which is made before and removed after both: a kill or
 * a failure leaves it there, so it tells the last merge before that was followed. When the database is closed, or another program merges the log, "followed" gets into the file.
 *
 * Rows are only added: an update would let the engine refuse to merge beside queries that run.
 */
const SCHEMA = `${quoteName(CATALOG)}."_meta"`;
const TABLE = `${SCHEMA}."log_marks"`;

/** Ends the name of the file that is there during a merge. */
export const MERGING_SUFFIX = '.merging';

export interface Marks {
  /** The last merge that was begun, and the last one that was followed by a log; 0: none. */
  begun: number;
  followed: number;
}

/** The marks of an attached database; undefined if it has none yet. */
export async function readMarks(sql: Run): Promise<Marks | undefined> {
  const [found] = await sql(
    `SELECT 1 FROM duckdb_tables() WHERE database_name = ${quoteText(CATALOG)} AND schema_name = '_meta' AND table_name = 'log_marks'`,
  );
  if (found === undefined) return undefined;
  const [row] = await sql(
    `SELECT coalesce(max(merge) FILTER (NOT is_followed), 0), coalesce(max(merge) FILTER (is_followed), 0)
     FROM ${TABLE}`,
  );
  return { begun: Number(row?.[0]), followed: Number(row?.[1]) };
}

/** Whether a log began after the last merge that was begun. */
export function isFollowed(marks: Marks | undefined): boolean {
  return marks !== undefined && marks.begun > 0 && marks.begun === marks.followed;
}

/** Whether a database with these marks lacks the log that belongs to it. */
export function lacksLog(file: string, marks: Marks | undefined): boolean {
  if (marks === undefined || marks.begun <= marks.followed) return false;
  const merging = file + MERGING_SUFFIX;
  return !existsSync(merging) || marks.begun <= Number(readFileSync(merging, 'utf8'));
}

/** Makes the table of the marks. */
export async function prepareMarks(sql: Run): Promise<void> {
  await sql(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`);
  await sql(`CREATE TABLE IF NOT EXISTS ${TABLE} (merge BIGINT, is_followed BOOLEAN)`);
}

/** Removes marks that no longer count. To be run while nothing is read. */
export async function pruneMarks(sql: Run): Promise<void> {
  await sql(`DELETE FROM ${TABLE} WHERE merge < (SELECT max(merge) FROM ${TABLE})`);
}

/**
 * Runs a merge of the log of `file`, and begins the next log. If the merge fails, the log stays the one it was;
 * `isMarked`: the file tells that this log belongs to it.
 */
export async function withMarks(
  sql: Run,
  { file, isMarked }: { file: string; isMarked: boolean },
  merge: () => Promise<void>,
): Promise<void> {
  const { begun, followed } = (await readMarks(sql)) ?? { begun: 0, followed: 0 };
  const number = BigInt(begun + 1);
  const follow = async () => {
    await sql(`INSERT INTO ${TABLE} VALUES ($1, true)`, number);
    await endMerging(file);
  };
  await writeDurably(file + MERGING_SUFFIX, String(followed));
  try {
    await sql(`INSERT INTO ${TABLE} VALUES ($1, false)`, number);
    await merge();
  } catch (error) {
    if (isMarked) await follow().catch(() => undefined);
    throw error;
  }
  await follow();
}

/** Removes what says that a merge is under way; a kill may have left it there after the merge. */
export function endMerging(file: string): Promise<void> {
  return rm(file + MERGING_SUFFIX, { force: true });
}

async function writeDurably(path: string, text: string): Promise<void> {
  const handle = await open(path, 'w', 0o600);
  try {
    await handle.write(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  if (process.platform === 'win32') return;
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

export function missingLogError(file: string): ApiError {
  return new ApiError(
    'internal',
    `Cannot open the database ${JSON.stringify(file)}: its log ${JSON.stringify(`${file}.wal`)} is missing or was cut, and there are changes that are nowhere else. A copy of the database file alone is not a copy of the database. The file is left as it is. Put the log back beside it, from where the file came from; restore a backup with "colloquy restore"; or, to do without what was in the log, make an empty file ${JSON.stringify(file + MERGING_SUFFIX)}.`,
  );
}
