import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WRITTEN_INSTEAD } from '../../../src/engine/duckdb/sql/dialects.ts';
import { SCALAR_FUNCTIONS } from '../../../src/engine/duckdb/sql/functions.ts';
import type { Engine, Parameter } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, rowsOf, temporaryFolder } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

beforeAll(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine, true);
  await engine.addDocuments('t', [
    doc('1', { name: 'ann', n: 5, tags: ['x', 'y'], meta: { a: 1 }, lines: [{ sku: 'x' }] }),
    doc('2', { o: { at: { city: 'x', zip: 1 } }, seconds: 1_717_236_000, made: '2024-06-01T22:30:00Z', paid: 'ja' }),
  ]);
});

afterAll(async () => {
  await engine.close();
  folder.dispose();
});

const messageOf = (sql: string, parameters: Parameter[] = []) =>
  engine.query({ sql, parameters }).then(
    () => 'no error',
    (error: Error) => error.message,
  );

describe('a function of another dialect', () => {
  const VALUES = `SELECT '2026-01-31' a, 'b' b, 2 n, TIMESTAMP '2026-01-31' t, [1, 2] l, '{"a": 1}'::JSON j, 1 x, 2 y`;

  test.each([...WRITTEN_INSTEAD])('%s: %s', async (name, instead) => {
    expect(SCALAR_FUNCTIONS.has(name), `${name} can be called now: remove it from sql/dialects.ts`).toBe(false);
    const lists = /json_array_elements|jsonb_array_elements/.test(name) ? VALUES.replace('{"a": 1}', '[1]') : VALUES;
    expect(await rowsOf(engine, `SELECT ${instead} FROM (${lists})`)).not.toEqual([]);
  });

  test('is refused with what to write', async () => {
    expect(await messageOf("SELECT NVL(name, 'x') FROM docs")).toBe(
      'Function "nvl" does not exist or is not available in queries. Write coalesce(x, y), for example.',
    );
    expect(await messageOf("SELECT name ~* 'a' FROM docs")).toContain("Write regexp_matches(a, 'b+', 'i')");
  });
});

