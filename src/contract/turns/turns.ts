/** How long work on one request may hold the thread, in milliseconds, before others get their turn. */
const TURN_MS = 10;

/** All long work of the process that waits to go on, in order. */
const waiting: (() => void)[] = [];
/** Whether somebody has the turn, or is about to. */
let isTaken = false;
/** As `performance.now()`: not before this. */
let restsUntil = 0;

/**
 * Resolves when it is one's turn, for one step: until it waits for something. However many requests are worked on, one
 * step is done at a time, and all other requests are looked at between two of them: after a long step for as long as it
 * took beyond `TURN_MS`, since a short request of theirs takes several turns of the loop.
 */
export function takeTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (!isTaken) giveTurn();
  });
}

function giveTurn(): void {
  isTaken = waiting.length > 0;
  if (!isTaken) return;
  const restMs = restsUntil - performance.now();
  if (restMs > 0) {
    setTimeout(giveTurn, restMs);
    return;
  }
  let startedAt = 0;
  setImmediate(() => {
    startedAt = performance.now();
    waiting.shift()?.();
  });
  // In the same turn of the loop, after the whole step, which runs as soon as the first callback returns.
  setImmediate(() => {
    const now = performance.now();
    const overMs = now - startedAt - TURN_MS;
    restsUntil = overMs > 0 ? now + overMs : 0;
    giveTurn();
  });
}

/** To be called between steps of long work: a promise to be awaited if others must have their turn now. */
export type Pace = () => Promise<void> | undefined;

export function createPace(): Pace {
  let turnedAt = performance.now();
  return () => {
    if (performance.now() - turnedAt < TURN_MS) return undefined;
    return takeTurn().then(() => {
      turnedAt = performance.now();
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

/** A longer text, of SQL, is worked on in steps that cannot be divided: they take up to 40 ms for 256 KiB. */
const STEP_CHARS_MAX = 16 * 1024;

/** To be awaited before such a step. */
export async function restFor(text: string): Promise<void> {
  if (text.length > STEP_CHARS_MAX) await takeTurn();
}
