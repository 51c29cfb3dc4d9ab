import { setTimeout as delay } from 'node:timers/promises';
import {
  type AttributeValue,
  BatchWriteItemCommand,
  CreateTableCommand,
  DeleteItemCommand,
  DynamoDBClient,
  PutItemCommand,
  type StreamViewType,
  UpdateTableCommand,
} from '@aws-sdk/client-dynamodb';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../src/contract/json/json.ts';
import { awsClientConfig } from '../../src/service/sources/aws.ts';
import * as dynamodb from '../../src/service/sources/dynamodb.ts';
import { statusOf } from '../../src/service/sources/dynamodb-status.ts';
import type { SourceBatch, SourceError, SourceOptions } from '../../src/service/sources/source.ts';
import { LARGEST_MAX, largestBatch, optionsOf, type Reading, startReading } from './reading.ts';
import { startAwsForwarder } from './servers/aws-forwarder.ts';
import { type DynamodbServer, startDynamodb } from './servers/dynamodb.ts';
import { type FaultProxy, startFaultProxy } from './servers/fault-proxy.ts';

const ITEMS = Number(process.env['SOURCES_ITEMS'] ?? 3_000);
const KEY = { cloud_access_key: { cloud_access_key_id: 'reader', cloud_secret_access_key: 'sesame' } };

let server: DynamodbServer;
let proxy: FaultProxy;
let client: DynamoDBClient;
const running: Reading[] = [];
let tables = 0;

beforeAll(async () => {
  server = await startDynamodb();
  proxy = await startFaultProxy(() => server.port);
  client = new DynamoDBClient(awsClientConfig({ ...KEY, endpoint: `http://127.0.0.1:${server.port}` }, null));
});
afterEach(async () => {
  proxy.setDown(false);
  proxy.setDelay(0);
  proxy.answer(0, 200);
  for (const reading of running.splice(0)) await reading.stop();
});
afterAll(async () => {
  client?.destroy();
  await proxy?.close();
  await server?.stop();
});

interface Made {
  view?: StreamViewType | null;
  /** The types of its hash key `id` and its range key `part`. */
  hash?: 'S' | 'N' | 'B';
  range?: 'S' | 'N' | 'B';
  units?: number;
}

async function newTable(
  { view = 'NEW_AND_OLD_IMAGES', hash = 'S', range, units }: Made = {},
  at = client,
): Promise<string> {
  const TableName = `orders-${++tables}`;
  await at.send(
    new CreateTableCommand({
      TableName,
      KeySchema: [
        { AttributeName: 'id', KeyType: 'HASH' },
        ...(range === undefined ? [] : [{ AttributeName: 'part', KeyType: 'RANGE' as const }]),
      ],
      AttributeDefinitions: [
        { AttributeName: 'id', AttributeType: hash },
        ...(range === undefined ? [] : [{ AttributeName: 'part', AttributeType: range }]),
      ],
      ...(units === undefined
        ? { BillingMode: 'PAY_PER_REQUEST' as const }
        : { ProvisionedThroughput: { ReadCapacityUnits: units, WriteCapacityUnits: 1_000 } }),
      ...(view !== null && { StreamSpecification: { StreamEnabled: true, StreamViewType: view } }),
    }),
  );
  return TableName;
}

type Item = Record<string, AttributeValue>;
const put = (TableName: string, Item: Item) => client.send(new PutItemCommand({ TableName, Item }));
const remove = (TableName: string, Key: Item) => client.send(new DeleteItemCommand({ TableName, Key }));

/** Items with the numbers from `from` on. */
async function fill(TableName: string, from: number, count: number, pad = 20, to = client): Promise<void> {
  for (let at = from; at < from + count; at += 25) {
    const numbers = Array.from({ length: Math.min(25, from + count - at) }, (_, index) => at + index);
    await to.send(
      new BatchWriteItemCommand({
        RequestItems: {
          [TableName]: numbers.map((n) => ({
            PutRequest: { Item: { id: { S: `key ${n}` }, n: { N: String(n) }, pad: { S: 'x'.repeat(pad) } } },
          })),
        },
      }),
    );
  }
}

