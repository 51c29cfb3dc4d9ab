import { ApiError } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json/json.ts';
import { holdsWellFormed } from '../../contract/json/measure.ts';
import type { Change, Engine, RecordChange } from '../../engine/engine.ts';
import { type Kind, RECORDS, type RecordOf } from './records.ts';

/** Version of the metadata's layout. Raise it, and add a migration, if old data does not fit a change of `RECORDS`. */
export const SCHEMA_VERSION = 1;

/** The changes of a planned step, and the result for its caller once they are durable. */
export interface Plan<T> {
  changes: readonly Change[];
  result: T;
}

/** The metadata: read from memory, changed through the engine. */
export interface Catalog {
  all<K extends Kind>(kind: K): ReadonlyMap<string, RecordOf<K>>;

  /**
   * What `build`, a constant, makes of all records of a kind. It is kept until one of them changes, so that what is done
   * for each of many records does not go through all of them.
   */
  derived<K extends Kind, T>(kind: K, build: (records: ReadonlyMap<string, RecordOf<K>>) => T): T;

  /**
   * Changes metadata. `plan` runs after all earlier changes, checks the current state, and throws to refuse. The
   * changes it returns are committed as one durable step and become visible afterwards; without changes nothing is
   * written.
   */
  change<T>(plan: () => Plan<T>): Promise<T>;
}

/** A change that stores a record. Throws `invalid_input` for ill-formed text. */
export function put<K extends Kind>(kind: K, key: string, value: RecordOf<K>): RecordChange {
  if (!holdsWellFormed(value)) {
    throw new ApiError(
      'invalid_input',
      `Cannot store ${kind} ${JSON.stringify(key)}: a text in it holds half of a surrogate pair, which is not a character. Send the text without it.`,
    );
  }
  return { do: 'putRecord', kind, key, value: value as unknown as JsonObject };
}

export function remove(kind: Kind, key: string): RecordChange {
  return { do: 'deleteRecord', kind, key };
}

/**
 * Opens the catalog over the engine's records. Throws `internal` for records that this version cannot read, so that
 * data of a newer version is left untouched.
 */
export function openCatalog(engine: Pick<Engine, 'records' | 'commit' | 'alone' | 'onRecords'>): Catalog {
  const kinds = new Map<string, Map<string, unknown>>();
  for (const kind of Object.keys(RECORDS)) kinds.set(kind, new Map());
  checkVersion(engine);
  for (const record of engine.records) apply(kinds, { do: 'putRecord', ...record });
  /** By kind, what was built by each function. */
  const derived = new Map<string, Map<unknown, unknown>>();
  const take = (change: Change) => {
    apply(kinds, change);
    if ('kind' in change) derived.delete(change.kind);
  };

  engine.onRecords((changes, isAll) => {
    if (isAll) {
      for (const records of kinds.values()) records.clear();
      derived.clear();
    }
    for (const change of changes) {
      try {
        take(change);
      } catch (error) {
        // A newer node may store what this version cannot read: for this one it is not there, and all else goes on.
        if (!(error instanceof UnreadableRecord)) throw error;
        take({ do: 'deleteRecord', kind: change.kind, key: change.key });
      }
    }
  });

  let last: Promise<unknown> = Promise.resolve();
  return {
    all<K extends Kind>(kind: K) {
      return kinds.get(kind) as ReadonlyMap<string, RecordOf<K>>;
    },
    derived<K extends Kind, T>(kind: K, build: (records: ReadonlyMap<string, RecordOf<K>>) => T): T {
      const built = derived.get(kind) ?? new Map<unknown, unknown>();
      derived.set(kind, built);
      if (!built.has(build)) built.set(build, build(kinds.get(kind) as ReadonlyMap<string, RecordOf<K>>));
      return built.get(build) as T;
    },
    change<T>(plan: () => Plan<T>): Promise<T> {
      const done = last.then(() =>
        engine.alone(async () => {
          const { changes, result } = plan();
          if (changes.length > 0) {
            await engine.commit(changes);
            for (const change of changes) take(change);
          }
          return result;
        }),
      );
      // The next change waits for this one, whether it succeeds or not.
      last = done.catch(() => undefined);
      return done;
    },
  };
}

function checkVersion(engine: Pick<Engine, 'records'>): void {
  const stored = engine.records.find((record) => record.kind === 'schema')?.value['version'];
  if (stored === undefined || stored === SCHEMA_VERSION) return;
  throw new ApiError(
    'internal',
    `Cannot read the data folder: its metadata has version ${String(stored)} and this program knows version ${SCHEMA_VERSION}. Use the newer program that wrote it.`,
  );
}

function apply(kinds: ReadonlyMap<string, Map<string, unknown>>, change: Change): void {
  if (change.do === 'deleteRecord') {
    kinds.get(change.kind)?.delete(change.key);
  } else if (change.do === 'putRecord') {
    const records = kinds.get(change.kind);
    if (records === undefined) throw new UnreadableRecord(change.kind, change.key, 'its kind is unknown');
    const parsed = RECORDS[change.kind as Kind].safeParse(change.value);
    if (!parsed.success) throw new UnreadableRecord(change.kind, change.key, parsed.error.message);
    records.set(change.key, parsed.data);
  }
}

class UnreadableRecord extends ApiError {
  constructor(kind: string, key: string, why: string) {
    super(
      'internal',
      `Cannot read the metadata record ${kind} "${key}": ${why}. Unless it is damaged, a newer or a development version wrote it: open the data with that one.`,
    );
  }
}
