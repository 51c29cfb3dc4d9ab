import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { stuck, watchStopping } from '../../../src/engine/duckdb/queries/stuck.ts';

const AFTER_MS = 40;

const told = (onStuck: (toldMs: number) => void) => watchStopping(AFTER_MS, onStuck);

/** Has the process use this share of a core, whatever else it does. */
function use(share: { now: number }) {
  let [usedMicros, lookedAt] = [0, performance.now()];
  vi.spyOn(process, 'cpuUsage').mockImplementation((before) => {
    const now = performance.now();
    usedMicros += (now - lookedAt) * 1_000 * share.now;
    lookedAt = now;
    return { user: usedMicros - (before?.user ?? 0), system: 0 };
  });
}

afterEach(() => vi.restoreAllMocks());

test('a statement that was told to stop and keeps the process busy is reported once', async () => {
  use({ now: 1 });
  const reports: number[] = [];
  told((toldMs) => reports.push(toldMs));
  await vi.waitFor(() => expect(reports).toHaveLength(1), { timeout: 10_000 });
  expect(reports[0]).toBeGreaterThanOrEqual(AFTER_MS - 1);
  await sleep(AFTER_MS * 3);
  expect(reports).toHaveLength(1);
});

test('one that only waits is not reported, until it keeps the process busy', async () => {
  const share = { now: 0.01 };
  use(share);
  const onStuck = vi.fn();
  told(onStuck);
  await sleep(AFTER_MS * 4);
  expect(onStuck).not.toHaveBeenCalled();
  share.now = 1;
  await vi.waitFor(() => expect(onStuck).toHaveBeenCalledOnce(), { timeout: 10_000 });
});

test('one beside others, while something waits for the disk, is not reported for some looks', async () => {
  use({ now: 1 });
  const reports: number[] = [];
  watchStopping(
    AFTER_MS,
    (toldMs) => reports.push(toldMs),
    () => true,
  );
  await vi.waitFor(() => expect(reports).toHaveLength(1), { timeout: 10_000 });
  expect(reports[0]).toBeGreaterThanOrEqual(AFTER_MS * 5);
});

test('one that stops in time is not reported', async () => {
  use({ now: 1 });
  const onStuck = vi.fn();
  told(onStuck)();
  await sleep(AFTER_MS * 5);
  expect(onStuck).not.toHaveBeenCalled();
});

test('the message names the request', () => {
  expect(stuck(10_004, 'r1')).toMatchObject({ why: 'stuck', requestIds: ['r1'] });
  expect(stuck(10_004, 'r1').message).toMatch(/of request r1\) was told to stop 10 s ago/);
});