const options = (table: string, settings: JsonObject = {}, more: Partial<SourceOptions> = {}) =>
  optionsOf({ ...KEY, endpoint: `http://127.0.0.1:${proxy.port}` }, { table_name: table, ...settings }, more);

function read(given: SourceOptions, more?: { stored?: readonly SourceBatch[]; storeMs?: number }): Reading {
  const reading = startReading(dynamodb, given, more);
  running.push(reading);
  return reading;
}

const isThrough = ({ batches }: Reading) => batches.at(-1)?.progress.phase === 'changes';

function numbersOf({ documents }: Reading): number[] {
  return [...documents.values()].map(({ n }) => Number(n)).sort((a, b) => a - b);
}

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);

async function problemOf(given: SourceOptions): Promise<SourceError> {
  const failed = async () => {
    const reader = await dynamodb.openSource(given);
    try {
      await reader.check(AbortSignal.timeout(20_000));
    } finally {
      await reader.close();
    }
  };
  return (await failed().then(
    () => expect.fail('it was let in'),
    (error: unknown) => error,
  )) as SourceError;
}

test('a table with a stream of new images is let in, and others are told what to do', async () => {
  const table = await newTable({ view: 'NEW_IMAGE' });
  const reader = await dynamodb.openSource(options(table));
  await reader.check(AbortSignal.timeout(20_000));
  await reader.close();
  expect(await problemOf(options('nobody'))).toMatchObject({ fault: 'settings', message: /no table nobody/ });
  const [none, keys] = [await newTable({ view: null }), await newTable({ view: 'KEYS_ONLY' })];
  expect(await problemOf(options(none))).toMatchObject({
    fault: 'settings',
    message: expect.stringContaining(`update-table --table-name ${none} --stream-specification StreamEnabled=true`),
  });
  expect(await problemOf(options(keys))).toMatchObject({ fault: 'settings', message: /KEYS_ONLY only/ });
  expect(await problemOf(options('a/b'))).toMatchObject({ fault: 'settings', message: /table_name/ });
  expect(await problemOf(options(table, { rcu: 0 }))).toMatchObject({ fault: 'settings', message: /rcu/ });
  expect(await problemOf(options(table, { use_scan_api: 'yes' }))).toMatchObject({ message: /use_scan_api/ });
});

test('credentials, load and outages are told apart', async () => {
  const table = await newTable();
  const body = (type: string, message = 'x') => JSON.stringify({ __type: `com.amazonaws#${type}`, message });
  // DynamoDB Local itself refuses keys of other characters.
  const own = { cloud_access_key_id: 'no such key!', cloud_secret_access_key: 'sesame' };
  const wrong = {
    ...options(table),
    connection: { cloud_access_key: own, endpoint: `http://127.0.0.1:${server.port}` },
  };
  expect(await problemOf(wrong)).toMatchObject({ fault: 'denied' });
  proxy.answer(Number.POSITIVE_INFINITY, 400, body('AccessDeniedException', 'not authorized'));
  const denied = await problemOf(options(table));
  expect(denied).toMatchObject({ fault: 'denied', message: expect.stringContaining('dynamodb:Scan') });
  expect(denied.message).not.toContain('sesame');
  for (const type of ['ProvisionedThroughputExceededException', 'LimitExceededException']) {
    proxy.answer(Number.POSITIVE_INFINITY, 400, body(type));
    expect(await problemOf(options(table))).toMatchObject({ fault: 'unreachable', message: /busy/ });
  }
  proxy.answer(Number.POSITIVE_INFINITY, 500);
  expect(await problemOf(options(table))).toMatchObject({ fault: 'unreachable' });
  proxy.setDown(true);
  expect(await problemOf(options(table))).toMatchObject({ fault: 'unreachable', message: /the table orders/ });
});

