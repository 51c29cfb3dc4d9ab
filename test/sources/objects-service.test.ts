import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonLines } from './objects-data.ts';
import type { TestBucket, TestStore } from './servers/buckets.ts';
import { startGcs } from './servers/gcs.ts';
import { startMinio, startVersitygw } from './servers/s3.ts';
import { ITEMS, type SourceService, startSourceService, until } from './source-tests.ts';

/** MinIO takes minutes to build, so the short form has the other store. */
const KINDS = { s3: process.env['SOURCES_ITEMS'] === undefined ? startVersitygw : startMinio, gcs: startGcs } as const;
const EVERY_SECOND = { s3_scan_frequency: 'PT1S' };

describe.each(['s3', 'gcs'] as const)('a collection of a bucket of %s', (kind) => {
  let store: TestStore;
  let bucket: TestBucket;
  let service: SourceService;

  beforeAll(async () => {
    store = await KINDS[kind]();
    bucket = await store.createBucket();
    service = await startSourceService();
    await service.createIntegration('objects', kind, bucket.connection());
  });
  afterAll(async () => {
    await service?.remove();
    await store?.close();
  });

  const source = (more: Record<string, unknown> = {}) => ({
    integration_name: 'objects',
    [kind]: { bucket: bucket.name, settings: EVERY_SECOND, ...more },
  });

  it('has what is in the bucket, with types and figures, and follows it', async () => {
    await bucket.put('in/a.jsonl', jsonLines(Array.from({ length: ITEMS }, (_, n) => ({ n }))));
    await bucket.put('in/b.csv', 'n,at\n-1,2026-01-02T03:04:05Z\n-2,2026-01-03T00:00:00Z\n');
    await bucket.put('out/c.json', '{"n":0}');
    await bucket.put('in/d.json', '{"n":');
    const answer = await service.createCollection('logs', source({ prefix: 'in/' }), { recognize_times: true });
    expect(answer.text).toContain('"status":"CREATED"');
    await until(
      () => service.source('logs'),
      (one) => one.source.status.state === 'ACTIVE',
    );
    expect(await service.count('logs')).toBe(ITEMS + 2);
    expect(
      await service.rows('SELECT typeof(n) AS n, typeof("at") AS "at" FROM commons.logs WHERE n < 0 LIMIT 1'),
    ).toEqual([{ n: 'int', at: 'timestamp' }]);
    const { source: shown } = await service.source('logs');
    expect(shown.status).toMatchObject({
      total_error_items: 1,
      last_error_item: `${bucket.name}/in/d.json`,
      last_error_reason: expect.stringContaining('The file is not JSON'),
    });
    expect(shown[kind]).toMatchObject({ bucket: bucket.name, object_count_total: 3, object_count_downloaded: 3 });

    await bucket.put('in/b.csv', 'n,at\n-1,2026-01-02T03:04:05Z\n');
    await bucket.put('in/e.json', '{"n":-9}');
    await bucket.remove('in/a.jsonl');
    await until(
      () => service.rows('SELECT n FROM commons.logs ORDER BY n'),
      (rows) => rows.length === 2,
    );
    expect(await service.rows('SELECT n FROM commons.logs ORDER BY n')).toEqual([{ n: -9 }, { n: -1 }]);
  });

  it('keeps the lines that are no documents, with the others in their rows', async () => {
    const lines = ['{"n":1}', '', '{"n":2,"at":{"b":[1]}}', '{"n":', '{"n":3,"n":4}', ' {"n":5} \r', '[6]', '{"n":7}'];
    await bucket.put('lines/a.jsonl', lines.join('\n'));
    await bucket.put('lines/b.jsonl', Buffer.from('{"n":"\xff"}\n{"n":8}\n{"n":9,\n', 'latin1'));
    await service.createCollection('lines', source({ prefix: 'lines/' }));
    const { refused } = await until(
      () => service.source('lines'),
      (one) => one.source.status.state === 'ACTIVE',
    );
    const rows = await service.rows('SELECT _id, n::VARCHAR AS n FROM commons.lines ORDER BY _id');
    const idOf = (name: string, row: number) => `${bucket.name}/lines/${name}.jsonl/${row}`;
    expect(rows).toEqual([
      { _id: idOf('a', 1), n: '1' },
      { _id: idOf('a', 2), n: '2' },
      { _id: idOf('a', 4), n: '4' },
      { _id: idOf('a', 5), n: '5' },
      { _id: idOf('a', 7), n: '7' },
      { _id: idOf('b', 2), n: '8' },
    ]);
    expect(refused.map(({ item, reason }: { item: string; reason: string }) => [item, reason])).toEqual(
      expect.arrayContaining([
        [idOf('a', 3), expect.stringContaining('(line 4)')],
        [idOf('a', 6), 'is no JSON object (line 7)'],
        [idOf('b', 1), 'is not text in UTF-8 (line 1)'],
        [idOf('b', 3), expect.stringContaining('(line 3)')],
      ]),
    );
    expect(refused).toHaveLength(4);
    // Fewer rows than before, one of them no document: nothing of what was there stays.
    await bucket.put('lines/a.jsonl', '{"n":10}\n{"n":\n');
    await until(
      () => service.rows('SELECT _id, n FROM commons.lines ORDER BY _id'),
      (now) => now.length === 2,
    );
  });

  it('is refused with what is wrong', async () => {
    const refused = async (given: Record<string, unknown>) =>
      (await service.createCollection('no', given)).body.message;
    expect(await refused(source({ bucket: 'not-there' }))).toMatch(
      /cannot be read: The bucket not-there does not exist/,
    );
    expect(await refused(source({ pattern: 'a/*', prefix: 'b' }))).toMatch(/No key fits both/);
  });
});
