import { afterEach, describe, expect, test, vi } from 'vitest';
import { type Ask, Scheduler } from '../../../src/contract/turns/scheduler.ts';

/** A caller that never gives up. */
const PATIENT = new AbortController().signal;

function ask(caller: string, more: Partial<Ask> = {}): Ask {
  return { caller, endsAt: performance.now() + 120_000, mayRunAgain: true, ...more };
}

describe('close()', () => {
  test('gives up on places that are not freed, and says how many', async () => {
    const scheduler = new Scheduler({ places: 2, queueMax: 1 });
    const { leave } = await scheduler.enter(PATIENT, ask('a'));
    await scheduler.enter(PATIENT, ask('b'));
    const waiting = scheduler.enter(PATIENT, ask('a'));
    const closing = scheduler.close(50);
    await expect(waiting).rejects.toMatchObject({ code: 'not_ready' });
    await expect(scheduler.enter(PATIENT, ask('a'))).rejects.toMatchObject({ code: 'not_ready' });
    leave();
    expect(await closing).toBe(1);
  });

  test('resolves as soon as all places are free', async () => {
    const scheduler = new Scheduler({ places: 1, queueMax: 1 });
    const { leave } = await scheduler.enter(PATIENT, ask('a'));
    const closing = scheduler.close(60_000);
    leave();
    expect(await closing).toBe(0);
  });
});

describe('enter()', () => {
  test('rejects with the reason of a signal that aborts before or while it waits', async () => {
    const scheduler = new Scheduler({ places: 1, queueMax: 1 });
    await expect(scheduler.enter(AbortSignal.abort('before'), ask('a'))).rejects.toBe('before');
    const { leave } = await scheduler.enter(PATIENT, ask('a'));
    const caller = new AbortController();
    const waiting = scheduler.enter(caller.signal, ask('a'));
    caller.abort('while');
    await expect(waiting).rejects.toBe('while');
    leave();
    await scheduler.enter(PATIENT, ask('a'));
  });

  test('frees a place once, however often it is left', async () => {
    const scheduler = new Scheduler({ places: 1, queueMax: 2 });
    const first = await scheduler.enter(PATIENT, ask('a'));
    const [second, third] = [scheduler.enter(PATIENT, ask('a')), scheduler.enter(PATIENT, ask('a'))];
    first.leave();
    first.leave();
    const { leave } = await second;
    expect(await Promise.race([third, Promise.resolve('waits')])).toBe('waits');
    leave();
    await third;
  });

  test('has a long one make room for one that may be short, and lets it in again behind a full queue', async () => {
    const scheduler = new Scheduler({ places: 2, queueMax: 1, shortMs: 30 });
    const oldest = await scheduler.enter(PATIENT, ask('a'));
    const newest = await scheduler.enter(PATIENT, ask('a'));
    const short = scheduler.enter(PATIENT, ask('a'));
    await new Promise((resolve) => newest.recall.addEventListener('abort', resolve));
    expect(oldest.recall.aborted).toBe(false);
    const again = scheduler.enter(PATIENT, ask('a', { isAgain: true }));
    newest.leave();
    (await short).leave();
    // The free place is for what may be short, until the other long one ends.
    (await scheduler.enter(PATIENT, ask('a'))).leave();
    expect(await Promise.race([again, Promise.resolve('waits')])).toBe('waits');
    oldest.leave();
    expect((await again).recall.aborted).toBe(false);
  });
});

describe('with a clock that is turned by hand, a refused caller', () => {
  afterEach(() => vi.useRealTimers());

  function setUp() {
    vi.useFakeTimers();
    const scheduler = new Scheduler({ places: 4, queueMax: 16 });
    /** Takes a place for so long. */
    const run = async (caller: string, needsMs: number, endsAt = performance.now() + 120_000) => {
      const stop = new AbortController();
      setTimeout(() => stop.abort(new Error('time is up')), endsAt - performance.now());
      const place = await scheduler.enter(stop.signal, { caller, endsAt });
      setTimeout(place.leave, Math.min(needsMs, endsAt - performance.now()));
    };
    const settled = async (count: number, caller: string, needsMs: number, endsAt?: number) =>
      Promise.allSettled(Array.from({ length: count }, () => run(caller, needsMs, endsAt)));
    const refusal = async (caller: string) => {
      const error: unknown = await run(caller, 1).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'resource_exceeded', status: 429 });
      return (error as { details: { retryAfterMs: number } }).details.retryAfterMs;
    };
    return { run, settled, refusal, pass: (ms: number) => vi.advanceTimersByTimeAsync(ms) };
  }

  test('is told when its queries will have run, at the pace at which they end', async () => {
    const { settled, refusal, pass, run } = setUp();
    // Three run, nine wait; of these, three start every 600 ms.
    void settled(12, 'a', 600);
    await pass(650);
    void settled(3, 'a', 600);
    await pass(1);
    const told = await refusal('a');
    expect(told).toBeGreaterThan(1_000);
    expect(told).toBeLessThan(3_000);
    await pass(told);
    const retried = run('a', 1);
    await pass(600);
    await expect(retried).resolves.toBeUndefined();
  });

  test('is told when they give up, if none ends', async () => {
    const { settled, refusal, pass, run } = setUp();
    void settled(12, 'a', 1e9, performance.now() + 20_000);
    await pass(5_000);
    const told = await refusal('a');
    expect(told).toBe(15_000);
    await pass(told);
    await expect(run('a', 1)).resolves.toBeUndefined();
  });

  test('leaves room in the queue for others, whose pace is their own', async () => {
    const { settled, refusal, run, pass } = setUp();
    void settled(40, 'a', 1e9);
    await pass(2_000);
    await expect(run('b', 5)).resolves.toBeUndefined();
    expect(await refusal('a')).toBeGreaterThan(10_000);
  });
});
