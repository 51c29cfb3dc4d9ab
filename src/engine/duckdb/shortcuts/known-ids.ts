import { setImmediate as turn } from 'node:timers/promises';
import type { DuckDBConnection, DuckDBMaterializedResult } from '@duckdb/node-api';
import type { NumberedLines } from '../../documents.ts';
import type { Log } from '../../log.ts';
import { ID_COLUMN, quoteName } from '../sql/names.ts';
import { dataTable } from '../tables/catalog.ts';
import { HASH_COLUMN, IS_LIVE } from '../tables/columns.ts';
import { type Filter, FixedFilter, GrowingFilter, type Hash, hashOfId, idsOfLines, ROWS_MAX } from './id-filters.ts';

/**
 * Knows which ids a table does not have, without asking the engine: nearly every new document has one of these, and
 * looking for it among a million takes longer than storing it.
 *
 * Wins: adding up to 100 documents to 200,000 or more 1.6 to 1.8 times (`npm run bench -- p`); filling a collection from a
 * source takes a fifth less of the processor.
 *
 * A table's filter (a Bloom filter) contains every id that the table had when it was built or has received since, so it
 * never denies an id that exists. Deleted ids stay in it; restored ones are added. It is in memory only. That of a table
 * that is empty begins with its first documents and grows with them, so that what fills it is never looked for; that of
 * another table is built in the background after small writes to it.
 */
export interface KnownIds {
  /** Those of the ids that the table may have; undefined if nothing is known. */
  try(table: string, ids: readonly string[]): readonly string[] | undefined;
  /** The same for the ids of lines. */
  tryLines(table: string, lines: readonly NumberedLines[]): readonly string[] | undefined;
  /** To be called before documents with these ids are stored. */
  add(table: string, ids: readonly string[]): void;
  /** The same for the ids of lines. */
  addLines(table: string, lines: readonly NumberedLines[]): void;
  /**
   * To be called, with the table's lock held, after the first documents of a table were stored, which have these ids; all of
   * them are those of `lines`, if that is given.
   */
  begin(table: string, ids: readonly string[], lines?: readonly NumberedLines[]): void;
  /** To be called, with the table's lock held, before documents are stored whose ids are not named. */
  forget(table: string): void;
  /**
   * To be called after `count` documents were stored, with the table's lock held, so that nothing else writes to it.
   */
  stored(table: string, count: number): void;
  /** Resolves when it no longer uses the engine. */
  close(): Promise<void>;
}

/** Writes of up to this many documents count as small. */
const SMALL = 200;
/** After this many small writes a table gets its filter. */
const SMALL_WRITES = 2;

/** Memory of all filters; the least recently used one is dropped. */
const BYTES_MAX = 64 * 1024 * 1024;
/** Maximum number of ids stored while a filter is being built. */
const EARLY_MAX = 1_000_000;

/** A table that has no filter yet, or whose filter is being built. */
interface Wish {
  smallWrites: number;
  /** Ids stored since the build began. */
  early: Hash[] | undefined;
  /** Whether ids were stored since the build began that are not among these. */
  isStale?: boolean;
}

/** What `createKnownIds` needs. */
export interface KnownIdsSource {
  /** Opens a connection for reading, which is closed here. */
  connect(): Promise<DuckDBConnection>;
  /** Runs work that must see every row: see `Store.undisturbed`. */
  undisturbed<T>(work: () => Promise<T>): Promise<T>;
}

