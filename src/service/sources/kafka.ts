import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { JsonObject } from '../../contract/json/json.ts';
import { createPace } from '../../contract/turns/turns.ts';
import { createCollecting } from './items.ts';
import { createKafkaClient, type KafkaClient, type KafkaTopic } from './kafka-client.ts';
import { errorOfCode } from './kafka-errors.ts';
import { createMessageReader, type MessageReader } from './kafka-messages.ts';
import { beginAt, type Positions, resumeAt } from './kafka-positions.ts';
import type { Fetched } from './kafka-protocol.ts';
import { committed, messagesOf, RecordsError } from './kafka-records.ts';
import { createSchemaRegistry } from './kafka-registry.ts';
import { type KafkaSettings, readKafkaSettings } from './kafka-settings.ts';
import { type SourceBatch, SourceError, type SourceOptions, type SourceReader } from './source.ts';

/*
 * A topic is a log: its messages from the first (or the next) offset of each partition on, to the end and further. No
 * consumer group is made, and nothing is committed at the brokers: offsets are in the checkpoint, and an offset that is no
 * longer there is an error, never another one.
 */

/** How long a broker waits for messages before it says that there are none, in milliseconds. */
const WAIT_MS = 500;
/** How often it is looked whether the topic has more partitions, or is another one. */
const TOPIC_MS = 5_000;
/** Batches without changes are not made more often. */
const QUIET_MS = 1_000;
const MIB = 1024 * 1024;
/** What is fetched at once from all brokers together, and from each at most and at least; each has two answers in memory. */
const FETCH_BYTES = { all: 16 * MIB, most: 4 * MIB, least: MIB };
const OUT_OF_RANGE = 1;

export async function openSource(options: SourceOptions): Promise<SourceReader> {
  const settings = readKafkaSettings(options);
  const { log } = options;
  const clients = new Set<KafkaClient>();
  return {
    async check(signal) {
      const client = connectTo(settings, log, signal, clients);
      try {
        await checkTopic(client, settings, signal);
      } catch (error) {
        signal.throwIfAborted();
        throw error;
      } finally {
        client.close();
      }
    },
    async *read(checkpoint, signal) {
      const client = connectTo(settings, log, signal, clients);
      try {
        yield* batchesOf(client, settings, checkpoint, signal);
      } catch (error) {
        signal.throwIfAborted();
        throw error;
      } finally {
        client.close();
      }
    },
    async close() {
      for (const client of clients) client.close();
    },
  };
}

function connectTo(settings: KafkaSettings, log: Logger, signal: AbortSignal, clients: Set<KafkaClient>): KafkaClient {
  signal.throwIfAborted();
  const client = createKafkaClient(settings, log);
  const end = () => {
    signal.removeEventListener('abort', end);
    clients.delete(client);
    client.close();
  };
  signal.addEventListener('abort', end);
  clients.add(client);
  return { ...client, close: end };
}

/** Also whether messages may be read, which only reading tells. */
async function checkTopic(client: KafkaClient, settings: KafkaSettings, signal: AbortSignal): Promise<void> {
  const { leaders } = await client.topic();
  const first = await client.offsets(leaders.keys(), 'first');
  for (const [leader, from] of byLeader(leaders, first)) {
    const fetched = await client.fetch(leader, { from, maxBytes: 1, partitionMaxBytes: 1, waitMs: 0 });
    for (const { errorCode } of fetched) {
      // It went on meanwhile.
      if (errorCode !== 0 && errorCode !== OUT_OF_RANGE) throw errorOfCode(errorCode, placeOf(settings));
    }
  }
  if (settings.registry !== undefined) await createSchemaRegistry(settings.registry, signal).check();
}

