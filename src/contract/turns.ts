import { setTimeout as sleep } from 'node:timers/promises';

/** How long work on one request may hold the thread, in milliseconds, before others get their turn. */
const TURN_MS = 10;

/**
 * To be called between steps of long work: a promise to be awaited if others must have their turn now. Those who share
 * the work share the pace, and wait together: each with a pace of its own, they would hold the thread one after the
 * other.
 */
export type Pace = () => Promise<void> | undefined;

export function createPace(): Pace {
  let turnedAt = performance.now();
  let turn: Promise<void> | undefined;
  return () => {
    if (turn !== undefined || performance.now() - turnedAt < TURN_MS) return turn;
    turn = new Promise((resolve) => {
      setImmediate(() => {
        turnedAt = performance.now();
        turn = undefined;
        resolve();
      });
    });
    return turn;
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

/** A longer text, of SQL, is worked on in steps that cannot be divided. */
const STEP_CHARS_MAX = 16 * 1024;
/** What a millisecond of rest is for: steps on a text of 256 KiB take up to 40 ms, and the rest after one is 20 ms. */
const CHARS_PER_REST_MS = 13 * 1024;

/** To be awaited between such steps: others have several turns then, since one request of theirs takes several. */
export async function restFor(text: string): Promise<void> {
  if (text.length > STEP_CHARS_MAX) await sleep(text.length / CHARS_PER_REST_MS);
}
