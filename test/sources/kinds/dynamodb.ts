import {
  BatchWriteItemCommand,
  CreateTableCommand,
  DeleteItemCommand,
  DynamoDBClient,
  PutItemCommand,
  ScanCommand,
} from '@aws-sdk/client-dynamodb';
import { startDynamodb } from '../servers/dynamodb.ts';
import type { KindUnderTest } from './kind.ts';

const PUT_MAX = 25;
const KEY = { accessKeyId: 'AKIATEST', secretAccessKey: 'testsecret' };

export const dynamodb: KindUnderTest = {
  kind: 'dynamodb',
  // Everything there is a document, and the server takes every key.
  lacks: ['spoil', 'wrong', 'restart'],
  async start() {
    const server = await startDynamodb();
    const client = new DynamoDBClient({
      region: 'us-east-1',
      endpoint: `http://127.0.0.1:${server.port}`,
      credentials: KEY,
    });
    const itemOf = (n: number, v: number) => ({
      n: { N: String(n) },
      v: { N: String(v) },
      name: { S: `name of ${n}` },
    });
    return {
      port: () => server.port,
      connection: (port) => ({
        cloud_access_key: { cloud_access_key_id: KEY.accessKeyId, cloud_secret_access_key: KEY.secretAccessKey },
        endpoint: `http://127.0.0.1:${port}`,
      }),
      source: (place) => ({ table_name: place, cloud_region: 'us-east-1', rcu: 1_000_000 }),
      async fill(place, count) {
        await client.send(
          new CreateTableCommand({
            TableName: place,
            KeySchema: [{ AttributeName: 'n', KeyType: 'HASH' }],
            AttributeDefinitions: [{ AttributeName: 'n', AttributeType: 'N' }],
            BillingMode: 'PAY_PER_REQUEST',
            StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
          }),
        );
        for (let from = 1; from <= count; from += PUT_MAX) {
          const some = Array.from({ length: Math.min(PUT_MAX, count - from + 1) }, (_, at) => ({
            PutRequest: { Item: itemOf(from + at, from + at) },
          }));
          await client.send(new BatchWriteItemCommand({ RequestItems: { [place]: some } }));
        }
      },
      change: async (place, n, v) =>
        void (await client.send(new PutItemCommand({ TableName: place, Item: itemOf(n, v) }))),
      appends: false,
      remove: async (place, n) =>
        void (await client.send(new DeleteItemCommand({ TableName: place, Key: { n: { N: String(n) } } }))),
      async bare(place) {
        let found = 0;
        let next: Record<string, { N: string }> | undefined;
        do {
          const page = await client.send(new ScanCommand({ TableName: place, ExclusiveStartKey: next }));
          found += page.Items?.length ?? 0;
          next = page.LastEvaluatedKey as typeof next;
        } while (next !== undefined);
        return found;
      },
      async close() {
        client.destroy();
        await server.stop();
      },
    };
  },
};
