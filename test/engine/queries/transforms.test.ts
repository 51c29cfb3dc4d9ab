/** @module-tag more */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import type { JsonValue } from '../../../src/contract/json/json.ts';
import { openEngine } from '../../../src/engine/duckdb/open.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { someOf } from '../../long.ts';
import { leaked } from '../gate/gate-checks.ts';
import { HOSTILE } from '../gate/hostile.ts';

let folder = '';
let engine: Engine;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'colloquy-transforms-'));
  engine = await openEngine({
    file: join(folder, 'data.duckdb'),
    limits: { resultBytesMax: 1024 * 1024, queryTimeoutMs: 100_000 },
    giveUp: () => undefined,
  });
});
afterAll(async () => {
  await engine.close();
  await rm(folder, { recursive: true });
});

const failure = async (sql: string) => {
  const outcome = await engine.readTransform(sql).catch((error: unknown) => error);
  expect(outcome, sql.slice(0, 200)).toBeInstanceOf(ApiError);
  return outcome as ApiError;
};
/** The fields that the only output reads, or undefined if it computes. */
const fieldIn = async (item: string) => {
  const { inputs, outputs } = await engine.readTransform(`SELECT ${item} FROM _input`);
  const [output] = outputs;
  return output !== undefined && 'input' in output ? [output.name, ...(inputs[output.input] ?? [])] : undefined;
};

