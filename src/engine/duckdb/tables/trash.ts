import { stringifyJson } from '../../../contract/json/json.ts';
import type { Kept } from '../../engine.ts';
import type { Sql } from '../connections/store.ts';
import { ID_COLUMN, quoteName, TIME_COLUMN } from '../sql/names.ts';
import { opaqueText } from '../sql/opaque-text.ts';
import type { AcceptedDocument } from './accept.ts';
import { dataTable, storedShape, type Table } from './catalog.ts';
import { COMPARED_ID, HASH_COLUMN, hashOf, IS_LIVE, tableShapeToJson } from './columns.ts';
import { conditionOf, type FoundRow, findDeleted, findRows, isVisible, LISTED, requireAll } from './find-rows.ts';
import { documentOf, rowTexts } from './read-back.ts';
import { oldestKeptMicros } from './retention.ts';

/** Maximum number of documents restored from text in one step: writes to the table wait for it, so it is short. */
const STEP_DOCUMENTS_MAX = 5_000;
const STEP_BYTES_MAX = 16 * 1024 * 1024;
/** The same for documents that are in their rows, which takes far less. */
const STEP_ROWS_MAX = 20_000;

/** Up to this many documents are measured, of more as many that lie side by side: others take much longer to read. */
const MEASURED = 50;
/** Of so many the ids are told. */
const IDS_KEPT = 3;

/**
 * Moves the visible documents with these ids to the trash: they stay in their rows, which only a restore or the end of
 * their time there finds. Returns how many, and what is then kept under the name, which may have some already. The size
 * of their text is estimated if there are many. One statement finds and marks them: handing 20,000 row numbers out and in
 * again takes as long as the rest.
 */
export async function keepDocuments(
  sql: Sql,
  table: Table,
  ids: readonly string[],
  trash: string,
): Promise<{ deleted: number; kept: Kept }> {
  const earlier = await keptIn(sql, trash);
  const deletion = earlier?.deletion ?? (await nextDeletion(sql, table));
  const [counted] = await sql(
    `UPDATE ${dataTable(table.id)} SET ${quoteName(HASH_COLUMN)} = ${deletion}::UBIGINT WHERE ${isVisible(table, ids)}`,
    JSON.stringify(ids),
  );
  const deleted = Number(counted?.[0]);
  if (deleted === 0) return { deleted, kept: { docCount: 0, bytes: 0, ids: [] } };
  if (earlier === undefined) {
    await sql('INSERT INTO "_meta"."trash" (id, table_id, number) VALUES ($1, $2, $3)', trash, table.id, deletion);
  }
  const docCount = earlier === undefined ? deleted : await countOf(sql, table, deletion);
  return { deleted, kept: await keptOf(sql, table, deletion, docCount) };
}

async function nextDeletion(sql: Sql, table: Table): Promise<bigint> {
  const [last] = await sql(
    'SELECT coalesce(max(number), 0)::BIGINT FROM "_meta"."trash" WHERE table_id = $1',
    table.id,
  );
  return (last?.[0] as bigint) + 1n;
}

async function countOf(sql: Sql, table: Table, deletion: bigint): Promise<number> {
  const [row] = await sql(`SELECT count(*) FROM ${dataTable(table.id)} WHERE ${isOf(deletion)}`);
  return Number(row?.[0]);
}

/** Where documents of the trash are, if they are in rows of a table. */
export async function keptIn(sql: Sql, trash: string): Promise<{ table: string; deletion: bigint } | undefined> {
  const [row] = await sql('SELECT table_id, number::BIGINT FROM "_meta"."trash" WHERE id = $1', trash);
  return typeof row?.[0] === 'string' ? { table: row[0], deletion: row[1] as bigint } : undefined;
}

/**
 * Restores documents of a deletion that are within the retention and whose ids no other document has, a step of them; returns
 * their ids, and what is left. Another one that is past the retention counts: a clock that is wrong may hide it for a while,
 * and replaced it would be gone. Of the deletion's own, those past it are only looked at by the step that restores none:
 * each step begins at the first page, and would meet them all again.
 */
