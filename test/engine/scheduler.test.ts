import { expect, test } from 'vitest';
import { createScheduler } from '../../src/engine/duckdb/scheduler.ts';

test('close() gives up on places that are not freed, and says how many', async () => {
  const scheduler = createScheduler(2, 1);
  const leave = await scheduler.enter(new AbortController().signal);
  await scheduler.enter(new AbortController().signal);
  const waiting = scheduler.enter(new AbortController().signal);
  const closing = scheduler.close(50);
  await expect(waiting).rejects.toMatchObject({ code: 'not_ready' });
  leave();
  expect(await closing).toBe(1);
});

test('close() resolves as soon as all places are free', async () => {
  const scheduler = createScheduler(1, 1);
  const leave = await scheduler.enter(new AbortController().signal);
  const closing = scheduler.close(60_000);
  leave();
  expect(await closing).toBe(0);
});