describe('a form of another dialect is refused with what to write', () => {
  test.each([
    ["SELECT SAFE_CAST('1' AS INT)", 'TRY_CAST(x AS DOUBLE)'],
    ['SELECT TOP 5 * FROM docs', 'LIMIT 5'],
    ["SELECT GROUP_CONCAT(name SEPARATOR ',') FROM docs", "string_agg(x, ', ')"],
    ["SELECT name REGEXP 'a' FROM docs", "regexp_matches(x, 'pattern')"],
    ["SELECT 1 FROM docs WHERE name RLIKE 'a'", "regexp_matches(x, 'pattern')"],
    ['SELECT tags[OFFSET(0)] FROM docs', 'write x[1]'],
    ['SELECT * FROM docs LATERAL VIEW explode(tags) x AS y', 'UNNEST(t.items) AS u(item)'],
    ['SELECT n FROM docs MINUS SELECT 1', 'EXCEPT'],
    ['SELECT struct(1 AS a)', "{'a': x, 'b': y}"],
    ["SELECT IFF(name = 'x', 1, 2) FROM docs", 'Write if(n > 1, x, y)'],
    ['SELECT OBJECT_KEYS(meta) FROM docs', 'json_keys(to_json(x))'],
    ["SELECT LISTAGG(name, ',') WITHIN GROUP (ORDER BY name) FROM docs", "string_agg(x, ',' ORDER BY x)"],
    ['SELECT ARRAY_AGG(name) WITHIN GROUP (ORDER BY n) FROM docs', 'array_agg so, instead of WITHIN GROUP'],
    ['SELECT ARRAY_AGG(name ORDER BY n LIMIT 1) FROM docs', '(array_agg(x ORDER BY y))[:5]'],
    ["SELECT meta #>> '{a}' FROM docs", "o->>'$.a.b' instead of"],
    ["SELECT 1 FROM docs WHERE name LIKE ANY ('a%', 'b%')", "x LIKE 'a%' OR x LIKE 'b%'"],
    ["SELECT 1 FROM docs WHERE name ILIKE ANY (ARRAY['A%'])", "x LIKE 'a%' OR x LIKE 'b%'"],
    ["SELECT 1 FROM docs WHERE name = 'O\\'Neil'", "within a text is two: 'O''Neil'"],
    ["SELECT 1 FROM docs WHERE name = 'O\\'Neil' AND n = 5", "within a text is two: 'O''Neil'"],
    ["SELECT 1 FROM docs WHERE 'x' IN UNNEST(tags)", 'x = ANY(list)'],
    ["SELECT 1 FROM docs WHERE tags IN ('x', 'q')", "list_has_any(list, ['a', 'b'])"],
    ['SELECT _id, x FROM docs LEFT JOIN UNNEST(tags) AS t(x) ORDER BY 1', 'AS u(item) ON true'],
    ["SELECT _id FROM docs d LEFT OUTER JOIN LATERAL UNNEST(d.lines) i WHERE i.sku = 'x'", 'AS u(item) ON true'],
    ['SELECT _id FROM docs LEFT JOIN UNNEST(tags) AS t(x)', 'AS u(item) ON true'],
    ["SELECT e->>'sku' FROM docs d, jsonb_array_elements(d.lines) AS e", 'UNNEST(t.items) AS u(item)'],
    ['SELECT key FROM docs, jsonb_each_text(meta)', 'json_each(t.o) AS e'],
    ['SELECT x FROM docs, UNNEST(tags) AS x WITH OFFSET AS i', 'UNNEST(x) WITH ORDINALITY AS u(item, nr)'],
    [
      "SELECT 1 FROM docs, JSON_TABLE(lines, '$[*]' COLUMNS (sku TEXT PATH '$.sku')) AS i",
      'UNNEST(t.items) AS u(item)',
    ],
    ['SELECT 1 FROM docs CROSS APPLY OPENJSON(tags) v', 'UNNEST(t.items) AS u(item)'],
    ['SELECT CAST(n AS FLOAT64) FROM docs', 'There is no type FLOAT64: write DOUBLE.'],
    ["SELECT '1'::jsonb, n::NUMBER(10, 2) FROM docs", 'There is no type jsonb: write JSON.'],
    ["SELECT strptime('3.06.2024', 'DD.MM.YYYY')", "strptime(x, '%d.%m.%Y %H:%M:%S')"],
    ["SELECT TO_TIMESTAMP('31.01.2024', 'DD.MM.YYYY')", "strptime(x, '%d.%m.%Y')"],
    ["SELECT FROM_UNIXTIME(seconds, '%Y-%m') FROM docs", "strftime(to_timestamp(n), '%Y-%m')"],
    ["SELECT DECODE(name, 'ann', 1, 0) FROM docs", "CASE x WHEN 'a' THEN 1"],
    ["SELECT DECODE(n, 1, 'x', 'y') FROM docs", "CASE x WHEN 'a' THEN 1"],
    ["SELECT 1 FROM docs WHERE month(made) = 'June'", "monthname(t) = 'June'"],
    ["SELECT EXTRACT(MONTH FROM made) = 'June' FROM docs", "monthname(t) = 'June'"],
    ['SELECT 1 FROM docs WHERE made > now() - 7', 't - INTERVAL 1 DAY'],
    ['SELECT year(seconds) FROM docs', 'to_timestamp(n) if seconds'],
    ["SELECT date_trunc('day', seconds) FROM docs", 'TIMESTAMP_MILLIS(n) if milliseconds'],
    ['SELECT seconds::TIMESTAMP FROM docs', 'to_timestamp(n)'],
    ['SELECT 1 FROM docs WHERE seconds > now()', 'to_timestamp(n)'],
    ['SELECT 1 FROM docs WHERE paid', "compare it, x = 'yes'"],
    ['SELECT 1 FROM docs WHERE ROWNUM < 3', 'LIMIT 10'],
    ['SELECT meta:a::int FROM docs', "x.a, and of JSON x->>'$.a'"],
    ['SELECT meta:a::int AS x FROM docs', "x.a, and of JSON x->>'$.a'"],
    ['SELECT meta:a.b FROM docs', "x.a, and of JSON x->>'$.a'"],
    ['SELECT docs.meta:a FROM docs', "x.a, and of JSON x->>'$.a'"],
    ['SELECT * FROM docs WHERE meta:a = 1', "x.a, and of JSON x->>'$.a'"],
    [`SELECT PARSE_JSON('{"a":1}'):a`, "x.a, and of JSON x->>'$.a'"],
    ['SELECT f.value FROM docs, LATERAL FLATTEN(input => docs.lines) f', 'UNNEST(t.items) AS u(item)'],
    ['SELECT f.value FROM docs, TABLE(FLATTEN(input => docs.lines)) f', 'UNNEST(t.items) AS u(item)'],
    ['SELECT TIMESTAMP(name) FROM docs', 'x::TIMESTAMP'],
    ["SELECT TIMESTAMP('2026-01-01')", 'x::TIMESTAMP'],
    ['SELECT ARRAY_AGG(name IGNORE NULLS ORDER BY name) FROM docs', 'FILTER (WHERE x IS NOT NULL)'],
    ['SELECT ARRAY_AGG(name IGNORE NULLS) FROM docs', 'FILTER (WHERE x IS NOT NULL)'],
    [
      'SELECT lines.sku FROM docs',
      'Add UNNEST(lines) AS u(x) to FROM, and write x.sku; or list_transform(lines, lambda x: x.sku).',
    ],
    ['SELECT * FROM information_schema.tables', 'SHOW ALL TABLES'],
    ['SELECT * FROM pg_catalog.pg_tables', 'DESCRIBE t'],
    ['SELECT RATIO_TO_REPORT(n) OVER () FROM docs', 'sum(n) OVER ()'],
    ['SELECT o.at.town FROM docs', 'o."at" has city VARCHAR, zip BIGINT.'],
    ['SELECT DATE_TRUNC(_event_time, MONTH) FROM docs', "date_trunc('month', t)"],
    ['SELECT DATE_SUB(_event_time, INTERVAL 1 DAY) FROM docs', 't - INTERVAL 1 DAY'],
    ['SELECT * FROM docs WHERE name = "ann"', "single ones: 'ann'"],
    ['SELECT * FROM docs WHERE name IN (\'bob\', "ann")', "single ones: 'ann'"],
    ['SELECT 1e400', 'numbers go up to 1.79e308'],
    ['SELECT -1e400 AS x', 'numbers go up to 1.79e308'],
  ])('%s', async (sql, instead) => {
    expect(await messageOf(sql)).toContain(instead);
  });

  test('a time is not made the part of one that a call begins with here', async () => {
    const sql = "SELECT DATE_DIFF(made, made, 'day') FROM docs";
    const error = await engine.query({ sql }).catch((one: unknown) => one);
    expect(error).toMatchObject({ message: expect.stringContaining("date_diff('day', t1, t2)") });
    expect(error).not.toHaveProperty('details.correctedSql');
  });

  test('the fields of an object are named once', async () => {
    const message = await messageOf('SELECT lines[1].skuu FROM docs');
    expect(message.match(/\bsku\b/g)).toHaveLength(1);
  });

  test('a setting is no other function', async () => {
    expect(await messageOf("SELECT current_setting('TimeZone')")).not.toContain('Did you mean');
  });

  test('a field in double quotes that is not there is only missing', async () => {
    expect(await messageOf('SELECT "nothing" FROM docs')).not.toContain('single ones');
  });

  test('a parameter in the place of a name', async () => {
    const parameters = [{ name: 't', type: 'string', value: 'docs' }];
    expect(await messageOf('SELECT * FROM :t', parameters)).toContain('A parameter stands for a value');
  });

  test.each(['_id', 'n'])('a list of values of %s for IN', async (field) => {
    const parameters = [{ name: 'list', type: 'array', value: field === 'n' ? [5] : ['1'] }];
    expect(await messageOf(`SELECT n FROM docs WHERE ${field} IN (:list)`, parameters)).toContain('x = ANY(:list)');
    const { rows } = await engine.query({ sql: `SELECT n FROM docs WHERE ${field} = ANY(:list)`, parameters });
    expect(rows).toEqual([[5]]);
  });
});
