import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  type Ask,
  createScheduler,
  type Scheduler,
  type SchedulerOptions,
} from '../../../src/engine/duckdb/queries/scheduler.ts';

/** A caller that never gives up. */
const PATIENT = new AbortController().signal;

test('close() gives up on places that are not freed, and says how many', async () => {
  const scheduler = createScheduler({ places: 2, queueMax: 1 });
  const { leave } = await scheduler.enter(PATIENT);
  await scheduler.enter(PATIENT);
  const waiting = scheduler.enter(PATIENT);
  const closing = scheduler.close(50);
  await expect(waiting).rejects.toMatchObject({ code: 'not_ready' });
  leave();
  expect(await closing).toBe(1);
});

test('close() resolves as soon as all places are free', async () => {
  const scheduler = createScheduler({ places: 1, queueMax: 1 });
  const { leave } = await scheduler.enter(PATIENT);
  const closing = scheduler.close(60_000);
  leave();
  expect(await closing).toBe(0);
});

describe('enter(), while long queries have all places,', () => {
  const enter = (scheduler: Scheduler, ask: Ask = { mayYield: true }) => scheduler.enter(PATIENT, ask);

  test('takes the newest place back for one that may be short', async () => {
    const scheduler = createScheduler({ places: 2, queueMax: 8, shortMs: 30 });
    const first = await enter(scheduler);
    const second = await enter(scheduler);
    const short = enter(scheduler);
    await new Promise((resolve) => second.recall.addEventListener('abort', resolve));
    expect(first.recall.aborted).toBe(false);
    second.leave();
    expect((await short).recall.aborted).toBe(false);
  });

  test('leaves them alone where nobody waits, and as long as one of them may be short', async () => {
    const scheduler = createScheduler({ places: 2, queueMax: 8, shortMs: 60_000 });
    const places = [await enter(scheduler), await enter(scheduler)];
    const waiting = enter(scheduler);
    await sleep(60);
    expect(places.map(({ recall }) => recall.aborted)).toEqual([false, false]);
    places[0]?.leave();
    await waiting;
  });

  test('takes no place back that cannot be given up, and not the only one', async () => {
    const stubborn = createScheduler({ places: 2, queueMax: 8, shortMs: 1 });
    const places = [await enter(stubborn, {}), await enter(stubborn, {})];
    const waiting = enter(stubborn);
    const single = createScheduler({ places: 1, queueMax: 8, shortMs: 1 });
    const only = await enter(single);
    const behind = enter(single);
    await sleep(60);
    expect([...places, only].map(({ recall }) => recall.aborted)).toEqual([false, false, false]);
    places[1]?.leave();
    only.leave();
    await Promise.all([waiting, behind]);
  });

  test('lets one that gave its place up wait until fewer long ones run, behind a queue that is full', async () => {
    const scheduler = createScheduler({ places: 2, queueMax: 1, shortMs: 30 });
    const first = await enter(scheduler);
    const second = await enter(scheduler);
    const short = enter(scheduler);
    await new Promise((resolve) => second.recall.addEventListener('abort', resolve));
    let isBack = false;
    const again = enter(scheduler, { level: second.nextLevel(), mayYield: true }).finally(() => {
      isBack = true;
    });
    second.leave();
    (await short).leave();
    // The free place is not for long queries.
    const next = await enter(scheduler);
    next.leave();
    expect(isBack).toBe(false);
    first.leave();
    expect((await again).recall.aborted).toBe(false);
  });
});

