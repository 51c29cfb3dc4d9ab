import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/contract/json/json.ts';
import { openSource } from '../../src/service/sources/kafka.ts';
import { BYTES_MAX, bytesOf, connectWriter, createPlayer, optionsFor } from './kafka-player.ts';
import { type FaultProxy, startFaultProxy } from './servers/fault-proxy.ts';
import { type KafkaServer, startKafka } from './servers/kafka.ts';

const ITEMS = Number(process.env['SOURCES_ITEMS'] ?? 6_000);

let kafka: KafkaServer;
let proxy: FaultProxy;
let writer: Awaited<ReturnType<typeof connectWriter>>;

beforeAll(async () => {
  proxy = await startFaultProxy(() => kafka.ports.proxied);
  kafka = await startKafka(proxy.port);
  writer = await connectWriter(kafka.ports.plain);
});

afterAll(async () => {
  await writer?.close();
  await kafka?.remove();
  await proxy?.close();
});

const connection = (port = kafka.ports.plain): JsonObject => ({ bootstrap_servers: `127.0.0.1:${port}` });
const player = (topic: string, settings: JsonObject = {}) =>
  createPlayer(connection(), { kafka_topic_name: topic, ...settings });
const orders = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => ({ value: JSON.stringify({ n: from + index, who: `w${index % 7}` }) }));
const numbers = (documents: Map<string, JsonObject>) =>
  [...documents.values()].map(({ n }) => Number(n)).sort((a, b) => a - b);
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

