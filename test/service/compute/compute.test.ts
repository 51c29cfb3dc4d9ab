import pino from 'pino';
import { expect, test, vi } from 'vitest';
import type { Size } from '../../../src/contract/virtual-instances.ts';
import { type EngineSize, NOT_SHARED, type RecordsListener } from '../../../src/engine/engine.ts';
import { openCatalog } from '../../../src/service/catalog/catalog.ts';
import { openCompute } from '../../../src/service/compute/compute.ts';

const MIB = 1024 * 1024;

test('a size that another process stores is applied here, as far as it fits', async () => {
  const stored = (size: Size) => ({ kind: 'virtualInstance', key: 'self', value: record(size) });
  const record = (size: Size) => ({ id: 'x', size, createdAt: '2026-01-01T00:00:00.000Z', createdBy: 'a@example.org' });
  const listeners: RecordsListener[] = [];
  const engine = {
    ...NOT_SHARED,
    records: [stored('LARGE')],
    commit: async () => undefined,
    onRecords: (listener: RecordsListener) => void listeners.push(listener),
    size: { threads: 8, memoryBytes: 4_096 * MIB },
    async resize(size: EngineSize) {
      this.size = size;
    },
  };
  const compute = await openCompute(
    engine,
    openCatalog(engine),
    { memoryBytes: 4_096 * MIB },
    pino({ level: 'silent' }),
  );
  const tell = (size: Size) => {
    for (const listener of listeners) listener([{ do: 'putRecord', ...stored(size) }], false);
  };
  tell('SMALL');
  await vi.waitFor(() => expect(compute.size).toBe('SMALL'));
  expect(engine.size).toEqual({ threads: 2, memoryBytes: 1_024 * MIB });
  tell('XLARGE16');
  await vi.waitFor(() => expect(compute.size).toBe('LARGE'));
  // One's own comes after those that were told before it.
  tell('MEDIUM');
  await compute.resize('NANO');
  expect(compute.size).toBe('NANO');
});
