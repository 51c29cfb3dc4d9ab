import pino from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { JsonObject } from '../../../src/contract/json/json.ts';
import { NOT_SHARED, type RecordsListener } from '../../../src/engine/engine.ts';
import { openCatalog } from '../../../src/service/catalog/catalog.ts';
import type { LambdaVersionRecord } from '../../../src/service/catalog/records.ts';
import { versionKey } from '../../../src/service/lambdas/lambda-records.ts';
import { openLambdaStats } from '../../../src/service/lambdas/lambda-stats.ts';

const version: LambdaVersionRecord = {
  workspace: 'w',
  lambda: 'l',
  version: 'v',
  description: null,
  query: 'SELECT 1',
  defaultParameters: [],
  names: [],
  unbound: null,
  boundOn: null,
  createdAt: '2026-01-01T00:00:00.000Z',
  createdBy: 'a@example.org',
};

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('the latest run and the latest error count, whichever nodes had them', async () => {
  const key = versionKey(version);
  let told: RecordsListener = () => undefined;
  const records = [{ kind: 'lambdaVersion', key, value: version as unknown as JsonObject }];
  const onRecords = (listener: RecordsListener) => {
    told = listener;
  };
  const catalog = openCatalog({ ...NOT_SHARED, records, commit: async () => undefined, onRecords });
  const stats = openLambdaStats(catalog, pino({ level: 'silent' }));
  const tell = (lastExecuted: string, lastError: string, lastErrorMessage: string) => {
    const value = { lastExecuted, lastExecutedBy: 'b@example.org', lastError, lastErrorMessage };
    told([{ do: 'putRecord', kind: 'lambdaStats', key, value }], false);
  };
  vi.setSystemTime('2026-02-01T00:00:00.000Z');
  stats.ran(version, 'a@example.org', new Error('here'));
  await vi.advanceTimersByTimeAsync(6_000);
  vi.setSystemTime('2026-02-01T00:01:00.000Z');
  stats.ran(version, 'a@example.org');
  // Stored by another node before this one stores its own.
  tell('2026-02-01T00:00:50.000Z', '2026-02-01T00:00:50.000Z', 'there');
  const merged = {
    lastExecuted: '2026-02-01T00:01:00.000Z',
    lastExecutedBy: 'a@example.org',
    lastError: '2026-02-01T00:00:50.000Z',
    lastErrorMessage: 'there',
  };
  expect(stats.of(version)).toEqual(merged);
  await vi.advanceTimersByTimeAsync(6_000);
  expect(catalog.all('lambdaStats').get(key)).toEqual(merged);
  // And one that ran later there is not undone.
  stats.ran(version, 'a@example.org', new Error('again'));
  const ranAt = new Date().toISOString();
  tell('2026-02-01T00:05:00.000Z', '2026-02-01T00:00:50.000Z', 'there');
  await stats.close();
  expect(catalog.all('lambdaStats').get(key)).toEqual({
    lastExecuted: '2026-02-01T00:05:00.000Z',
    lastExecutedBy: 'b@example.org',
    lastError: ranAt,
    lastErrorMessage: 'again',
  });
});
