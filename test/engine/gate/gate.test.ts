import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import { COMPAT_MACROS } from '../../../src/engine/duckdb/sql/compat.ts';
import { COPYING_MACROS } from '../../../src/engine/duckdb/sql/expansion.ts';
import { SCALAR_FUNCTIONS, TABLE_FUNCTIONS } from '../../../src/engine/duckdb/sql/functions.ts';
import { CALLED_BY_ENGINE, macrosFor } from '../../../src/engine/duckdb/sql/macros.ts';
import { isLong, isMore, MORE, someOf } from '../../long.ts';
import { createFixture, type Fixture } from '../fixture.ts';
import { leaked, stateOf } from './gate-checks.ts';
import { DISGUISED, EXHAUSTING, HOSTILE } from './hostile.ts';
import { LEGITIMATE } from './legitimate.ts';

let fixture: Fixture;
beforeAll(async () => {
  // Long enough for a loaded machine: these statements are to be stopped by other limits.
  fixture = await createFixture({ queryTimeoutMs: 100_000 });
});
afterAll(() => fixture.close());

async function failure(sql: string): Promise<ApiError> {
  const outcome = await fixture.queries.query({ sql }).catch((error: unknown) => error);
  expect(outcome, sql.slice(0, 200)).toBeInstanceOf(ApiError);
  return outcome as ApiError;
}

const state = () => stateOf(fixture);

describe('the gate refuses', () => {
  for (const [purpose, statements] of Object.entries(HOSTILE)) {
    test(`statements that would ${purpose}`, async () => {
      const before = await state();
      for (const sql of statements) {
        const started = performance.now();
        const error = await failure(sql);
        expect.soft(performance.now() - started, sql.slice(0, 200)).toBeLessThan(8_000);
        expect
          .soft(['query_error', 'resource_exceeded'], `${sql.slice(0, 200)}: ${error.message}`)
          .toContain(error.code);
        expect.soft(leaked(error.message, sql), sql.slice(0, 200)).toEqual([]);
        expect.soft(error.message.length, sql.slice(0, 200)).toBeGreaterThan(10);
      }
      expect(await state()).toBe(before);
      expect(await fixture.rows('SELECT count(*) FROM orders')).toEqual([[3]]);
    }, 60_000);
  }

  test('all of them, in enough variety', () => {
    expect(Object.values(HOSTILE).flat().length).toBeGreaterThan(200);
    expect(LEGITIMATE.length).toBeGreaterThan(60);
  });

  test('hostile statements again under inspect() and EXPLAIN', { ...MORE, timeout: 120_000 }, async () => {
    const before = await state();
    for (const sql of someOf(Object.values(HOSTILE).flat(), 4)) {
      const explained = await fixture.queries.query({ sql: `EXPLAIN ${sql}` }).catch((error: unknown) => error);
      expect.soft(explained, `EXPLAIN ${sql.slice(0, 200)}`).toBeInstanceOf(ApiError);
      expect.soft(leaked(String(explained), sql), sql.slice(0, 200)).toEqual([]);
      const inspected = await fixture.queries.inspect({ sql }).catch((error: unknown) => error);
      expect.soft(inspected, `inspect ${sql.slice(0, 200)}`).toBeInstanceOf(ApiError);
    }
    expect(await state()).toBe(before);
  });
});

describe('stopped when they run, and only then', () => {
  const isSlow = (sql: string) => sql.includes('NGRAMS');
  const tried = EXHAUSTING.filter((sql) => (isMore ? isSlow(sql) : isLong || !isSlow(sql)));
  test.each(tried.map((sql) => [sql.slice(0, 120), sql]))('%s', { ...MORE, timeout: 120_000 }, async (_, sql) => {
    const error = await failure(sql);
    expect(['query_error', 'resource_exceeded']).toContain(error.code);
    expect(leaked(error.message, sql)).toEqual([]);
    expect(leaked(JSON.stringify(await fixture.queries.query({ sql: `EXPLAIN ${sql}` })), sql)).toEqual([]);
    expect(await fixture.queries.inspect({ sql })).toMatchObject({ collections: [], aliases: [], unbound: null });
    expect(await fixture.rows('SELECT count(*) FROM orders')).toEqual([[3]]);
  });
});