async function* batchesOf(
  client: KafkaClient,
  settings: KafkaSettings,
  checkpoint: JsonObject | undefined,
  signal: AbortSignal,
): AsyncGenerator<SourceBatch> {
  const topic = await client.topic();
  const positions = checkpoint === undefined ? await begin(client, settings, topic) : resumeAt(checkpoint);
  for (const [partition, end] of await client.offsets(topic.leaders.keys(), 'end')) positions.setEnd(partition, end);
  requireSame(topic, positions, settings);
  const registry = settings.registry && createSchemaRegistry(settings.registry, signal);
  const read = createMessageReader({ topic: settings.topic, isKeyed: positions.isKeyed, registry });
  // Where it begins is kept before anything else.
  if (checkpoint === undefined) {
    yield { changes: [], refused: [], checkpoint: positions.checkpoint(), progress: positions.progress(undefined) };
  }
  const take = createTaking(positions, settings.topic, read);
  for await (const fetched of answersOf(client, settings, positions, topic)) {
    for (const one of fetched) yield* take.changesOf(one);
    const rest = take.rest();
    if (rest !== undefined) yield rest;
  }
}

async function begin(client: KafkaClient, { isLatest }: KafkaSettings, topic: KafkaTopic): Promise<Positions> {
  const isKeyed = await client.isCompacted();
  const first = await client.offsets(topic.leaders.keys(), 'first');
  const end = await client.offsets(topic.leaders.keys(), 'end');
  return beginAt(isLatest ? end : first, end, { isKeyed, topicId: topic.id });
}

function requireSame(topic: KafkaTopic, { topicId }: Positions, settings: KafkaSettings): void {
  if (topicId === null || topic.id === null || topic.id === topicId) return;
  throw new SourceError(
    'lost',
    `The topic "${settings.topic}" was deleted and made anew since it was read, so its offsets mean other messages. Only a new initial read helps.`,
  );
}

interface Answer {
  leader: string;
  fetched?: Fetched[];
  error?: unknown;
}

/** What the brokers answer, one after the other; while that is worked on, each is asked for what follows. */
async function* answersOf(
  client: KafkaClient,
  settings: KafkaSettings,
  positions: Positions,
  found: KafkaTopic,
): AsyncGenerator<Fetched[]> {
  let topic = found;
  let lookedAt = performance.now();
  const asked = new Map(positions.next);
  const waiting = new Map<string, Promise<Answer>>();
  const addNew = () => {
    for (const partition of topic.leaders.keys()) {
      if (asked.has(partition)) continue;
      positions.add(partition);
      asked.set(partition, 0);
    }
  };
  const ask = () => {
    const leaders = byLeader(topic.leaders, asked);
    const maxBytes = Math.max(FETCH_BYTES.least, Math.min(FETCH_BYTES.most, FETCH_BYTES.all / leaders.size));
    for (const [leader, from] of leaders) {
      if (waiting.has(leader)) continue;
      const answer = client.fetch(leader, { from, maxBytes, partitionMaxBytes: MIB, waitMs: WAIT_MS });
      waiting.set(
        leader,
        answer.then(
          (fetched) => ({ leader, fetched }),
          (error: unknown) => ({ leader, error }),
        ),
      );
    }
  };
  for (addNew(); ; ) {
    ask();
    const startedAt = performance.now();
    const { leader, fetched, error } = await Promise.race(waiting.values());
    waiting.delete(leader);
    if (fetched === undefined) throw error;
    for (const { partition, errorCode, batches } of fetched) {
      if (errorCode === OUT_OF_RANGE) throw await lostError(client, settings, partition, asked.get(partition) ?? 0);
      if (errorCode !== 0) throw errorOfCode(errorCode, placeOf(settings));
      const last = batches.at(-1);
      if (last === undefined) continue;
      const next = Math.max(asked.get(partition) ?? 0, last.lastOffset + 1);
      // Behind the others, which the answer had perhaps no room for.
      asked.delete(partition);
      asked.set(partition, next);
    }
    if (performance.now() - lookedAt > TOPIC_MS) {
      topic = await client.topic();
      lookedAt = performance.now();
      requireSame(topic, positions, settings);
      addNew();
    }
    const isEmpty = fetched.every(({ batches }) => batches.length === 0);
    // A broker that has nothing waits; one that does not is not to be asked without end.
    if (isEmpty && performance.now() - startedAt < WAIT_MS / 10) await delay(WAIT_MS / 10);
    ask();
    yield fetched;
  }
}