describe('a query over one document', () => {
  it('is taken apart into outputs, a condition, and the fields that they read', async () => {
    const sql =
      "SELECT _input.a, b AS c, CAST(x AS date) AS d, x.y.z AS e, * EXCEPT (a, _meta) FROM _input WHERE a > 1 AND b = ':p' -- ;";
    expect(await engine.readTransform(sql)).toEqual({
      inputs: [['a'], ['b'], ['x'], ['x', 'y', 'z']],
      parameters: ['p0', 'p1', 'p2', 'p3'],
      star: { except: ['a'] },
      outputs: [
        { name: 'a', input: 0 },
        { name: 'c', input: 1 },
        { name: 'd', sql: 'CAST( $p2  AS date)' },
        { name: 'e', input: 3 },
      ],
      condition: "CAST(( $p0  > 1 AND  $p1  = ':p'\n) AS BOOLEAN)",
    });
  });

  it.each<[string, (string | number)[]]>([
    ['a', ['a', 'a']],
    ['_input.a', ['a', 'a']],
    ['_INPUT."a.b"', ['a.b', 'a.b']],
    ['`a b`.c', ['c', 'a b', 'c']],
    ['Größe', ['Größe', 'Größe']],
    ['a.b.c', ['c', 'a', 'b', 'c']],
    ["a['b'] AS x", ['x', 'a', 'b']],
    ["a[1]['b''c'].d", ['d', 'a', 1, "b'c", 'd']],
    ['_input.a[2] x', ['x', 'a', 2]],
    ['x: a', ['x', 'a']],
    ['"current_date"', ['current_date', 'current_date']],
    ['user', ['user', 'user']],
  ])('reads %s as it is', async (item, expected) => {
    expect(await fieldIn(item)).toEqual(expected);
  });

  it('may call the document otherwise, end with a comma or a semicolon, and hold comments anywhere', async () => {
    const read = await engine.readTransform(
      '/* a */ SELECT i.a /* b, */, -- , c\n upper(b) AS b, FROM _input AS i /* WHERE */ WHERE -- x\n i.b IS DISTINCT FROM c -- d\n;',
    );
    expect(read).toMatchObject({
      outputs: [{ name: 'a' }, { name: 'b', sql: 'upper( $p1 )' }],
      condition: 'CAST(( $p1  IS DISTINCT FROM  $p2 \n) AS BOOLEAN)',
    });
  });

  it('tells fields from parameters of lambdas, and paths in JSON from lambdas', async () => {
    const sql =
      "SELECT list_transform(x, lambda x: x + y) AS a, [x for x in l if x > k] AS b, j -> '$.x' AS c, list_filter(l, x -> x > 1) AS d FROM _input";
    expect(await engine.readTransform(sql)).toMatchObject({
      inputs: [['x'], ['y'], ['l'], ['k'], ['j']],
      outputs: [
        { sql: 'list_transform( $p0 , lambda x: x +  $p1 )' },
        { sql: '[x for x in  $p2  if x >  $p3 ]' },
        { sql: " $p4  -> '$.x'" },
        { sql: 'list_filter( $p2 , x -> x > 1)' },
      ],
    });
  });

  it('may replace fields of a star', async () => {
    const { star, outputs, inputs } = await engine.readTransform(
      'SELECT * REPLACE (upper(a) AS a, b AS c) FROM _input',
    );
    expect(star).toEqual({ except: [] });
    expect(outputs).toMatchObject([
      { name: 'a', sql: `upper( $p${inputs.findIndex(([name]) => name === 'a')} )` },
      { name: 'c', input: inputs.findIndex(([name]) => name === 'b') },
    ]);
  });

  it.each([
    ['SELECT count(*) AS n FROM _input', 'the aggregate count()'],
    ['SELECT a, sum(b) AS s FROM _input GROUP BY a', 'GROUP BY'],
    ['SELECT a FROM _input GROUP BY ALL', 'GROUP BY'],
    ['SELECT a FROM _input HAVING a > 1', 'HAVING'],
    ['SELECT a FROM _input QUALIFY a > 1', 'QUALIFY'],
    ['SELECT a FROM _input ORDER BY a', 'ORDER BY'],
    ['SELECT a FROM _input LIMIT 1', 'LIMIT'],
    ['SELECT a FROM _input OFFSET 1', 'LIMIT'],
    ['SELECT DISTINCT a FROM _input', 'DISTINCT'],
    ['SELECT * FROM _input CLUSTER BY a', 'CLUSTER BY: give the fields as clustering_key'],
    ['SELECT * FROM _input JOIN t ON true', 'a join'],
    ['SELECT * FROM _input, t', 'a join'],
    ['SELECT * FROM _input, UNNEST(_input.a) AS u', 'UNNEST'],
    ['SELECT * FROM _input CROSS JOIN UNNEST(_input.a AS b)', 'UNNEST'],
    ['SELECT * FROM UNNEST([1])', 'UNNEST'],
    ['SELECT unnest(a) AS a FROM _input', 'UNNEST'],
    ['SELECT * FROM t', 'FROM t: the document is _input'],
    ['SELECT * FROM commons._input', 'FROM commons._input'],
    ['SELECT a FROM (SELECT 1 AS a)', 'a subquery in FROM'],
    ['SELECT (SELECT 1) AS a FROM _input', 'a subquery'],
    ['SELECT a FROM _input WHERE a IN (SELECT b FROM t)', 'a subquery'],
    ['SELECT row_number() OVER () AS a FROM _input', 'a window function'],
    ['WITH x AS (SELECT 1) SELECT a FROM _input', 'WITH'],
    ['SELECT a FROM _input UNION ALL SELECT b FROM _input', 'UNION'],
    ['SELECT a FROM _input TABLESAMPLE 10%', 'a sample'],
    ['SELECT 1 AS a', 'no FROM'],
    ['FROM _input', 'begin with SELECT'],
    ['SELECT :x AS a FROM _input', 'a parameter'],
    ['SELECT #1 AS a FROM _input', 'a column by its position'],
    ["SELECT COLUMNS('a') FROM _input", 'COLUMNS'],
    ["SELECT * LIKE 'a%' FROM _input", '"*" in an expression'],
    ['SELECT *, * FROM _input', '"*" twice'],
    ['SELECT t.* FROM _input', '"t.*"'],
    ['SELECT _input FROM _input', 'the document as a whole'],
    ['SELECT _meta.s3.path AS p FROM _input', 'the field _meta'],
    ['SELECT upper(a) FROM _input', 'no name for output 1'],
    ['SELECT a, b AS a FROM _input', 'the output "a" twice'],
    ["SELECT upper(a) AS 'x' FROM _input", 'a spelling'],
    ['SELECT (a).b AS x FROM _input', 'write the field as "a"."b"'],
    ['SELECT a.b.upper() AS x FROM _input', 'write upper(a.b)'],
    ['EXPLAIN SELECT * FROM _input', 'EXPLAIN'],
    [`SELECT ${Array.from({ length: 251 }, (_, n) => `a AS a${n}`)} FROM _input`, 'more than 250 outputs'],
    [`SELECT [${'a,'.repeat(2_001)}] AS a FROM _input`, 'more than 2000 places'],
  ])('is nothing else: %s', async (sql, why) => {
    const { code, message } = await failure(sql);
    expect([code, message]).toEqual(['query_error', expect.stringContaining(why)]);
    expect(message).toContain('The query must be SELECT ... FROM _input WHERE ..., and this has');
  });

  it.each([
    ['SELECT a,\n  uper(b) AS b FROM _input', 'Did you mean "upper"?', { line: 2, column: 3 }],
    ['SELECT a FROM _input; SELECT 1', 'Only one statement', { line: 1, column: 23 }],
    ['SELECT a FROM _input WHERE', 'syntax error', { line: 1, column: 27 }],
    ["SELECT read_text('/etc/passwd') AS a FROM _input", 'not available', { line: 1, column: 8 }],
    [`SELECT a${'+a'.repeat(30_000)} AS a FROM _input`, 'nested too deeply', {}],
    [`SELECT a AS ${'a'.repeat(70_000)} FROM _input`, 'longer than 65536 bytes', {}],
  ])('says where its mistakes are: %#', async (sql, why, position) => {
    const { code, message, details } = await failure(sql);
    expect([code, message]).toEqual(['query_error', expect.stringContaining(why)]);
    if (Object.keys(position).length > 0) expect(details).toMatchObject(position);
  });
});