export async function restoreRows(
  sql: Sql,
  table: Table,
  trash: string,
  { deletion, leftIdsMax }: { deletion: bigint; leftIdsMax: number },
): Promise<{ ids: string[]; left: Kept; leftIds: string[]; pastCount: number }> {
  const leftIds: string[] = [];
  let restored: FoundRow[] = [];
  let after: string | undefined;
  while (restored.length === 0) {
    const deleted = await findDeleted(sql, table, deletion, { after, max: STEP_ROWS_MAX });
    const ids = deleted.map(({ id }) => id);
    const taken = new Set((await findRows(sql, table, ids)).map(({ id }) => id));
    restored = deleted.filter(({ id }) => !taken.has(id));
    for (const id of taken) leftIds.push(id);
    after = ids.at(-1);
    if (deleted.length < STEP_ROWS_MAX) break;
  }
  await putBack(sql, table, restored, deletion);
  const docCount = await countOf(sql, table, deletion);
  if (docCount === 0) await dropKept(sql, [trash]);
  let pastCount = 0;
  if (restored.length === 0 && docCount > leftIds.length) {
    const taken = await takenIn(sql, table, deletion, leftIdsMax);
    pastCount = docCount - taken.docCount;
    leftIds.splice(0, leftIds.length, ...taken.ids);
  }
  return {
    ids: restored.map(({ id }) => id),
    left: await keptOf(sql, table, deletion, docCount),
    leftIds: leftIds.sort().slice(0, leftIdsMax),
    pastCount,
  };
}

/** How many of a deletion's documents have ids that the table has again, whatever the retention; their first ids, in order. */
async function takenIn(
  sql: Sql,
  table: Table,
  deletion: bigint,
  max: number,
): Promise<{ docCount: number; ids: string[] }> {
  const [id, hash, data] = [quoteName(ID_COLUMN), quoteName(HASH_COLUMN), dataTable(table.id)];
  // By the hashes of the deleted, which are few: the ids of all that the table has are not to be held in memory.
  const live = `SELECT ${id} FROM ${data} WHERE ${hash} IN (SELECT ${hashOf(id)} FROM ${data} WHERE ${isOf(deletion)})`;
  const [row] = await sql(
    `SELECT count(*), to_json(min(${id}, ${max}))::VARCHAR FROM ${data} WHERE ${isOf(deletion)} AND ${COMPARED_ID} IN (${live})`,
  );
  return { docCount: Number(row?.[0]), ids: JSON.parse(String(row?.[1] ?? '[]')) as string[] };
}

/** Gives rows of a deletion their hashes again. */
async function putBack(sql: Sql, table: Table, rows: readonly FoundRow[], deletion: bigint): Promise<void> {
  const { condition, lists } = conditionOf(table, rows, isOf(deletion));
  const hash = hashOf(quoteName(ID_COLUMN));
  let marked = 0;
  for (const list of lists) {
    const [counted] = await sql(
      `UPDATE ${dataTable(table.id)} SET ${quoteName(HASH_COLUMN)} = ${hash} WHERE ${condition}`,
      list,
    );
    marked += Number(counted?.[0]);
  }
  requireAll(rows, marked);
}

/** A deletion's documents that are in the rows of a table; their size is told from some of them if there are many. */
async function keptOf(sql: Sql, table: Table, deletion: bigint, docCount: number): Promise<Kept> {
  const measured = `SELECT ${textBytes(table)} AS b, ${quoteName(ID_COLUMN)} AS i`;
  const [row] = await sql(
    `SELECT avg(b), to_json(min(i, ${IDS_KEPT}))::VARCHAR FROM (${measured} FROM ${dataTable(table.id)} WHERE ${isOf(deletion)} LIMIT ${MEASURED})`,
  );
  const ids = JSON.parse(String(row?.[1] ?? '[]')) as string[];
  return { docCount, bytes: Math.round(Number(row?.[0] ?? 0) * docCount), ids };
}

function textBytes({ shape }: Table): string {
  return `list_sum(list_transform([${rowTexts(shape)}], lambda t: strlen(t)))`;
}

/**
 * Stores documents of the trash that are in rows of a table as text with its current shape: those deleted under one
 * name, which then leave it, or all of them before it is dropped. All in one table, since one per deletion would make thousands.
 */
export async function storeKeptAsText(sql: Sql, table: Table, trash?: string): Promise<void> {
  const data = dataTable(table.id);
  const hash = quoteName(HASH_COLUMN);
  const deletions = `"_meta"."trash" WHERE table_id = $1${trash === undefined ? '' : ' AND id = $2'}`;
  const which = trash === undefined ? [table.id] : [table.id, trash];
  await sql(
    `INSERT INTO "_meta"."trash_documents" (trash, id, event_time, fields, extra, strays, bytes)
     SELECT (SELECT id FROM ${deletions} AND number = ${data}.${hash}), ${quoteName(ID_COLUMN)}, ${quoteName(TIME_COLUMN)},
       ${rowTexts(table.shape)}, ${textBytes(table)}
     FROM ${data} WHERE ${hash} IN (SELECT number FROM ${deletions})`,
    ...which,
  );
  if (trash !== undefined)
    await sql(`DELETE FROM ${data} WHERE ${hash} IN (SELECT number FROM ${deletions})`, ...which);
  await sql(
    `UPDATE "_meta"."trash" SET table_id = NULL, number = NULL, shape = $${which.length + 1}
     WHERE table_id = $1${trash === undefined ? '' : ' AND id = $2'}`,
    ...which,
    stringifyJson(tableShapeToJson(table.shape)),
  );
}

