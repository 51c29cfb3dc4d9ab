import { setTimeout as delay } from 'node:timers/promises';
import {
  CreateStreamCommand,
  DeleteStreamCommand,
  KinesisClient,
  ListShardsCommand,
  MergeShardsCommand,
  PutRecordsCommand,
  SplitShardCommand,
} from '@aws-sdk/client-kinesis';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../src/contract/json/json.ts';
import { awsClientConfig } from '../../src/service/sources/aws.ts';
import * as kinesis from '../../src/service/sources/kinesis.ts';
import type { SourceBatch, SourceError, SourceOptions } from '../../src/service/sources/source.ts';
import { LARGEST_MAX, largestBatch, optionsOf, type Reading, startReading } from './reading.ts';
import { startAwsForwarder } from './servers/aws-forwarder.ts';
import { type FaultProxy, startFaultProxy } from './servers/fault-proxy.ts';
import { type KinesisServer, startKinesis } from './servers/kinesis.ts';

const ITEMS = Number(process.env['SOURCES_ITEMS'] ?? 2_000);
const KEY = { cloud_access_key: { cloud_access_key_id: 'reader', cloud_secret_access_key: 'sesame' } };

let server: KinesisServer;
let proxy: FaultProxy;
let client: KinesisClient;
const running: Reading[] = [];
let streams = 0;

