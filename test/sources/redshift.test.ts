import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as redshift from '../../src/service/sources/redshift.ts';
import { LARGEST_MAX, largestBatch, optionsOf, startReading } from './reading.ts';
import { type FaultProxy, startFaultProxy } from './servers/fault-proxy.ts';
import { type Postgres, READER, startPostgres } from './servers/postgres.ts';
import { ITEMS, type SourceService, startSourceService, until } from './source-tests.ts';

let server: Postgres;
let proxy: FaultProxy;
let service: SourceService;

beforeAll(async () => {
  server = await startPostgres();
  proxy = await startFaultProxy(() => server.port);
  service = await startSourceService();
  await service.createIntegration('pg', 'redshift', { ...READER, host: '127.0.0.1', port: server.port, tls: false });
  await service.createIntegration('weak', 'redshift', { ...READER, host: '127.0.0.1', port: proxy.port, tls: false });
});
afterAll(async () => {
  await service?.remove();
  await proxy?.close();
  await server?.close();
});

const from = (table: string, more = {}) => ({
  integration_name: 'pg',
  redshift: { database: 'shop', table_name: table, ...more },
});

async function create(name: string, source: Record<string, unknown>, settings = {}) {
  const answer = await service.createCollection(name, source, settings);
  expect(answer.text).toContain('"status":"CREATED"');
}

// biome-ignore lint/suspicious/noExplicitAny: what the service says.
const isActive = (one: any) => one.source.status.state === 'ACTIVE';

