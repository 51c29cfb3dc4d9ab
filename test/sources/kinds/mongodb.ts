import { Int32, MongoClient } from 'mongodb';
import { startMongoReplica } from '../servers/mongo-replica.ts';
import type { KindUnderTest } from './kind.ts';

export const mongodb: KindUnderTest = {
  kind: 'mongodb',
  lacks: [],
  async start() {
    const server = await startMongoReplica();
    const uri = (port: number, user = '') => `mongodb://${user}127.0.0.1:${port}/?directConnection=true`;
    const itemOf = (n: number, v: number) => ({ n: new Int32(n), v: new Int32(v), name: `name of ${n}` });
    return {
      port: () => server.port,
      connection: (port) => ({ connection_uri: uri(port) }),
      wrong: (port) => ({ connection_uri: uri(port, 'reader:wrong-secret@') }),
      source: (place) => ({ database_name: 'shop', collection_name: place }),
      fill: async (place, count) =>
        void (await server.collection(place).insertMany(
          Array.from({ length: count }, (_, at) => ({
            _id: new Int32(at + 1),
            ...itemOf(at + 1, at + 1),
          })) as never[],
        )),
      change: (place, n, v) => server.update(place, new Int32(n), { v: new Int32(v) }),
      appends: false,
      remove: (place, n) => server.remove(place, new Int32(n)),
      // Larger than a document may be here.
      spoil: (place) => server.insert(place, [{ _id: 'large', text: 'x'.repeat(11 * 1024 * 1024) }]),
      restart: () => server.restart(),
      async bare(place) {
        const client = await new MongoClient(uri(server.port)).connect();
        let count = 0;
        for await (const _ of client.db('shop').collection(place).find().sort({ _id: 1 })) count += 1;
        await client.close();
        return count;
      },
      close: () => server.close(),
    };
  },
};
