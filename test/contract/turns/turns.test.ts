import { setImmediate as nextLoop } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { createPace, restFor, takeTurn } from '../../../src/contract/turns/turns.ts';

/** A step that began by one clock must not end by another: what comes after it would rest for their difference. */
afterEach(async () => {
  for (let loop = 0; loop < 5; loop++) await nextLoop();
  vi.useRealTimers();
});

/** Turns of the loop, for as long as `work` takes. */
async function loopsDuring(work: Promise<unknown>, count: (loop: number) => void): Promise<void> {
  let isOver = false;
  void work.finally(() => {
    isOver = true;
  });
  for (let loop = 0; !isOver; loop++) {
    count(loop);
    await nextLoop();
  }
}

test('many requests take turns in order, and the loop turns between any two steps', async () => {
  const steps: { name: string; loop: number }[] = [];
  let current = 0;
  const work = async (name: string) => {
    for (let step = 0; step < 3; step++) {
      await takeTurn();
      steps.push({ name, loop: current });
    }
  };
  await loopsDuring(Promise.all([work('a'), work('b'), work('c')]), (loop) => {
    current = loop;
  });
  expect(steps.map(({ name }) => name).join('')).toBe('abcabcabc');
  expect(new Set(steps.map(({ loop }) => loop)).size).toBe(steps.length);
});

test('after a long step nobody has the turn for a while', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
  let hasTurn = false;
  const loops = async () => {
    for (let loop = 0; loop < 5; loop++) await nextLoop();
  };
  await takeTurn();
  void restFor('x'.repeat(100_000)).then(() => {
    hasTurn = true;
  });
  // What the step takes.
  vi.advanceTimersByTime(60);
  await loops();
  vi.advanceTimersByTime(49);
  await loops();
  expect(hasTurn).toBe(false);
  vi.advanceTimersByTime(1);
  await loops();
  expect(hasTurn).toBe(true);
});

test('a pace asks for a turn only once its work has held the thread for some time', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const pace = createPace();
  vi.advanceTimersByTime(9);
  expect(pace()).toBeUndefined();
  vi.advanceTimersByTime(1);
  await pace();
  expect(pace()).toBeUndefined();
});