beforeAll(async () => {
  server = await startKinesis();
  proxy = await startFaultProxy(() => server.port);
  client = new KinesisClient(awsClientConfig({ ...KEY, endpoint: `http://127.0.0.1:${server.port}` }, null));
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

async function newStream(shards = 1): Promise<string> {
  const StreamName = `orders-${++streams}`;
  await client.send(new CreateStreamCommand({ StreamName, ShardCount: shards }));
  await delay(150);
  return StreamName;
}

/** Records with the numbers from `from` on, `n`, as JSON. */
async function put(
  StreamName: string,
  from: number,
  count: number,
  record = (n: number): unknown => ({ n }),
  to = client,
) {
  for (let at = from; at < from + count; at += 250) {
    const Records = Array.from({ length: Math.min(250, from + count - at) }, (_, index) => {
      const made = record(at + index);
      return {
        PartitionKey: `key ${at + index}`,
        Data: Buffer.from(typeof made === 'string' ? made : JSON.stringify(made)),
      };
    });
    const { FailedRecordCount } = await to.send(new PutRecordsCommand({ StreamName, Records }));
    expect(FailedRecordCount).toBe(0);
  }
}

const options = (stream: string, settings: JsonObject = {}, more: Partial<SourceOptions> = {}) =>
  optionsOf({ ...KEY, endpoint: `http://127.0.0.1:${proxy.port}` }, { stream_name: stream, ...settings }, more);

function read(given: SourceOptions, more?: { stored?: readonly SourceBatch[]; storeMs?: number }): Reading {
  const reading = startReading(kinesis, given, more);
  running.push(reading);
  return reading;
}

/** Each number once, whatever the ids are. */
function numbersOf({ documents }: Reading): number[] {
  return [...documents.values()].map(({ n }) => Number(n)).sort((a, b) => a - b);
}

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);

async function problemOf(given: SourceOptions): Promise<SourceError> {
  const failed = async () => {
    const reader = await kinesis.openSource(given);
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

test('a stream that is there is let in, and one that is not, or settings that cannot be meant, are named', async () => {
  const stream = await newStream();
  const reader = await kinesis.openSource(options(stream));
  await reader.check(AbortSignal.timeout(20_000));
  const stopping = new AbortController();
  const batches = reader.read(undefined, stopping.signal)[Symbol.asyncIterator]();
  expect(await batches.next()).toMatchObject({ value: { changes: [] } });
  stopping.abort(new Error('enough'));
  await expect(batches.next()).rejects.toThrow('enough');
  await reader.close();
  expect(await problemOf(options('nobody'))).toMatchObject({ fault: 'settings', message: /no stream nobody/ });
  for (const [settings, what] of [
    [{ stream_name: 'a/b' }, /stream_name/],
    [{ offset_reset_policy: 'NEWEST' }, /EARLIEST or LATEST/],
    [{ dms_primary_key: [1] }, /dms_primary_key/],
    [{ cloud_region: 'evil.example/' }, /cloud_region/],
  ] as const)
    expect(await problemOf(options(stream, settings))).toMatchObject({
      fault: 'settings',
      message: expect.stringMatching(what),
    });
});

test('what the service answers of credentials, load and outages is told apart', async () => {
  const stream = await newStream();
  const body = (type: string, message = 'x') => JSON.stringify({ __type: type, message });
  proxy.answer(Number.POSITIVE_INFINITY, 400, body('UnrecognizedClientException', 'The security token is invalid.'));
  const denied = await problemOf(options(stream));
  expect(denied).toMatchObject({ fault: 'denied', message: expect.stringContaining(`the stream ${stream}`) });
  expect(denied.message).not.toContain('sesame');
  proxy.answer(Number.POSITIVE_INFINITY, 400, body('AccessDeniedException', 'not authorized to perform'));
  expect((await problemOf(options(stream))).message).toContain('kinesis:GetRecords');
  proxy.answer(Number.POSITIVE_INFINITY, 400, body('ProvisionedThroughputExceededException'));
  expect(await problemOf(options(stream))).toMatchObject({ fault: 'unreachable', message: /busy|limits/ });
  proxy.answer(Number.POSITIVE_INFINITY, 503);
  expect(await problemOf(options(stream))).toMatchObject({ fault: 'unreachable' });
  proxy.setDown(true);
  expect(await problemOf(options(stream))).toMatchObject({ fault: 'unreachable' });
});

test('records of all shards are read once, with ids of their own or of their place, then those that come', async () => {
  const stream = await newStream(3);
  await put(stream, 0, ITEMS);
  const reading = read(options(stream));
  await reading.until(() => reading.documents.size === ITEMS);
  const at = performance.now();
  await put(stream, ITEMS, 1);
  await reading.until(() => reading.documents.size === ITEMS + 1);
  expect(performance.now() - at).toBeLessThan(3_000);
  expect(numbersOf(reading)).toEqual(upTo(ITEMS + 1));
  const [id, document] = [...reading.documents][0] ?? [];
  expect(id).toMatch(/^shardId-\d{12}\/\d{20,}$/);
  expect(document).toMatchObject({ _event_time: expect.stringMatching(/^20\d\d-.*Z$/) });
  await reading.until(() => reading.batches.at(-1)?.progress.phase === 'changes');
  expect(reading.batches[0]?.progress.phase).toBe('scan');
  expect(largestBatch(reading.batches)).toBeLessThan(LARGEST_MAX);
  expect(reading.errors).toEqual([]);
  await put(stream, 0, 2, () => ({ _id: 'own', n: -1, big: 1 }));
  await put(stream, 0, 1, () => '{"_id":17,"big":12345678901234567890,"_event_time":"2020-01-01T00:00:00Z"}');
  await reading.until(() => reading.documents.has('17'));
  expect(reading.documents.get('own')).toMatchObject({ n: -1 });
  expect(reading.documents.get('17')).toEqual({ big: 12345678901234567890n, _event_time: '2020-01-01T00:00:00Z' });
});

test('reading goes on from each checkpoint without loss and without another document', async () => {
  const stream = await newStream(4);
  await put(stream, 0, 400);
  const first = read(options(stream));
  await first.until(() => first.documents.size === 400 && first.batches.at(-1)?.progress.phase === 'changes');
  await first.stop();
  const ids = new Set(first.documents.keys());
  expect(first.batches.length).toBeGreaterThan(3);
  expect(largestBatch(first.batches)).toBeLessThan(LARGEST_MAX);
  for (let count = 0; count <= first.batches.length; count++) {
    const again = read(options(stream), { stored: first.batches.slice(0, count) });
    await again.until(() => again.documents.size >= 400 && again.batches.length > count);
    await again.stop();
    expect(new Set(again.documents.keys())).toEqual(ids);
  }
});

test('from LATEST on, only what came since the collection was made is read, however late reading begins', async () => {
  const stream = await newStream(2);
  await put(stream, 0, 50);
  await delay(1_100);
  const createdMs = Date.now();
  await delay(100);
  await put(stream, 50, 50);
  const reading = read(options(stream, { offset_reset_policy: 'LATEST' }, { createdMs }));
  await reading.until(() => reading.documents.size >= 50);
  await put(stream, 100, 1);
  await reading.until(() => reading.documents.size >= 51);
  expect(numbersOf(reading)).toEqual(upTo(101).slice(50));
});

test('shards that are split and merged while they are read lose nothing, and a key is met in its order', async () => {
  const stream = await newStream(1);
  const record = (n: number) => ({ _id: `key ${n % 10}`, n });
  const reading = read(options(stream));
  const seen = new Map<string, number[]>();
  const shardsNow = async () =>
    ((await client.send(new ListShardsCommand({ StreamName: stream }))).Shards ?? []).filter(
      (one) => one.SequenceNumberRange?.EndingSequenceNumber === undefined,
    );
  let n = 0;
  const more = async () => {
    // One partition key for each `_id`, as the order of a key is that of its shard.
    const Records = Array.from({ length: 50 }, () => {
      const made = record(n++);
      return { PartitionKey: made._id, Data: Buffer.from(JSON.stringify(made)) };
    });
    await client.send(new PutRecordsCommand({ StreamName: stream, Records }));
  };
  for (let round = 0; round < 3; round++) {
    await more();
    const [shard] = await shardsNow();
    const { StartingHashKey = '0', EndingHashKey = '0' } = shard?.HashKeyRange ?? {};
    const NewStartingHashKey = String((BigInt(StartingHashKey) + BigInt(EndingHashKey)) / 2n);
    await client.send(new SplitShardCommand({ StreamName: stream, ShardToSplit: shard?.ShardId, NewStartingHashKey }));
    await delay(200);
    await more();
    const [a, b] = await shardsNow();
    await client.send(
      new MergeShardsCommand({ StreamName: stream, ShardToMerge: a?.ShardId, AdjacentShardToMerge: b?.ShardId }),
    );
    await delay(200);
  }
  await more();
  const count = () => reading.batches.reduce((sum, { changes }) => sum + changes.length, 0);
  await reading.until(() => count() >= n, 60_000);
  expect(count()).toBe(n);
  const late = read(options(stream));
  const lateCount = () => late.batches.reduce((sum, { changes }) => sum + changes.length, 0);
  await late.until(() => lateCount() >= n, 60_000);
  for (const { batches } of [reading, late]) {
    seen.clear();
    for (const { changes } of batches)
      for (const { id, document } of changes) seen.set(id, [...(seen.get(id) ?? []), Number(document?.['n'])]);
    for (const numbers of seen.values()) expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
  }
  expect(late.batches.at(-1)?.checkpoint['shards']).toBeDefined();
});

test('cuts, delays, refused connections and throttling end nothing and lose nothing', async () => {
  const stream = await newStream(2);
  await put(stream, 0, 500);
  const reading = read(options(stream), { storeMs: 5 });
  await reading.until(() => reading.documents.size >= 500);
  let n = 500;
  const more = async () => {
    await put(stream, n, 100);
    n += 100;
  };
  for (const fault of [
    async () => proxy.cut(),
    async () => {
      proxy.setDown(true);
      await delay(1_500);
      proxy.setDown(false);
    },
    async () => {
      proxy.setDelay(150);
      await delay(1_000);
      proxy.setDelay(0);
    },
    async () => {
      proxy.answer(Number.POSITIVE_INFINITY, 400, '{"__type":"ProvisionedThroughputExceededException"}');
      proxy.cut();
      await delay(2_000);
      proxy.answer(0, 200);
    },
  ]) {
    await more();
    await fault();
    await more();
    await reading.until(() => reading.documents.size >= n, 60_000);
  }
  expect(numbersOf(reading)).toEqual(upTo(n));
  expect(new Set(reading.errors.map(({ fault }) => fault))).toEqual(new Set(['unreachable']));
});

test('a restart of the service is gone through without loss', async () => {
  const other = await startKinesis();
  const endpoint = `http://127.0.0.1:${other.port}`;
  const own = new KinesisClient(awsClientConfig({ ...KEY, endpoint }, null));
  try {
    await own.send(new CreateStreamCommand({ StreamName: 'kept', ShardCount: 1 }));
    await delay(200);
    await put('kept', 0, 50, undefined, own);
    const reading = read(optionsOf({ ...KEY, endpoint }, { stream_name: 'kept' }));
    await reading.until(() => reading.documents.size === 50);
    // It writes down what it keeps every second.
    await delay(2_500);
    await other.restart();
    await put('kept', 50, 50, undefined, own);
    await reading.until(() => reading.documents.size === 100);
    expect(numbersOf(reading)).toEqual(upTo(100));
    await reading.stop();
  } finally {
    own.destroy();
    await other.stop();
  }
});

test('an iterator that has expired meanwhile is made anew from where reading is', async () => {
  const stream = await newStream();
  await put(stream, 0, 10);
  const reading = read(options(stream));
  await reading.until(() => reading.documents.size === 10);
  await server.forward(6 * 60_000);
  await put(stream, 10, 10);
  await reading.until(() => reading.documents.size === 20);
  expect(numbersOf(reading)).toEqual(upTo(20));
  expect(reading.errors).toEqual([]);
});

test('records that are no JSON objects are refused with their text and stop nothing', async () => {
  const stream = await newStream();
  const texts = ['{"n":0}', 'nonsense', '[1]', '{"n":', '{"_id":{}}', '{"n":1}'];
  await put(stream, 0, texts.length, (n) => texts[n]);
  const packed = Buffer.concat([Buffer.from([0xf3, 0x89, 0x9a, 0xc2]), Buffer.from('packed')]);
  await client.send(
    new PutRecordsCommand({
      StreamName: stream,
      Records: [
        { PartitionKey: 'a', Data: packed },
        { PartitionKey: 'a', Data: Buffer.from([0xff, 0xfe]) },
      ],
    }),
  );
  const reading = read(options(stream));
  await reading.until(() => reading.refused.length === 6);
  expect(numbersOf(reading)).toEqual([0, 1]);
  expect(reading.refused[0]).toMatchObject({ item: expect.stringMatching(`^${stream}/shardId-`), text: 'nonsense' });
  // What is found only when a batch is stored comes last.
  expect(reading.refused.map(({ reason }) => reason)).toEqual([
    expect.stringContaining('is no JSON'),
    expect.stringContaining('is no JSON object'),
    expect.stringContaining('_id'),
    expect.stringContaining('Kinesis Producer Library'),
    expect.stringContaining('UTF-8'),
    expect.stringContaining('does not end'),
  ]);
});

test('records of the Database Migration Service become rows by their key, and its deletes delete', async () => {
  const stream = await newStream();
  const migrated = (operation: string, data: object, more: object = {}) => ({
    data,
    metadata: { 'record-type': 'data', operation, 'table-name': 't' },
    ...more,
  });
  const records = [
    { metadata: { 'record-type': 'control', operation: 'create-table' } },
    migrated('load', { shop: 'a/b', nr: 1, v: 'old' }),
    migrated('update', { shop: 'a/b', nr: 1, v: 'new' }),
    migrated('insert', { shop: 'c', nr: 2 }),
    migrated('delete', { shop: 'c', nr: 2 }),
    migrated('update', { shop: 'd', nr: 4 }, { 'before-image': { nr: 3 } }),
    migrated('insert', { shop: 'no number' }),
    { n: 1 },
  ];
  await put(stream, 0, records.length, (n) => records[n]);
  const reading = read(options(stream, { dms_primary_key: ['shop', 'nr'] }));
  await reading.until(() => reading.refused.length === 2);
  expect([...reading.documents.keys()]).toEqual(['a%2Fb/1', 'd/4']);
  expect(reading.documents.get('a%2Fb/1')).toMatchObject({ shop: 'a/b', nr: 1, v: 'new' });
  const deleted = reading.batches.flatMap(({ changes }) => changes).filter(({ document }) => document === null);
  expect(deleted.map(({ id }) => id)).toEqual(['c/2', 'd/3']);
});

test('a stream that was made anew, or that has dropped what was not read yet, is lost and not passed over', async () => {
  const stream = await newStream();
  await put(stream, 0, 10);
  const first = read(options(stream));
  await first.until(() => first.documents.size === 10 && first.batches.at(-1)?.progress.phase === 'changes');
  await first.stop();

  // kinesis-mock never drops a record; Kinesis does, and then begins with the oldest that it has, whatever is asked for.
  let oldest: Date | undefined;
  const dropping = await startAwsForwarder(server.port, (_, { StartingSequenceNumber: place, ...rest }) =>
    oldest === undefined || place === undefined
      ? { StartingSequenceNumber: place, ...rest }
      : { ...rest, ShardIteratorType: 'AT_TIMESTAMP', Timestamp: oldest.getTime() / 1_000 },
  );
  const later = (ms: number): SourceBatch[] =>
    first.batches.map((batch) => ({
      ...batch,
      checkpoint: JSON.parse(JSON.stringify(batch.checkpoint), (key, value) => (key === 'seen' ? value - ms : value)),
    }));
  const viaDropping = { ...options(stream), connection: { ...KEY, endpoint: `http://127.0.0.1:${dropping.port}` } };
  const isOld = 25 * 3_600_000;
  // The place is old, but its record is still there.
  const still = read(viaDropping, { stored: later(isOld) });
  await put(stream, 10, 5);
  await still.until(() => still.documents.size === 15);
  await still.stop();
  await delay(1_100);
  oldest = new Date();
  await delay(100);
  await put(stream, 15, 5);
  expect(await read(viaDropping, { stored: later(isOld) }).end()).toMatchObject({
    fault: 'lost',
    message: expect.stringContaining(`the stream ${stream}`),
  });
  await dropping.close();

  await client.send(new DeleteStreamCommand({ StreamName: stream }));
  await delay(1_200);
  await client.send(new CreateStreamCommand({ StreamName: stream, ShardCount: 1 }));
  await delay(150);
  expect(await read(options(stream), { stored: first.batches }).end()).toMatchObject({
    fault: 'lost',
    message: /made anew/,
  });
});