/** Close it before `source`; a filter that could not be built is logged. */
export function createKnownIds(source: KnownIdsSource, log: Log): KnownIds {
  /** In order of use, the most recently used last. */
  const filters = new Map<string, Filter>();
  const wishes = new Map<string, Wish>();
  const making = new Set<Promise<void>>();
  let isClosed = false;

  const put = (table: string, filter: Filter) => {
    filters.delete(table);
    filters.set(table, filter);
    let bytes = [...filters.values()].reduce((sum, one) => sum + one.bytes, 0);
    for (const [oldest, one] of filters) {
      if (bytes <= BYTES_MAX) break;
      filters.delete(oldest);
      bytes -= one.bytes;
    }
  };

  const make = async (table: string, wish: Wish) => {
    const connection = await source.connect();
    try {
      const hashes = await source.undisturbed(() => readHashes(connection, table));
      const filter = hashes && (await filterOf(hashes, () => isClosed));
      const { early = [] } = wish;
      if (filter === undefined || early.length > EARLY_MAX || wish.isStale === true || isClosed) return;
      for (const hash of early) filter.add(hash);
      put(table, filter);
      wishes.delete(table);
    } finally {
      connection.closeSync();
    }
  };

  return {
    try(table, ids) {
      const filter = filters.get(table);
      if (filter === undefined) return undefined;
      put(table, filter);
      return ids.filter((id) => filter.mayHave(id));
    },
    tryLines(table, lines) {
      const filter = filters.get(table);
      if (filter === undefined) return undefined;
      put(table, filter);
      return lines.flatMap((some) => filter.among(some));
    },
    add(table, ids) {
      const filter = filters.get(table);
      const early = wishes.get(table)?.early;
      if (filter === undefined && (early === undefined || early.length > EARLY_MAX)) return;
      if (filter === undefined) {
        for (const id of ids) {
          const hash = hashOfId(id);
          if (hash !== undefined) early?.push(hash);
        }
        return;
      }
      for (const id of ids) filter.addId(id);
      if (filter.isFull) filters.delete(table);
    },
    addLines(table, lines) {
      const filter = filters.get(table);
      if (filter === undefined) {
        for (const some of lines) this.add(table, idsOfLines(some));
        return;
      }
      for (const some of lines) filter.addLines(some);
      if (filter.isFull) filters.delete(table);
    },
    begin(table, ids, lines) {
      const filter = new GrowingFilter();
      if (lines === undefined) for (const id of ids) filter.addId(id);
      else for (const some of lines) filter.addLines(some);
      const wish = wishes.get(table);
      if (wish !== undefined) wish.isStale = true;
      wishes.delete(table);
      put(table, filter);
    },
    forget(table) {
      filters.delete(table);
      const wish = wishes.get(table);
      if (wish !== undefined) wish.isStale = true;
      wishes.delete(table);
    },
    stored(table, count) {
      if (count > SMALL || filters.has(table) || isClosed) return;
      const wish = wishes.get(table) ?? { smallWrites: 0, early: undefined };
      wishes.set(table, wish);
      wish.smallWrites += 1;
      if (wish.smallWrites !== SMALL_WRITES) return;
      // From now on everything stored is either seen by the read of the table or noted here.
      wish.early = [];
      const made = make(table, wish)
        // Writes are merely slower without a filter. A table that could not be read is not tried again.
        .catch((error: unknown) => {
          if (!isClosed)
            log.warn({ err: error, table }, 'the ids of a table could not be read: each write looks for them');
        })
        .finally(() => {
          wish.early = undefined;
          making.delete(made);
        });
      making.add(made);
    },
    async close() {
      isClosed = true;
      await Promise.all(making);
    },
  };
}

/** Chunks (of 2,048 rows) to read before yielding to other work. */
const CHUNKS_AT_ONCE = 2;
/** Rows whose hashes are also computed here, to compare. */
const SAMPLE = 64;

/** Both halves of the hashes of a table, and the row count just before they were read. */
interface Hashes {
  rows: number;
  result: DuckDBMaterializedResult;
}

/** Undefined if the table is too large, or if the engine's hashes differ from those computed here. */
async function readHashes(connection: DuckDBConnection, table: string): Promise<Hashes | undefined> {
  // Throws here if this machine does not offer the hash function.
  hashOfId('');
  const [name, hash] = [dataTable(table), quoteName(HASH_COLUMN)];
  const halves = `(${hash} & 4294967295)::UINTEGER, (${hash} >> 32)::UINTEGER`;
  const counted = await connection.runAndReadAll(`SELECT count(*) FROM ${name} WHERE ${IS_LIVE}`);
  const rows = Number(counted.getRows()[0]?.[0]);
  if (rows > ROWS_MAX) return undefined;
  const sample = await connection.runAndReadAll(
    `SELECT ${halves}, ${quoteName(ID_COLUMN)} FROM ${name} WHERE ${IS_LIVE} LIMIT ${SAMPLE}`,
  );
  const isSame = sample.getRows().every(([low, high, id]) => {
    const own = hashOfId(String(id));
    return own === undefined || (own[0] === low && own[1] === high);
  });
  if (!isSame) return undefined;
  return { rows, result: await connection.run(`SELECT ${halves} FROM ${name} WHERE ${IS_LIVE}`) };
}

async function filterOf({ rows, result }: Hashes, isClosed: () => boolean): Promise<FixedFilter | undefined> {
  const filter = new FixedFilter(rows);
  for (let index = 0; index < result.chunkCount; index++) {
    if (index % CHUNKS_AT_ONCE === CHUNKS_AT_ONCE - 1) await turn();
    if (isClosed()) return undefined;
    const chunk = result.getChunk(index);
    const [low, high] = [chunk.getColumnVector(0), chunk.getColumnVector(1)];
    for (let row = 0; row < chunk.rowCount; row++)
      filter.add([low.getItem(row) as number, high.getItem(row) as number]);
  }
  return filter;
}
