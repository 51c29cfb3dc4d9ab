import { setTimeout as delay } from 'node:timers/promises';
import {
  CreateStreamCommand,
  DescribeStreamSummaryCommand,
  GetRecordsCommand,
  GetShardIteratorCommand,
  KinesisClient,
  ListShardsCommand,
  PutRecordsCommand,
} from '@aws-sdk/client-kinesis';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { startKinesis } from '../servers/kinesis.ts';
import type { KindUnderTest } from './kind.ts';

const SHARDS = 2;
const PUT_MAX = 500;
/** The server stores its data every second. */
const STORED_MS = 2_000;
const KEY = { accessKeyId: 'AKIATEST', secretAccessKey: 'test-secret' };

export const kinesis: KindUnderTest = {
  kind: 'kinesis',
  itemsMax: 20_000,
  lacks: ['remove', 'wrong'],
  async start() {
    const server = await startKinesis();
    const client = new KinesisClient({
      region: 'us-east-1',
      endpoint: `http://127.0.0.1:${server.port}`,
      credentials: KEY,
      requestHandler: new NodeHttpHandler(),
      maxAttempts: 10,
    });
    const put = async (stream: string, texts: readonly string[]) => {
      const records = texts.map((text, at) => ({ Data: Buffer.from(text), PartitionKey: String(at) }));
      const { FailedRecordCount } = await client.send(new PutRecordsCommand({ StreamName: stream, Records: records }));
      if (FailedRecordCount !== 0) throw new Error(`${FailedRecordCount} records were not taken`);
    };
    const itemOf = (n: number, v: number) => JSON.stringify({ n, v, name: `name of ${n}` });
    return {
      port: () => server.port,
      connection: (port) => ({
        cloud_access_key: { cloud_access_key_id: KEY.accessKeyId, cloud_secret_access_key: KEY.secretAccessKey },
        endpoint: `http://127.0.0.1:${port}`,
      }),
      source: (place) => ({ stream_name: place, cloud_region: 'us-east-1' }),
      async fill(place, count) {
        await client.send(new CreateStreamCommand({ StreamName: place, ShardCount: SHARDS }));
        const isActive = async () => {
          const { StreamDescriptionSummary: about } = await client.send(
            new DescribeStreamSummaryCommand({ StreamName: place }),
          );
          return about?.StreamStatus === 'ACTIVE';
        };
        while (!(await isActive())) await delay(20);
        for (let from = 1; from <= count; from += PUT_MAX) {
          const some = Array.from({ length: Math.min(PUT_MAX, count - from + 1) }, (_, at) =>
            itemOf(from + at, from + at),
          );
          await put(place, some);
        }
      },
      change: (place, n, v) => put(place, [itemOf(n, v)]),
      appends: true,
      spoil: (place) => put(place, ['{"n": 1,']),
      async restart() {
        await delay(STORED_MS);
        await server.restart();
      },
      async bare(place, count) {
        const { Shards = [] } = await client.send(new ListShardsCommand({ StreamName: place }));
        const read = async (shard: string | undefined) => {
          const from = { StreamName: place, ShardId: shard, ShardIteratorType: 'TRIM_HORIZON' as const };
          let { ShardIterator: next } = await client.send(new GetShardIteratorCommand(from));
          let found = 0;
          for (;;) {
            const { Records = [], NextShardIterator } = await client.send(
              new GetRecordsCommand({ ShardIterator: next, Limit: 5_000 }),
            );
            found += Records.map(({ Data }) => JSON.parse(Buffer.from(Data ?? []).toString())).length;
            if (Records.length === 0) return found;
            next = NextShardIterator;
          }
        };
        const found = (await Promise.all(Shards.map(({ ShardId }) => read(ShardId)))).reduce((sum, n) => sum + n, 0);
        if (found !== count) throw new Error(`${found} of ${count} records`);
        return found;
      },
      async close() {
        client.destroy();
        await server.stop();
      },
    };
  },
};
