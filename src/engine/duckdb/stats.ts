import type { TableStats } from '../engine.ts';
import { dataTable, type Table } from './catalog.ts';
import { columnNames, ID_COLUMN, TIME_COLUMN } from './columns.ts';
import { quoteName, quoteText } from './names.ts';
import { columnsText } from './read-back.ts';
import { isKept } from './retention.ts';
import type { Sql, Transaction } from './store.ts';

/** Bytes of one block of the file. Small tables share blocks: for these it says too much. */
const BLOCK_BYTES = 262_144;
/** Up to so many bytes in blocks the documents' text is looked at, whatever they look like. */
const SMALL_BYTES = 16 * 1024 * 1024;
/** Documents that take more bytes in blocks than this are not made into text to be measured. */
const LARGE_DOCUMENT_BYTES = 4_096;
/** Documents that are measured, all where there are no more; the storage is sampled in pieces of 2,048. */
const MEASURED = 16_384;

/** The figures of tables. */
export interface Stats {
  of(table: Table): Promise<TableStats>;
  /** The table with this id was written to. */
  forget(id: string): void;
}

/**
 * What documents measure is remembered until the next write: whoever looks often pays for counting only, and sees the
 * same figure while nothing is written, which samples would not give.
 */
export function createStats(read: Transaction): Stats {
  const averages = new Map<string, number>();
  /** Tables that are being measured, as of which nothing was written since. */
  const measuring = new Map<string, symbol>();
  return {
    async of(table) {
      const mark = Symbol();
      measuring.set(table.id, mark);
      const { average, ...figures } = await read((sql) => readStats(sql, table, averages.get(table.id)));
      if (measuring.get(table.id) === mark) {
        measuring.delete(table.id);
        if (average !== undefined) averages.set(table.id, average);
      }
      return figures;
    },
    forget(id) {
      measuring.delete(id);
      averages.delete(id);
    },
  };
}

/**
 * Counts the documents that are there to see, and says how many bytes they are as JSON text: by that of all of them, or
 * of a sample, or, where they are large, by the blocks that they lie in. Some milliseconds, however many there are.
 * `average`: the bytes of one, where they are known.
 */
async function readStats(sql: Sql, table: Table, average: number | undefined): Promise<Measured> {
  const name = dataTable(table.id);
  const kept = table.retentionSecs === null ? '' : ` WHERE ${isKept(table.retentionSecs)}`;
  const [row] = await sql(`SELECT count(*) FROM ${name}${kept}`);
  const docCount = Number(row?.[0] ?? 0);
  const perDocument = docCount === 0 ? 0 : (average ?? (await averageBytes(sql, table, docCount)));
  return {
    docCount,
    totalBytes: Math.round(docCount * perDocument),
    average: docCount === 0 ? undefined : perDocument,
  };
}

/** Figures, and the bytes of one document on average; undefined: there is none. */
interface Measured extends TableStats {
  average: number | undefined;
}

async function averageBytes(sql: Sql, table: Table, docCount: number): Promise<number> {
  const name = dataTable(table.id);
  const [row] = await sql(
    `SELECT count(DISTINCT block_id) FILTER (WHERE persistent),
            coalesce(sum("count") FILTER (WHERE column_name = ${quoteText(ID_COLUMN)} AND segment_type = 'VARCHAR'), 0)
     FROM pragma_storage_info(${quoteText(name)})`,
  );
  const [blocks = 0, rows = 0] = (row ?? []).map(Number);
  const inBlocks = blocks * BLOCK_BYTES;
  const stored = Math.max(rows, docCount);
  if (inBlocks > SMALL_BYTES && inBlocks / stored > LARGE_DOCUMENT_BYTES) return inBlocks / stored;
  const share =
    stored <= MEASURED ? '' : ` TABLESAMPLE SYSTEM(${((100 * MEASURED) / stored).toFixed(6)}%) REPEATABLE (1)`;
  const [measured] = await sql(`SELECT avg(${documentBytes(table)}) FROM ${name}${share}`);
  const bytes =
    measured?.[0] ??
    (await sql(`SELECT avg(b) FROM (SELECT ${documentBytes(table)} AS b FROM ${name} LIMIT ${MEASURED})`))[0]?.[0];
  return Number(bytes ?? 0);
}

/** SQL for the bytes of a document's own fields as JSON text: without its event time, and without those that are null. */
function documentBytes(table: Table): string {
  const names = columnNames(table.shape).filter((column) => column !== TIME_COLUMN);
  const nulls = names.map((column) => {
    const member = Buffer.byteLength(`${JSON.stringify(column)}:null,`);
    return `CASE WHEN ${quoteName(column)} IS NULL THEN ${member} ELSE 0 END`;
  });
  return `strlen(${columnsText(names)}) - (${nulls.join(' + ')})`;
}
