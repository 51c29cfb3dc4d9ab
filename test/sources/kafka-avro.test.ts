import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/contract/json/json.ts';
import { checked, connectWriter, createPlayer } from './kafka-player.ts';
import { type FaultProxy, startFaultProxy } from './servers/fault-proxy.ts';
import { type KafkaServer, startKafka } from './servers/kafka.ts';
import { type RegistryServer, startSchemaRegistry } from './servers/schema-registry.ts';
import { freePort } from './servers/server.ts';

let kafka: KafkaServer;
let registry: RegistryServer;
let writer: Awaited<ReturnType<typeof connectWriter>>;
let proxy: FaultProxy;

beforeAll(async () => {
  [kafka, registry] = await Promise.all([startKafka(await freePort()), startSchemaRegistry()]);
  writer = await connectWriter(kafka.ports.plain);
  proxy = await startFaultProxy(() => registry.port);
});

afterAll(async () => {
  await writer?.close();
  await proxy?.close();
  await registry?.remove();
  await kafka?.remove();
});

const connection = (more: JsonObject = {}): JsonObject => ({
  bootstrap_servers: `127.0.0.1:${kafka.ports.plain}`,
  kafka_data_format: 'avro',
  schema_registry_config: { url: registry.url, ...more },
});

/** Avro's integers, and what is behind its length. */
function long(value: bigint | number): Buffer {
  const bytes: number[] = [];
  for (let left = BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n)); ; left >>= 7n) {
    if (left < 128n) return Buffer.from([...bytes, Number(left)]);
    bytes.push(Number(left & 127n) | 128);
  }
}
const sized = (bytes: Buffer | string) => Buffer.concat([long(Buffer.byteLength(bytes)), Buffer.from(bytes)]);
const framed = (id: number, ...parts: Buffer[]) => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(id, 1);
  return Buffer.concat([head, ...parts]);
};

const ORDER = {
  type: 'record',
  name: 'Order',
  fields: [
    { name: 'n', type: 'long' },
    { name: 'at', type: ['null', { type: 'long', logicalType: 'timestamp-micros' }] },
    { name: 'price', type: { type: 'bytes', logicalType: 'decimal', precision: 20, scale: 2 } },
    { name: 'raw', type: 'bytes' },
  ],
};
const order = (id: number, n: bigint, price = 1_050n) =>
  framed(
    id,
    long(n),
    long(1),
    long(1_700_000_000_123_456n),
    sized(Buffer.from(price.toString(16).padStart(16, '0'), 'hex')),
    sized(Buffer.from([1, 2])),
  );

