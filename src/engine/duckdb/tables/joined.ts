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
}

/** Whoever comes first waits for the table, and takes along those who have come until it is free. */
export function createJoined<Write, Outcome>(context: JoinedContext<Write, Outcome>): Joined<Write, Outcome> {
  const queues = new Map<string, Waiting<Write, Outcome>[]>();

  /** One after another, so that one that fails takes none of the others along. */
  const each = async (table: string, some: readonly Waiting<Write, Outcome>[]) => {
    for (const { write, settle } of some) {
      await context.alone(table, write).then(settle.resolve, settle.reject);
    }
  };

  const flush = (table: string) =>
    context.hold(table, async () => {
      const queue = queues.get(table) ?? [];
      const some = queue.splice(0, WRITES_MAX);
      if (queue.length === 0) queues.delete(table);
      if (some.length < 2) return await each(table, some);
      const outcomes = await context
        .together(
          table,
          some.map(({ write }) => write),
        )
        .catch(() => undefined);
      if (outcomes === undefined) return await each(table, some);
      for (const [index, { settle }] of some.entries()) settle.resolve(outcomes[index] as Outcome);
    });

  return {
    add(table, write) {
      return new Promise((resolve, reject) => {
        const queue = queues.get(table) ?? [];
        queues.set(table, queue);
        const waiting = { write, settle: { resolve, reject } };
        queue.push(waiting);
        // Each write asks for the table once: whoever holds it takes all that wait, and the others find nothing left.
        flush(table).catch((error: unknown) => {
          if (queue.includes(waiting)) queue.splice(queue.indexOf(waiting), 1);
          reject(error);
        });
      });
    },
  };
}
