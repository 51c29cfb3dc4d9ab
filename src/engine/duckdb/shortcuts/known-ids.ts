import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import type { DuckDBConnection, DuckDBMaterializedResult } from '@duckdb/node-api';
import type { Log } from '../../log.ts';
import { ID_COLUMN, quoteName } from '../sql/names.ts';
import { dataTable } from '../tables/catalog.ts';
import { HASH_COLUMN, IS_LIVE } from '../tables/columns.ts';

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
  /** To be called before documents with these ids are stored. */
  add(table: string, ids: readonly string[]): void;
  /** To be called, with the table's lock held, after the first documents of a table were stored, which have these ids. */
  begin(table: string, ids: readonly string[]): void;
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

/**
 * Bits per id, at least, up to where a filter that grows goes on in another one, and at capacity; and how many of them an id
 * sets. One in a hundred thousand answers is a false positive, at capacity one in two thousand: a statement looks for each,
 * which takes as long as storing some hundred documents, so it must not be one in each request of a thousand.
 */
const BITS = 32;
const BITS_FULL = 16;
const BITS_SET = 8;
const BITS_MIN = 2 ** 16;
/** A larger table gets no filter, since its hashes are read all at once. */
const ROWS_MAX = 8_000_000;
/** Memory of all filters; the least recently used one is dropped. */
const BYTES_MAX = 64 * 1024 * 1024;
/** Maximum number of ids stored while a filter is being built. */
const EARLY_MAX = 1_000_000;

/** Two halves of a hash of an id. */
type Hash = readonly [low: number, high: number];

/** What says of hashes whether they may be in it. */
interface Filter {
  /** Undefined: the id may be there in any case. */
  hashOf(id: string): Hash | undefined;
  readonly bytes: number;
  readonly isFull: boolean;
  add(hash: Hash): void;
  has(hash: Hash): boolean;
}

class FixedFilter implements Filter {
  readonly hashOf = hashOfId;
  readonly bits: Uint32Array;
  readonly #mask: number;
  #ids = 0;

  constructor(rows: number) {
    let size = BITS_MIN;
    while (size < rows * BITS) size *= 2;
    this.bits = new Uint32Array(size / 32);
    this.#mask = size - 1;
  }

  get bytes(): number {
    return this.bits.byteLength;
  }

  get isFull(): boolean {
    return this.#ids * BITS_FULL > this.#mask;
  }

  /** Whether further ids are better put elsewhere. */
  get isDense(): boolean {
    return this.#ids * BITS > this.#mask;
  }

  add([low, high]: Hash): void {
    this.#ids += 1;
    for (let index = 0; index < BITS_SET; index++) {
      const bit = (low + Math.imul(index, high | 1)) & this.#mask;
      this.bits[bit >>> 5] = (this.bits[bit >>> 5] ?? 0) | (1 << (bit & 31));
    }
  }

  has([low, high]: Hash): boolean {
    for (let index = 0; index < BITS_SET; index++) {
      const bit = (low + Math.imul(index, high | 1)) & this.#mask;
      if (((this.bits[bit >>> 5] ?? 0) & (1 << (bit & 31))) === 0) return false;
    }
    return true;
  }
}

/** The filter of a table that was empty: filters of which each is this many times as large as the one before. */
const GROWTH = 8;

class GrowingFilter implements Filter {
  readonly hashOf = quickHash;
  readonly #filters = [new FixedFilter(0)];
  #rows = 0;

  get bytes(): number {
    return this.#filters.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  get isFull(): boolean {
    return this.#rows > ROWS_MAX;
  }

  add(hash: Hash): void {
    this.#rows += 1;
    let last = this.#filters.at(-1);
    if (last === undefined || last.isDense) {
      last = new FixedFilter(((last?.bytes ?? 1) * 8 * GROWTH) / BITS);
      this.#filters.push(last);
    }
    last.add(hash);
  }

  has(hash: Hash): boolean {
    return this.#filters.some((filter) => filter.has(hash));
  }
}

/** A hash of an id for a filter that the engine has no part in: a tenth of the time that `hashOfId` takes. */
function quickHash(id: string): Hash | undefined {
  let [low, high] = [0xdeadbeef, 0x41c6ce57];
  for (let at = 0; at < id.length; at++) {
    const code = id.charCodeAt(at);
    // Half of a pair, perhaps without the other: the engine changes ill-formed text.
    if ((code & 0xf800) === 0xd800) return undefined;
    low = Math.imul(low ^ code, 0x9e3779b1);
    high = Math.imul(high ^ code, 0x5f356495);
  }
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35);
  return [low >>> 0, high >>> 0];
}

/** The hash of an id as the engine computes it; undefined for ill-formed text, which the engine changes. */
function hashOfId(id: string): Hash | undefined {
  if (/\p{Surrogate}/u.test(id)) return undefined;
  const digest = createHash('md5').update(id).digest();
  return [digest.readUInt32LE(8), (digest.readUInt32LE(12) | 0x80000000) >>> 0];
}

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
      return ids.filter((id) => {
        const hash = filter.hashOf(id);
        return hash === undefined || filter.has(hash);
      });
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
      addAll(filter, ids);
      if (filter.isFull) filters.delete(table);
    },
    begin(table, ids) {
      const filter = new GrowingFilter();
      addAll(filter, ids);
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

function addAll(filter: Filter, ids: readonly string[]): void {
  for (const id of ids) {
    const hash = filter.hashOf(id);
    if (hash !== undefined) filter.add(hash);
  }
}

async function filterOf({ rows, result }: Hashes, isClosed: () => boolean): Promise<Filter | undefined> {
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