/** Makes batches of what was fetched. */
function createTaking(positions: Positions, topic: string, read: MessageReader) {
  const collecting = createCollecting();
  const pace = createPace();
  let itemTimeMs: number | undefined;
  let told = toldOf(positions);
  let toldAt = performance.now();
  const take = () => {
    const batch = collecting.take(positions.checkpoint(), positions.progress(itemTimeMs));
    itemTimeMs = undefined;
    told = toldOf(positions);
    toldAt = performance.now();
    return batch;
  };
  async function* changesOf({ partition, stableOffset, aborted, batches }: Fetched): AsyncGenerator<SourceBatch> {
    positions.setEnd(partition, stableOffset);
    for (const batch of committed(batches, aborted)) {
      try {
        for (const message of await messagesOf(batch)) {
          const from = positions.next.get(partition) ?? 0;
          if (message.offset < from) continue;
          const given = read(partition, message);
          const one = given instanceof Promise ? await given : given;
          if ('change' in one) collecting.add(one.change, (message.key?.length ?? 0) + (message.value?.length ?? 0));
          else collecting.refuse(one.refused);
          itemTimeMs = Math.max(itemTimeMs ?? message.timeMs, message.timeMs);
          positions.advance(partition, message.offset + 1);
          if (collecting.isFull) yield take();
          const turn = pace();
          if (turn !== undefined) await turn;
        }
      } catch (error) {
        if (!(error instanceof RecordsError)) throw error;
        const from = Math.max(batch.firstOffset, positions.next.get(partition) ?? 0);
        const item = `${topic}/${partition}/${from}-${batch.lastOffset}`;
        collecting.refuse({ item, reason: `are messages in a batch that ${error.message}` });
      }
      positions.advance(partition, batch.lastOffset + 1);
    }
    const last = batches.at(-1);
    if (last !== undefined) positions.advance(partition, last.lastOffset + 1);
  }
  return {
    changesOf,
    /** What is left of an answer, or that something moved. */
    rest(): SourceBatch | undefined {
      if (!collecting.isEmpty) return take();
      return performance.now() - toldAt >= QUIET_MS && told !== toldOf(positions) ? take() : undefined;
    },
  };
}

/** What a batch without changes would tell. */
function toldOf(positions: Positions): string {
  return JSON.stringify([positions.checkpoint(), positions.progress(undefined)]);
}

async function lostError(client: KafkaClient, settings: KafkaSettings, partition: number, next: number) {
  const { topic } = settings;
  const first = (await client.offsets([partition], 'first')).get(partition) ?? 0;
  const end = (await client.offsets([partition], 'end')).get(partition) ?? 0;
  const what = `Partition ${partition} of the topic "${topic}"`;
  if (first > next) {
    return new SourceError(
      'lost',
      `${what} begins at offset ${first} now, and ${next} is next: what was between them was removed before it was read. Only a new initial read helps; a longer retention of the topic prevents it.`,
    );
  }
  if (end < next) {
    return new SourceError(
      'lost',
      `${what} ends at offset ${end} now, and ${next} is next: it was made anew, or lost messages. Only a new initial read helps.`,
    );
  }
  return errorOfCode(OUT_OF_RANGE, placeOf(settings));
}

function byLeader(
  leaders: ReadonlyMap<number, string>,
  offsets: ReadonlyMap<number, number>,
): Map<string, Map<number, number>> {
  const all = new Map<string, Map<number, number>>();
  for (const [partition, offset] of offsets) {
    const leader = leaders.get(partition);
    if (leader === undefined) continue;
    const one = all.get(leader) ?? new Map<number, number>();
    all.set(leader, one.set(partition, offset));
  }
  return all;
}

function placeOf({ topic, brokers, isTls }: KafkaSettings) {
  return { topic, brokers: brokers.join(', '), isTls, wasServed: true };
}