describe('a topic', () => {
  it('is read from its first message on, and then what comes, with ids of the place and the time of the message', async () => {
    await writer.create('orders', 3);
    await writer.write('orders', orders(ITEMS));
    const one = player('orders');
    await one.readUntil(() => one.documents.size === ITEMS);
    expect(numbers(one.documents)).toEqual(upTo(ITEMS));
    expect(one.refused).toEqual([]);
    const [first] = one.batches;
    expect(first).toMatchObject({
      changes: [],
      progress: { phase: 'scan', scanned: 0, scanTotal: ITEMS, behind: ITEMS },
    });
    expect(one.last?.progress).toMatchObject({ phase: 'changes', scanned: ITEMS, scanTotal: ITEMS, behind: 0 });
    expect([...one.documents.keys()].every((id) => /^orders\/[012]\/\d+$/.test(id))).toBe(true);
    const document = one.documents.get('orders/0/0');
    expect(Math.abs(Date.parse(String(document?.['_event_time'])) - Date.now())).toBeLessThan(120_000);
    expect(one.last?.progress.itemTimeMs).toBeGreaterThan(Date.now() - 120_000);

    const reading = one.readUntil(() => one.documents.size === ITEMS + 300);
    await writer.write('orders', orders(200, ITEMS));
    // A partition that is added while it is read.
    await writer.admin.createPartitions({ topicPartitions: [{ topic: 'orders', count: 4 }] });
    await expect
      .poll(async () => (await writer.admin.fetchTopicMetadata({ topics: ['orders'] })).topics[0]?.partitions.length)
      .toBe(4);
    const added = orders(100, ITEMS + 200).map((message) => ({ ...message, partition: 3 }));
    // The other one does not know the partition yet, and would leave the messages out.
    const second = await connectWriter(kafka.ports.plain);
    await second.write('orders', added);
    await second.close();
    await reading;
    expect(numbers(one.documents)).toEqual(upTo(ITEMS + 300));
    expect(one.documents.has('orders/3/0')).toBe(true);
  });

  it('goes on from each checkpoint without loss or double', async () => {
    const whole = player('orders');
    await whole.readUntil(() => whole.documents.size === ITEMS + 300);
    expect(whole.batches.length).toBeGreaterThan(2);
    for (const cut of upTo(whole.batches.length)) {
      const one = player('orders');
      for (const batch of whole.batches.slice(0, cut)) one.apply(batch);
      // The batch behind the checkpoint was perhaps stored before a kill, and is repeated.
      await one.readUntil(() => one.documents.size === ITEMS + 300);
      expect(one.documents).toEqual(whole.documents);
      const ids = one.batches.flatMap(({ changes }) => changes.map(({ id }) => id));
      expect(new Set(ids).size).toBe(ids.length);
    }
  });

  it('is read from where it ends with LATEST, also when nothing was written between the first read and the second', async () => {
    const one = player('orders', { offset_reset_policy: 'LATEST' });
    await one.readUntil(() => one.batches.length === 1);
    expect(one.last?.progress).toMatchObject({ phase: 'changes', behind: 0 });
    await writer.write('orders', [{ value: '{"n":-1}', partition: 1 }]);
    await one.readUntil(() => one.documents.size === 1);
    expect([...one.documents.values()]).toMatchObject([{ n: -1 }]);
  });

  it('keeps ids of the values, numbers exactly, and shows what is no document', async () => {
    await writer.create('mixed');
    await writer.write('mixed', [
      { value: '{"_id":"own","big":12345678901234567890,"deep":{"a":[9007199254740993]}}' },
      { value: 'no JSON', key: 'a' },
      { value: '[1]' },
      { value: '' },
      { value: Buffer.from([0x7b, 0xff, 0x7d]) },
      { value: '{"_id":7}' },
      { value: null },
      { value: '{"_event_time":"2020-01-01T00:00:00Z"}', timestamp: '1500000000000' },
      { value: '{"late":true}', timestamp: '1500000000123' },
      { value: '{"_id":"gone"}' },
      { value: null, key: 'gone' },
    ]);
    const one = player('mixed');
    await one.readUntil(() => one.last?.progress.behind === 0 && one.batches.length > 1);
    expect(Object.fromEntries(one.documents)).toEqual({
      own: {
        big: 12345678901234567890n,
        deep: { a: [9007199254740993n] },
        _event_time: expect.stringMatching(/^20\d\d-/),
      },
      'mixed/0/7': { _event_time: '2020-01-01T00:00:00Z' },
      'mixed/0/8': { late: true, _event_time: '2017-07-14T02:40:00.123Z' },
    });
    expect(one.refused.map(({ item, reason }) => `${item} ${reason}`)).toEqual([
      expect.stringMatching(/^mixed\/0\/1 is no JSON: /),
      'mixed/0/2 is no JSON object',
      expect.stringMatching(/^mixed\/0\/3 is no JSON: /),
      'mixed/0/4 is not text in UTF-8',
      expect.stringMatching(/^mixed\/0\/5 has an "_id" that is none: "_id" must be a string/),
      'mixed/0/6 has neither a value nor a key',
    ]);
    expect(one.refused[0]?.text).toBe('no JSON');
  });

  it('that is compacted has its keys as ids, and loses the documents of its tombstones', async () => {
    const quick = { 'min.cleanable.dirty.ratio': '0.01', 'segment.ms': '100', 'delete.retention.ms': '600000' };
    await writer.create('users', 1, { 'cleanup.policy': 'compact', ...quick });
    const binary = Buffer.from([0, 0, 0, 5]);
    for (const round of upTo(5)) await writer.write('users', [{ key: 'anna', value: `{"round":${round}}` }]);
    await writer.write(
      'users',
      [
        { key: 'ben', value: '{"round":0}' },
        { key: binary, value: '{"round":1}' },
        { key: 'cleo', value: '{"_id":"own","round":2}' },
        { value: '{"round":3}' },
      ].filter(({ key }) => key !== undefined),
    );
    const one = player('users');
    await one.readUntil(() => one.documents.size === 4);
    expect(Object.keys(Object.fromEntries(one.documents)).sort()).toEqual(['00000005', 'anna', 'ben', 'own']);
    expect(one.documents.get('anna')).toMatchObject({ round: 4 });
    await writer.write('users', [
      { key: 'ben', value: null },
      { key: binary, value: null },
    ]);
    await one.readUntil(() => one.documents.size === 2);
    // What was compacted away leaves holes, also at the end of a batch.
    await expect
      .poll(
        async () => {
          await writer.write('users', [{ key: 'zoe', value: '{}' }]);
          const anew = player('users');
          await anew.readUntil(() => anew.last?.progress.behind === 0 && anew.batches.length > 1);
          expect(anew.documents.get('anna')).toMatchObject({ round: 4 });
          expect(anew.documents.has('ben')).toBe(false);
          return anew.batches.flatMap(({ changes }) => changes).filter(({ id }) => id === 'anna').length;
        },
        { timeout: 30_000, interval: 500 },
      )
      .toBe(1);
  });

  it('shows messages of a transaction once it is committed, and never those of one that was aborted', async () => {
    await writer.create('payments');
    const options = { transactionalId: 'pay', maxInFlightRequests: 1, idempotent: true };
    const producer = writer.kafka.producer(options);
    await producer.connect();
    const send = async (value: string) => {
      const transaction = await producer.transaction();
      // A key like that of the mark of an abort.
      await transaction.send({ topic: 'payments', messages: [{ key: Buffer.alloc(4), value }] });
      return transaction;
    };
    await (await send('{"n":1}')).commit();
    await (await send('{"n":2}')).abort();
    await (await send('{"n":3}')).commit();
    await (await send('{"n":4}')).abort();
    const open = await send('{"n":5}');
    await writer.write('payments', [{ value: '{"n":6}' }]);
    const one = player('payments');
    await one.readUntil(() => one.last?.progress.behind === 0 && one.batches.length > 1);
    expect(numbers(one.documents)).toEqual([1, 3]);
    await open.commit();
    await one.readUntil(() => one.documents.size === 4);
    expect(numbers(one.documents)).toEqual([1, 3, 5, 6]);
    // Only marks and what was aborted: the checkpoint moves without a document.
    const before = one.batches.length;
    await (await send('{"n":7}')).abort();
    await one.readUntil(() => one.batches.length > before && one.last?.progress.behind === 0);
    expect(one.last?.changes).toEqual([]);
    expect(numbers(one.documents)).toEqual([1, 3, 5, 6]);
    await producer.disconnect();
  });

  it.each(['gzip', 'snappy', 'lz4', 'zstd'])('compressed with %s is read', async (codec) => {
    const topic = `packed-${codec}`;
    await writer.create(topic, 1, { 'compression.type': codec, 'message.timestamp.type': 'LogAppendTime' });
    const messages = upTo(1_500).map((n) => ({ value: JSON.stringify({ n, text: `${n} `.repeat(n % 300) }) }));
    await writer.write(topic, messages);
    await writer.write(topic, [{ value: '{"n":1500}', timestamp: '1500000000000' }]);
    const one = player(topic);
    await one.readUntil(() => one.documents.size === 1_501);
    expect(one.refused).toEqual([]);
    // The broker's time, as the topic is set up.
    expect(String(one.documents.get(`${topic}/0/1500`)?.['_event_time']).slice(0, 2)).toBe('20');
    expect(String(one.documents.get(`${topic}/0/1500`)?.['_event_time']).slice(0, 4)).not.toBe('2017');
    for (const [index, { value }] of messages.entries()) {
      expect(one.documents.get(`${topic}/0/${index}`)).toMatchObject(JSON.parse(value));
    }
  });

  it('of large messages comes in bounded batches', async () => {
    await writer.create('large', 2);
    const text = 'x'.repeat(700_000);
    for (const n of upTo(40)) await writer.write('large', [{ value: JSON.stringify({ n, text }) }]);
    const one = player('large');
    await one.readUntil(() => one.documents.size === 40);
    for (const batch of one.batches) expect(bytesOf(batch)).toBeLessThan(BYTES_MAX + 800_000);
  });
});

