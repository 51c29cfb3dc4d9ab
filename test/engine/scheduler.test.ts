import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type Ask, createScheduler, type Scheduler } from '../../src/engine/duckdb/scheduler.ts';

/** A caller that never gives up. */
const PATIENT = new AbortController().signal;

test('close() gives up on places that are not freed, and says how many', async () => {
  const scheduler = createScheduler(2, 1);
  const { leave } = await scheduler.enter(PATIENT);
  await scheduler.enter(PATIENT);
  const waiting = scheduler.enter(PATIENT);
  const closing = scheduler.close(50);
  await expect(waiting).rejects.toMatchObject({ code: 'not_ready' });
  leave();
  expect(await closing).toBe(1);
});

test('close() resolves as soon as all places are free', async () => {
  const scheduler = createScheduler(1, 1);
  const { leave } = await scheduler.enter(PATIENT);
  const closing = scheduler.close(60_000);
  leave();
  expect(await closing).toBe(0);
});

describe('enter(), while long queries have all places,', () => {
  const enter = (scheduler: Scheduler, ask: Ask = { mayYield: true }) => scheduler.enter(PATIENT, ask);

  test('takes the newest place back for one that may be short', async () => {
    const scheduler = createScheduler(2, 8, 30);
    const first = await enter(scheduler);
    const second = await enter(scheduler);
    const short = enter(scheduler);
    await new Promise((resolve) => second.recall.addEventListener('abort', resolve));
    expect(first.recall.aborted).toBe(false);
    second.leave();
    expect((await short).recall.aborted).toBe(false);
  });

  test('leaves them alone where nobody waits, and as long as one of them may be short', async () => {
    const scheduler = createScheduler(2, 8, 60_000);
    const places = [await enter(scheduler), await enter(scheduler)];
    const waiting = enter(scheduler);
    await sleep(60);
    expect(places.map(({ recall }) => recall.aborted)).toEqual([false, false]);
    places[0]?.leave();
    await waiting;
  });

  test('takes no place back that cannot be given up, and not the only one', async () => {
    const stubborn = createScheduler(2, 8, 1);
    const places = [await enter(stubborn, {}), await enter(stubborn, {})];
    const waiting = enter(stubborn);
    const single = createScheduler(1, 8, 1);
    const only = await enter(single);
    const behind = enter(single);
    await sleep(60);
    expect([...places, only].map(({ recall }) => recall.aborted)).toEqual([false, false, false]);
    places[1]?.leave();
    only.leave();
    await Promise.all([waiting, behind]);
  });

  test('lets one that gave its place up wait until fewer long ones run, behind a queue that is full', async () => {
    const scheduler = createScheduler(2, 1, 30);
    const first = await enter(scheduler);
    const second = await enter(scheduler);
    const short = enter(scheduler);
    await new Promise((resolve) => second.recall.addEventListener('abort', resolve));
    let isBack = false;
    const again = enter(scheduler, { isLong: true, mayYield: true }).finally(() => {
      isBack = true;
    });
    second.leave();
    (await short).leave();
    // The free place is for others than long ones.
    const next = await enter(scheduler);
    next.leave();
    expect(isBack).toBe(false);
    first.leave();
    expect((await again).recall.aborted).toBe(false);
  });
});
