import { mkdir, rm, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { JsonObject } from '../../src/contract/json/json.ts';
import { openEngine } from '../../src/engine/duckdb/open.ts';
import { NOT_SHARED, type StoredRecord } from '../../src/engine/engine.ts';
import { hashKey } from '../../src/service/access/auth.ts';
import { openCatalog } from '../../src/service/catalog/catalog.ts';
import { filesOf, makeFolder, startTestService, type TestService } from './harness.ts';

// What the first release wrote, exactly: never change it, such data exists. Fields added later must be optional or have
// a default.

const AT = '2026-01-02T03:04:05.678Z';
const EMAIL = 'admin@localhost';
const KEY = 'k'.repeat(64);
const made = { createdAt: AT, createdBy: EMAIL };
const version = '0123456789abcdef';

const RECORDS: readonly (readonly [string, string, JsonObject])[] = [
  ['schema', 'self', { version: 1 }],
  ['organization', 'self', { id: 'org-1', createdAt: AT, displayName: 'Local' }],
  ['starts', 'self', { count: 7 }],
  ['user', EMAIL, { email: EMAIL, createdAt: AT, roles: ['admin'], state: 'ACTIVE', inviteState: 'ACCEPTED' }],
  [
    'apiKey',
    hashKey(KEY),
    { hash: hashKey(KEY), user: EMAIL, name: 'local-admin', prefix: KEY.slice(0, 4), createdAt: AT },
  ],
  ['workspace', 'commons', { name: 'commons', description: 'default workspace', ...made }],
  ['workspace', 'a.b', { name: 'a.b', description: null, ...made }],
  ['workspace', 'a', { name: 'a', description: null, ...made }],
  [
    'collection',
    'a.b.docs',
    {
      name: 'docs',
      workspace: 'a.b',
      table: 'c_1',
      description: 'old',
      ...made,
      clusteringKey: [],
      fieldSchemas: [],
      encodingOptions: null,
    },
  ],
  ['usage', 'c_1', { bytesInserted: 10, bytesOverwritten: 3, lastQueriedMs: 1, lastUpdatedMs: 2 }],
  [
    'alias',
    'commons.all',
    { name: 'all', workspace: 'commons', description: null, ...made, modifiedAt: AT, collections: ['a.b.docs'] },
  ],
  [
    'lambda',
    'a.q',
    { name: 'q', workspace: 'a', updatedAt: AT, updatedBy: EMAIL, versions: [version], latest: version, tags: [] },
  ],
  [
    'lambdaVersion',
    `a.q::${version}`,
    {
      lambda: 'q',
      workspace: 'a',
      version,
      description: null,
      query: 'SELECT count(*) AS n FROM "a.b"."docs"',
      defaultParameters: [],
      names: ['a.b.docs'],
      unbound: null,
      ...made,
    },
  ],
];
const records: StoredRecord[] = RECORDS.map(([kind, key, value]) => ({ kind, key, value }));

let home: string;
let service: TestService | undefined;

beforeEach(async () => {
  home = await makeFolder();
});

afterEach(async () => {
  await service?.stop();
  service = undefined;
  await rm(home, { recursive: true, force: true });
});

it('reads them as they are, with the defaults of what came later', () => {
  const catalog = openCatalog({
    ...NOT_SHARED,
    records,
    commit: () => Promise.reject(new Error('nothing is to be written')),
  });
  for (const [kind, key, value] of RECORDS) {
    expect(catalog.all(kind as 'workspace').get(key)).toMatchObject(value);
  }
  expect(catalog.all('collection').get('a.b.docs')).toMatchObject({
    retentionSecs: null,
    eventTimeInfo: null,
    fieldMappings: [],
    fieldMappingQuery: null,
    sources: [],
  });
  expect(catalog.all('usage').get('c_1')).toMatchObject({ purgedDocCount: 0, purgedBytes: 0, file: null });
});

it('serves them, and goes on from there', async () => {
  const files = filesOf(home);
  await mkdir(home, { recursive: true });
  const engine = await openEngine({ file: files.databaseFile });
  await engine.commit([
    ...['commons', 'a', 'a.b'].map((workspace) => ({ do: 'createWorkspace' as const, workspace })),
    { do: 'createCollection', table: 'c_1', workspace: 'a.b', name: 'docs' },
    { do: 'putAlias', workspace: 'commons', name: 'all', tables: ['c_1'] },
    ...records.map((record) => ({ do: 'putRecord' as const, ...record })),
  ]);
  await engine.addDocuments('c_1', [{ id: 'x', eventTimeMicros: null, fields: { n: 1 } }]);
  await engine.close();
  await writeFile(files.adminKeyFile, `${KEY}\n`);

  service = await startTestService({}, home);
  expect(service.key).toBe(KEY);
  const get = async (path: string) => (await service?.call('GET', `/v1/orgs/self${path}`))?.body.data;
  expect((await get('/ws')).map((one: { name: string }) => one.name)).toEqual(['a', 'a.b', 'commons']);
  expect(await get('/ws/a.b/collections/docs')).toMatchObject({
    status: 'READY',
    created_at: AT,
    retention_secs: null,
    sources: [],
    field_mappings: [],
    aliases: [{ workspace: 'commons', name: 'all' }],
    stats: { doc_count: 1, bytes_inserted: 10, purged_doc_count: 0 },
  });
  expect(await get('/ws/a/lambdas')).toMatchObject([
    { version_count: 1, latest_version: { version, state: 'ACTIVE', collections: ['a.b.docs'] } },
  ]);
  expect(await get('/users/self/apikeys')).toMatchObject([{ name: 'local-admin', created_by: EMAIL }]);
  // The first release had no virtual instances.
  expect(await get('/virtualinstances')).toMatchObject([{ name: 'main' }]);
  const run = await service.call('POST', `/v1/orgs/self/ws/a/lambdas/q/versions/${version}`);
  expect(run.body.results).toEqual([{ n: 1 }]);
  const refused = await service.call('DELETE', '/v1/orgs/self/ws/a.b/collections/docs');
  expect([refused.status, refused.body.type]).toEqual([409, 'DEPENDENTRESOURCES']);
  const added = await service.call('POST', '/v1/orgs/self/ws/a.b/collections/docs/docs', { data: [{ _id: 'y' }] });
  expect(added.body.data).toMatchObject([{ status: 'ADDED' }]);
});
