import type { Logger } from 'pino';
import { type Catalog, put } from '../catalog/catalog.ts';
import type { CollectionRecord, RecordOf } from '../catalog/records.ts';

const STORE_DELAY_MS = 1_000;

export type UsageFigures = RecordOf<'usage'>;

/**
 * Figures about a collection's use. They are stored a second late, and on close: a durable step of its own for every
 * write would halve the speed of writes. The first figures of a collection are stored at once. A service that is killed
 * loses those of the last second.
 */
export interface Usage {
  of(collection: CollectionRecord): UsageFigures;
  /** Adds a write's bytes, and remembers its time. */
  wrote(collection: CollectionRecord, bytes: { inserted: number; overwritten: number }): void;
  queried(collection: CollectionRecord): void;
  purged(collection: CollectionRecord, purged: { docCount: number; bytes: number }): void;
  /** Counts documents that came from the text of a file, by outcome. */
  tookFile(collection: CollectionRecord, outcome: { taken: number; refused: readonly string[] }): void;
  /** Stores what is not stored yet. */
  flush(): Promise<void>;
}

const NONE: UsageFigures = {
  bytesInserted: 0,
  bytesOverwritten: 0,
  lastQueriedMs: 0,
  lastUpdatedMs: 0,
  purgedDocCount: 0,
  purgedBytes: 0,
  file: null,
};
const NO_FILE: NonNullable<UsageFigures['file']> = {
  taken: 0,
  takenAt: null,
  refused: 0,
  refusedAt: null,
  refusedWhy: null,
};

export function openUsage(catalog: Catalog, log: Logger): Usage {
  const pending = new Map<string, UsageFigures>();
  /** Being stored; newer figures add to these. */
  let storing: ReadonlyMap<string, UsageFigures> = new Map();
  let timer: NodeJS.Timeout | undefined;

  function of(collection: CollectionRecord): UsageFigures {
    const { table } = collection;
    return pending.get(table) ?? storing.get(table) ?? catalog.all('usage').get(table) ?? NONE;
  }

  /** Whether figures of it are stored or being stored. */
  function isKnown({ table }: CollectionRecord): boolean {
    return storing.has(table) || catalog.all('usage').has(table);
  }

  function set(collection: CollectionRecord, change: Partial<UsageFigures>): void {
    pending.set(collection.table, { ...of(collection), ...change });
    if (timer !== undefined && isKnown(collection)) return;
    clearTimeout(timer);
    const delayMs = isKnown(collection) ? STORE_DELAY_MS : 0;
    timer = setTimeout(() => {
      flush().catch((error: unknown) => log.error({ err: error }, 'cannot store usage figures'));
    }, delayMs).unref();
  }

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const plan = catalog.change(() => {
      // No figures may remain of a collection dropped meanwhile.
      const tables = new Set(Array.from(catalog.all('collection').values(), (collection) => collection.table));
      const changes = [...pending].filter(([table]) => tables.has(table)).map(([table, f]) => put('usage', table, f));
      storing = new Map(pending);
      pending.clear();
      return { changes, result: undefined };
    });
    await plan.catch((error: unknown) => {
      // Not lost: they are stored next time.
      for (const [table, figures] of storing) if (!pending.has(table)) pending.set(table, figures);
      throw error;
    });
  }

  return {
    of,
    wrote(collection, bytes) {
      const figures = of(collection);
      set(collection, {
        bytesInserted: figures.bytesInserted + bytes.inserted,
        bytesOverwritten: figures.bytesOverwritten + bytes.overwritten,
        lastUpdatedMs: Date.now(),
      });
    },
    queried(collection) {
      set(collection, { lastQueriedMs: Date.now() });
    },
    purged(collection, { docCount, bytes }) {
      const { purgedDocCount, purgedBytes } = of(collection);
      set(collection, { purgedDocCount: purgedDocCount + docCount, purgedBytes: purgedBytes + bytes });
    },
    tookFile(collection, { taken, refused }) {
      const file = of(collection).file ?? NO_FILE;
      const now = new Date().toISOString();
      set(collection, {
        file: {
          taken: file.taken + taken,
          takenAt: taken > 0 ? now : file.takenAt,
          refused: file.refused + refused.length,
          refusedAt: refused.length > 0 ? now : file.refusedAt,
          refusedWhy: refused.at(-1) ?? file.refusedWhy,
        },
      });
    },
    flush,
  };
}
