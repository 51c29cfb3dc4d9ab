import { isObject, type JsonObject, type JsonValue } from '../../contract/json/json.ts';
import { SourceError, type SourceOptions } from './source.ts';

export interface KafkaSettings {
  topic: string;
  /** `host:port` each. */
  brokers: string[];
  clientId: string;
  isAvro: boolean;
  /** Where to begin. */
  isLatest: boolean;
  sasl: { mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; username: string; password: string } | null;
  isTls: boolean;
  /** Certificates in PEM that are trusted instead of the usual ones. */
  ca: string | undefined;
  registry: RegistrySettings | undefined;
}

export interface RegistrySettings {
  url: URL;
  /** User and password, with a colon between them. */
  login: string | undefined;
  ca: string | undefined;
}

const PORT = 9092;
const CLIENT_ID = 'colloquy';
const MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512'] as const;
const BROKER = /^([A-Za-z0-9._-]{1,253})(?::(\d{1,5}))?$/;

/** Throws a `SourceError` that names the field. */
export function readKafkaSettings({ connection, settings }: SourceOptions): KafkaSettings {
  const topic = textOf(settings, 'kafka_topic_name') ?? refuse('The source has no "kafka_topic_name".');
  const { kafka_topic_names: topics } = connection;
  if (Array.isArray(topics) && !topics.includes(topic)) {
    refuse(`The integration does not name the topic "${topic}": "kafka_topic_names" has ${JSON.stringify(topics)}.`);
  }
  const isAvro = wordOf(connection, 'kafka_data_format', ['json', 'avro']) === 'avro';
  const sasl = saslOf(connection);
  const ca = textOf(connection, 'ca_certificate');
  const registry = registryOf(connection['schema_registry_config'], ca);
  if (isAvro && registry === undefined) {
    refuse('Messages in Avro need the integration\'s "schema_registry_config": it knows their schemas.');
  }
  const { tls } = connection;
  return {
    topic,
    brokers: brokersOf(textOf(connection, 'bootstrap_servers')),
    clientId: textOf(settings, 'client_id') ?? CLIENT_ID,
    isAvro,
    isLatest: wordOf(settings, 'offset_reset_policy', ['earliest', 'latest']) === 'latest',
    sasl,
    // A password is not sent where others can read it, unless that is said.
    isTls: typeof tls === 'boolean' ? tls : sasl !== null || ca !== undefined,
    ca,
    registry: isAvro ? registry : undefined,
  };
}

function refuse(message: string): never {
  throw new SourceError('settings', message);
}

function textOf(from: JsonObject, name: string): string | undefined {
  const value = from[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The first of them where there is none. */
function wordOf<T extends string>(from: JsonObject, name: string, words: readonly [T, ...T[]]): T {
  const text = textOf(from, name);
  if (text === undefined) return words[0];
  const word = words.find((one) => one === text.toLowerCase());
  return word ?? refuse(`"${name}" is ${JSON.stringify(text)}; it can be ${words.join(' or ')}.`);
}

function brokersOf(text: string | undefined): string[] {
  const given = (text ?? '').split(',').map((one) => one.trim());
  const named = given.filter((one) => one !== '');
  if (named.length === 0) {
    refuse('The integration has no "bootstrap_servers": give it the brokers as host:port, separated by commas.');
  }
  return named.map((one) => {
    const [, host, port = String(PORT)] = BROKER.exec(one) ?? [];
    if (host === undefined || Number(port) < 1 || Number(port) > 65_535) {
      refuse(
        `"bootstrap_servers" has ${JSON.stringify(one)}; a broker is host:port, such as broker1.example.com:9092.`,
      );
    }
    return `${host}:${port}`;
  });
}

function saslOf(connection: JsonObject): KafkaSettings['sasl'] {
  const config = connection['security_config'] ?? null;
  if (!isObject(config)) return null;
  const username = textOf(config, 'api_key');
  const password = textOf(config, 'secret');
  if (username === undefined || password === undefined) {
    return refuse('"security_config" needs both "api_key" (the user) and "secret" (the password).');
  }
  return { mechanism: wordOf(connection, 'sasl_mechanism', MECHANISMS), username, password };
}

function registryOf(config: JsonValue | undefined, ca: string | undefined): RegistrySettings | undefined {
  if (!isObject(config)) return undefined;
  const text = textOf(config, 'url') ?? '';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    return refuse('"schema_registry_config.url" is no address of HTTP, such as https://registry.example.com.');
  }
  // Paths are put behind it.
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  const key = textOf(config, 'key');
  const login = key === undefined ? undefined : `${key}:${textOf(config, 'secret') ?? ''}`;
  return { url, login, ca };
}
