import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Small writes to the same table that wait for each other are done together: finding their documents and making them
 * durable takes hardly longer for many than for one.
 */
export interface Joined<Write, Outcome> {
  /** Resolves or rejects with what becomes of this write alone. */
  add(table: string, write: Write): Promise<Outcome>;
}

interface JoinedContext<Write, Outcome> {
  /** Runs work while nothing else writes to the table. */
  hold<T>(table: string, work: () => Promise<T>): Promise<T>;
  /** Does one write. */
  alone(table: string, write: Write): Promise<Outcome>;
  /** Does several writes in one durable step, in order; undefined, with nothing done, if they have to be done one by one. */
  together(table: string, writes: readonly Write[]): Promise<Outcome[] | undefined>;
}

/** Writes that are done at once. */
const WRITES_MAX = 64;

interface Waiting<Write, Outcome> {
  write: Write;
  settle: { resolve(outcome: Outcome): void; reject(error: unknown): void };
  /** Runs work as that of the request that this write is of: it is what is blamed. */
  within<T>(work: () => T): T;
}

/** Whoever comes first waits for the table, and takes along those who have come until it is free. */
export function createJoined<Write, Outcome>(context: JoinedContext<Write, Outcome>): Joined<Write, Outcome> {
  /** What waits, by table; each table that is here has been asked for. */
  const queues = new Map<string, Waiting<Write, Outcome>[]>();

  /** One after another, so that one that fails takes none of the others along. */
  const each = async (table: string, some: readonly Waiting<Write, Outcome>[]) => {
    for (const { write, settle } of some) {
      await context.alone(table, write).then(settle.resolve, settle.reject);
    }
  };

  const flush = async (table: string, some: readonly Waiting<Write, Outcome>[]) => {
    if (some.length < 2) return await each(table, some);
    const writes = some.map(({ write }) => write);
    const outcomes = await context.together(table, writes).catch(() => undefined);
    if (outcomes === undefined) return await each(table, some);
    for (const [index, { settle }] of some.entries()) settle.resolve(outcomes[index] as Outcome);
  };

  /** Asks for the table until nothing waits; other work that waits for it meanwhile comes between. */
  const ask = async (table: string, queue: Waiting<Write, Outcome>[]) => {
    for (let [first] = queue; first !== undefined; [first] = queue) {
      const asked = [...queue];
      try {
        await first.within(() => context.hold(table, () => flush(table, queue.splice(0, WRITES_MAX))));
      } catch (error) {
        const left = queue.splice(0);
        queue.push(...left.filter((one) => !asked.includes(one)));
        for (const { settle } of asked) settle.reject(error);
      }
    }
    queues.delete(table);
  };

  return {
    add(table, write) {
      return new Promise((resolve, reject) => {
        const waiting = { write, settle: { resolve, reject }, within: AsyncLocalStorage.snapshot() };
        const queue = queues.get(table);
        if (queue !== undefined) {
          queue.push(waiting);
          return;
        }
        const begun = [waiting];
        queues.set(table, begun);
        void ask(table, begun);
      });
    },
  };
}