describe('hostile SQL', () => {
  for (const [purpose, statements] of Object.entries(HOSTILE)) {
    it(`that would ${purpose} is refused, also as an output and as a condition`, async () => {
      for (const sql of someOf(statements, 10)) {
        const expression = /^SELECT (.*)$/s.exec(sql)?.[1];
        const forms = [
          sql,
          ...(expression === undefined || / FROM /i.test(expression)
            ? []
            : [`SELECT ${expression} AS v FROM _input`, `SELECT a FROM _input WHERE ${expression} IS NULL`]),
        ];
        for (const form of forms) {
          const started = performance.now();
          const error = await failure(form);
          expect.soft(performance.now() - started, form.slice(0, 200)).toBeLessThan(8_000);
          expect.soft(['query_error', 'resource_exceeded'], form.slice(0, 200)).toContain(error.code);
          expect.soft(leaked(error.message, form), form.slice(0, 200)).toEqual([]);
        }
      }
    }, 60_000);
  }
});

describe('evaluateAll()', () => {
  const all = (sql: string[], ...rows: JsonValue[][]) => engine.evaluateAll(sql, ['p', 'q'], rows);

  it('computes expressions together, each with the type that its SQL declares', async () => {
    expect(
      await all(
        ['CAST(:p AS DATE) -- a', 'CAST(:q AS DECIMAL(30, 2))', "{'a': :q, 'b': NULL}", '1.5', 'NULL'],
        ['2024-01-02', '1.239'],
        ['2024-01-02', 5],
      ),
    ).toMatchObject([
      {
        values: [{ declared: 'time' }, { value: 1.24, declared: 'decimal 30 2' }, {}, { value: 1.5 }, { value: null }],
      },
      { values: [{ value: '2024-01-02' }, { value: 5 }, { value: { a: 5 } }, { value: 1.5 }, { value: null }] },
    ]);
  });

  it('fails row by row', async () => {
    expect(await all(['CAST(:p AS INTEGER)', 'upper(:q)'], ['1', 'a'], ['x', 'a'], ['2', 7], ['3', null])).toEqual([
      { values: [{ value: 1 }, { value: 'A' }] },
      { error: expect.stringContaining("Could not convert string 'x'") },
      { error: expect.stringContaining('upper(BIGINT)') },
      { values: [{ value: 3 }, { value: null }] },
    ]);
    expect(await all(['1', 'CAST(:p AS DOUBLE)'], ['1'], ['nan'])).toEqual([
      { values: [{ value: 1 }, { value: 1 }] },
      { error: expect.stringContaining('NaN'), at: 1 },
    ]);
  });

  it('knows of an unsure digit only where it is used', async () => {
    const [row] = await all(['CAST(:p AS DECIMAL(38, 30))', ':q'], ['1.5', 0.12345678901234568]);
    expect(row).toMatchObject({ values: [{ declared: 'decimal 38 30' }, { value: 0.12345678901234568 }] });
  });
});