/** SQL condition for the rows of a deletion. */
function isOf(deletion: bigint): string {
  return `${quoteName(HASH_COLUMN)} = ${deletion}::UBIGINT`;
}
/**
 * Some of the documents that are text in the trash, within the retention and with ids that the table does not have, exactly
 * as they were; none: there are no more.
 */
export async function readKept(sql: Sql, table: Table, trash: string): Promise<AcceptedDocument[]> {
  const [stored] = await sql('SELECT shape FROM "_meta"."trash" WHERE id = $1', trash);
  if (stored === undefined) return [];
  const shape = storedShape(trash, String(stored[0]));
  const rows = await sql(
    `SELECT id, epoch_us(event_time), fields::VARCHAR, extra::VARCHAR, strays::VARCHAR FROM "_meta"."trash_documents"
     WHERE trash = $1 AND ${opaqueText('id')} IN (
       SELECT id FROM (
         SELECT id, bytes, sum(bytes) OVER before AS upto
         FROM "_meta"."trash_documents" WHERE trash = $1 AND NOT ${hasId(table)} AND NOT ${isPast(table)}
         WINDOW before AS (ORDER BY id ROWS UNBOUNDED PRECEDING) ORDER BY id LIMIT ${STEP_DOCUMENTS_MAX})
       WHERE upto - bytes < ${STEP_BYTES_MAX})`,
    trash,
  );
  return rows.map(([id, time, ...texts]) => ({
    id: String(id),
    eventTimeMicros: time as bigint,
    fields: documentOf(shape, texts),
  }));
}

/** Removes documents from the trash; returns what is left there under the same name. */
export async function forgetKept(sql: Sql, trash: string, ids: readonly string[]): Promise<Kept> {
  await sql(
    `DELETE FROM "_meta"."trash_documents" WHERE trash = $2 AND ${opaqueText('id')} IN (${LISTED})`,
    JSON.stringify(ids),
    trash,
  );
  const [row] = await sql(
    'SELECT count(*), coalesce(sum(bytes), 0) FROM "_meta"."trash_documents" WHERE trash = $1',
    trash,
  );
  const left = { docCount: Number(row?.[0]), bytes: Number(row?.[1]), ids: await keptIds(sql, trash, IDS_KEPT) };
  if (left.docCount === 0) await dropKept(sql, [trash]);
  return left;
}

/** Why documents that are text stay in the trash: ids that the table has, in order, at most `max`; how many others are past the retention. */
export async function whyKept(sql: Sql, table: Table, trash: string, max: number) {
  const [row] = await sql(
    `SELECT count(*) FROM "_meta"."trash_documents" WHERE trash = $1 AND NOT ${hasId(table)} AND ${isPast(table)}`,
    trash,
  );
  return { leftIds: await keptIds(sql, trash, max, hasId(table)), pastCount: Number(row?.[0]) };
}

/** The ids of the documents in the trash under this name that meet a condition, in order, at most `max`. */
async function keptIds(sql: Sql, trash: string, max: number, condition = 'true'): Promise<string[]> {
  const rows = await sql(
    `SELECT id FROM "_meta"."trash_documents" WHERE trash = $1 AND ${condition} ORDER BY id LIMIT ${max}`,
    trash,
  );
  return rows.map(([id]) => String(id));
}

/** Drops documents of the trash for good; however many deletions they are from, each table is read once. */
export async function dropKept(sql: Sql, trash: readonly string[]): Promise<void> {
  const listed = JSON.stringify(trash);
  const kept = `FROM "_meta"."trash" WHERE id IN (${LISTED})`;
  for (const [found] of await sql(`SELECT DISTINCT table_id ${kept} AND table_id IS NOT NULL`, listed)) {
    const table = String(found);
    const numbers = `SELECT number ${kept} AND table_id = $2`;
    await sql(`DELETE FROM ${dataTable(table)} WHERE ${quoteName(HASH_COLUMN)} IN (${numbers})`, listed, table);
  }
  await sql(`DELETE FROM "_meta"."trash_documents" WHERE trash IN (${LISTED})`, listed);
  await sql(`DELETE ${kept}`, listed);
}

/** SQL condition: the table has a document with the id `id`, which may be past the retention (see `restoreRows`). */
function hasId(table: Table): string {
  return `(${opaqueText('id')} IN (SELECT ${quoteName(ID_COLUMN)} FROM ${dataTable(table.id)} WHERE ${IS_LIVE}))`;
}

/** SQL condition: a document with the time `event_time` is past the table's retention. */
function isPast({ retentionSecs }: Table): string {
  const oldest = oldestKeptMicros(retentionSecs);
  return oldest === null ? 'false' : `(epoch_us(event_time) < ${oldest})`;
}