describe('a position that is gone', () => {
  it('because messages were removed is an error, before and while it is read', async () => {
    await writer.create('short', 2);
    await writer.write(
      'short',
      orders(100).map((message, index) => ({ ...message, partition: index % 2 })),
    );
    const one = player('short');
    await one.readUntil(() => one.documents.size === 100);
    const stopped = one.checkpoint;
    // kafkajs deletes only in topics that it was asked for before.
    await writer.admin.fetchTopicOffsets('short');
    await writer.admin.deleteTopicRecords({ topic: 'short', partitions: [{ partition: 0, offset: '50' }] });
    // All that was removed had been read.
    await writer.write('short', [{ value: '{"n":100}', partition: 0 }]);
    await one.readUntil(() => one.documents.size === 101);
    one.checkpoint = { ...stopped, next: [10, 50] };
    await expect(one.readUntil(() => false)).rejects.toMatchObject({
      fault: 'lost',
      message: expect.stringContaining('Partition 0 of the topic "short" begins at offset 50 now, and 10 is next'),
    });
    one.checkpoint = { ...stopped, next: [51, 90] };
    await expect(one.readUntil(() => false)).rejects.toMatchObject({
      fault: 'lost',
      message: expect.stringContaining('Partition 1 of the topic "short" ends at offset 50 now, and 90 is next'),
    });
  });

  it('because the topic was made anew is an error, even if it has as many messages', async () => {
    await writer.create('again');
    await writer.write('again', orders(10));
    const one = player('again');
    await one.readUntil(() => one.documents.size === 10);
    await writer.admin.deleteTopics({ topics: ['again'] });
    await expect
      .poll(() => one.readUntil(() => false).catch((error: unknown) => String(error)), { timeout: 20_000 })
      .toMatch('There is no topic "again"');
    await writer.create('again');
    await writer.write('again', orders(20));
    await expect(one.readUntil(() => false)).rejects.toMatchObject({
      fault: 'lost',
      message: expect.stringContaining('The topic "again" was deleted and made anew'),
    });
  });
});