describe('messages in Avro', () => {
  it('are read by the schema that each names, exactly and with the types that JSON has not', async () => {
    const first = await registry.add('orders-value', ORDER);
    const wide = [...ORDER.fields, { name: 'note', type: 'string', default: '' }];
    const second = await registry.add('orders-value', { ...ORDER, fields: wide });
    expect(second).not.toBe(first);
    await writer.create('orders');
    await writer.write('orders', [
      { value: order(first, 1n) },
      { value: Buffer.concat([order(second, 9_007_199_254_740_993n, 123_456_789_012_345_678n), sized('late')]) },
    ]);
    expect(await checked(connection(), { kafka_topic_name: 'orders' })).toBeUndefined();
    const one = createPlayer(connection(), { kafka_topic_name: 'orders' });
    await one.readUntil(() => one.documents.size === 2);
    const at = '2023-11-14T22:13:20.123456Z';
    expect(one.documents.get('orders/0/0')).toMatchObject({ n: 1, at, price: 10.5, raw: 'AQI=' });
    expect(one.documents.get('orders/0/1')).toMatchObject({
      n: 9_007_199_254_740_993n,
      price: '1234567890123456.78',
      note: 'late',
    });
    expect(one.declared.get('orders/0/0')).toEqual({ at: 'time', price: 'decimal 20 2', raw: 'binary' });
  });

  it('may use other schemas, and keys in Avro are those of a compacted topic', async () => {
    await registry.add('place', {
      type: 'record',
      name: 'Place',
      namespace: 'geo',
      fields: [{ name: 'city', type: 'string' }],
    });
    const references = [{ name: 'geo.Place', subject: 'place', version: 1 }];
    const fields = [{ name: 'home', type: 'geo.Place' }];
    const user = await registry.add('users-value', { type: 'record', name: 'User', fields }, references);
    const text = await registry.add('users-key', 'string');
    const record = await registry.add('pairs-key', {
      type: 'record',
      name: 'Pair',
      fields: [{ name: 'a', type: 'int' }],
    });
    await writer.create('users', 1, { 'cleanup.policy': 'compact' });
    const key = framed(text, sized('anna'));
    await writer.write('users', [
      { key, value: framed(user, sized('Bern')) },
      { key: framed(record, long(7)), value: framed(user, sized('Rome')) },
      { key: 'plain', value: framed(user, sized('Oslo')) },
    ]);
    const one = createPlayer(connection(), { kafka_topic_name: 'users' });
    await one.readUntil(() => one.documents.size === 3);
    expect(Object.fromEntries(one.documents)).toMatchObject({
      anna: { home: { city: 'Bern' } },
      '{"a":7}': { home: { city: 'Rome' } },
      plain: { home: { city: 'Oslo' } },
    });
    await writer.write('users', [{ key, value: null }]);
    await one.readUntil(() => one.documents.size === 2);
    expect(one.documents.has('anna')).toBe(false);
  });

  it('that do not fit, or whose schema is not there, are shown and stop nothing', async () => {
    const id = await registry.add('odd-value', ORDER);
    await writer.create('odd');
    await writer.write('odd', [
      { value: '{"n":1}' },
      { value: framed(987_654, long(1)) },
      { value: framed(id, long(1)) },
      { value: Buffer.concat([order(id, 2n), Buffer.from('x')]) },
      { value: order(id, 3n) },
    ]);
    const one = createPlayer(connection(), { kafka_topic_name: 'odd' });
    await one.readUntil(() => one.documents.size === 1);
    expect(one.refused.map(({ item, reason }) => `${item} ${reason}`)).toEqual([
      expect.stringMatching(/^odd\/0\/0 is no Avro of a schema registry/),
      'odd/0/1 has the schema 987654, which the registry does not know',
      expect.stringMatching(/^odd\/0\/2 does not fit its schema: /),
      'odd/0/3 has 1 bytes behind what its schema says',
    ]);
  });

  it('wait for a registry that fails, and then lose nothing', async () => {
    await writer.create('later');
    const id = await registry.add('later-value', ORDER);
    await writer.write('later', [{ value: order(id, 1n) }]);
    proxy.answer(2, 503);
    const url = registry.url.replace(String(registry.port), String(proxy.port));
    const one = createPlayer(connection({ url }), { kafka_topic_name: 'later' });
    await one.readUntil(() => one.documents.size === 1, { retries: true });
    expect(one.failures.join()).toContain('answers with the status 503');
    expect(one.refused).toEqual([]);
  });
});

describe('a registry', () => {
  it.each<[string, () => JsonObject, RegExp]>([
    ['is none', () => ({ url: `${registry.url}/nothing` }), /^settings: There is no schema registry at http/],
    [
      'does not answer',
      () => ({ url: 'http://127.0.0.1:1' }),
      /^unreachable: The schema registry http:.* does not answer: ECONN/,
    ],
    ['has no address', () => ({ url: 'registry' }), /^settings: "schema_registry_config.url" is no address/],
  ])('that %s is told', async (_, config, expected) => {
    expect(await checked(connection(config()), { kafka_topic_name: 'orders' })).toMatch(expected);
  });

  it('gets key and secret, and is told apart if it refuses them', async () => {
    const seen: (string | undefined)[] = [];
    const guard: Server = createServer((request, response) => {
      seen.push(request.headers.authorization);
      const isGood = request.headers.authorization === `Basic ${Buffer.from('key:hush-hush').toString('base64')}`;
      response.writeHead(isGood ? 200 : 401).end('["AVRO"]');
    });
    await new Promise<void>((resolve) => guard.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(guard.address() as AddressInfo).port}/`;
    const settings = { kafka_topic_name: 'orders' };
    expect(await checked(connection({ url, key: 'key', secret: 'hush-hush' }), settings)).toBeUndefined();
    const message = await checked(connection({ url, key: 'key', secret: 'hush' }), settings);
    expect(message).toMatch(/^denied: The schema registry http:.* refuses/);
    expect(message).not.toContain('hush');
    expect(seen).toHaveLength(2);
    await new Promise((resolve) => guard.close(resolve));
  });
});
