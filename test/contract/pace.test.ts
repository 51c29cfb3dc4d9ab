import { expect, test } from 'vitest';
import { createPace } from '../../src/contract/turns.ts';

/** Holds the thread for longer than a turn. */
function work(): void {
  const until = performance.now() + 30;
  while (performance.now() < until);
}

test('those who share a pace wait together, for one turn of others', async () => {
  const pace = createPace();
  work();
  const waits = [pace(), pace(), pace()];
  expect(waits[0]).toBeInstanceOf(Promise);
  expect(new Set(waits).size).toBe(1);
  await waits[0];
  work();
  const next = pace();
  expect(next).toBeInstanceOf(Promise);
  expect(next).not.toBe(waits[0]);
  await next;
});
