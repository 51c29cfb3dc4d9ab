import type { TableStats } from '../../engine.ts';
import type { Sql, Transaction } from '../connections/store.ts';
import { ID_COLUMN, quoteName, quoteText, TIME_COLUMN } from '../sql/names.ts';
import { dataTable, type Table } from './catalog.ts';
import { columnNames, IS_LIVE } from './columns.ts';
import { columnsText } from './read-back.ts';
import { andKept } from './retention.ts';

/** Size of one block of the file, in bytes. Small tables share blocks, so counting blocks overstates their size. */
const BLOCK_BYTES = 262_144;
/** Up to this many bytes in blocks, the documents' text is measured in any case. */
const SMALL_BYTES = 16 * 1024 * 1024;
/** Documents that take more bytes in blocks than this are not converted to text to be measured. */
const LARGE_DOCUMENT_BYTES = 4_096;
/** Number of documents to measure: all if there are no more; storage is sampled in pieces of 2,048. */
const MEASURED = 16_384;

export interface Stats {
  of(table: Table): Promise<TableStats>;
  /** To be called after a write to the table with this id. */
  forget(id: string): void;
}

/**
 * Figures are cached until the next write, so that lists of many collections do not count each again, and see the same
 * size while nothing is written, which sampling would not give. Documents past a retention become fewer by themselves:
 * these are counted each time.
 */
export function createStats(read: Transaction): Stats {
  const known = new Map<string, Measured>();
  /** Tables that are being measured and were not written to since. */
  const measuring = new Map<string, symbol>();
  return {
    async of(table) {
      const last = known.get(table.id);
      if (last !== undefined && table.retentionSecs === null) return figuresOf(last);
      const mark = Symbol();
      measuring.set(table.id, mark);
      const measured = await read((sql) => readStats(sql, table, last?.average));
      if (measuring.get(table.id) === mark) {
        measuring.delete(table.id);
        known.set(table.id, measured);
      }
      return figuresOf(measured);
    },
    forget(id) {
      measuring.delete(id);
      known.delete(id);
    },
  };
}

/**
 * Counts the visible documents and measures their size as JSON text: from the text of all of them or of a sample or, if
 * they are large, from the blocks that they occupy. Takes some milliseconds, however many there are. `average` is the
 * size of one document, if known.
 */
async function readStats(sql: Sql, table: Table, average: number | undefined): Promise<Measured> {
  const name = dataTable(table.id);
  const [row] = await sql(`SELECT count(*) FROM ${name} WHERE ${IS_LIVE}${andKept(table.retentionSecs)}`);
  const docCount = Number(row?.[0] ?? 0);
  const perDocument = docCount === 0 ? 0 : (average ?? (await averageBytes(sql, table, docCount)));
  return {
    docCount,
    totalBytes: Math.round(docCount * perDocument),
    average: docCount === 0 ? undefined : perDocument,
  };
}

function figuresOf({ docCount, totalBytes }: Measured): TableStats {
  return { docCount, totalBytes };
}

/** Statistics, and the average size of one document; undefined if there is none. */
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
  return (
    (await averageText(sql, table, `${name}${share} WHERE ${IS_LIVE}`)) ??
    (await averageText(sql, table, `(FROM ${name} WHERE ${IS_LIVE} LIMIT ${MEASURED})`)) ??
    0
  );
}

/**
 * The average size of the documents' own fields as JSON text, without event times and null fields; undefined if there
 * are no rows. Nulls are counted, since an expression for each takes the engine as long to plan as all the rest.
 */
async function averageText(sql: Sql, table: Table, rows: string): Promise<number | undefined> {
  const names = columnNames(table.shape).filter((column) => column !== TIME_COLUMN);
  const present = names.map((column) => `count(${quoteName(column)})`);
  const [row = []] = await sql(
    `SELECT sum(strlen(${columnsText(names)})), count(*), ${present.join(', ')} FROM ${rows}`,
  );
  const [bytes = 0, count = 0, ...counts] = row.map(Number);
  if (count === 0) return undefined;
  const nulls = names.map(
    (column, index) => (count - (counts[index] ?? 0)) * Buffer.byteLength(`${JSON.stringify(column)}:null,`),
  );
  return (bytes - nulls.reduce((sum, one) => sum + one, 0)) / count;
}
