import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import Cluster, { type Broker, type ClusterLogger } from 'kafkajs/src/cluster/index.js';
import type { Logger } from 'pino';
import { type ErrorPlace, sourceErrorOf } from './kafka-errors.ts';
import {
  FETCH,
  FETCH_VERSION,
  type Fetched,
  type FetchOptions,
  fetchExchange,
  METADATA,
  METADATA_VERSION,
  topicIdExchange,
} from './kafka-protocol.ts';
import { OldFormatError } from './kafka-records.ts';
import type { KafkaSettings } from './kafka-settings.ts';
import { SourceError } from './source.ts';

/** What is known of the topic. */
export interface KafkaTopic {
  /** Null: these brokers have none, being older than Kafka 3.1. */
  id: string | null;
  /** The broker that each partition is read from. */
  leaders: ReadonlyMap<number, string>;
}

/** A connection to the brokers, to read one topic without a consumer group. Everything rejects a `SourceError`. */
export interface KafkaClient {
  /** The topic as it is now; rejects if it is not there. */
  topic(): Promise<KafkaTopic>;
  /** Of each partition the first offset that there is, or the one behind the last that can be read. */
  offsets(partitions: Iterable<number>, which: 'first' | 'end'): Promise<Map<number, number>>;
  /** Whether only the last message of each key is kept for sure; false if the user may not know. */
  isCompacted(): Promise<boolean>;
  /** Messages of partitions whose leader this broker is. */
  fetch(leader: string, options: Omit<FetchOptions, 'topic'>): Promise<Fetched[]>;
  /** Ends all connections at once; what is under way is rejected. */
  close(): void;
}

const CONNECT_MS = 10_000;
/** A connection that nothing comes from is dead; an answer that comes slowly is not. */
const SILENCE_MS = 30_000;
const ANSWER_MS = 300_000;
const READ_COMMITTED = 1;
const TOPIC_CONFIG = 2;

export function createKafkaClient(settings: KafkaSettings, log: Logger): KafkaClient {
  const { topic, brokers } = settings;
  const place: ErrorPlace = { topic, brokers: brokers.join(', '), isTls: settings.isTls, wasServed: false };
  const { open, closeAll } = createSockets();
  const cluster = new Cluster({
    brokers,
    clientId: settings.clientId,
    ssl: settings.isTls ? { ca: settings.ca } : null,
    sasl: settings.sasl,
    logger: loggerTo(log),
    // Once for each broker; more often is the runner's matter.
    retry: { retries: brokers.length, initialRetryTime: 100, maxRetryTime: 500 },
    socketFactory: open,
    connectionTimeout: CONNECT_MS,
    requestTimeout: ANSWER_MS,
    enforceRequestTimeout: true,
    metadataMaxAge: ANSWER_MS,
    allowAutoTopicCreation: false,
    isolationLevel: READ_COMMITTED,
  });
  const pending = new Set<(error: unknown) => void>();
  const explained = async <T>(work: () => Promise<T>): Promise<T> => {
    let give: ((error: unknown) => void) | undefined;
    try {
      return await new Promise<T>((resolve, reject) => {
        give = reject;
        pending.add(reject);
        work().then(resolve, reject);
      });
    } catch (error) {
      throw sourceErrorOf(error instanceof OldFormatError ? oldFormat(topic) : error, place);
    } finally {
      if (give !== undefined) pending.delete(give);
    }
  };
  const connected = once(() => explained(() => cluster.connect()));
  const named = once(() => explained(() => cluster.addTargetTopic(topic)));
  const anyBroker = async (): Promise<Broker> => {
    const [nodeId = ''] = cluster.getNodeIds();
    return cluster.findBroker({ nodeId });
  };
  return {
    async topic() {
      await connected();
      if (!(await named.isFirst())) await explained(() => cluster.refreshMetadata());
      return explained(async () => {
        const broker = await anyBroker();
        const hasIds = versionOf(broker, METADATA) >= METADATA_VERSION;
        const id = hasIds ? await broker.connectionPool.send(topicIdExchange(topic)) : null;
        const leaders = cluster
          .findTopicPartitionMetadata(topic)
          .map(({ partitionId, leader }): [number, string] => [partitionId, String(leader)]);
        place.wasServed = true;
        return { id, leaders: new Map(leaders.sort(([a], [b]) => a - b)) };
      });
    },
    offsets: (partitions, which) =>
      explained(async () => {
        const asked = [...partitions].map((partition) => ({ partition }));
        const found = await cluster.fetchTopicsOffset([{ topic, partitions: asked, fromBeginning: which === 'first' }]);
        const all = found.flatMap((one) => one.partitions);
        return new Map(all.map(({ partition, offset }) => [partition, Number(offset)]));
      }),
    isCompacted: () => explained(async () => isCompacted(await anyBroker(), topic)),
    fetch: (leader, options) =>
      explained(async () => {
        const broker = await cluster.findBroker({ nodeId: leader });
        if (versionOf(broker, FETCH) < FETCH_VERSION) {
          throw new SourceError('settings', `The brokers ${place.brokers} are older than Kafka 2.3, which is needed.`);
        }
        return broker.connectionPool.send(fetchExchange({ topic, ...options }));
      }),
    close() {
      closeAll();
      for (const reject of pending) reject(new Error('the connection was ended'));
    },
  };
}