describe('a connection', () => {
  it('that is cut, refused or slow loses nothing and doubles nothing', async () => {
    await writer.create('shaky', 2);
    const text = 'y'.repeat(500);
    await writer.write(
      'shaky',
      upTo(ITEMS).map((n) => ({ value: JSON.stringify({ n, text }) })),
    );
    const one = createPlayer(connection(proxy.port), { kafka_topic_name: 'shaky' });
    proxy.setDelay(20);
    const cutting = setInterval(() => proxy.cut(), 400);
    const down = setTimeout(() => proxy.setDown(true), 1_000);
    const up = setTimeout(() => proxy.setDown(false), 2_500);
    try {
      await one.readUntil(() => one.failures.length > 3, { retries: true });
      clearInterval(cutting);
      await one.readUntil(() => one.documents.size === ITEMS, { retries: true });
    } finally {
      for (const timer of [cutting, down, up]) clearTimeout(timer);
      proxy.setDelay(0);
      proxy.setDown(false);
    }
    expect(numbers(one.documents)).toEqual(upTo(ITEMS));
    const ids = one.batches.flatMap(({ changes }) => changes.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
    for (const message of one.failures) expect(message).toMatch(/^A broker of 127\.0\.0\.1:\d+ does not answer: /);
  });

  it('to a broker that throttles goes on as fast as it may', async () => {
    await kafka.throttle('slow', 2_000_000);
    const one = createPlayer(connection(), { kafka_topic_name: 'large', client_id: 'slow' });
    const startedAt = performance.now();
    // Quotas are of the average of some seconds.
    await one.readUntil(() => one.documents.size === 40);
    expect(performance.now() - startedAt).toBeGreaterThan(2_000);
    expect(one.failures).toEqual([]);
  });

  it('ends at once when it is told to, also while it waits', async () => {
    const reader = await openSource(
      optionsFor(connection(), { kafka_topic_name: 'mixed', offset_reset_policy: 'LATEST' }),
    );
    const stopping = new AbortController();
    const batches = reader.read(undefined, stopping.signal)[Symbol.asyncIterator]();
    await batches.next();
    const next = batches.next();
    setTimeout(() => stopping.abort(new Error('enough')), 100);
    const startedAt = performance.now();
    await expect(next).rejects.toThrow('enough');
    expect(performance.now() - startedAt).toBeLessThan(300);
    await reader.close();
  });

  it('outlives a restart of the broker, and a kill', async () => {
    await writer.create('kept');
    await writer.write('kept', orders(500));
    const one = player('kept');
    const reading = one.readUntil(() => one.documents.size === 1_500, { retries: true });
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await expect.poll(() => one.documents.size, { timeout: 30_000 }).toBeGreaterThanOrEqual(500);
      await kafka.stop(signal);
      await kafka.start();
      await writer.write('kept', orders(500, signal === 'SIGTERM' ? 500 : 1_000));
    }
    await reading;
    expect(numbers(one.documents)).toEqual(upTo(1_500));
    expect(one.failures.length).toBeGreaterThan(0);
  });
});
