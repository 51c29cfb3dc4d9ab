import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openEngine } from '../../../src/engine/duckdb/open.ts';
import { FileStore } from '../../../src/engine/duckdb/storage/file-store.ts';
import { LIMITS } from '../fixture.ts';

const MIB = 1024 * 1024;
const log = { info: () => undefined, warn: () => undefined, error: () => undefined };

let folder: string;
let store: FileStore;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'colloquy-resize-'));
  store = await FileStore.open({ file: join(folder, 'data.duckdb'), limits: LIMITS, log, load: async () => undefined });
});
afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

const SETTINGS = `SELECT current_setting('threads')::INTEGER, current_setting('memory_limit')`;

function settings() {
  return store.transaction(async (sql) => (await sql(SETTINGS))[0]);
}

describe('FileStore.resize()', () => {
  it('changes the settings of the open database, up and down', async () => {
    expect(await settings()).toEqual([2, '512.0 MiB']);
    await store.resize({ threads: 1, memoryBytes: 256 * MIB });
    expect(await settings()).toEqual([1, '256.0 MiB']);
    expect(store.size).toEqual({ threads: 1, memoryBytes: 256 * MIB });
    await store.resize({ threads: 3, memoryBytes: 1024 * MIB });
    expect(await settings()).toEqual([3, '1.0 GiB']);
  });

  it('holds after the database failed and was opened again', async () => {
    await store.resize({ threads: 1, memoryBytes: 256 * MIB });
    const failed = store.transaction(async () => {
      throw new Error('FATAL Error: made up');
    });
    await expect(failed).rejects.toThrow('made up');
    expect(await settings()).toEqual([1, '256.0 MiB']);
  });

  it('leaves the size as it was where what runs holds more memory, which does not suffer', async () => {
    const large = { threads: 2, memoryBytes: 1024 * MIB };
    await store.resize(large);
    const running = store.transaction((sql) =>
      sql('SELECT count(*)::INTEGER FROM (SELECT i, list(hash(i)) AS l FROM range(4000000) t(i) GROUP BY i)'),
    );
    await expect
      .poll(() => store.transaction((sql) => sql('SELECT sum(memory_usage_bytes)::DOUBLE FROM duckdb_memory()')), {
        interval: 5,
        timeout: 10_000,
      })
      .toSatisfy((rows: number[][]) => (rows[0]?.[0] ?? 0) > 100 * MIB);
    await expect(store.resize({ threads: 1, memoryBytes: 16 * MIB })).rejects.toThrow(
      /what runs now holds more memory/,
    );
    expect(store.size).toEqual(large);
    expect(await settings()).toEqual([2, '1.0 GiB']);
    expect(await running).toEqual([[4_000_000]]);
    await store.resize({ threads: 1, memoryBytes: 16 * MIB });
    expect(store.size.memoryBytes).toBe(16 * MIB);
  });

  it.each([
    'SET GLOBAL lock_configuration = false',
    `SET GLOBAL allowed_configs = ['threads', 'temp_directory']`,
    'RESET GLOBAL allowed_configs',
    'SET GLOBAL enable_external_access = true',
    `SET GLOBAL temp_directory = '/tmp'`,
    `SET GLOBAL max_temp_directory_size = '1GB'`,
    'SET GLOBAL autoload_known_extensions = true',
    `SET GLOBAL TimeZone = 'Europe/Paris'`,
  ])('opens no other setting: %s is refused', async (statement) => {
    await expect(store.transaction((sql) => sql(statement))).rejects.toThrow(/configuration has been locked/);
  });
});

describe('Engine.resize()', () => {
  it('puts one call after the other, and SQL cannot do it', async () => {
    const engine = await openEngine({ file: join(folder, 'engine.duckdb'), limits: LIMITS });
    await Promise.all([1, 2, 1, 3].map((threads) => engine.resize({ threads, memoryBytes: 512 * MIB })));
    expect(engine.size).toEqual({ threads: 3, memoryBytes: 512 * MIB });
    for (const sql of ['SET threads = 1', "SET GLOBAL memory_limit = '1GB'", 'PRAGMA threads = 1', 'RESET threads']) {
      await expect(engine.query({ sql })).rejects.toMatchObject({ code: 'query_error' });
    }
    await engine.close();
    await expect(engine.resize({ threads: 1, memoryBytes: 512 * MIB })).rejects.toMatchObject({ code: 'not_ready' });
  });
});
