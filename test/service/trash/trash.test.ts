import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../harness.ts';
import { addUser } from '../people.ts';

const WS = '/v1/orgs/self/ws';
const COLLECTIONS = `${WS}/commons/collections`;
const LAMBDAS = `${WS}/commons/lambdas`;
const TRASH = '/v1/colloquy/trash';

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});
afterEach(() => service.remove());

async function ok(method: string, path: string, body?: unknown) {
  const answer = await service.call(method, path, body);
  expect(answer.status, answer.text).toBe(200);
  return answer.body.data;
}

async function restart(options: Parameters<typeof startTestService>[0] = {}) {
  await service.stop();
  service = await startTestService(options, service.folder);
}

const entries = () => ok('GET', TRASH);
const restore = (id: string) => service.call('POST', `${TRASH}/${id}/restore`);
const query = async (sql: string) => {
  const answer = await service.call('POST', '/v1/orgs/self/queries', { sql: { query: sql } });
  return answer.body.results;
};
const ofDocs = 'SELECT * FROM docs ORDER BY _id';

async function create(name: string, data: object[] = [], more: object = {}) {
  await ok('POST', COLLECTIONS, { name, ...more });
  if (data.length > 0) await ok('POST', `${COLLECTIONS}/${name}/docs`, { data });
}
const deleteDocs = (ids: string[], name = 'docs') =>
  ok('DELETE', `${COLLECTIONS}/${name}/docs`, { data: ids.map((_id) => ({ _id })) });

async function until(check: () => Promise<boolean>) {
  const endsAt = performance.now() + 15_000;
  while (!(await check())) {
    if (performance.now() > endsAt) throw new Error('waited for 15 seconds');
    await delay(20);
  }
}