describe('the text that runs is the text that the gate saw', () => {
  test.each(DISGUISED.map((sql) => [JSON.stringify(sql), sql]))('%s', async (_, sql) => {
    const gated = await fixture.rows(sql).catch((error: unknown) => error);
    if (gated instanceof ApiError) expect(gated.code).toBe('query_error');
    else expect(gated).toEqual(await fixture.direct(sql));
    expect(JSON.stringify(gated)).not.toContain('secret');
  });
});

describe('the gate lets through', () => {
  test.each(LEGITIMATE.map((sql) => [sql.slice(0, 120), sql]))('%s', async (_, sql) => {
    const outcome = await fixture.queries.query({ sql });
    expect(JSON.stringify(outcome)).not.toMatch(/_colloquy|_data\.|"t\d"/);
    expect(outcome.cut).toBeNull();
  });
});

describe('names', () => {
  const cases: [sql: string, message: string, line: number, column: number][] = [
    ['SELECT * FROM ordrs', 'Collection "ordrs" does not exist in workspace "commons". Did you mean orders?', 1, 15],
    [
      'SELECT *\nFROM prod.event',
      'Collection "event" does not exist in workspace "prod". Did you mean prod.events?',
      2,
      6,
    ],
    [
      'SELECT * FROM events',
      'Collection "events" does not exist in workspace "commons". Did you mean prod.events?',
      1,
      15,
    ],
    [
      'SELECT * FROM "my_coll"',
      'Collection "my_coll" does not exist in workspace "commons". Did you mean "my-ws"."my-coll" or "a.b".coll?',
      1,
      15,
    ],
    ['SELECT * FROM prd.events', 'Workspace with name "prd" does not exist. Did you mean prod.events?', 1, 15],
    ['SELECT * FROM zzzz', 'Collection "zzzz" does not exist in workspace "commons".', 1, 15],
  ];
  test.each(cases)('%s', async (sql, message, line, column) => {
    const error = await failure(sql);
    expect(error).toMatchObject({ code: 'query_error', details: { line, column } });
    expect(error.message).toBe(message);
  });

  test('three parts: how to quote a workspace with dots', async () => {
    expect((await failure('SELECT * FROM a.b.coll')).message).toMatch(/"a\.b"\.coll/);
  });

  test('collections and aliases in order of first use, in their own spelling', async () => {
    const sql = 'WITH x AS (SELECT * FROM PROD.events) SELECT * FROM "Users", recent, x, commons.ORDERS, users u';
    const { collections, aliases } = await fixture.queries.inspect({ sql });
    expect(collections).toEqual(['prod.events', 'commons.users', 'commons.orders']);
    expect(aliases).toEqual(['commons.recent']);
  });

  test('a name of WITH hides a collection, in its scope only', async () => {
    const inspect = async (sql: string) => (await fixture.queries.inspect({ sql })).collections;
    expect(await inspect('WITH orders AS (SELECT 1) SELECT * FROM orders')).toEqual([]);
    expect(await inspect('WITH orders AS (SELECT * FROM orders) SELECT * FROM orders')).toEqual(['commons.orders']);
    expect(await inspect('SELECT * FROM (WITH users AS (SELECT 1) FROM users), users')).toEqual(['commons.users']);
    expect(await inspect('WITH orders AS (SELECT 1) SELECT * FROM commons.orders')).toEqual(['commons.orders']);
    expect(await inspect('WITH a AS (FROM users), users AS (SELECT 1) FROM a, users')).toEqual(['commons.users']);
  });
});

