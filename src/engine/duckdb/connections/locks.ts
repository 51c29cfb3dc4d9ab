/** Serializes work on the same thing: one at a time per key, first come first served. */
export interface Locks {
  /** Runs `work` while it alone holds all of `keys`; keys are taken in sorted order, which prevents deadlocks. */
  hold<T>(keys: readonly string[], work: () => Promise<T>): Promise<T>;
  /** Resolves when all work that holds or awaits a key by now has ended. */
  idle(): Promise<void>;
}

export function createLocks(): Locks {
  /** The last in the queue, by key. */
  const tails = new Map<string, Promise<void>>();

  async function take(key: string): Promise<() => void> {
    const before = tails.get(key);
    let release = (): void => undefined;
    const mine = new Promise<void>((resolve) => {
      release = resolve;
    });
    tails.set(key, mine);
    await before;
    return () => {
      if (tails.get(key) === mine) tails.delete(key);
      release();
    };
  }

  return {
    async hold(keys, work) {
      const releases: (() => void)[] = [];
      try {
        for (const key of [...new Set(keys)].sort()) releases.push(await take(key));
        return await work();
      } finally {
        for (const release of releases) release();
      }
    },
    async idle() {
      await Promise.all(tails.values());
    },
  };
}