describe('a table of PostgreSQL', () => {
  it('with times that are infinite, or beyond the years of others, is read, and its changes are', async () => {
    await server.sql('CREATE TABLE endless (id int PRIMARY KEY, until timestamptz)');
    await server.sql(
      "INSERT INTO endless VALUES (1, 'infinity'), (2, '-infinity'), (3, '2026-01-01'), (4, '0044-03-15 BC')",
    );
    await create('endless', from('endless', { incremental_field: 'until' }));
    await until(() => service.source('endless'), isActive);
    expect(await service.count('endless')).toBe(4);
    await server.sql("INSERT INTO endless VALUES (5, '2026-02-01')");
    await until(async () => ((await service.count('endless')) === 5 ? true : undefined), Boolean);
    await server.sql('CREATE TABLE later (id int PRIMARY KEY, until timestamp)');
    await server.sql("INSERT INTO later VALUES (1, '12345-01-01'), (2, '2026-01-01')");
    await create('later', from('later', { incremental_field: 'until' }));
    await until(() => service.source('later'), isActive);
    await server.sql("INSERT INTO later VALUES (3, '12345-01-02')");
    await until(async () => ((await service.count('later')) === 3 ? true : undefined), Boolean);
  });

  it('is read whole, then its changes, with types as they are', async () => {
    await server.sql(`CREATE TABLE orders (id bigint PRIMARY KEY, total numeric(12,2), note text, at timestamptz DEFAULT now(),
      day date, tags text[], j jsonb, u uuid, ok boolean, big bigint, long numeric(30,10), b bytea, f float8)`);
    await server.sql(
      `INSERT INTO orders SELECT i, i / 4.0, 'n' || i, '2026-01-02 03:04:05.678Z', '2026-01-02', ARRAY['a', i::text], '{"k": {"n": 1}}',
        '00000000-0000-0000-0000-00000000000a', i % 2 = 0, 9007199254740993, 12345678901234567890.0123456789, '\\x00ff', 'NaN' FROM generate_series(1, $1) i`,
      [ITEMS],
    );
    await create('orders', from('orders', { incremental_field: 'at' }));
    await until(() => service.source('orders'), isActive);
    expect(await service.count('orders')).toBe(ITEMS);
    expect(await service.rows("SELECT * EXCLUDE (_event_time) FROM commons.orders WHERE _id = '2'")).toEqual([
      {
        _id: '2',
        id: 2,
        total: 0.5,
        note: 'n2',
        at: '2026-01-02T03:04:05.678Z',
        day: '2026-01-02',
        tags: ['a', '2'],
        j: { k: { n: 1 } },
        u: '00000000-0000-0000-0000-00000000000a',
        ok: true,
        big: '9007199254740993',
        long: '12345678901234567890.0123456789',
        b: 'AP8=',
        f: 'NaN',
      },
    ]);
    const [types] = await service.rows(
      'SELECT typeof(total) AS total, typeof("at") AS "at", typeof(day) AS day, typeof(u) AS u, typeof(b) AS b FROM commons.orders LIMIT 1',
    );
    expect(types).toEqual({
      total: 'float',
      at: 'timestamp',
      day: 'date',
      u: 'uuid',
      b: 'bytes',
    });
    await server.sql("UPDATE orders SET note = 'changed', at = now() WHERE id = 2");
    await server.sql("INSERT INTO orders (id, note) VALUES (-1, 'new')");
    await until(
      () => service.rows("SELECT note FROM commons.orders WHERE _id IN ('2', '-1') ORDER BY note"),
      (rows) => JSON.stringify(rows) === '[{"note":"changed"},{"note":"new"}]',
    );
    const { source } = await service.source('orders');
    expect(source.status).toMatchObject({ state: 'ACTIVE', total_processed_items: ITEMS + 2, total_error_items: 0 });
    expect(source.redshift).toEqual({ database: 'shop', table_name: 'orders', incremental_field: 'at' });
  });

  it('whose schema changes on the way is read on', async () => {
    await server.sql('CREATE TABLE grows (id int PRIMARY KEY, at timestamptz DEFAULT now())');
    await server.sql('INSERT INTO grows VALUES (1)');
    await create('grows', from('grows', { incremental_field: 'at' }));
    await until(
      () => service.count('grows'),
      (n) => n === 1,
    );
    await server.sql('ALTER TABLE grows ADD COLUMN extra text');
    await server.sql("INSERT INTO grows (id, extra) VALUES (2, 'x')");
    await until(
      () => service.count('grows'),
      (n) => n === 2,
    );
    expect(await service.rows("SELECT extra FROM commons.grows WHERE _id = '2'")).toEqual([{ extra: 'x' }]);
  });

  it('many rows of one time are read once, and one of them that is committed late, too', async () => {
    // More than are remembered one by one.
    const rows = 60_000;
    await server.sql('CREATE TABLE bulk (id int PRIMARY KEY, at timestamp(0))');
    await server.sql("INSERT INTO bulk SELECT i, '2026-01-02 03:04:05' FROM generate_series(1, $1) i", [rows]);
    await create('bulk', from('bulk', { incremental_field: 'at' }));
    await until(() => service.source('bulk'), isActive);
    await delay(2_500);
    const processed = async () => (await service.source('bulk')).source.status.total_processed_items;
    expect(await processed()).toBe(rows);
    await server.sql("INSERT INTO bulk VALUES (-1, '2026-01-02 03:04:04')");
    await server.sql("UPDATE bulk SET at = '2026-01-02 03:04:05' WHERE id = -1");
    await until(
      () => service.count('bulk'),
      (n) => n === rows + 1,
    );
    await server.sql("INSERT INTO bulk VALUES (-2, '2026-01-02 03:04:04')");
    await until(
      () => service.count('bulk'),
      (n) => n === rows + 2,
    );
    // Then nothing is read any more.
    const readMeanwhile = async () => {
      const before = await processed();
      await delay(2_500);
      return (await processed()) - before;
    };
    await until(readMeanwhile, (read) => read === 0);
  });

  it('large rows behind small ones are read, and read again when they change, in batches of a bounded size', async () => {
    const [small, large] = [2_000, 400];
    await server.sql('CREATE TABLE mixed (id int PRIMARY KEY, day date, n int, text text)');
    await server.sql(
      "INSERT INTO mixed SELECT i, '2026-01-02', 0, repeat('x', CASE WHEN i > $1 THEN 100000 ELSE 10 END) FROM generate_series(1, $2) i",
      [small, small + large],
    );
    const connection = { ...READER, host: '127.0.0.1', port: server.port, tls: false };
    const settings = { database: 'shop', table_name: 'mixed', incremental_field: 'day' };
    const reading = startReading(redshift, optionsOf(connection, settings));
    const isRead = (n: number) =>
      [...reading.documents.values()].filter((one) => one['n'] === n).length === small + large;
    const changes = () => reading.batches.flatMap((batch) => batch.changes).length;
    try {
      await reading.until(() => isRead(0));
      // All rows are of one day, and those that are known are the same.
      await delay(1_500);
      expect(changes()).toBe(small + large);
      await server.sql('UPDATE mixed SET n = 1');
      await reading.until(() => isRead(1));
      await delay(1_500);
      expect(changes()).toBe(2 * (small + large));
      expect(largestBatch(reading.batches)).toBeLessThan(LARGEST_MAX);
      expect(reading.errors).toEqual([]);
    } finally {
      await reading.stop();
    }
  });

  it('a row that changes twice on one day is read twice, where days are the field', async () => {
    await server.sql('CREATE TABLE days (id int PRIMARY KEY, day date, note text)');
    await server.sql("INSERT INTO days VALUES (1, '2026-01-02', 'a'), (2, '2026-01-02', 'a')");
    await create('days', from('days', { incremental_field: 'day' }));
    await until(() => service.source('days'), isActive);
    for (const note of ['b', 'c']) {
      await server.sql('UPDATE days SET note = $1 WHERE id = 2', [note]);
      await until(
        () => service.rows('SELECT note FROM commons.days ORDER BY _id'),
        (rows) => JSON.stringify(rows) === `[{"note":"a"},{"note":"${note}"}]`,
      );
    }
  });

  it('with a key of several columns, and no key at all', async () => {
    await server.sql('CREATE TABLE pairs (a int, b text, n int)');
    await server.sql("INSERT INTO pairs VALUES (1, 'x', 1), (1, 'y', 2)");
    const refused = await service.createCollection('pairs', from('pairs'));
    expect(refused.status).toBe(400);
    expect(refused.body.message).toContain(
      'has no primary key. Name the columns that tell its rows apart in "primary_key"',
    );
    await create('pairs', from('pairs', { primary_key: ['a', 'b'] }));
    await until(
      () => service.count('pairs'),
      (n) => n === 2,
    );
    expect(await service.rows('SELECT _id, n FROM commons.pairs ORDER BY n')).toEqual([
      { _id: '["1","x"]', n: 1 },
      { _id: '["1","y"]', n: 2 },
    ]);
  });
});