function oldFormat(topic: string): SourceError {
  return new SourceError(
    'settings',
    `The topic "${topic}" has messages in a form from before Kafka 0.11, which is not read. Copy them to another topic.`,
  );
}

function versionOf({ versions }: Broker, api: number): number {
  return versions?.[api]?.maxVersion ?? -1;
}

async function isCompacted(broker: Broker, topic: string): Promise<boolean> {
  try {
    const name = 'cleanup.policy';
    const asked = { type: TOPIC_CONFIG, name: topic, configNames: [name] };
    const { resources } = await broker.describeConfigs({ resources: [asked] });
    const entries = resources.flatMap(({ configEntries }) => configEntries);
    return entries.some(
      ({ configName, configValue }) => configName === name && configValue?.includes('compact') === true,
    );
  } catch (error) {
    // Reading a topic does not need the right to see how it is set up.
    if (error instanceof Error && 'type' in error && /AUTHORIZATION_FAILED$/.test(String(error.type))) return false;
    throw error;
  }
}

/** The sockets of a client, so that they can be ended without waiting for an answer. */
function createSockets() {
  const sockets = new Set<Socket>();
  let isClosed = false;
  return {
    open({ host, port, ssl, onConnect }: { host: string; port: number; ssl: object | null; onConnect: () => void }) {
      if (isClosed) throw new Error('the connection was ended');
      const servername = isIP(host) === 0 ? { servername: host } : {};
      const socket =
        ssl === null
          ? connect({ host, port }, onConnect)
          : connectTls({ host, port, ...servername, ...ssl }, onConnect);
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      socket.setTimeout(SILENCE_MS);
      socket.setKeepAlive(true, SILENCE_MS);
      return socket;
    },
    closeAll() {
      isClosed = true;
      for (const socket of sockets) socket.destroy(new Error('the connection was ended'));
    },
  };
}

function once(work: () => Promise<void>) {
  let done: Promise<void> | undefined;
  const run = () => {
    done ??= work();
    return done;
  };
  /** Whether it was done by this call. */
  run.isFirst = async () => {
    const isFirst = done === undefined;
    await run();
    return isFirst;
  };
  return run;
}

function loggerTo(log: Logger): ClusterLogger {
  const write = (message: unknown) => log.debug({ from: 'kafkajs' }, String(message));
  const none = () => undefined;
  const logger: ClusterLogger = { namespace: () => logger, error: write, warn: write, info: none, debug: none };
  return logger;
}
