import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/contract/json/json.ts';
import { figuresOf } from '../../src/service/sources/objects-status.ts';
import { BATCH_BYTES_MAX, type SourceBatch, SourceError } from '../../src/service/sources/source.ts';
import { copied, jsonLines } from './objects-data.ts';
import { closeRowsEngine, nothingStored, openRowsEngine, optionsFor, pass, type Stored } from './objects-reading.ts';
import type { TestBucket, TestStore } from './servers/buckets.ts';
import { type FaultProxy, startFaultProxy } from './servers/fault-proxy.ts';
import { startGcs } from './servers/gcs.ts';
import { startVersitygw } from './servers/s3.ts';

beforeAll(openRowsEngine);
afterAll(closeRowsEngine);

const KINDS = { s3: startVersitygw, gcs: startGcs } as const;
/** Objects of the long listing; fake-gcs-server takes minutes for 20,000. */
const KEYS = { s3: Math.min(20_000, Number(process.env['SOURCES_ITEMS'] ?? 4_000)), gcs: 1_500 } as const;
const ROWS = 48_000;

describe.each(['s3', 'gcs'] as const)('a bucket of %s', (kind) => {
  let store: TestStore;
  let proxy: FaultProxy;
  let bucket: TestBucket;
  let stored: Stored;
  let settings: JsonObject;

  beforeAll(async () => {
    store = await KINDS[kind]();
    proxy = await startFaultProxy(() => store.port());
  });
  afterAll(async () => {
    await proxy?.close();
    await store?.close();
  });

  const begin = async (more: JsonObject = {}) => {
    bucket = await store.createBucket();
    stored = nothingStored();
    settings = { bucket: bucket.name, ...more };
  };
  const optionsHere = (port?: number) => optionsFor(stored, bucket.connection(port), settings);
  const read = (batchesMax?: number, onBatch?: (batch: SourceBatch) => Promise<void> | void) =>
    pass(store.module, stored, optionsHere(), batchesMax, onBatch);
  /** Reads to the end, and is killed behind each batch. */
  const readWithKills = async () => {
    let kills = 0;
    while (!(await read(1))) kills += 1;
    return kills;
  };

  const rows = Array.from({ length: ROWS }, (_, n) => ({ n, text: `row ${n}` }));
  const xml = () => `<r>${rows.map(({ n, text }) => `<d><n>${n}</n><text>${text}</text></d>`).join('\n')}</r>`;
  const FORMATS: Readonly<Record<string, () => Promise<Buffer | string>>> = {
    'big.jsonl': async () => jsonLines(rows),
    'big.json': async () => JSON.stringify(rows),
    'big.csv': async () => `n,text\n${rows.map(({ n, text }) => `${n},${text}\n`).join('')}`,
    'big.xml': async () => xml(),
    'big.parquet': () => copied(`SELECT i AS n, 'row ' || i AS text FROM range(${ROWS}) r(i)`, 'FORMAT parquet'),
  };

  it.each(Object.keys(FORMATS))('is killed behind each batch of %s, and loses and doubles nothing', async (key) => {
    await begin();
    await bucket.put(key, (await FORMATS[key]?.()) ?? '');
    const kills = await readWithKills();
    expect(kills).toBeGreaterThanOrEqual(4);
    expect([stored.documents.size, stored.changes]).toEqual([ROWS, ROWS]);
    const document = (row: number) => stored.documents.get(`${bucket.name}/${key}/${row}`);
    const text = (n: number) => (key === 'big.xml' ? { n: String(n), text: `row ${n}` } : { n, text: `row ${n}` });
    for (const row of [1, 2, 5_001, ROWS]) expect(document(row)).toEqual(text(row - 1));
    expect([...stored.phases]).toEqual(['scan', 'changes']);
  });

  it('that changes or shrinks while it is read has what it has at last, with kills all the time', async () => {
    await begin();
    await bucket.put('a.jsonl', jsonLines(rows));
    expect(await read(2)).toBe(false);
    expect(stored.documents.size).toBeGreaterThan(10_000);
    await bucket.put('a.jsonl', jsonLines(rows.slice(0, 12_000).map(({ n }) => ({ n, second: true }))));
    await readWithKills();
    expect(stored.documents.size).toBe(12_000);
    expect([...stored.documents.values()].every(({ second }) => second === true)).toBe(true);
    // In the middle of a reading, and of a removal.
    await bucket.put('a.jsonl', jsonLines(rows));
    expect(await read(2)).toBe(false);
    await bucket.remove('a.jsonl');
    expect(await read(1)).toBe(false);
    await bucket.put('a.jsonl', '{"n":-1}');
    await readWithKills();
    await readWithKills();
    expect([...stored.documents.values()]).toEqual([{ n: -1 }]);
    await bucket.remove('a.jsonl');
    await readWithKills();
    expect([stored.documents.size, stored.memory.size]).toEqual([0, 0]);
  });

  it('that changes under the reader is read anew with the next listing', async () => {
    await begin();
    const long = rows.map(({ n }) => ({ n, text: 'x'.repeat(500) }));
    await bucket.put('a.jsonl', jsonLines(long));
    const batches: number[] = [];
    await pass(store.module, stored, optionsHere(proxy.port), undefined, async ({ changes }) => {
      batches.push(changes.length);
      if (batches.length > 1) return;
      await bucket.put('a.jsonl', jsonLines(long.slice(0, 10)));
      proxy.cut();
    });
    await read();
    expect(stored.documents.size).toBe(10);
    expect(stored.refused).toEqual([]);
  });

  it('ids of their own survive kills, shrinking and deleting, too', async () => {
    await begin();
    const own = rows.map(({ n }) => ({ _id: `id ${n}`, n }));
    await bucket.put('a.jsonl', jsonLines(own));
    await bucket.put('b.jsonl', jsonLines(own.slice(0, 100).map((one) => ({ ...one, b: true }))));
    await readWithKills();
    expect([stored.documents.size, stored.documents.get('id 5')]).toEqual([ROWS, { n: 5, b: true }]);
    await bucket.put('a.jsonl', jsonLines(own.slice(50, 10_050)));
    await readWithKills();
    expect(stored.documents.size).toBe(10_050);
    expect([stored.documents.get('id 5'), stored.documents.get('id 60')]).toEqual([{ n: 5, b: true }, { n: 60 }]);
    await bucket.remove('a.jsonl');
    await readWithKills();
    await readWithKills();
    expect(stored.documents.size).toBe(100);
    expect(stored.documents.get('id 60')).toEqual({ n: 60, b: true });
    await bucket.remove('b.jsonl');
    await readWithKills();
    expect([stored.documents.size, stored.memory.size]).toEqual([0, 0]);
  });

  it('of many keys is compared in order, and read with few at a time in memory', async () => {
    await begin({ prefix: 'd/' });
    const keys = KEYS[kind];
    const keyOf = (n: number) => `d/${n % 7}/${String(n).padStart(6, '0')}${n % 100 === 0 ? ' ä+😀' : ''}.json`;
    let next = 0;
    const putAll = async () => {
      while (next < keys) {
        const n = next++;
        await bucket.put(keyOf(n), `{"n":${n}}`);
      }
    };
    await Promise.all(Array.from({ length: 16 }, putAll));
    await bucket.put('other.json', '{}');
    while (!(await read(3)));
    expect([stored.documents.size, stored.changes]).toEqual([keys, keys]);
    expect(new Set([...stored.documents.values()].map(({ n }) => n)).size).toBe(keys);
    expect(figuresOf(stored.checkpoint ?? null)).toMatchObject({
      object_count_total: keys,
      object_count_downloaded: keys,
    });
    const { changes } = stored;
    await bucket.put(keyOf(100), '{"n":"changed"}');
    await bucket.remove(keyOf(200));
    await bucket.put('d/0/000000a.json', '{"n":"new"}');
    await read();
    expect(stored.changes - changes).toBe(3);
    expect(stored.documents.size).toBe(keys);
    expect(stored.documents.get(`${bucket.name}/${keyOf(100)}/1`)).toEqual({ n: 'changed' });
    expect(stored.documents.has(`${bucket.name}/${keyOf(200)}/1`)).toBe(false);
  });

  it('with a connection that is cut and slow is read on where it broke', async () => {
    await begin();
    const long = rows.slice(0, 12_000).map(({ n }) => ({ n, text: 'x'.repeat(500) }));
    await bucket.put('a.jsonl', jsonLines(long));
    await bucket.put('b.json', '{"b":1}');
    proxy.setDelay(2);
    let isDone = false;
    const cutting = (async () => {
      for (let cuts = 0; cuts < 5 && !isDone; cuts++) {
        await delay(80);
        proxy.cut();
      }
    })();
    const sizes: number[] = [];
    const readThrough = () =>
      pass(store.module, stored, optionsHere(proxy.port), undefined, ({ changes }) => {
        sizes.push(JSON.stringify(changes.map(({ document }) => document)).length);
      }).catch((error: unknown) => {
        // As for the service: it goes on from what is stored.
        if (error instanceof SourceError && error.fault === 'unreachable') return false;
        throw error;
      });
    while (!(await readThrough()));
    isDone = true;
    await cutting;
    proxy.setDelay(0);
    expect([stored.documents.size, stored.changes]).toEqual([12_001, 12_001]);
    expect(Math.max(...sizes)).toBeLessThan(BATCH_BYTES_MAX + 1024 * 1024);
  });

  it('that is down, restarts, or is busy says so, and is read on', async () => {
    await begin();
    await bucket.put('a.jsonl', jsonLines(rows));
    proxy.setDown(true);
    const failing = pass(store.module, stored, optionsHere(proxy.port));
    await expect(failing).rejects.toMatchObject({ fault: 'unreachable' });
    proxy.setDown(false);
    proxy.answer(
      Number.POSITIVE_INFINITY,
      503,
      '<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>',
    );
    const busy = pass(store.module, stored, optionsHere(proxy.port));
    await expect(busy).rejects.toMatchObject({
      fault: 'unreachable',
      message: expect.stringMatching(/limits how often the bucket/),
    });
    proxy.answer(1, 503, '<Error><Code>SlowDown</Code></Error>');
    expect(await pass(store.module, stored, optionsHere(proxy.port), 1)).toBe(false);
    await store.restart();
    expect(await pass(store.module, stored, optionsHere(proxy.port))).toBe(true);
    expect([stored.documents.size, stored.changes]).toEqual([ROWS, ROWS]);
  });

  it('says what is wrong before anything is read', async () => {
    await begin();
    const checking = async (connection: JsonObject, given: JsonObject, params: JsonObject | null = null) => {
      const reader = await store.module.openSource(optionsFor(stored, connection, given, params));
      try {
        await reader.check(new AbortController().signal);
      } finally {
        await reader.close();
      }
    };
    await checking(bucket.connection(), settings);
    await bucket.put('a.json', '{}');
    await checking(bucket.connection(), settings);
    await checking(bucket.connection(), { bucket: `${kind === 's3' ? 's3' : 'gs'}://${bucket.name}/` });
    const wrong: [JsonObject, RegExp, string?][] = [
      [{ bucket: `${bucket.name}-not` }, /The bucket .*-not does not exist/],
      [{ bucket: 'a/b' }, /bucket has to be the name/],
      [{ ...settings, prefixes: [1] }, /prefixes has to be text/],
      [{ ...settings, prefix: 'a', pattern: 'b/*' }, /No key fits both/],
      [{ ...settings, format: 'mysql_dms' }, /"mysql_dms" are not read here; the formats are json/],
      [{ ...settings, settings: { s3_scan_frequency: '5 minutes' } }, /duration of ISO 8601/],
    ];
    for (const [given, message] of wrong)
      await expect(checking(bucket.connection(), given)).rejects.toMatchObject({
        fault: 'settings',
        message: expect.stringMatching(message),
      });
    await expect(checking(bucket.connection(), settings, { mysql_dms: {} })).rejects.toThrow(
      /"mysql_dms" are not read/,
    );
    await expect(checking(bucket.connection(), settings, { json: true, xml: {} })).rejects.toThrow(/json and xml/);
    await expect(checking(bucket.connection(), { ...settings, format: 'json' }, { csv: {} })).rejects.toThrow(
      SourceError,
    );
    const reader = await store.module.openSource(
      optionsFor(stored, bucket.connection(), { ...settings, settings: { s3_scan_frequency: 'PT5M' } }),
    );
    expect(reader.pollMs).toBe(300_000);
    await reader.close();
  });
});

