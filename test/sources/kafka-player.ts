import { setTimeout as delay } from 'node:timers/promises';
import { Kafka, logLevel, type Message, Partitioners } from 'kafkajs';
import { pino } from 'pino';
import type { JsonObject } from '../../src/contract/json/json.ts';
import { openSource } from '../../src/service/sources/kafka.ts';
import {
  BATCH_BYTES_MAX,
  BATCH_ITEMS_MAX,
  type RefusedItem,
  type SourceBatch,
  SourceError,
} from '../../src/service/sources/source.ts';
import { NO_FILES } from './reading.ts';

/** Plays the part of the runner: what a source yields is kept in memory, with the checkpoint that goes with it. */
export interface Player {
  readonly documents: Map<string, JsonObject>;
  readonly declared: Map<string, unknown>;
  readonly refused: RefusedItem[];
  readonly batches: SourceBatch[];
  readonly last: SourceBatch | undefined;
  checkpoint: JsonObject | undefined;
  /** Failures after which it began again. */
  readonly failures: string[];
  /** Reads on until this is so; begins again after an error that may pass. Rejects others, and if it takes too long. */
  readUntil(isDone: () => boolean, options?: { retries?: boolean; ms?: number }): Promise<void>;
  apply(batch: SourceBatch): void;
}

const log = pino({ level: 'silent' });

export function optionsFor(connection: JsonObject, settings: JsonObject) {
  const memory = { after: async () => [] };
  const files = NO_FILES;
  return { connection, settings, formatParams: null, createdMs: Date.now(), memory, files, log };
}

export function createPlayer(connection: JsonObject, settings: JsonObject): Player {
  const failures: string[] = [];
  const player = {
    documents: new Map<string, JsonObject>(),
    declared: new Map<string, unknown>(),
    refused: [] as RefusedItem[],
    batches: [] as SourceBatch[],
    checkpoint: undefined as JsonObject | undefined,
    failures,
    get last() {
      return player.batches.at(-1);
    },
    apply(batch: SourceBatch) {
      const { changes, refused } = batch;
      if (changes.length + refused.length > BATCH_ITEMS_MAX) throw new Error('a batch of too many items');
      player.batches.push(batch);
      player.checkpoint = structuredClone(batch.checkpoint);
      player.refused.push(...refused);
      for (const { id, document, declared } of changes) {
        if (document === null) player.documents.delete(id);
        else if (document !== undefined) player.documents.set(id, document);
        if (declared !== undefined) player.declared.set(id, Object.fromEntries(declared));
      }
    },
    async readUntil(isDone: () => boolean, { retries = false, ms = 60_000 } = {}) {
      const until = Date.now() + ms;
      while (!isDone()) {
        try {
          await readOnce(isDone, until);
        } catch (error) {
          if (!retries || !(error instanceof SourceError) || error.fault !== 'unreachable') throw error;
          failures.push(error.message);
          await delay(200);
        }
        if (Date.now() > until)
          throw new Error(`it was not read in time; ${player.documents.size} documents are there`);
      }
    },
  };

  async function readOnce(isDone: () => boolean, until: number): Promise<void> {
    const reader = await openSource(optionsFor(connection, settings));
    const stopping = new AbortController();
    // What it waits for may come without a batch.
    const timer = setInterval(() => {
      if (isDone() || Date.now() > until) stopping.abort();
    }, 50);
    try {
      for await (const batch of reader.read(player.checkpoint, stopping.signal)) {
        player.apply(batch);
        if (isDone()) return;
      }
    } catch (error) {
      if (!stopping.signal.aborted) throw error;
    } finally {
      clearInterval(timer);
      await reader.close();
    }
  }
  return player;
}

/** The fault and the message of checking a source; undefined: it is good. */
export async function checked(connection: JsonObject, settings: JsonObject): Promise<string | undefined> {
  try {
    const reader = await openSource(optionsFor(connection, settings));
    try {
      await reader.check(AbortSignal.timeout(30_000));
    } finally {
      await reader.close();
    }
    return undefined;
  } catch (error) {
    if (error instanceof SourceError) return `${error.fault}: ${error.message}`;
    throw error;
  }
}

export const bytesOf = ({ changes }: SourceBatch) =>
  changes.reduce((sum, { document }) => sum + JSON.stringify(document).length, 0);
export const BYTES_MAX = BATCH_BYTES_MAX;

/** A client that writes, as others do. */
export async function connectWriter(port: number) {
  const kafka = new Kafka({
    brokers: [`127.0.0.1:${port}`],
    logLevel: logLevel.NOTHING,
    retry: { retries: 20, initialRetryTime: 100, maxRetryTime: 500 },
  });
  const admin = kafka.admin();
  await admin.connect();
  const producer = kafka.producer({
    createPartitioner: Partitioners.DefaultPartitioner,
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  return {
    kafka,
    admin,
    async create(topic: string, partitions = 1, config: Record<string, string> = {}) {
      const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }));
      await admin.createTopics({ topics: [{ topic, numPartitions: partitions, configEntries }] });
    },
    async write(topic: string, messages: Message[]) {
      for (let from = 0; from < messages.length; from += 1_000) {
        await producer.send({ topic, messages: messages.slice(from, from + 1_000) });
      }
    },
    async close() {
      await producer.disconnect();
      await admin.disconnect();
    },
  };
}
