import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/contract/json/json.ts';
import { checked, connectWriter, createPlayer } from './kafka-player.ts';
import { type KafkaServer, startKafka, USERS } from './servers/kafka.ts';
import { freePort } from './servers/server.ts';

const TOPIC = { kafka_topic_name: 'events' };
const ALLOW = 3;
const READ = 3;
const DESCRIBE = 8;
const OF_TOPICS = 2;
const LITERAL = 3;

let kafka: KafkaServer;
let writer: Awaited<ReturnType<typeof connectWriter>>;
let closed: number;

beforeAll(async () => {
  closed = await freePort();
  kafka = await startKafka(closed);
  writer = await connectWriter(kafka.ports.plain);
  await writer.create('events');
  await writer.create('hidden');
  await writer.write('events', [{ value: '{"n":1}' }]);
  const users = Object.values(USERS).map(({ api_key: user }) => user);
  await writer.admin.createAcls({
    acl: users.flatMap((user) =>
      [READ, DESCRIBE].map((operation) => ({
        resourceType: OF_TOPICS,
        resourceName: 'events',
        resourcePatternType: LITERAL,
        principal: `User:${user}`,
        host: '*',
        operation,
        permissionType: ALLOW,
      })),
    ),
  });
});

afterAll(async () => {
  await writer?.close();
  await kafka?.remove();
});

const at = (port: number, more: JsonObject = {}): JsonObject => ({ bootstrap_servers: `127.0.0.1:${port}`, ...more });
const bySasl = (more: JsonObject = {}) => at(kafka.ports.sasl, { security_config: USERS.plain, tls: false, ...more });

describe('the settings of a topic', () => {
  it.each<[string, () => JsonObject]>([
    ['without anything', () => at(kafka.ports.plain)],
    [
      'with one broker of several that does not answer',
      () => ({ bootstrap_servers: `127.0.0.1:${closed}, localhost:${kafka.ports.plain}` }),
    ],
    ['with PLAIN', () => bySasl()],
    ['with SCRAM-SHA-256', () => bySasl({ security_config: USERS.scram, sasl_mechanism: 'SCRAM-SHA-256' })],
    ['with SCRAM-SHA-512', () => bySasl({ security_config: USERS.scram, sasl_mechanism: 'scram-sha-512' })],
    ["with TLS, which a certificate of one's own asks for", () => at(kafka.ports.tls, { ca_certificate: kafka.ca })],
    [
      'with SASL and TLS, which a password asks for',
      () => at(kafka.ports.saslTls, { security_config: USERS.plain, ca_certificate: kafka.ca }),
    ],
  ])('are good %s, and it is read', async (_, connection) => {
    expect(await checked(connection(), TOPIC)).toBeUndefined();
    const one = createPlayer(connection(), TOPIC);
    await one.readUntil(() => one.documents.size === 1);
    expect(one.documents.get('events/0/0')).toMatchObject({ n: 1 });
  });

  it.each<[string, () => JsonObject, JsonObject, RegExp]>([
    [
      'no topic of the name',
      () => at(kafka.ports.plain),
      { kafka_topic_name: 'nope' },
      /^settings: There is no topic "nope"/,
    ],
    [
      'a topic that the integration does not name',
      () => at(kafka.ports.plain, { kafka_topic_names: ['other'] }),
      TOPIC,
      /^settings: The integration does not name the topic "events"/,
    ],
    [
      'a name that cannot be one',
      () => at(kafka.ports.plain),
      { kafka_topic_name: 'a b' },
      /^settings: "a b" cannot be the name/,
    ],
    ['no brokers', () => ({}), TOPIC, /^settings: The integration has no "bootstrap_servers"/],
    [
      'brokers that are none',
      () => ({ bootstrap_servers: 'http://a:1' }),
      TOPIC,
      /^settings: "bootstrap_servers" has "http:\/\/a:1"/,
    ],
    [
      'nobody who answers',
      () => at(closed),
      TOPIC,
      /^unreachable: A broker of 127\.0\.0\.1:\d+ does not answer: ECONNREFUSED/,
    ],
    [
      'a host that is not there',
      () => ({ bootstrap_servers: 'kafka.invalid' }),
      TOPIC,
      /^unreachable: A broker of kafka\.invalid:9092 .*(?:ENOTFOUND|EAI_AGAIN)/,
    ],
    [
      'another password',
      () => bySasl({ security_config: { api_key: 'alice', secret: 'hush-hush' } }),
      TOPIC,
      /^denied: The brokers refuse this user and password/,
    ],
    [
      'another password with SCRAM',
      () => bySasl({ security_config: { api_key: 'bob', secret: 'hush-hush' }, sasl_mechanism: 'scram-sha-256' }),
      TOPIC,
      /^denied: The brokers refuse this user and password/,
    ],
    [
      'a user without the password',
      () => bySasl({ security_config: { api_key: 'alice' } }),
      TOPIC,
      /^settings: "security_config" needs both/,
    ],
    [
      'a topic that the user may not read',
      () => bySasl(),
      { kafka_topic_name: 'hidden' },
      /^denied: The user may not read the topic "hidden"/,
    ],
    [
      'a certificate that nobody knows',
      () => at(kafka.ports.tls, { tls: true }),
      TOPIC,
      /^settings: The certificate of a broker of .* is not trusted/,
    ],
    [
      'TLS that the broker does not speak',
      () => at(kafka.ports.plain, { tls: true }),
      TOPIC,
      /^unreachable: A broker of .* perhaps it does not speak TLS/,
    ],
    ['a broker that needs TLS', () => at(kafka.ports.tls), TOPIC, /^unreachable: A broker of .* perhaps it needs TLS/],
    ['no password where one is needed', () => at(kafka.ports.sasl), TOPIC, /^unreachable: A broker of .* needs a user/],
    [
      'a policy that is none',
      () => at(kafka.ports.plain),
      { ...TOPIC, offset_reset_policy: 'NEVER' },
      /^settings: "offset_reset_policy" is "NEVER"/,
    ],
    [
      'Avro without a registry',
      () => at(kafka.ports.plain, { kafka_data_format: 'avro' }),
      TOPIC,
      /^settings: Messages in Avro need/,
    ],
  ])('are refused for %s', async (_, connection, settings, expected) => {
    const message = await checked(connection(), settings);
    expect(message).toMatch(expected);
    expect(message).not.toContain('hush-hush');
  });
});