describe('signing in', () => {
  it('to S3 with a wrong key or secret is denied, and a wrong region told', async () => {
    const store = await startVersitygw();
    try {
      const bucket = await store.createBucket();
      const stored = nothingStored();
      const check = async (key: JsonObject, more: JsonObject = {}) => {
        const connection = { ...bucket.connection(), cloud_access_key: key };
        const reader = await store.module.openSource(optionsFor(stored, connection, { bucket: bucket.name, ...more }));
        await reader.check(new AbortController().signal).finally(() => reader.close());
      };
      const right = bucket.connection()['cloud_access_key'] as JsonObject;
      const wrongs: JsonObject[] = [{ cloud_secret_access_key: 'not it' }, { cloud_access_key_id: 'nobody' }];
      for (const wrong of wrongs) {
        const denied = check({ ...right, ...wrong });
        await expect(denied).rejects.toMatchObject({ fault: 'denied' });
        await expect(denied).rejects.toThrow(/does not let these credentials read the bucket/);
        await expect(denied).rejects.not.toThrow(/not it|testsecret/);
      }
      await expect(check(right, { region: 'eu-west-1' })).rejects.toMatchObject({ fault: 'settings' });
      await expect(check(right, { region: 'no region' })).rejects.toThrow(/region has to be a region of AWS/);
    } finally {
      await store.close();
    }
  });

  it('to GCS with a wrong key is denied; tokens are shared, and asked for anew when they end', async () => {
    const store = await startGcs();
    try {
      const bucket = await store.createBucket();
      for (let n = 0; n < 60; n++) await bucket.put(`${n}.json`, `{"n":${n}}`);
      const stored = nothingStored();
      const options = (file: string | JsonObject) =>
        optionsFor(
          stored,
          { ...bucket.connection(), gcp_service_account: { service_account_key_file_json: file } },
          { bucket: bucket.name },
        );
      await expect(pass(store.module, stored, options(store.keyFile(true)))).rejects.toMatchObject({
        fault: 'denied',
        message: expect.stringMatching(/does not let the service account .* sign in: Invalid JWT Signature/),
      });
      for (const file of ['no json', '{}', '{"client_email":"a","private_key":"secret"}']) {
        const refused = store.module.openSource(options(file));
        await expect(refused).rejects.toThrow(/service_account_key_file_json/);
        await expect(refused).rejects.not.toThrow(/secret/);
      }
      await pass(store.module, stored, options(JSON.parse(store.keyFile()) as JsonObject));
      expect([stored.documents.size, store.tokens()]).toEqual([60, 1]);
      store.setLifetime(0.05);
      const again = nothingStored();
      await pass(store.module, again, { ...options(store.keyFile()), memory: optionsFor(again, {}, {}).memory });
      expect(again.documents.size).toBe(60);
      expect(store.tokens()).toBeGreaterThan(2);
    } finally {
      await store.close();
    }
  });
});
