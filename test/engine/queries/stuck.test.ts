import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { stuckMessage, watchStop } from '../../../src/engine/duckdb/queries/stuck.ts';

const AFTER_MS = 40;

function told(onStuck: (toldMs: number) => void) {
  const stop = new AbortController();
  const unwatch = watchStop(stop.signal, AFTER_MS, onStuck);
  stop.abort();
  return unwatch;
}

function burn(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

test('a statement that was told to stop and keeps the process busy is reported once', async () => {
  const reports: number[] = [];
  told((toldMs) => reports.push(toldMs));
  for (let round = 0; round < 6; round++) {
    burn(AFTER_MS);
    await sleep(1);
  }
  expect(reports).toHaveLength(1);
  expect(reports[0]).toBeGreaterThanOrEqual(AFTER_MS);
});

test('one that only waits is not reported, until it keeps the process busy', async () => {
  const onStuck = vi.fn();
  // The process of the tests is hardly idle.
  const usage = vi.spyOn(process, 'cpuUsage').mockReturnValue({ user: 0, system: 0 });
  told(onStuck);
  await sleep(AFTER_MS * 4);
  expect(onStuck).not.toHaveBeenCalled();
  usage.mockRestore();
  burn(AFTER_MS * 2);
  await vi.waitFor(() => {
    burn(AFTER_MS);
    expect(onStuck).toHaveBeenCalledOnce();
  });
});

test('one that stops in time is not reported, nor one that was never told', async () => {
  const onStuck = vi.fn();
  told(onStuck)();
  watchStop(new AbortController().signal, AFTER_MS, onStuck);
  burn(AFTER_MS * 3);
  await sleep(AFTER_MS * 2);
  expect(onStuck).not.toHaveBeenCalled();
});

test('the message names the request, not its text', () => {
  const message = stuckMessage({ sql: "SELECT 'secret'", toldMs: 10_004, requestId: 'r1' });
  expect(message).toMatch(/of request r1\) was told to stop 10 s ago/);
  expect(message).not.toContain('secret');
});