describe('with a clock that is turned by hand,', () => {
  afterEach(() => vi.useRealTimers());

  interface Run {
    endedAt: number | undefined;
    startedAt: number | undefined;
    stop(): void;
  }

  /** Queries over a scheduler; each is done once it has held one place for `needs` ms. */
  function setUp(options: Partial<SchedulerOptions> = {}) {
    vi.useFakeTimers();
    const scheduler = createScheduler({ places: 4, queueMax: 64, ...options });
    const begin = performance.now();
    const now = () => performance.now() - begin;
    const run = (needs: number): Run => {
      const giveUp = new AbortController();
      const state: Run = { startedAt: undefined, endedAt: undefined, stop: () => giveUp.abort() };
      const work = async () => {
        for (let level = 0; ; ) {
          const place = await scheduler.enter(giveUp.signal, { level, mayYield: true });
          state.startedAt ??= now();
          const isDone = await new Promise<boolean>((resolve) => {
            const timer = setTimeout(resolve, needs, true);
            place.recall.addEventListener('abort', () => {
              clearTimeout(timer);
              resolve(false);
            });
          });
          level = place.nextLevel();
          place.leave();
          if (isDone) break;
        }
        state.endedAt = now();
      };
      work().catch(() => undefined);
      return state;
    };
    const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
    return { scheduler, run, pass, now };
  }

  const ENDLESS_MS = 1e9;

  test('a short one waits for two others at most, whatever came before it', async () => {
    const { run, pass, now } = setUp();
    for (let one = 0; one < 8; one++) run(ENDLESS_MS);
    await pass(200);
    const waits: number[] = [];
    for (let one = 0; one < 40; one++) {
      const askedAt = now();
      const short = run(5);
      while (short.endedAt === undefined) await pass(1);
      waits.push(short.endedAt - askedAt);
      await pass(30);
    }
    expect(Math.max(...waits)).toBeLessThanOrEqual(2_020);
    // Once all long queries are known to be long, none of them keeps a short one waiting.
    expect(waits.slice(5).filter((ms) => ms > 20)).toEqual([]);
  });

  test('none that may be short is passed over for ever by later ones', async () => {
    const { run, pass } = setUp();
    for (let one = 0; one < 3; one++) run(ENDLESS_MS);
    await pass(1_000);
    const early = run(900);
    run(900);
    const late = run(900);
    // A stream of others, more than there are places for.
    for (let one = 0; one < 60; one++) {
      run(900);
      await pass(500);
    }
    expect(early.endedAt).toBeDefined();
    expect(late.endedAt).toBeDefined();
  });

  test.each([2_000, 3_500, 12_000])('one of %d ms ends beside more endless ones than there are places', async (ms) => {
    const { run, pass, now } = setUp();
    for (let one = 0; one < 8; one++) run(ENDLESS_MS);
    await pass(200);
    const medium = run(ms);
    // Short queries arrive all the time.
    while (now() < 120_000) {
      run(5);
      await pass(100);
    }
    expect(medium.endedAt).toBeLessThan(120_000);
  });

  test('two of three long ones that run are left alone, however many wait', async () => {
    const { run, pass } = setUp();
    const first = [run(60_000), run(60_000)];
    await pass(1);
    for (let one = 0; one < 8; one++) run(ENDLESS_MS);
    await pass(60_010);
    expect(first.map(({ endedAt }) => endedAt)).toEqual([60_000, 60_000]);
  });

  test('those that do not stop leave their places to others, as many as there may be', async () => {
    const lost: number[] = [];
    const { scheduler, run, pass, now } = setUp({ places: 2, stuckMax: 2, onLost: () => lost.push(now()) });
    const places = [await scheduler.enter(PATIENT), await scheduler.enter(PATIENT)];
    const others = [run(10), run(10), run(10)];
    await pass(5_000);
    expect(others.map(({ startedAt }) => startedAt)).toEqual([undefined, undefined, undefined]);
    for (const place of places) place.setAside();
    await pass(30);
    expect(others.map(({ endedAt }) => endedAt)).toEqual([5_010, 5_010, 5_020]);
    // More than are replaced, but not long enough to be reported.
    const third = await scheduler.enter(PATIENT);
    third.setAside();
    const alone = [run(10), run(10)];
    await pass(30);
    expect(alone.map(({ endedAt }) => endedAt)).toEqual([5_040, 5_050]);
    await pass(50_000);
    places[0]?.leave();
    await pass(100_000);
    expect(lost).toEqual([]);
    const fourth = await scheduler.enter(PATIENT);
    fourth.setAside();
    await pass(59_999);
    expect(lost).toEqual([]);
    await pass(1);
    expect(lost).toHaveLength(1);
    expect(await scheduler.close(60_000)).toBe(3);
  });
});
