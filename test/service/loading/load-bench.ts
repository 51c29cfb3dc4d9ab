import { type Client, createClient } from '../../../src/http/client.ts';
import type { LoadCall } from '../../../src/http/load.ts';
import { type Answer, startTestService, type TestService } from '../harness.ts';

export const COLLECTIONS = '/v1/orgs/self/ws/commons/collections';
let count = 0;

/** A real service, a client of it, and what tests of loads do with them. */
export interface LoadBench {
  service: TestService;
  client: Client;
  create(settings?: object): Promise<string>;
  /** Adds documents, given as JSON. */
  add(name: string, ...texts: string[]): Promise<Answer>;
  /** Loads bytes, in chunks of `size`. */
  load(name: string, body: string | Buffer, how?: Partial<LoadCall> & { size?: number }): ReturnType<Client['load']>;
  rows(sql: string): Promise<Record<string, unknown>[]>;
  /** Everything that can be seen of a collection: fields with their types, and all values of all documents. */
  stateOf(name: string): Promise<object>;
  remove(): Promise<void>;
}

export async function startBench(): Promise<LoadBench> {
  const service = await startTestService();
  const client = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
  const rows = async (query: string) => {
    const answer = await service.call('POST', '/v1/orgs/self/queries', { sql: { query } });
    if (answer.status !== 200) throw new Error(`${query}: ${answer.text}`);
    return answer.body.results as Record<string, unknown>[];
  };
  return {
    service,
    client,
    rows,
    async create(settings = {}) {
      const name = `load${++count}`;
      const answer = await service.call('POST', COLLECTIONS, { name, ...settings });
      if (answer.status !== 200) throw new Error(answer.text);
      return name;
    },
    add: (name, ...texts) =>
      service.call('POST', `${COLLECTIONS}/${name}/docs`, undefined, { rawBody: `{"data":[${texts.join(',')}]}` }),
    load: (collection, body, { size = 64 * 1024, ...call } = {}) =>
      client.load({ workspace: 'commons', collection, format: 'json', ...call }, chunksOf(body, size)),
    async stateOf(name) {
      const strays = rows(`SELECT _id, _strays FROM ${name} WHERE _strays IS NOT NULL ORDER BY _id`).catch(() => []);
      const { stats } = (await service.call('GET', `${COLLECTIONS}/${name}`)).body.data;
      return {
        fields: await rows(`DESCRIBE ${name}`),
        documents: await rows(`SELECT * FROM ${name} ORDER BY _id`),
        strays: await strays,
        counts: [stats.doc_count, stats.bytes_inserted, stats.bytes_overwritten],
      };
    },
    async remove() {
      await client.close();
      await service.remove();
    },
  };
}

export async function* chunksOf(body: string | Buffer, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(body);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