describe('what is wrong is said when the collection is made', () => {
  it.each([
    ['a table', from('nothing'), 'There is no table \\"public\\".\\"nothing\\"'],
    [
      'a field',
      from('orders', { incremental_field: 'when' }),
      'has no column \\"when\\", which \\"incremental_field\\" names',
    ],
    [
      'a database',
      { integration_name: 'pg', redshift: { database: 'none', table_name: 't' } },
      'There is no database \\"none\\"',
    ],
    [
      'an integration',
      { integration_name: 'no', redshift: { database: 'shop', table_name: 't' } },
      'uses the integration \\"no\\", which does not exist',
    ],
    ['no integration', { redshift: { database: 'shop', table_name: 't' } }, 'has no \\"integration_name\\"'],
    ['no table', { integration_name: 'pg', redshift: { database: 'shop' } }, 'has no \\"redshift.table_name\\"'],
  ])('%s', async (_, source, why) => {
    const answer = await service.createCollection('wrong', source);
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(why);
  });

  it('a password, and no secret is told', async () => {
    await service.createIntegration('bad', 'redshift', {
      ...READER,
      password: 'wrong-secret',
      host: '127.0.0.1',
      port: server.port,
      tls: false,
    });
    const answer = await service.createCollection('wrong', { ...from('orders'), integration_name: 'bad' });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toContain('does not let the user "reader" in');
    expect(JSON.stringify(service.lines) + answer.text).not.toContain('wrong-secret');
  });

  it('a server without TLS', async () => {
    await service.createIntegration('tls', 'redshift', { ...READER, host: '127.0.0.1', port: server.port });
    const answer = await service.createCollection('wrong', { ...from('orders'), integration_name: 'tls' });
    expect(answer.body.message).toContain('does not speak TLS');
  });
});

