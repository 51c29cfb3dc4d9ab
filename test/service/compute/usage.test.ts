import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Engine, NOT_SHARED } from '../../../src/engine/engine.ts';
import { openCatalog } from '../../../src/service/catalog/catalog.ts';
import type { CollectionRecord } from '../../../src/service/catalog/records.ts';
import { openUsage } from '../../../src/service/compute/usage.ts';

const collection = {
  table: 'c_1',
  workspace: 'w',
  name: 'c',
  description: '',
  createdAt: '2026-01-01T00:00:00.000Z',
  createdBy: 'a@example.org',
  sources: [],
  retentionSecs: null,
  fieldMappings: [],
  fieldMappingQuery: null,
  clusteringKey: [],
  fieldSchemas: [],
  encodingOptions: null,
} as unknown as CollectionRecord;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('openUsage()', () => {
  it('stores the first figures of a collection at once, and what follows within a second', async () => {
    const records = [{ kind: 'collection', key: 'w.c', value: collection }];
    const engine = { ...NOT_SHARED, records, commit: async () => undefined } as unknown as Engine;
    const catalog = openCatalog(engine);
    const usage = openUsage(catalog, pino({ level: 'silent' }));
    const stored = () => catalog.all('usage').get('c_1')?.bytesInserted;
    usage.wrote(collection, { inserted: 10, overwritten: 0 });
    expect(usage.of(collection).bytesInserted).toBe(10);
    await vi.advanceTimersByTimeAsync(1);
    expect(stored()).toBe(10);
    for (let n = 0; n < 3; n += 1) usage.wrote(collection, { inserted: 10, overwritten: 0 });
    await vi.advanceTimersByTimeAsync(500);
    expect(stored()).toBe(10);
    await vi.advanceTimersByTimeAsync(500);
    expect(stored()).toBe(40);
  });
});
