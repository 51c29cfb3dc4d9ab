import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { JsonObject } from '../../../src/contract/json/json.ts';
import { type Engine, NOT_SHARED, type RecordChange } from '../../../src/engine/engine.ts';
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
  recognizeTimes: false,
  eventTimeInfo: null,
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

  it('adds to what another node has stored meanwhile', async () => {
    const records = [{ kind: 'collection', key: 'w.c', value: collection }];
    let told: (changes: readonly RecordChange[]) => void = () => undefined;
    const engine = {
      ...NOT_SHARED,
      records,
      commit: async () => undefined,
      onRecords: (listener: typeof told) => {
        told = listener;
      },
    } as unknown as Engine;
    const catalog = openCatalog(engine);
    const usage = openUsage(catalog, pino({ level: 'silent' }));
    usage.wrote(collection, { inserted: 10, overwritten: 0 });
    await vi.advanceTimersByTimeAsync(1);
    usage.wrote(collection, { inserted: 5, overwritten: 1 });
    usage.tookFile(collection, { taken: 3, refused: [] });
    const others = { ...catalog.all('usage').get('c_1'), bytesInserted: 110, lastQueriedMs: 9e15 };
    told([{ do: 'putRecord', kind: 'usage', key: 'c_1', value: others as unknown as JsonObject }]);
    expect(usage.of(collection).bytesInserted).toBe(15);
    await usage.close();
    expect(catalog.all('usage').get('c_1')).toMatchObject({
      bytesInserted: 115,
      bytesOverwritten: 1,
      lastQueriedMs: 9e15,
      file: { taken: 3 },
    });
  });
});
