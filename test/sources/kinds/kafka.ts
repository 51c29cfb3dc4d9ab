import { connectWriter } from '../kafka-player.ts';
import { startKafka } from '../servers/kafka.ts';
import type { KindUnderTest } from './kind.ts';

const PARTITIONS = 3;
const WRITE_MAX = 2_000;
/** An integration names its topics. */
const TOPICS = ['whole', 'spoilt', 'weak', ...Array.from({ length: 10 }, (_, at) => `killed${at}`)];

export const kafka: KindUnderTest = {
  kind: 'kafka',
  lacks: ['remove', 'wrong'],
  async start(proxyPort) {
    const server = await startKafka(proxyPort);
    const { ports } = server;
    let writer = await connectWriter(ports.plain);
    // Of messages without a partition the library chooses anew when it has to send again, and the broker refuses that.
    const messageOf = (n: number, v: number) => ({
      partition: n % PARTITIONS,
      value: JSON.stringify({ n, v, name: `name of ${n}` }),
    });
    return {
      port: () => ports.plain,
      behind: () => ports.proxied,
      connection: (port) => ({ kafka_topic_names: TOPICS, bootstrap_servers: `127.0.0.1:${port}` }),
      source: (place) => ({ kafka_topic_name: place }),
      async fill(place, count) {
        await writer.create(place, PARTITIONS);
        for (let from = 1; from <= count; from += WRITE_MAX) {
          const some = Array.from({ length: Math.min(WRITE_MAX, count - from + 1) }, (_, at) =>
            messageOf(from + at, from + at),
          );
          await writer.write(place, some);
        }
      },
      change: (place, n, v) => writer.write(place, [messageOf(n, v)]),
      appends: true,
      spoil: (place) => writer.write(place, [{ value: '{"n": 1,' }]),
      async restart() {
        await writer.close().catch(() => undefined);
        await server.stop('SIGKILL');
        await server.start();
        writer = await connectWriter(ports.plain);
      },
      bare: (place, count) => readAll(writer, place, count),
      async close() {
        await writer.close().catch(() => undefined);
        await server.remove();
      },
    };
  },
};

/** With the library's own consumer, in a group. */
async function readAll(
  { kafka: client }: Awaited<ReturnType<typeof connectWriter>>,
  topic: string,
  count: number,
): Promise<number> {
  const consumer = client.consumer({ groupId: `bare-${Date.now()}` });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  let found = 0;
  await new Promise<void>((resolve, reject) => {
    const eachBatch = async ({ batch }: { batch: { messages: { value: Buffer | null }[] } }) => {
      found += batch.messages.map(({ value }) => JSON.parse(String(value)) as unknown).length;
      if (found >= count) resolve();
    };
    consumer.run({ eachBatch, partitionsConsumedConcurrently: PARTITIONS }).catch(reject);
  });
  await consumer.disconnect();
  return found;
}
