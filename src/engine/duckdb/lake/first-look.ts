import { createLocks } from '../connections/locks.ts';

/** Nothing is read, but names are looked up: of a schema that another changes just then that may fail, once. */
const NAMES = 'FROM "_meta"."versions" WHERE false';
const TRIES = 5;
const LOOK = 'look';

/**
 * Lets connections look up a lake's names one after another. The engine's extension (1.5.5) keeps the names of each version
 * of the schema for all of them: where two look for a new one at once, the second takes the place of the first, and whatever
 * transaction still refers to that goes on with freed memory. Once one has looked, the others find what it found.
 */
export interface FirstLooks {
  /** To be called after `begin` has been run, which starts a transaction, and before anything else of that. */
  look(run: (text: string) => Promise<unknown>, begin: string): Promise<void>;
  /** Runs what looks up names outside of a transaction. */
  alone<T>(work: () => Promise<T>): Promise<T>;
}

export function createFirstLooks(): FirstLooks {
  const locks = createLocks();
  const alone = <T>(work: () => Promise<T>) => locks.hold([LOOK], work);

  async function look(run: (text: string) => Promise<unknown>, begin: string): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await run(NAMES);
        return;
      } catch (error) {
        await run('ROLLBACK').catch(() => undefined);
        await run(begin);
        // A lake that is being made has no such table; of anything else the first statement is told.
        if (!String(error).includes('Failed to load DuckLake') || tries === TRIES) return;
      }
    }
  }

  return { look: (run, begin) => alone(() => look(run, begin)), alone };
}
