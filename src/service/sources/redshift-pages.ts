import type pg from 'pg';
import type { Collecting } from './items.ts';
import { eachRow, type Row, type RowReader, type Table } from './redshift-table.ts';
import { BATCH_BYTES_MAX, BATCH_ITEMS_MAX } from './source.ts';

/** Rows that are read before it is known how large they are. */
const FIRST_ROWS = 100;
/** Text of rows that is asked for at once, about. */
const PAGE_CHARS = BATCH_BYTES_MAX / 2;
/** What Redshift gives at once from a cursor on a cluster of a single node. */
const REDSHIFT_FETCH_MAX = 1_000;

interface PageQuery {
  text: string;
  given: readonly string[];
  /** How many rows it gives at most. */
  asked: number;
}

interface Page {
  /** Whether there is nothing behind it. */
  isLast: boolean;
  /** Whether rows at its end were left out, as the batch was full. */
  isCut: boolean;
}

/** Pages of rows, as many at once as their size lets. */
export interface Pages {
  /** How many rows to ask for. */
  readonly rows: number;
  /** How many to fetch from a cursor into a batch that has so many. */
  fetchRows(table: Table, inBatch: number): number;
  /** Whether another page might not fit into a batch. */
  isEnough(collecting: Collecting): boolean;
  /** Hands over the rows of a page, as long as the batch into which they go is not full. */
  read(
    client: pg.Client,
    query: PageQuery,
    reader: RowReader,
    collecting: Collecting,
    take: (row: Row) => void,
  ): Promise<Page>;
}

export function createPages(): Pages {
  let step = FIRST_ROWS;
  return {
    get rows() {
      return step;
    },
    fetchRows({ isPostgres }, inBatch) {
      return Math.min(step, BATCH_ITEMS_MAX - inBatch, isPostgres ? BATCH_ITEMS_MAX : REDSHIFT_FETCH_MAX);
    },
    isEnough: ({ size }) => size >= PAGE_CHARS,
    async read(client, { text, given, asked }, reader, collecting, take) {
      let rows = 0;
      let taken = 0;
      let chars = 0;
      await eachRow(client, text, given, (values) => {
        rows += 1;
        if (collecting.isFull) return;
        const row = reader.read(values);
        taken += 1;
        chars += row.text.length;
        take(row);
      });
      if (taken > 0)
        step = Math.max(
          1,
          Math.min(BATCH_ITEMS_MAX, Math.max(step, 16 * taken), Math.floor((taken * PAGE_CHARS) / chars)),
        );
      return { isLast: taken === rows && rows < asked, isCut: taken < rows };
    },
  };
}
