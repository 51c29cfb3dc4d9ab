import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createNames } from '../../../src/engine/duckdb/sql/names.ts';
import { createFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());

const inspect = (sql: string) => fixture.queries.inspect({ sql, allowMissingParameters: true, allowUnbound: true });

describe('inspect() with allowUnbound', () => {
  it('says nothing of a statement that binds', async () => {
    expect(await inspect('SELECT n FROM prod.events WHERE n > :x')).toEqual({
      collections: ['prod.events'],
      aliases: [],
      parameters: ['x'],
      missing: [],
      unbound: null,
      warnings: [],
    });
  });

  it.each([
    'SELECT age FROM users WHERE :p IS NULL OR name = :p LIMIT :n',
    'SELECT age FROM users, unnest(:ids) AS t(id) WHERE age = t.id',
    'SELECT age FROM users WHERE age = ANY(:ids) AND name LIKE :p',
    'SELECT age + :n, list_contains(:ids, age), :obj.a FROM users',
  ])('says nothing of one whose parameters have no type: %s', async (sql) => {
    expect((await inspect(sql)).unbound).toBe(null);
  });

  it('lists what is missing once each, in the workspace that SQL means', async () => {
    const found = await inspect('SELECT * FROM Gone JOIN users USING (_id), ws.c, "a.b".d, gone x, Gone');
    expect(found.missing).toEqual(['commons.Gone', 'ws.c', 'a.b.d', 'commons.gone']);
    expect(found.collections).toEqual(['commons.users']);
    expect(found.unbound).toEqual({
      message: expect.stringContaining('Collection "Gone" does not exist in workspace "commons"'),
      line: 1,
      column: 15,
    });
  });

  it.each([
    'SELECT nope FROM users',
    'SELECT u.nope FROM users u',
    'SELECT age FROM users GROUP BY name',
    'SELECT name + age FROM users',
    'SELECT age FROM users WHERE (:p IS NULL OR name = :p) AND nope <= 1',
    'DESCRIBE gone',
    'EXPLAIN SELECT * FROM gone',
    'WITH w AS (SELECT * FROM gone) SELECT * FROM w',
  ])('%s is let through with a reason', async (sql) => {
    expect((await inspect(sql)).unbound?.message.length).toBeGreaterThan(5);
    await expect(fixture.queries.inspect({ sql })).rejects.toMatchObject({ code: 'query_error' });
  });

  it.each([
    'SELEC 1',
    'SELECT 1; SELECT 2',
    'DELETE FROM gone',
    'SELECT * FROM _data.t0',
    'SELECT * FROM _meta.keys',
    'SELECT * FROM gone, _meta.keys',
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM gone, 'x.csv'",
    "SELECT * FROM gone WHERE x IN (SELECT content FROM read_text('/etc/passwd'))",
    'SELECT no_such_function(x) FROM gone',
    'SELECT * FROM a.b.c',
    'SHOW TABLES FROM gone',
  ])('%s is refused all the same', async (sql) => {
    await expect(inspect(sql)).rejects.toMatchObject({ code: 'query_error' });
  });
});

describe('createNames()', () => {
  it('counts every change', () => {
    const names = createNames();
    const seen = [names.version];
    const table = { workspace: 'w', name: 't', kind: 'collection' as const, columns: () => [] };
    const changes = [
      () => names.putWorkspace('w'),
      () => names.putTable(table),
      () => names.putTable(table),
      () => names.dropTable(table),
      () => names.dropWorkspace('w'),
      () => names.clear(),
    ];
    for (const change of changes) {
      change();
      seen.push(names.version);
    }
    expect(new Set(seen).size).toBe(changes.length + 1);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  });
});
