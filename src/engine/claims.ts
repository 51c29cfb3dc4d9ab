/** Runs `work` on those of these names that nobody else has claimed, while nobody else can. */
export type Claim = <T>(names: readonly string[], work: (claimed: readonly string[]) => Promise<T>) => Promise<T>;

/** Claims within this process. */
export function createClaims(): Claim {
  const claimed = new Set<string>();
  return async (names, work) => {
    const free = names.filter((name) => !claimed.has(name));
    for (const name of free) claimed.add(name);
    try {
      return await work(free);
    } finally {
      for (const name of free) claimed.delete(name);
    }
  };
}