describe('a source', () => {
  it('goes on by itself after its server was away, and says so meanwhile', async () => {
    await server.sql('CREATE TABLE away (id int PRIMARY KEY, at timestamptz DEFAULT now())');
    await server.sql('INSERT INTO away SELECT generate_series(1, 10)');
    await create('away', { ...from('away', { incremental_field: 'at' }), integration_name: 'weak' });
    await until(
      () => service.count('away'),
      (n) => n === 10,
    );
    proxy.setDown(true);
    const { source } = await until(
      () => service.source('away'),
      (one) => one.source.status.state === 'WAITING',
    );
    expect(source.status.message).toContain('cannot be reached');
    expect(source.status.last_error_reason).toContain('cannot be reached');
    await server.sql('INSERT INTO away SELECT generate_series(11, 20)');
    proxy.setDown(false);
    await until(
      () => service.count('away'),
      (n) => n === 20,
    );
    await server.restart('immediate');
    await server.sql('INSERT INTO away SELECT generate_series(21, 30)');
    await until(
      () => service.count('away'),
      (n) => n === 30,
    );
    expect((await until(() => service.source('away'), isActive)).source.status.total_error_items).toBe(0);
  });

  it('on a slow line that breaks is read whole, and nothing twice', async () => {
    await server.sql('CREATE TABLE slow (id int PRIMARY KEY, text text)');
    await server.sql("INSERT INTO slow SELECT i, repeat('x', 100) FROM generate_series(1, $1) i", [ITEMS * 3]);
    proxy.setDelay(5);
    // What is said wrongly is an error at once, and so is a line that breaks just then.
    await create('slow', { ...from('slow'), integration_name: 'weak' });
    const cuts = setInterval(() => proxy.cut(), 400);
    try {
      await until(() => service.source('slow'), isActive, 200);
    } finally {
      clearInterval(cuts);
      proxy.setDelay(0);
    }
    expect(await service.count('slow')).toBe(ITEMS * 3);
  });

  it('is paused, resumed and read anew', async () => {
    await server.sql('CREATE TABLE control (id int PRIMARY KEY, at timestamptz DEFAULT now())');
    await server.sql('INSERT INTO control SELECT generate_series(1, 5)');
    await create('control', from('control', { incremental_field: 'at' }));
    await until(
      () => service.count('control'),
      (n) => n === 5,
    );
    await service.control('control', 'pause');
    await server.sql('INSERT INTO control VALUES (6)');
    const { source } = await service.source('control');
    expect(source.status.state).toBe('PAUSED');
    await service.control('control', 'resume');
    await until(
      () => service.count('control'),
      (n) => n === 6,
    );
    await service.control('control', 'restart');
    const again = await until(
      () => service.source('control'),
      (one) => isActive(one) && one.source.status.total_processed_items === 6,
    );
    expect(again.source.status.total_error_items).toBe(0);
    expect(await service.count('control')).toBe(6);
  });

  it('goes on with new credentials', async () => {
    await server.sql("CREATE USER second PASSWORD 'second-secret'");
    await server.sql('CREATE TABLE keys (id int PRIMARY KEY, at timestamptz DEFAULT now())');
    await server.sql('GRANT SELECT ON keys TO second');
    await server.sql('INSERT INTO keys VALUES (1)');
    const connection = {
      host: '127.0.0.1',
      port: server.port,
      tls: false,
      username: 'second',
      password: 'second-secret',
    };
    await service.createIntegration('second', 'redshift', connection);
    await create('keys', { ...from('keys', { incremental_field: 'at' }), integration_name: 'second' });
    await until(
      () => service.count('keys'),
      (n) => n === 1,
    );
    await server.sql("ALTER USER second PASSWORD 'third-secret'");
    await server.restart();
    await until(
      () => service.source('keys'),
      (one) => one.source.status.state === 'WAITING' && /let the user/.test(one.source.status.message),
    );
    await server.sql('INSERT INTO keys VALUES (2)');
    const answer = await service.call('POST', '/v1/colloquy/integrations/second/connection', {
      connection: { ...connection, password: 'third-secret' },
    });
    expect(answer.status).toBe(200);
    expect(answer.text).not.toContain('third-secret');
    await until(
      () => service.count('keys'),
      (n) => n === 2,
    );
  });

  it('refuses an item that does not fit, keeps it, and goes on or stops as it is told', async () => {
    await server.sql('CREATE TABLE odd (id text PRIMARY KEY)');
    await server.sql("INSERT INTO odd VALUES ('a'), (repeat('b', 2000)), ('c')");
    await create('odd', from('odd'));
    await until(
      () => service.count('odd'),
      (n) => n === 2,
    );
    const { source, refused } = await service.source('odd');
    expect(source.status).toMatchObject({ total_processed_items: 2, total_error_items: 1 });
    expect(refused).toMatchObject([{ item: `odd/${'b'.repeat(2000)}`, reason: expect.stringContaining('_id') }]);
    await create('strict', { ...from('odd'), on_error: 'stop' });
    const stopped = await until(
      () => service.source('strict'),
      (one) => one.source.status.state === 'ERROR',
    );
    expect(stopped.source.status.message).toContain('then resume');
    await server.sql("DELETE FROM odd WHERE id LIKE 'bb%'");
    await service.control('strict', 'resume');
    await until(
      () => service.count('strict'),
      (n) => n === 2,
    );
  });

  it('ends with its collection, and goes on when that is restored', async () => {
    await server.sql('CREATE TABLE gone (id int PRIMARY KEY, at timestamptz DEFAULT now())');
    await server.sql('INSERT INTO gone VALUES (1)');
    await create('gone', from('gone', { incremental_field: 'at' }));
    await until(
      () => service.count('gone'),
      (n) => n === 1,
    );
    const deleted = await service.call('DELETE', '/v1/orgs/self/ws/commons/collections/gone', undefined, {
      headers: { 'x-colloquy-trash': 'told' },
    });
    await server.sql('INSERT INTO gone VALUES (2)');
    const restored = await service.call('POST', `/v1/colloquy/trash/${deleted.body.data.trash.id}/restore`, {});
    expect(restored.status).toBe(200);
    await until(
      () => service.count('gone'),
      (n) => n === 2,
    );
    expect((await until(() => service.source('gone'), isActive)).source.status.last_processed_item).toBe('gone/2');
  });

  it("goes through the collection's query", async () => {
    await server.sql('CREATE TABLE mapped (id int PRIMARY KEY, n int)');
    await server.sql('INSERT INTO mapped SELECT i, i FROM generate_series(1, 10) i');
    await create('mapped', from('mapped'), {
      field_mapping_query: { sql: 'SELECT _id, n * 2 AS twice FROM _input WHERE TRY_CAST(n AS int) > 5' },
    });
    await until(
      () => service.count('mapped'),
      (n) => n === 5,
    );
    expect(await service.rows("SELECT * EXCLUDE _event_time FROM commons.mapped WHERE _id = '6'")).toEqual([
      { _id: '6', twice: 12 },
    ]);
  });
});
