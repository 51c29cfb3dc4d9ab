import { randomBytes } from 'node:crypto';
import { ApiError } from '../../contract/errors.ts';
import { SELECTION_TTL_MS } from '../../contract/selections.ts';

/** Some of the documents of a selection. */
export interface SelectedList {
  /** Their `_id`, as a JSON list: in a buffer, since a million texts take several times as much. */
  ids: Buffer;
  /** In the same order, what tells each from itself after a change. */
  marks: Float64Array;
}

/** The documents for which a condition held, or that were named, when they were looked at. */
export interface Selected {
  id: string;
  /** Hash of the API key that selected. */
  owner: string;
  table: string;
  /** What they were selected by: a condition, or a digest of the ids that were named. */
  by: string;
  documents: number;
  collectionDocuments: number;
  /** Whether they were named one by one. */
  isNamed: boolean;
  lists: readonly SelectedList[];
  examples: readonly string[];
  warnings: readonly string[];
  selectedAt: number;
  expiresAt: number;
}

/** One that is not kept. */
export type New = Omit<Selected, 'id' | 'selectedAt' | 'expiresAt'>;

/** Most of them per key: the oldest of the key goes. */
const PER_KEY_MAX = 20;
/** Most bytes of all ids and marks together; a new one is refused where those of others leave no room. */
const BYTES_MAX = 128 * 1024 * 1024;

/** The selections that wait to be deleted. In memory: they end with the service, and are then made anew. */
export interface Selections {
  /** The key's selection with this id, if it is by the same and not used. */
  find(owner: string, table: string, by: string, id: string): Selected | undefined;
  /** Throws `resource_exceeded`. */
  add(selected: New): Selected;
  /** Uses one up. Throws `not_found` if the key has no such selection of the table. */
  take(owner: string, table: string, id: string): Selected;
  close(): void;
}

interface Options {
  /** Keeps the service from exiting until the returned function is called. */
  hold: () => () => void;
  ttlMs?: number;
  bytesMax?: number;
  now?: () => number;
}

export function createSelections(options: Options): Selections {
  const { hold, ttlMs = SELECTION_TTL_MS, bytesMax = BYTES_MAX, now = Date.now } = options;
  /** The oldest first. */
  const kept = new Map<string, { selected: Selected; release: () => void }>();

  function drop(id: string): void {
    kept.get(id)?.release();
    kept.delete(id);
  }

  function live(): Selected[] {
    for (const [id, { selected }] of kept) if (selected.expiresAt <= now()) drop(id);
    return Array.from(kept.values(), ({ selected }) => selected);
  }

  /** Drops the oldest of the key until there is room. */
  function makeRoom(owner: string, bytes: number): void {
    for (;;) {
      const all = live();
      const mine = all.filter((one) => one.owner === owner);
      const taken = all.reduce((sum, one) => sum + bytesOf(one), 0);
      if (mine.length < PER_KEY_MAX && taken + bytes <= bytesMax) return;
      const [oldest] = mine;
      if (oldest === undefined) {
        throw new ApiError(
          'resource_exceeded',
          'Cannot select documents: too many wait to be deleted already. Try again later, or with a narrower condition.',
        );
      }
      drop(oldest.id);
    }
  }

  return {
    find: (owner, table, by, id) =>
      live().find((one) => one.id === id && one.owner === owner && one.table === table && one.by === by),
    add(given) {
      makeRoom(given.owner, bytesOf(given));
      const id = randomBytes(12).toString('hex');
      const selected = { ...given, id, selectedAt: now(), expiresAt: now() + ttlMs };
      const letGo = hold();
      const timer = setTimeout(() => drop(id), ttlMs).unref();
      const release = () => {
        clearTimeout(timer);
        letGo();
      };
      kept.set(id, { selected, release });
      return selected;
    },
    take(owner, table, id) {
      const selected = live().find((one) => one.id === id && one.owner === owner && one.table === table);
      if (selected === undefined) {
        throw new ApiError(
          'not_found',
          'There is no such selection: it was used, has expired, or is of another collection or API key. Select again.',
        );
      }
      drop(id);
      return selected;
    },
    close() {
      for (const id of kept.keys()) drop(id);
    },
  };
}

function bytesOf({ lists }: Pick<Selected, 'lists'>): number {
  return lists.reduce((sum, { ids, marks }) => sum + ids.length + marks.byteLength, 0);
}
