import { stringifyJson } from '../../../contract/json.ts';
import type { Kept } from '../../engine.ts';
import { quoteName } from '../sql/names.ts';
import type { Sql } from '../storage/store.ts';
import type { AcceptedDocument } from './accept.ts';
import { dataTable, storedShape, type Table } from './catalog.ts';
import { EXTRA_COLUMN, ID_COLUMN, TIME_COLUMN, tableShapeToJson } from './columns.ts';
import { conditionOf, type FoundRow, LISTED, requireAll } from './find-rows.ts';
import { documentOf, rowText } from './read-back.ts';
import { isKept } from './retention.ts';

/** Maximum number of documents restored in one step: writes to the table wait for it, so it is short. */
const STEP_DOCUMENTS_MAX = 5_000;
const STEP_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Copies documents into the trash; returns the size of their text. They are stored as text with the current shape, so
 * that they can be read exactly whatever becomes of the table; all in one table, since one per deletion would make
 * thousands.
 */
export async function keepDocuments(sql: Sql, table: Table, rows: readonly FoundRow[], trash: string): Promise<number> {
  const extra = table.shape.extra ? quoteName(EXTRA_COLUMN) : 'NULL';
  const { condition, lists } = conditionOf(table, rows);
  const wanted = new Set(rows.map(({ id }) => id));
  let sum = 0;
  let kept = 0;
  for (const list of lists) {
    const sizes = await sql(
      `INSERT INTO "_meta"."trash_documents"
       SELECT $2, id, event_time, fields, extra, strlen(fields) + coalesce(strlen(extra), 0)
       FROM (SELECT ${quoteName(ID_COLUMN)} AS id, ${quoteName(TIME_COLUMN)} AS event_time,
               ${rowText(table.shape)} AS fields, ${extra}::VARCHAR AS extra
             FROM ${dataTable(table.id)} WHERE ${condition})
       RETURNING bytes, id`,
      list,
      trash,
    );
    for (const [bytes, id] of sizes) {
      sum += Number(bytes);
      if (wanted.has(String(id))) kept += 1;
    }
  }
  requireAll(rows, kept);
  await sql('INSERT INTO "_meta"."trash" VALUES ($1, $2)', trash, stringifyJson(tableShapeToJson(table.shape)));
  return sum;
}

/**
 * Some of the documents in the trash whose ids the table does not have, exactly as they were; none: there are no more.
 */
export async function readKept(sql: Sql, table: Table, trash: string): Promise<AcceptedDocument[]> {
  const [stored] = await sql('SELECT shape FROM "_meta"."trash" WHERE id = $1', trash);
  if (stored === undefined) return [];
  const shape = storedShape(trash, String(stored[0]));
  const rows = await sql(
    `SELECT id, epoch_us(event_time), fields::VARCHAR, extra::VARCHAR FROM "_meta"."trash_documents"
     WHERE trash = $1 AND id IN (
       SELECT id FROM (
         SELECT id, bytes, sum(bytes) OVER before AS upto
         FROM "_meta"."trash_documents" WHERE trash = $1 AND NOT ${hasId(table)}
         WINDOW before AS (ORDER BY id ROWS UNBOUNDED PRECEDING) ORDER BY id LIMIT ${STEP_DOCUMENTS_MAX})
       WHERE upto - bytes < ${STEP_BYTES_MAX})`,
    trash,
  );
  return rows.map(([id, time, text, extra]) => ({
    id: String(id),
    eventTimeMicros: time as bigint,
    fields: documentOf(shape, String(text), typeof extra === 'string' ? extra : null),
  }));
}

/** Removes documents from the trash; returns what is left there under the same name. */
export async function forgetKept(sql: Sql, trash: string, ids: readonly string[]): Promise<Kept> {
  await sql(`DELETE FROM "_meta"."trash_documents" WHERE trash = $2 AND id IN (${LISTED})`, JSON.stringify(ids), trash);
  const [row] = await sql(
    'SELECT count(*), coalesce(sum(bytes), 0) FROM "_meta"."trash_documents" WHERE trash = $1',
    trash,
  );
  const left = { docCount: Number(row?.[0]), bytes: Number(row?.[1]) };
  if (left.docCount === 0) await dropKept(sql, trash);
  return left;
}

/** The ids of the documents in the trash under this name, in order, at most `max`. */
export async function keptIds(sql: Sql, trash: string, max: number): Promise<string[]> {
  const rows = await sql(`SELECT id FROM "_meta"."trash_documents" WHERE trash = $1 ORDER BY id LIMIT ${max}`, trash);
  return rows.map(([id]) => String(id));
}

/** Drops documents of the trash for good. */
export async function dropKept(sql: Sql, trash: string): Promise<void> {
  await sql('DELETE FROM "_meta"."trash_documents" WHERE trash = $1', trash);
  await sql('DELETE FROM "_meta"."trash" WHERE id = $1', trash);
}

/** SQL condition: the table has a visible document with the id `id`. */
function hasId(table: Table): string {
  const visible = table.retentionSecs === null ? '' : ` WHERE ${isKept(table.retentionSecs)}`;
  return `(id IN (SELECT ${quoteName(ID_COLUMN)} FROM ${dataTable(table.id)}${visible}))`;
}
