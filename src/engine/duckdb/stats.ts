import type { TableStats } from '../engine.ts';
import { dataTable, type Table } from './catalog.ts';
import { quoteText } from './names.ts';
import { isKept } from './retention.ts';
import type { Sql } from './store.ts';

/** Bytes of one block of the file. Small tables share blocks: for these the estimate is high. */
const BLOCK_BYTES = 262_144;
/** Bytes of one value that is not yet in a block, assumed. */
const LOOSE_VALUE_BYTES = 16;

/**
 * Counts the documents that are there to see, and estimates the table's bytes, from the storage's own books: of documents,
 * at most event times are read.
 */
export async function readStats(sql: Sql, table: Table): Promise<TableStats> {
  const name = dataTable(table.id);
  const kept = table.retentionSecs === null ? '' : ` WHERE ${isKept(table.retentionSecs)}`;
  const [row] = await sql(
    `SELECT (SELECT count(*) FROM ${name}${kept}),
            count(DISTINCT block_id) FILTER (WHERE persistent),
            coalesce(sum("count") FILTER (WHERE NOT persistent), 0)
     FROM pragma_storage_info(${quoteText(name)})`,
  );
  const [docs, blocks, looseValues] = (row ?? []).map(Number);
  return {
    docCount: docs ?? 0,
    totalBytes: (blocks ?? 0) * BLOCK_BYTES + (looseValues ?? 0) * LOOSE_VALUE_BYTES,
  };
}