test('a table is scanned while it is written to and deleted from, and ends as the table is', async () => {
  const table = await newTable();
  await fill(table, 0, ITEMS);
  const reading = read(options(table), { storeMs: 50 });
  await reading.until(() => reading.batches.length > 0);
  for (let n = 0; n < 100; n++) {
    await put(table, { id: { S: `key ${n}` }, n: { N: String(n) }, isNew: { BOOL: true } });
    await remove(table, { id: { S: `key ${ITEMS - 1 - n}` } });
    await put(table, { id: { S: `new ${n}` }, n: { N: String(ITEMS + n) } });
  }
  await put(table, { id: { S: 'last' }, n: { N: '-1' } });
  const at = performance.now();
  await reading.until(() => reading.documents.has('last'));
  expect(performance.now() - at).toBeLessThan(10_000);
  expect(numbersOf(reading)).toEqual([-1, ...upTo(ITEMS - 100), ...upTo(ITEMS + 100).slice(ITEMS)]);
  expect(reading.documents.get('key 99')).toEqual({ id: 'key 99', n: 99, isNew: true });
  expect(reading.batches[0]?.progress.phase).toBe('scan');
  expect(reading.errors).toEqual([]);
  const { checkpoint = null, progress } = reading.batches.at(-1) ?? {};
  expect(progress).toMatchObject({ phase: 'changes', scanned: expect.any(Number) });
  expect(statusOf(checkpoint)).toEqual({
    state: 'PROCESSING_STREAM',
    scan_start_time: expect.stringMatching(/Z$/),
    scan_end_time: expect.stringMatching(/Z$/),
    scan_records_processed: expect.any(Number),
    scan_total_records: ITEMS,
    stream_last_processed_at: expect.stringMatching(/Z$/),
  });
  expect(statusOf(reading.batches[0]?.checkpoint ?? null)).toMatchObject({
    state: 'SCANNING_TABLE',
    scan_end_time: null,
  });
  expect(statusOf(null)).toEqual({});
  const since = performance.now();
  await put(table, { id: { S: 'quick' }, n: { N: '-2' } });
  await reading.until(() => reading.documents.has('quick'));
  expect(performance.now() - since).toBeLessThan(2_500);
});

test('reading goes on from each checkpoint, of the scan and of the stream, without loss', async () => {
  const table = await newTable();
  await fill(table, 0, 1_000, 12_000);
  const first = read(options(table, { rcu: 600 }), { storeMs: 20 });
  await first.until(() => isThrough(first));
  for (let n = 0; n < 20; n++) {
    await remove(table, { id: { S: `key ${n}` } });
    await delay(20);
  }
  await first.until(() => first.documents.size === 980);
  await first.stop();
  expect(first.batches.filter(({ progress }) => progress.phase === 'scan').length).toBeGreaterThan(2);
  expect(largestBatch(first.batches)).toBeLessThan(LARGEST_MAX);
  const every = Math.max(1, Math.floor(first.batches.length / 12));
  for (let count = 0; count <= first.batches.length; count += every) {
    const stored = JSON.parse(JSON.stringify(first.batches.slice(0, count))) as SourceBatch[];
    const again = read(options(table), { stored });
    await again.until(() => isThrough(again) && again.documents.size === 980);
    await again.stop();
    expect(numbersOf(again)).toEqual(upTo(1_000).slice(20));
  }
});

test('a scan takes no more read capacity than it is given', async () => {
  const table = await newTable();
  await fill(table, 0, 300, 4_000);
  const at = performance.now();
  // 300 items of 4 kB are about 150 units.
  const reading = read(options(table, { rcu: 50, use_scan_api: true }));
  await reading.until(() => isThrough(reading));
  const took = performance.now() - at;
  expect(reading.documents.size).toBe(300);
  expect(took).toBeGreaterThan(2_000);
  expect(took).toBeLessThan(10_000);
  const provisioned = await newTable({ units: 100 });
  await fill(provisioned, 0, 300, 4_000);
  const half = performance.now();
  const other = read(options(provisioned));
  await other.until(() => isThrough(other));
  expect(performance.now() - half).toBeGreaterThan(2_000);
});

