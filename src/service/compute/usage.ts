import type { Logger } from 'pino';
import { cut } from '../../contract/text.ts';
import { type Catalog, put } from '../catalog/catalog.ts';
import { createLateRecords } from '../catalog/late-records.ts';
import type { CollectionRecord, RecordOf } from '../catalog/records.ts';
import type { TableNote } from '../ingest/seen-rows.ts';

const STORE_DELAY_MS = 1_000;
const NOTES_MAX = 5;
const NOTE_CHARS_MAX = 600;

export type UsageFigures = RecordOf<'usage'>;

/**
 * Figures about a collection's use, stored a second late, since a durable step of its own for every write would halve
 * the speed of writes; the first figures of a collection are stored at once.
 */
export interface Usage {
  of(collection: CollectionRecord): UsageFigures;
  /** Adds a write's bytes, and remembers its time. */
  wrote(collection: CollectionRecord, bytes: { inserted: number; overwritten: number }): void;
  queried(collection: CollectionRecord): void;
  purged(collection: CollectionRecord, purged: { docCount: number; bytes: number }): void;
  /** Counts documents that its query left out. */
  dropped(collection: CollectionRecord, docCount: number): void;
  /** Keeps what a load told of its documents; `isAll`: of other loads there is none left. */
  noted(collection: CollectionRecord, notes: readonly TableNote[], isAll: boolean): void;
  /** Counts documents that came from the text of a file, by outcome. */
  tookFile(collection: CollectionRecord, outcome: { taken: number; refused: readonly string[] }): void;
  /** Stores what is not stored yet; nothing is stored after it. */
  close(): Promise<void>;
}

const NONE: UsageFigures = {
  bytesInserted: 0,
  bytesOverwritten: 0,
  lastQueriedMs: 0,
  lastUpdatedMs: 0,
  purgedDocCount: 0,
  purgedBytes: 0,
  droppedDocCount: 0,
  notes: [],
  file: null,
};
const NO_FILE: NonNullable<UsageFigures['file']> = {
  taken: 0,
  takenAt: null,
  refused: 0,
  refusedAt: null,
  refusedWhy: null,
};

/** Figures, and those that they were counted on from: another node may store its own meanwhile. */
interface Counted {
  from: UsageFigures;
  figures: UsageFigures;
}

/** `delayMs`: how late figures are stored (default: a second). */
export function openUsage(catalog: Catalog, log: Logger, delayMs = STORE_DELAY_MS): Usage {
  const late = createLateRecords<Counted>({
    catalog,
    log,
    what: 'usage figures',
    delayMs,
    changesOf(values) {
      // No figures may remain of a collection dropped meanwhile.
      const tables = new Set(Array.from(catalog.all('collection').values(), (collection) => collection.table));
      return [...values]
        .filter(([table]) => tables.has(table))
        .map(([table, counted]) => put('usage', table, onTop(catalog.all('usage').get(table) ?? NONE, counted)));
    },
  });

  const of = ({ table }: CollectionRecord): UsageFigures =>
    late.get(table)?.figures ?? catalog.all('usage').get(table) ?? NONE;

  function set(collection: CollectionRecord, change: Partial<UsageFigures>): void {
    const figures = of(collection);
    const from = late.waiting(collection.table)?.from ?? figures;
    late.set(collection.table, { from, figures: { ...figures, ...change } }, figures === NONE);
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
    dropped(collection, docCount) {
      if (docCount > 0) set(collection, { droppedDocCount: of(collection).droppedDocCount + docCount });
    },
    noted(collection, notes, isAll) {
      const at = new Date().toISOString();
      const fresh = notes.map(({ text, where, count = 0 }) => ({
        at,
        text: cut(text, NOTE_CHARS_MAX),
        count,
        ...(where && where.length <= NOTE_CHARS_MAX && { where }),
      }));
      const before = (isAll ? [] : of(collection).notes).filter((one) => fresh.every(({ text }) => text !== one.text));
      set(collection, { notes: [...before, ...fresh].slice(-NOTES_MAX) });
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
    close: late.close,
  };
}

/** What was counted, added to what is stored by now. */
function onTop(stored: UsageFigures, { from, figures }: Counted): UsageFigures {
  const sum = (key: 'bytesInserted' | 'bytesOverwritten' | 'purgedDocCount' | 'purgedBytes' | 'droppedDocCount') =>
    stored[key] + figures[key] - from[key];
  return {
    bytesInserted: sum('bytesInserted'),
    bytesOverwritten: sum('bytesOverwritten'),
    lastQueriedMs: Math.max(stored.lastQueriedMs, figures.lastQueriedMs),
    lastUpdatedMs: Math.max(stored.lastUpdatedMs, figures.lastUpdatedMs),
    purgedDocCount: sum('purgedDocCount'),
    purgedBytes: sum('purgedBytes'),
    droppedDocCount: sum('droppedDocCount'),
    notes: figures.notes === from.notes ? stored.notes : figures.notes,
    file: fileOnTop(stored.file, from.file, figures.file),
  };
}

function fileOnTop(stored: UsageFigures['file'], from: UsageFigures['file'], figures: UsageFigures['file']) {
  if (figures === null || figures === from) return stored;
  const [before, since] = [stored ?? NO_FILE, from ?? NO_FILE];
  return {
    taken: before.taken + figures.taken - since.taken,
    takenAt: figures.takenAt ?? before.takenAt,
    refused: before.refused + figures.refused - since.refused,
    refusedAt: figures.refusedAt ?? before.refusedAt,
    refusedWhy: figures.refusedWhy ?? before.refusedWhy,
  };
}
