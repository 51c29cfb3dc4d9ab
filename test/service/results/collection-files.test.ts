import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCollectionFiles } from '../../../src/service/results/collection-files.ts';
import { createDocs, doc, openSmall, temporaryFolder } from '../../engine/harness.ts';
import { makeFolder, startTestService, type TestService } from '../harness.ts';
import { addUser } from '../people.ts';

const EXPORTS = '/v1/colloquy/ws/commons/collections/docs/exports';
const RESULTS = '/v1/colloquy/results';

let service: TestService;
let reader: string;
let folder: string;
beforeAll(async () => {
  const home = await makeFolder();
  folder = join(home, 'exports');
  mkdirSync(folder);
  // What a crash has left.
  writeFileSync(join(folder, 'collection-00000000-0000-4000-8000-000000000000.jsonl'), 'half');
  writeFileSync(join(folder, 'of a person.jsonl'), 'mine');
  service = await startTestService({}, home);
  reader = await addUser(service, 'reader@example.com', 'read-only');
  await service.call('POST', '/v1/orgs/self/ws/commons/collections', { name: 'docs' });
  const data = Array.from({ length: 100 }, (_, n) => ({ _id: `d${n}`, n }));
  await service.call('POST', '/v1/orgs/self/ws/commons/collections/docs/docs', { data });
});
afterAll(() => service.remove());

describe('exportCollection', () => {
  it('writes a file that its key reads in parts, and removes', async () => {
    const { body } = await service.call('POST', EXPORTS, { format: 'csv' }, { key: reader });
    const { query_id: id, bytes, ...told } = body.data;
    expect(told).toMatchObject({ format: 'csv', rows: 100, is_whole: true, retyped: [], path: null });
    const path = `${RESULTS}/${id}/exports/csv`;
    const read = async (query: string) => {
      const { data } = (await service.call('GET', `${path}?${query}`, undefined, { key: reader })).body.data;
      return Buffer.from(data, 'base64').toString();
    };
    const text = `${await read('offset=0&length=10')}${await read('offset=10')}`;
    expect([text.length, text.split('\n')[0], text.split('\n').length]).toEqual([bytes, '_id,_event_time,n', 102]);
    for (const method of ['GET', 'DELETE']) expect((await service.call(method, path)).status).toBe(404);
    expect((await service.call('DELETE', path, undefined, { key: reader })).body.data).toEqual({ query_id: id, bytes });
    expect((await service.call('GET', path, undefined, { key: reader })).status).toBe(404);
    expect(readdirSync(folder)).toEqual(['of a person.jsonl']);
  });

  it('is refused for what does not exist', async () => {
    const answer = await service.call('POST', EXPORTS.replace('docs', 'doc'), { format: 'csv' });
    expect([answer.status, answer.body.message_key]).toEqual([404, 'COLLECTION_DOES_NOT_EXIST']);
    expect((await service.call('POST', EXPORTS, { format: 'xml' })).status).toBe(400);
  });

  it('is refused while many files wait to be fetched', async () => {
    const write = (key?: string) =>
      service.call('POST', EXPORTS, { format: 'jsonl' }, key === undefined ? {} : { key });
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push((await write()).body.data.query_id);
    const refused = await write();
    expect([refused.status, refused.body.type]).toEqual([429, 'RESOURCEEXCEEDED']);
    expect(refused.body.message).toContain('5 exports are being written or fetched, 5 of them yours');
    // There is room for those of another key.
    const others = await Promise.all([write(reader), write(reader)]);
    expect(others.map(({ status }) => status)).toEqual([200, 200]);
    expect((await write(reader)).status).toBe(429);
    for (const id of ids) await service.call('DELETE', `${RESULTS}/${id}/exports/jsonl`);
    expect((await write()).status).toBe(200);
  });
});

describe('the files of collections', () => {
  it('go when nobody reads them, and when the service closes; until then it is not idle', async () => {
    const home = temporaryFolder();
    const engine = await openSmall(home.file);
    try {
      await createDocs(engine);
      await engine.addDocuments('t', [doc('a', { n: 1 })]);
      let held = 0;
      const hold = () => {
        held += 1;
        return () => {
          held -= 1;
        };
      };
      const log = pino({ level: 'silent' });
      const files = createCollectionFiles({ engine, hold, log, unreadMs: 200 });
      const source = { owner: 'me', collection: 'commons.docs', table: 't', rows: 1 };
      const { signal } = new AbortController();
      const first = await files.write(source, 'jsonl', signal);
      expect([held, existsSync(first.path)]).toEqual([1, true]);
      for (let n = 0; n < 6; n++) {
        await new Promise((resolve) => setTimeout(resolve, 60));
        expect(files.find('me', first.id, 'jsonl')).toBeDefined();
      }
      expect(files.find('other', first.id, 'jsonl')).toBeUndefined();
      await expect.poll(() => existsSync(first.path)).toBe(false);
      expect([held, files.find('me', first.id, 'jsonl')]).toEqual([0, undefined]);
      const last = await files.write(source, 'parquet', signal);
      files.stop();
      expect([held, existsSync(last.path)]).toEqual([0, false]);
    } finally {
      await engine.close();
      home.dispose();
    }
  });
});