test('types of DynamoDB are exactly what documents have', async () => {
  const table = await newTable({ hash: 'N', range: 'B' });
  const bytes = Uint8Array.of(0, 255, 62, 63);
  const big = '12345678901234567890123456789012345678';
  const item: Item = {
    id: { N: '1E3' },
    part: { B: bytes },
    text: { S: 'täxt' },
    small: { N: '-1.5' },
    big: { N: big },
    edge: { N: '9007199254740993' },
    huge: { N: '1e100' },
    decimal: { N: '12345678901234.567890' },
    long: { N: '-0.12345678901234567890123456789012345678' },
    double: { N: '0.30000000000000004' },
    tiny: { N: '1.5e-120' },
    yes: { BOOL: false },
    nothing: { NULL: true },
    binary: { B: bytes },
    words: { SS: ['a', 'b'] },
    numbers: { NS: ['1', big] },
    blobs: { BS: [bytes] },
    list: { L: [{ S: '' }, { N: '0.12345678901234567' }] },
    map: { M: { deep: { M: { x: { N: big } } }, b: { B: bytes } } },
  };
  const expected = {
    id: 1000,
    part: 'AP8+Pw==',
    text: 'täxt',
    small: -1.5,
    big: BigInt(big),
    edge: 9007199254740993n,
    huge: 10n ** 100n,
    decimal: '12345678901234.56789',
    long: '-0.12345678901234567890123456789012345678',
    double: 0.30000000000000004,
    tiny: 1.5e-120,
    yes: false,
    nothing: null,
    binary: 'AP8+Pw==',
    words: ['a', 'b'],
    numbers: [1, BigInt(big)],
    blobs: ['AP8+Pw=='],
    list: ['', '0.12345678901234567'],
  };
  // In its streams DynamoDB Local leaves out what an empty object is; DynamoDB does not.
  const whole: Item = { ...item, empty: { M: {} } };
  await put(table, whole);
  const reading = read(options(table));
  await reading.until(() => isThrough(reading));
  await put(table, { ...item, id: { N: '2' } });
  await reading.until(() => reading.documents.size === 2);
  for (const [id, number] of [
    ['1000/AP8+Pw==', 1000],
    ['2/AP8+Pw==', 2],
  ] as const) {
    const { map, numbers, words, empty, ...document } = reading.documents.get(id) ?? {};
    const { numbers: _, words: __, ...rest } = { ...expected, id: number };
    expect(document).toEqual(rest);
    expect(empty).toEqual(number === 2 ? undefined : {});
    expect(new Set(numbers as bigint[])).toEqual(new Set([1, BigInt(big)]));
    expect(new Set(words as string[])).toEqual(new Set(['a', 'b']));
    expect(Object.entries(map as JsonObject).sort()).toEqual([
      ['b', 'AP8+Pw=='],
      ['deep', { x: BigInt(big) }],
    ]);
  }
  const [change] = reading.batches.flatMap(({ changes }) => changes);
  expect(Object.fromEntries(change?.declared ?? [])).toEqual({
    part: 'binary',
    binary: 'binary',
    decimal: 'decimal 38 10',
    long: 'decimal 38 38',
  });
});

test('the key of an item is its id: a hash key alone as it is, with a range key so that it can be told from others', async () => {
  const table = await newTable({ range: 'S' });
  for (const [id, part] of [
    ['a', 'b/c'],
    ['a/b', 'c'],
    ['a%2Fb', 'c'],
  ] as const)
    await put(table, { id: { S: id }, part: { S: part } });
  const reading = read(options(table));
  await reading.until(() => reading.documents.size === 3 && isThrough(reading));
  expect([...reading.documents.keys()].sort()).toEqual(['a%252Fb/c', 'a%2Fb/c', 'a/b%2Fc']);
  await remove(table, { id: { S: 'a/b' }, part: { S: 'c' } });
  await reading.until(() => reading.documents.size === 2);
  expect([...reading.documents.keys()].sort()).toEqual(['a%252Fb/c', 'a/b%2Fc']);
  const single = await newTable();
  await put(single, { id: { S: 'a/b %' }, _id: { S: 'other' } });
  await put(single, { id: { S: 'a/b' } });
  const other = read(options(single));
  await other.until(() => other.refused.length === 1 && isThrough(other));
  expect([...other.documents.keys()]).toEqual(['a/b']);
  expect(other.refused[0]).toMatchObject({
    item: `${single}/a/b %`,
    reason: /_id/,
    text: expect.stringContaining('other'),
  });
});

