import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/contract/json/json.ts';
import { remove } from '../../../src/service/catalog/catalog.ts';
import type { CollectionRecord, ExternalSource } from '../../../src/service/catalog/records.ts';
import { createSources, type Sources } from '../../../src/service/sources/sources.ts';
import { type Loads, openLoads } from '../loading/loads.ts';

/*
 * Sources that come and go while another one takes its time to end: one that waits for what it remembers, or for the
 * connection details of its integration.
 */

let loads: Loads;
let bucket: Server;
let sources: Sources;
/** How often the details of an integration were asked for: once for each time that a source is begun. */
const asked = new Map<string, number>();
let isRemembering = false;
let remember: () => void = () => undefined;

beforeAll(async () => {
  loads = await openLoads();
  // Without objects.
  bucket = createServer((_, answer) => answer.end('<ListBucketResult></ListBucketResult>'));
  await new Promise<void>((resolve) => bucket.listen(0, '127.0.0.1', resolve));
  const { engine, catalog, usage } = loads;
  const memory = new Promise<void>((resolve) => {
    remember = resolve;
  });
  const memoryOf = async () => {
    isRemembering = true;
    await memory;
    return [];
  };
  const { port } = bucket.address() as AddressInfo;
  const connections: Record<string, JsonObject> = {
    bucket: {
      endpoint: `http://127.0.0.1:${port}`,
      cloud_access_key: { cloud_access_key_id: 'k', cloud_secret_access_key: 's' },
    },
    // Nothing listens there.
    table: { host: '127.0.0.1', port: 1, username: 'u', password: 'p', tls: false },
  };
  sources = createSources({
    engine: { ...engine, memoryOf },
    catalog,
    usage,
    log: pino({ level: 'silent' }),
    async connectionOf(name) {
      asked.set(name, (asked.get(name) ?? 0) + 1);
      return connections[name] ?? new Promise<never>(() => undefined);
    },
  });
  sources.start();
});
afterAll(async () => {
  remember();
  await sources.close();
  bucket.close();
  await loads.dispose();
});

const until = (condition: () => boolean) => expect.poll(condition, { timeout: 10_000 }).toBe(true);
const timesOf = (integration: string) => asked.get(integration) ?? 0;

async function create(name: string, kind: ExternalSource['kind'], integrationName: string, settings: JsonObject) {
  const since = new Date().toISOString();
  const source: ExternalSource = { kind, integrationName, settings, formatParams: null, onError: 'skip', since };
  const collection = await loads.create(name, { sources: [source] });
  sources.changed();
  return { collection, index: 0, source };
}

/** The source of a collection that is deleted is stopped. */
async function deleted({ name }: CollectionRecord): Promise<void> {
  await loads.catalog.change(() => ({ changes: [remove('collection', `commons.${name}`)], result: undefined }));
  sources.changed();
}

test('a source that is held while another one comes to an end is not begun, and that one is waited for', async () => {
  const slow = await create('slow', 's3', 'bucket', { bucket: 'objects' });
  const held = await create('held', 'redshift', 'table', { database: 'd', table_name: 't' });
  await until(() => isRemembering && timesOf('table') > 0);
  await deleted(slow.collection);
  await delay(100);
  let isSlowHeld = false;
  const holdingSlow = sources.holding(slow, async () => {
    isSlowHeld = true;
  });
  await sources.holding(held, async () => {
    const before = timesOf('table');
    await delay(100);
    expect(isSlowHeld).toBe(false);
    remember();
    await holdingSlow;
    await delay(100);
    expect(sources.liveOf(held)).toBeUndefined();
    expect(timesOf('table')).toBe(before);
  });
  await until(() => sources.liveOf(held) !== undefined);
});

test('a source whose integration does not answer keeps no other one from being begun', async () => {
  const silent = await create('silent', 'redshift', 'nobody', { database: 'd', table_name: 't' });
  await until(() => timesOf('nobody') > 0);
  await deleted(silent.collection);
  const next = await create('next', 'redshift', 'table', { database: 'd', table_name: 't' });
  await until(() => sources.liveOf(next) !== undefined);
});
