import type { Purged } from '../../engine.ts';
import type { Sql } from '../connections/store.ts';
import { quoteText } from '../sql/names.ts';
import { dataTable, type Table } from './catalog.ts';
import { columnNames, IS_LIVE } from './columns.ts';
import { keyText, rowKeyOf } from './find-rows.ts';
import { columnsText } from './read-back.ts';
import { isKept } from './retention.ts';

/** Maximum number of documents removed in one step: writes to the table wait for it, so it is short. */
const STEP_MAX = 10_000;

/** Removes documents that are past the table's retention at `nowMs`, at most as many as one step may. */
export async function purgeExpired(sql: Sql, table: Table, nowMs: number): Promise<Purged> {
  if (table.retentionSecs === null) return { docCount: 0, bytes: 0 };
  const name = dataTable(table.id);
  const now = `${quoteText(new Date(nowMs).toISOString())}::TIMESTAMP WITH TIME ZONE`;
  const { column: key, compared, type } = rowKeyOf(table);
  const rows = await sql(
    `SELECT ${key}, strlen(${columnsText(columnNames(table.shape))}) FROM ${name}
     WHERE ${IS_LIVE} AND NOT (${isKept(table.retentionSecs, now)}) LIMIT ${STEP_MAX}`,
  );
  await sql(
    `DELETE FROM ${name} WHERE ${IS_LIVE} AND ${compared()} IN (SELECT unnest(from_json($1, '["${type}"]')))`,
    `[${rows.map(([one]) => keyText(one)).join(',')}]`,
  );
  return { docCount: rows.length, bytes: rows.reduce((sum, [, bytes]) => sum + Number(bytes), 0) };
}