describe('a collection in the trash', () => {
  it('comes back with its documents, settings and figures, after a restart too', async () => {
    await create(
      'docs',
      [
        { _id: 'a', o: { n: 1 } },
        { _id: 'b', tags: ['x'] },
      ],
      {
        description: 'Things',
        retention_secs: 3_600,
      },
    );
    const path = `${COLLECTIONS}/docs`;
    const before = await ok('GET', path);
    const rows = await query(ofDocs);
    await ok('DELETE', path);
    expect((await service.call('GET', path)).status).toBe(404);
    expect((await ok('GET', `${WS}/commons`)).collection_count).toBe(0);
    const [entry] = await entries();
    expect(entry).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{12}$/),
      kind: 'collection',
      workspace: 'commons',
      name: 'docs',
      deleted_at: expect.any(String),
      deleted_by: before.created_by,
      expires_at: expect.any(String),
      documents: 2,
      bytes: expect.any(Number),
    });
    expect(Date.parse(entry.expires_at) - Date.parse(entry.deleted_at)).toBe(7 * 86_400_000);
    expect(entry.bytes).toBeGreaterThan(0);
    await restart();
    expect(await entries()).toEqual([{ ...entry, bytes: expect.any(Number) }]);
    expect((await restore(entry.id)).body.data).toEqual({
      id: entry.id,
      kind: 'collection',
      workspace: 'commons',
      name: 'docs',
      documents: 2,
      skipped: 0,
      skipped_ids: [],
      past_retention: 0,
    });
    const after = await ok('GET', path);
    const figures = { last_queried_ms: 0 };
    expect({ ...after, stats: { ...after.stats, ...figures } }).toEqual({
      ...before,
      stats: { ...before.stats, ...figures },
    });
    expect(await query(ofDocs)).toEqual(rows);
    expect(await entries()).toEqual([]);
    expect((await restore(entry.id)).status).toBe(404);
    await ok('POST', `${path}/docs`, { data: [{ _id: 'c', o: 'wider' }] });
    await restart();
    expect(await query('SELECT count(*) AS n FROM docs')).toEqual([{ n: 3 }]);
  });

  it('waits while its name is taken, by a collection or an alias', async () => {
    await create('docs', [{ _id: 'old' }]);
    await ok('DELETE', `${COLLECTIONS}/docs`);
    await create('DOCS', [{ _id: 'new' }]);
    const [{ id }] = await entries();
    const taken = await restore(id);
    expect([taken.status, taken.body.message]).toEqual([
      409,
      'Cannot restore collection "docs": workspace "commons" has the collection "DOCS" now. Delete that one first, then restore again.',
    ]);
    expect(await query('SELECT _id FROM docs')).toEqual([{ _id: 'new' }]);
    await ok('DELETE', `${COLLECTIONS}/DOCS`);
    await create('other');
    await ok('POST', `${WS}/commons/aliases`, { name: 'Docs', collections: ['commons.other'] });
    expect((await restore(id)).body.message).toContain('the alias "Docs"');
    await ok('DELETE', `${WS}/commons/aliases/Docs`);
    expect((await restore(id)).status).toBe(200);
    expect(await query('SELECT _id FROM docs')).toEqual([{ _id: 'old' }]);
    expect((await entries()).map(({ name }: { name: string }) => name)).toEqual(['DOCS']);
  });

  it('waits for its workspace, which it does not keep from being deleted', async () => {
    await ok('POST', WS, { name: 'w' });
    await ok('POST', `${WS}/w/collections`, { name: 'docs' });
    await ok('DELETE', `${WS}/w/collections/docs`);
    await ok('DELETE', `${WS}/w`);
    const [{ id }] = await entries();
    const refused = await restore(id);
    expect([refused.status, refused.body.message]).toEqual([
      404,
      'Cannot restore collection "docs": workspace "w" does not exist any more. Create the workspace first, then restore again.',
    ]);
    await ok('POST', WS, { name: 'w' });
    expect((await restore(id)).status).toBe(200);
    expect(await ok('GET', `${WS}/w/collections`)).toHaveLength(1);
  });

  it('is not made of one that others depend on', async () => {
    await create('docs');
    await ok('POST', LAMBDAS, { name: 'l', sql: { query: 'SELECT * FROM docs' } });
    expect((await service.call('DELETE', `${COLLECTIONS}/docs`)).status).toBe(409);
    expect(await entries()).toEqual([]);
  });
});