describe('the lists of functions', () => {
  test('every function of the engine is allowed or known to be left out', async () => {
    const left = await fixture.direct(`SELECT DISTINCT lower(function_name) FROM duckdb_functions()
      WHERE function_type IN ('scalar', 'aggregate', 'macro') AND database_name = 'system' ORDER BY 1`);
    const names = left.map(([name]) => String(name)).filter((name) => !SCALAR_FUNCTIONS.has(name));
    const families =
      /^(?:__internal_|icu_collate_|st_|pg_|has_|inet_|current_|json_(?:de)?serialize_|variant_|shobj_|obj_|col_)/;
    expect(names.filter((name) => !families.test(name))).toEqual([
      'approx_count_distinct',
      'array_reduce',
      'array_to_string_comma_default',
      'combine',
      'constant_or_null',
      'create_sort_key',
      'currval',
      'finalize',
      'format_pg_type',
      'format_type',
      'get_block_size',
      'getvariable',
      'in_search_path',
      'json_group_structure',
      'list_approx_count_distinct',
      'list_reduce',
      'make_type',
      'map_to_pg_oid',
      'nextval',
      'parse_duckdb_log_message',
      'reduce',
      'remap_struct',
      'setseed',
      'sleep_ms',
      'stats',
      'sum_no_overflow',
      'timetz_byte_comparable',
      'txid_current',
      'vector_type',
      'write_log',
    ]);
  });

  test('every macro that copies an argument is known, and how often', async () => {
    const macros = await fixture.direct(`SELECT lower(function_name), parameters, macro_definition
      FROM duckdb_functions() WHERE function_type = 'macro' AND database_name = 'system' AND schema_name = 'main'`);
    const copying = macros.flatMap(([name, parameters, definition]): [string, number][] => {
      // The name of a column or field, in quotes or before `:=`, is not a use.
      const words = String(definition).match(/'[^']*'|"?\w+"?(?: :=)?/g) ?? [];
      const uses = (parameter: string) => words.filter((word) => word.replaceAll('"', '') === parameter).length;
      const most = Math.max(0, ...(Array.isArray(parameters) ? parameters.map(String).map(uses) : []));
      return most > 1 && SCALAR_FUNCTIONS.has(String(name)) ? [[String(name), most]] : [];
    });
    expect(copying.length).toBeGreaterThan(5);
    for (const [name, most] of copying) expect(COPYING_MACROS.get(name) ?? 0, name).toBeGreaterThanOrEqual(most);
  });

  test('every macro of the engine that calls what macros of ours stand for is known, with those', async () => {
    const macros = await fixture.direct(`SELECT DISTINCT lower(function_name), macro_definition
      FROM duckdb_functions() WHERE function_type LIKE '%macro' AND database_name = 'system' AND schema_name = 'main'`);
    const calling = macros.flatMap(([name, definition]): [string, string[]][] => {
      if (!SCALAR_FUNCTIONS.has(String(name)) && !TABLE_FUNCTIONS.has(String(name))) return [];
      const called = [...String(definition).matchAll(/\b(\w+)"?\(/g)].map(([, one = '']) => one);
      const ours = called.filter((one) => one !== name && macrosFor(one).includes(one));
      return ours.length > 0 && !macrosFor(String(name)).includes(String(name)) ? [[String(name), ours]] : [];
    });
    expect(Object.fromEntries(calling.map(([name, ours]) => [name, [...new Set(ours)]]))).toEqual(
      Object.fromEntries(CALLED_BY_ENGINE),
    );
  });

  test('every allowed name exists', async () => {
    const rows = await fixture.direct('SELECT DISTINCT lower(function_name) FROM duckdb_functions()');
    const known = new Set([...rows.map(([name]) => name), ...COMPAT_MACROS.keys(), 'unnest', '->']);
    expect([...SCALAR_FUNCTIONS, ...TABLE_FUNCTIONS].filter((name) => !known.has(name))).toEqual([]);
  });
});