test('cuts, delays, refused connections and throttling end nothing and lose nothing', async () => {
  const table = await newTable();
  await fill(table, 0, 1_000);
  const reading = read(options(table, { rcu: 100 }), { storeMs: 5 });
  await reading.until(() => reading.batches.length > 0);
  let n = 1_000;
  const more = async () => {
    await fill(table, n, 50);
    n += 50;
  };
  for (const fault of [
    async () => proxy.cut(),
    async () => {
      proxy.setDown(true);
      await delay(1_000);
      proxy.setDown(false);
    },
    async () => {
      proxy.setDelay(100);
      await delay(1_000);
      proxy.setDelay(0);
    },
    async () => {
      proxy.answer(Number.POSITIVE_INFINITY, 400, '{"__type":"com.amazonaws#ProvisionedThroughputExceededException"}');
      proxy.cut();
      await delay(2_000);
      proxy.answer(0, 200);
    },
  ]) {
    await more();
    await fault();
    await more();
    await delay(500);
  }
  await reading.until(() => reading.documents.size === n && isThrough(reading), 60_000);
  expect(numbersOf(reading)).toEqual(upTo(n));
  expect(new Set(reading.errors.map(({ fault }) => fault))).toEqual(new Set(['unreachable']));
});

test('the service is killed during the scan and afterwards, and nothing is lost', async () => {
  const other = await startDynamodb({ isKept: true });
  const endpoint = `http://127.0.0.1:${other.port}`;
  const own = new DynamoDBClient(awsClientConfig({ ...KEY, endpoint }, null));
  try {
    const table = await newTable({}, own);
    await fill(table, 0, 200, 2_000, own);
    const reading = read(optionsOf({ ...KEY, endpoint }, { table_name: table, rcu: 20 }));
    await reading.until(() => reading.documents.size > 0);
    await other.restart();
    await fill(table, 200, 25, 20, own);
    await reading.until(() => reading.documents.size === 225 && isThrough(reading));
    await other.restart();
    await fill(table, 225, 25, 20, own);
    await reading.until(() => reading.documents.size === 250);
    expect(numbersOf(reading)).toEqual(upTo(250));
    await reading.stop();
  } finally {
    own.destroy();
    await other.stop();
  }
});

test('a stream that has dropped the place, or was turned off and on again, is lost; an old iterator is made anew', async () => {
  const table = await newTable();
  await fill(table, 0, 10);
  const first = read(options(table));
  await first.until(() => isThrough(first));
  await put(table, { id: { S: 'seen' }, n: { N: '10' } });
  await first.until(() => first.documents.has('seen'));
  await first.stop();

  // DynamoDB Local drops records only after hours, and lets iterators live as long.
  let expired = 0;
  const error = (operation: string) => {
    if (operation === 'GetRecords' && expired++ < 2) return 'ExpiredIteratorException';
    return undefined;
  };
  let answer: (operation: string) => string | undefined = error;
  const before = await startAwsForwarder(server.port, (operation, body) => {
    const name = answer(operation);
    return name === undefined ? body : { error: name };
  });
  const through = { ...options(table), connection: { ...KEY, endpoint: `http://127.0.0.1:${before.port}` } };
  const again = read(through, { stored: first.batches });
  await put(table, { id: { S: 'next' }, n: { N: '11' } });
  await again.until(() => again.documents.has('next'));
  expect(again.errors).toEqual([]);
  expect(expired).toBeGreaterThan(2);
  await again.stop();
  for (const dropping of ['GetShardIterator', 'GetRecords']) {
    answer = (operation) => (operation === dropping ? 'TrimmedDataAccessException' : undefined);
    expect(await read(through, { stored: first.batches }).end()).toMatchObject({
      fault: 'lost',
      message: expect.stringContaining(`the table ${table}`),
    });
  }
  await before.close();

  const live = read(options(table), { stored: first.batches });
  await live.until(() => live.documents.has('next'));
  const turn = (StreamSpecification: { StreamEnabled: boolean; StreamViewType?: StreamViewType }) =>
    client.send(new UpdateTableCommand({ TableName: table, StreamSpecification }));
  await turn({ StreamEnabled: false });
  expect(await live.end()).toMatchObject({ fault: 'lost', message: /turned off/ });
  await delay(1_100);
  await turn({ StreamEnabled: true, StreamViewType: 'NEW_IMAGE' });
  expect(await read(options(table), { stored: first.batches }).end()).toMatchObject({
    fault: 'lost',
    message: /on again/,
  });
});