describe('documents in the trash', () => {
  const DATA = [
    { _id: 'a', _event_time: '2020-01-02T03:04:05.678901Z', n: 1, o: { x: [1, { y: null }] } },
    { _id: 'b', n: 2.5, 'odd.key': { '': 1 } },
    { _id: 'c', big: 2 },
  ];

  it('come back equal, though the collection became wider', async () => {
    await create('docs', DATA);
    const before = await query(ofDocs);
    await deleteDocs(['a', 'c', 'c', 'none']);
    await restart();
    expect(await query('SELECT _id FROM docs')).toEqual([{ _id: 'b' }]);
    const [entry, ...others] = await entries();
    expect([entry, others]).toMatchObject([
      { kind: 'documents', name: 'docs', workspace: 'commons', documents: 2 },
      [],
    ]);
    expect(entry.bytes).toBeGreaterThan(10);
    await ok('POST', `${COLLECTIONS}/docs/docs`, { data: [{ _id: 'wide', n: 'text', o: 1, big: {}, more: 1 }] });
    await ok('DELETE', `${COLLECTIONS}/docs/docs`, { data: [{ _id: 'wide' }] });
    expect((await entries()).map(({ ids }: { ids?: string[] }) => ids ?? [])).toEqual([['wide'], ['a', 'c']]);
    const restored = (await restore(entry.id)).body.data;
    expect(restored).toMatchObject({ kind: 'documents', documents: 2, skipped: 0, skipped_ids: [] });
    const after = await query('SELECT * EXCLUDE (more) FROM docs ORDER BY _id');
    // In a struct, SQL shows a null for each missing member; in JSON it does not.
    before[0].o = { x: [1, { y: null }] };
    expect(after.map((one: { o: unknown }) => ({ ...one, o: one.o ?? null }))).toMatchObject(
      before.map(({ _id, _event_time, n, big }: Record<string, unknown>) => ({ _id, _event_time, n, big })),
    );
    expect((await ok('GET', `${COLLECTIONS}/docs`)).stats.doc_count).toBe(3);
    expect((await entries()).map(({ documents }: { documents: number }) => documents)).toEqual([1]);
  });

  it('are not overwritten and do not overwrite: those whose _id exists again stay', async () => {
    await create('docs', DATA);
    await deleteDocs(['a', 'b', 'c', 'missing']);
    expect(await entries()).toMatchObject([{ documents: 3, ids: ['a', 'b', 'c'] }]);
    await ok('POST', `${COLLECTIONS}/docs/docs`, { data: [{ _id: 'b', n: 'new' }] });
    const [{ id }] = await entries();
    expect((await restore(id)).body.data).toMatchObject({ documents: 2, skipped: 1, skipped_ids: ['b'] });
    expect(await query(`SELECT n FROM docs WHERE _id = 'b'`)).toEqual([{ n: 'new' }]);
    expect(await entries()).toMatchObject([{ id, documents: 1, ids: ['b'] }]);
    await restart();
    expect(await entries()).toMatchObject([{ id, documents: 1, ids: ['b'] }]);
    expect((await restore(id)).body.data).toMatchObject({ documents: 0, skipped: 1 });
    await deleteDocs(['b']);
    expect((await restore(id)).body.data).toMatchObject({ documents: 1, skipped: 0 });
    expect(await query(`SELECT n FROM docs WHERE _id = 'b'`)).toEqual([{ n: 2.5 }]);
  });

  it('wait for their collection where it is in the trash too', async () => {
    await create('docs', DATA);
    await deleteDocs(['a']);
    await ok('DELETE', `${COLLECTIONS}/docs`);
    const [collection, documents] = await entries();
    expect([collection.kind, documents.kind]).toEqual(['collection', 'documents']);
    const refused = await restore(documents.id);
    expect([refused.status, refused.body.message]).toEqual([
      404,
      expect.stringContaining(`Restore "${collection.id}" first`),
    ]);
    await restore(collection.id);
    await restore(documents.id);
    expect((await query(ofDocs)).map(({ _id }: { _id: string }) => _id)).toEqual(['a', 'b', 'c']);
  });

  it('go to the collection of that name where their own is gone for good, and need one', async () => {
    await create('docs', DATA);
    await deleteDocs(['a']);
    await ok('DELETE', `${COLLECTIONS}/docs`);
    const [collection, documents] = await entries();
    expect(await ok('DELETE', `${TRASH}/${collection.id}`)).toMatchObject({ id: collection.id, documents: 2 });
    expect((await restore(documents.id)).body.message).toContain('Create it first');
    await create('docs');
    expect((await restore(documents.id)).body.data).toMatchObject({ documents: 1 });
    expect(await query('SELECT _id FROM docs')).toEqual([{ _id: 'a' }]);
  });

  it('stay there once they are past the retention, with a warning', async () => {
    const soon = new Date(Date.now() - 3_597_000).toISOString();
    await create('docs', [{ _id: 'soon', _event_time: soon }, { _id: 'new' }], { retention_secs: 3_600 });
    await deleteDocs(['soon', 'new']);
    await new Promise((resolve) => setTimeout(resolve, 3_500));
    const [{ id }] = await entries();
    const { data } = (await restore(id)).body;
    expect(data).toMatchObject({ documents: 1, skipped: 0, skipped_ids: [], past_retention: 1 });
    expect(data.warnings.join()).toMatch(
      /^1 document stays in the trash: .* past the retention of commons\.docs \(3600 s/,
    );
    expect(await entries()).toMatchObject([{ id, documents: 1, ids: ['soon'] }]);
  });

  it('do not include those that retention hides, nor those that did not exist', async () => {
    await create('docs', [{ _id: 'old', _event_time: '2020-01-01T00:00:00Z' }], { retention_secs: 3_600 });
    await deleteDocs(['old', 'none']);
    await deleteDocs([]);
    expect(await entries()).toEqual([]);
  });

  it('come back in several steps as one, eight thousand of them', async () => {
    const ids = Array.from({ length: 8_000 }, (_, index) => `d${index}`);
    await create(
      'docs',
      ids.map((_id, n) => ({ _id, n })),
    );
    await deleteDocs(ids);
    const [{ id }] = await entries();
    expect((await restore(id)).body.data).toMatchObject({ documents: 8_000, skipped: 0 });
    expect(await query('SELECT count(*) AS c, sum(n)::BIGINT AS s FROM docs')).toEqual([{ c: 8_000, s: 31_996_000 }]);
  });
});

describe('lambdas in the trash', () => {
  const version = async (name: string) => (await ok('GET', `${LAMBDAS}/${name}/versions`))[0].version;

  async function withVersions() {
    await ok('POST', LAMBDAS, { name: 'l', description: 'one', sql: { query: 'SELECT 1' } });
    const first = await version('l');
    await ok('POST', `${LAMBDAS}/l/versions`, { description: 'two', sql: { query: 'SELECT 2' } });
    const second = await version('l');
    await ok('POST', `${LAMBDAS}/l/tags`, { tag_name: 'prod', version: first });
    await ok('POST', `${LAMBDAS}/l/tags`, { tag_name: 'next', version: second });
    await service.call('POST', `${LAMBDAS}/l/tags/latest`, {});
    return { first, second };
  }
  const whole = async () => [await ok('GET', `${LAMBDAS}/l/versions`), await ok('GET', `${LAMBDAS}/l/tags`)];

  it('come back with versions, tags and figures', async () => {
    await withVersions();
    const before = await whole();
    await ok('DELETE', `${LAMBDAS}/l`);
    await restart();
    const [entry] = await entries();
    expect(entry).toMatchObject({ kind: 'lambda', name: 'l', documents: null });
    expect((await restore(entry.id)).body.data).toMatchObject({ kind: 'lambda', documents: null, skipped: 0 });
    expect(await whole()).toEqual(before);
    await restart();
    expect(await whole()).toEqual(before);
  });

  it('wait while the name is taken', async () => {
    await withVersions();
    await ok('DELETE', `${LAMBDAS}/l`);
    await ok('POST', LAMBDAS, { name: 'L', sql: { query: 'SELECT 3' } });
    const [{ id }] = await entries();
    const taken = await restore(id);
    expect([taken.status, taken.body.message]).toEqual([409, expect.stringContaining('the Query Lambda "L" now')]);
    await ok('DELETE', `${LAMBDAS}/L`);
    expect((await restore(id)).status).toBe(200);
  });

  it.each(['first', 'second'] as const)('bring the %s of two versions back, where it was', async (which) => {
    const versions = await withVersions();
    const before = await whole();
    await ok('DELETE', `${LAMBDAS}/l/version/${versions[which]}`);
    const [entry] = await entries();
    expect(entry).toMatchObject({ kind: 'lambda_version', name: `l::${versions[which]}` });
    expect((await restore(entry.id)).status).toBe(200);
    expect(await whole()).toEqual(before);
  });

  it('leave tags where they were set since, and a version alone that was posted again', async () => {
    const { first, second } = await withVersions();
    await ok('DELETE', `${LAMBDAS}/l/version/${first}`);
    await ok('POST', `${LAMBDAS}/l/tags`, { tag_name: 'prod', version: second });
    const [one] = await entries();
    expect((await restore(one.id)).body.data.warnings).toEqual([
      `The tag "prod" is on version "${second}" now, and stays there.`,
    ]);
    const tags = await ok('GET', `${LAMBDAS}/l/tags`);
    expect(
      tags.map((tag: { tag_name: string; version: { version: string } }) => [tag.tag_name, tag.version.version]),
    ).toEqual([
      ['latest', second],
      ['next', second],
      ['prod', second],
    ]);
    await ok('DELETE', `${LAMBDAS}/l/version/${first}`);
    await ok('POST', `${LAMBDAS}/l/versions`, { description: 'one', sql: { query: 'SELECT 1' } });
    const [again] = await entries();
    expect(await version('l')).toBe(first);
    expect((await restore(again.id)).body.message).toContain('it was posted again and exists');
    await ok('DELETE', `${LAMBDAS}/l`);
    expect((await restore(again.id)).body.message).toContain('the Query Lambda does not exist');
  });

  it('bring the tags of a version back that was posted again, as far as they are free', async () => {
    const { first, second } = await withVersions();
    await ok('POST', `${LAMBDAS}/l/tags`, { tag_name: 'stable', version: second });
    await ok('DELETE', `${LAMBDAS}/l/version/${second}`);
    await ok('POST', `${LAMBDAS}/l/tags`, { tag_name: 'stable', version: first });
    await ok('POST', `${LAMBDAS}/l/versions`, { description: 'two', sql: { query: 'SELECT 2' } });
    const [{ id }] = await entries();
    expect((await restore(id)).body.data.warnings).toEqual([
      'The version was posted again and exists; restored: its tags "next".',
      `The tag "stable" is on version "${first}" now, and stays there.`,
    ]);
    expect(await ok('GET', `${LAMBDAS}/l/tags/next`)).toMatchObject({ version: { version: second } });
    expect(await entries()).toEqual([]);
  });
});

describe('the trash', () => {
  it('is for an admin, over the local socket', async () => {
    const member = await addUser(service, 'member@example.com', 'member');
    await create('docs', [{ _id: 'a' }]);
    await deleteDocs(['a']);
    const [{ id }] = await entries();
    const calls: [string, string][] = [
      ['GET', TRASH],
      ['POST', `${TRASH}/${id}/restore`],
      ['DELETE', `${TRASH}/${id}`],
      ['DELETE', TRASH],
    ];
    for (const [method, path] of calls) {
      expect((await service.call(method, path, undefined, { key: member })).status).toBe(403);
      expect((await service.call(method, path, undefined, { key: null })).status).toBe(401);
    }
    await restart({ listen: [{ host: '127.0.0.1', port: 0 }, { path: `${service.folder}/service.sock` }] });
    for (const [method, path] of calls) {
      const answer = await fetch(`${service.service.addresses[0]}${path}`, {
        method,
        headers: { authorization: `ApiKey ${service.key}` },
      });
      expect(answer.status).toBe(403);
      expect(await answer.text()).toContain('local socket only');
    }
    expect(await entries()).toHaveLength(1);
  });

  it('takes what a member deletes, under that name', async () => {
    const member = await addUser(service, 'member@example.com', 'member');
    await create('docs', [{ _id: 'a' }]);
    await service.call('DELETE', `${COLLECTIONS}/docs/docs`, { data: [{ _id: 'a' }] }, { key: member });
    expect(await entries()).toMatchObject([{ deleted_by: 'member@example.com' }]);
  });

  it('is emptied, one entry or all, and that is for good', async () => {
    await create('docs', [{ _id: 'a' }, { _id: 'b' }]);
    await deleteDocs(['a']);
    await deleteDocs(['b']);
    await ok('DELETE', `${COLLECTIONS}/docs`);
    await ok('POST', LAMBDAS, { name: 'l', sql: { query: 'SELECT 1' } });
    await ok('DELETE', `${LAMBDAS}/l`);
    const listed = await entries();
    expect(listed.map(({ kind }: { kind: string }) => kind)).toEqual([
      'lambda',
      'collection',
      'documents',
      'documents',
    ]);
    await ok('DELETE', `${TRASH}/${listed[0].id}`);
    expect((await service.call('DELETE', `${TRASH}/${listed[0].id}`)).status).toBe(404);
    expect(await ok('DELETE', TRASH)).toMatchObject({ entries: 3, bytes: expect.any(Number) });
    expect(await ok('DELETE', TRASH)).toEqual({ entries: 0, bytes: 0 });
    await restart();
    expect(await entries()).toEqual([]);
    for (const { id } of listed) expect((await restore(id)).status).toBe(404);
    await create('docs');
    expect(await query(ofDocs)).toEqual([]);
  });

  it('loses what is past its time, in the background and at the start, and keeps the rest', async () => {
    await create('docs', [{ _id: 'a' }, { _id: 'b' }]);
    await deleteDocs(['a']);
    await restart({ trashDays: 1 / 86_400, purgeEveryMs: 20 });
    await deleteDocs(['b']);
    await ok('DELETE', `${COLLECTIONS}/docs`);
    expect(await entries()).toHaveLength(3);
    await until(async () => (await entries()).length === 1);
    expect(await entries()).toMatchObject([{ kind: 'documents', documents: 1 }]);
    await restart({ trashDays: 1 / 86_400_000, purgeEveryMs: 3_600_000 });
    await create('docs');
    await ok('DELETE', `${COLLECTIONS}/docs`);
    expect(await entries()).toHaveLength(2);
    await restart({ purgeEveryMs: 3_600_000 });
    await until(async () => (await entries()).length === 1);
  });

  it('takes nothing where it is off, and keeps what it has', async () => {
    expect(await ok('GET', '/v1/colloquy')).toMatchObject({ trash_days: 7 });
    await create('docs', [{ _id: 'a' }, { _id: 'b' }]);
    await deleteDocs(['a']);
    await restart({ trashDays: 0 });
    expect(await ok('GET', '/v1/colloquy')).toMatchObject({ trash_days: 0 });
    await deleteDocs(['b']);
    await ok('POST', LAMBDAS, { name: 'l', sql: { query: 'SELECT 1' } });
    await ok('POST', `${LAMBDAS}/l/versions`, { sql: { query: 'SELECT 2' } });
    await ok('DELETE', `${LAMBDAS}/l/version/${(await ok('GET', `${LAMBDAS}/l/versions`))[0].version}`);
    await ok('DELETE', `${LAMBDAS}/l`);
    await create('other');
    await ok('DELETE', `${COLLECTIONS}/other`);
    const left = await entries();
    expect(left).toMatchObject([{ documents: 1 }]);
    await restore(left[0].id);
    expect(await query('SELECT _id FROM docs')).toEqual([{ _id: 'a' }]);
  });

  it('keeps each document once, however many delete, restore and empty at once', async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `d${index}`);
    await create(
      'docs',
      ids.map((_id) => ({ _id })),
    );
    await Promise.all(ids.map((_id) => deleteDocs([_id])));
    const listed: { id: string }[] = await entries();
    expect(listed).toHaveLength(40);
    const twice = await Promise.all([...listed, ...listed].map(({ id }) => restore(id)));
    expect(twice.filter(({ status }) => status === 200)).toHaveLength(40);
    expect(await query('SELECT count(*) AS n, count(DISTINCT _id) AS d FROM docs')).toEqual([{ n: 40, d: 40 }]);
    await deleteDocs(ids);
    const [{ id }] = await entries();
    const [restored, emptied] = await Promise.all([restore(id), service.call('DELETE', TRASH)]);
    expect(emptied.status).toBe(200);
    const left = (await query('SELECT count(*) AS n FROM docs'))[0].n;
    expect(left).toBe(restored.status === 200 ? 40 : 0);
    expect(await entries()).toEqual([]);
  });
});
