/** How long work on one request may hold the thread, in milliseconds, before others get their turn. */
const TURN_MS = 10;

/** To be called between steps of long work: a promise to be awaited if others must have their turn now. */
export type Pace = () => Promise<void> | undefined;

export function createPace(): Pace {
  let turnedAt = performance.now();
  return () => {
    if (performance.now() - turnedAt < TURN_MS) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        turnedAt = performance.now();
        resolve();
      });
    });
  };
}

/** As `items.map(map)`, while others get their turn. */
export async function mapInTurns<T, U>(items: readonly T[], map: (item: T, index: number) => U): Promise<U[]> {
  const pace = createPace();
  const mapped: U[] = [];
  for (let index = 0; index < items.length; index++) {
    mapped.push(map(items[index] as T, index));
    const turn = pace();
    if (turn !== undefined) await turn;
  }
  return mapped;
}
