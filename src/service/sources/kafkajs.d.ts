/*
 * The parts of kafkajs that are used here lie below its public face, which fetches for consumer groups only; they are those
 * of the one version that package.json names.
 */
declare module 'kafkajs/src/cluster/index.js' {
  import type { Socket } from 'node:net';

  /** What is sent, and how the answer is read. */
  export interface Exchange<T> {
    request: {
      apiKey: number;
      apiVersion: number;
      apiName: string;
      encode(): Promise<{ buf: Buffer; buffer: Buffer }>;
    };
    response: {
      /** The client waits for `clientSideThrottleTime`, in milliseconds, before it sends more. */
      decode(bytes: Buffer): Promise<{ clientSideThrottleTime: number; value: T }>;
      parse(decoded: { value: T }): Promise<T>;
    };
  }

  export interface Broker {
    versions: Readonly<Record<number, { minVersion: number; maxVersion: number }>> | null;
    connectionPool: { send<T>(exchange: Exchange<T>): Promise<T> };
    describeConfigs(asked: {
      resources: readonly { type: number; name: string; configNames: readonly string[] }[];
    }): Promise<{ resources: { configEntries: { configName: string; configValue: string | null }[] }[] }>;
  }

  export interface ClusterLogger {
    namespace(): ClusterLogger;
    error(message: unknown): void;
    warn(message: unknown): void;
    info(message: unknown): void;
    debug(message: unknown): void;
  }

  export default class Cluster {
    constructor(options: {
      brokers: readonly string[];
      clientId: string;
      ssl: object | null;
      sasl: object | null;
      logger: ClusterLogger;
      retry: { retries: number; initialRetryTime: number; maxRetryTime: number };
      socketFactory(to: { host: string; port: number; ssl: object | null; onConnect: () => void }): Socket;
      connectionTimeout: number;
      requestTimeout: number;
      enforceRequestTimeout: boolean;
      metadataMaxAge: number;
      allowAutoTopicCreation: boolean;
      isolationLevel: number;
    });
    connect(): Promise<void>;
    disconnect(): Promise<void>;
    addTargetTopic(topic: string): Promise<void>;
    refreshMetadata(): Promise<void>;
    getNodeIds(): string[];
    findBroker(options: { nodeId: string }): Promise<Broker>;
    findTopicPartitionMetadata(topic: string): { partitionId: number; leader: number }[];
    fetchTopicsOffset(
      topics: readonly { topic: string; partitions: readonly { partition: number }[]; fromBeginning: boolean }[],
    ): Promise<{ topic: string; partitions: { partition: number; offset: string }[] }[]>;
  }
}
