import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, temporaryFolder } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

beforeAll(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine, true);
  await engine.addDocuments('t', [
    doc('1', {
      name: 'ann',
      n: 5,
      tags: ['x', 'y'],
      author: { login: 'x', id: 1, at: { zip: [7, 8] } },
      made: '2024-06-01T22:30:00Z',
      day: '2024-06-03',
      seconds: 1_717_236_000,
      items: [{ sku: 'a', qty: 2 }],
      paid: 'ja',
      j: [{ a: 1 }],
    }),
    doc('2', { name: "O'Neil", n: 6, tags: ['y'], author: { login: 'y', id: 2 }, paid: 'nein', j: 'text' }),
    doc('3', { name: 'bob', n: 'odd', j: 1 }),
  ]);
});

afterAll(async () => {
  await engine.close();
  folder.dispose();
});

async function errorOf(sql: string): Promise<ApiError> {
  const error = await engine.query({ sql }).then(
    () => undefined,
    (one: unknown) => one,
  );
  if (!(error instanceof ApiError)) throw new Error(`no error of ${sql}`, { cause: error });
  return error;
}

const idsWhere = (condition: string) => `SELECT _id FROM docs WHERE ${condition} ORDER BY _id`;

describe('what other dialects write is said as it is here, and means the same', () => {
  test.each<[string, string, unknown[][]]>([
    // Operators.
    [idsWhere("author #>> '{at,zip,1}' = '8'"), "author ->>'$.at.zip[1]' = '8'", [['1']]],
    [idsWhere("name LIKE ANY ('a%', 'b%')"), "(name LIKE 'a%' OR name LIKE 'b%')", [['1'], ['3']]],
    [idsWhere("name ILIKE ANY (ARRAY['A%'])"), "(name ILIKE 'A%')", [['1']]],
    // Texts.
    [idsWhere("name = 'O\\'Neil'"), "name = 'O''Neil'", [['2']]],
    // Lists.
    [idsWhere("'x' IN UNNEST(tags)"), "'x' = ANY(tags)", [['1']]],
    [idsWhere("'x' NOT IN UNNEST(tags)"), "'x' <> ALL(tags)", [['2'], ['3']]],
    [idsWhere("tags IN ('x', 'q')"), "list_has_any(tags, ['x', 'q'])", [['1']]],
    [idsWhere("tags NOT IN ('x')"), "NOT list_has_any(tags, ['x'])", [['2']]],
    [
      'SELECT ARRAY_AGG(name ORDER BY n DESC LIMIT 1) FROM docs',
      '(ARRAY_AGG(name ORDER BY n DESC))[:1]',
      [[["O'Neil"]]],
    ],
    [
      "SELECT LISTAGG(name, '/') WITHIN GROUP (ORDER BY name) FROM docs WHERE n > 1",
      'ORDER BY name)',
      [["O'Neil/ann"]],
    ],
    // FROM.
    [
      'SELECT _id, x FROM docs LEFT JOIN UNNEST(tags) AS t(x) ORDER BY 1, 2',
      'AS t(x) ON true ORDER BY',
      [
        ['1', 'x'],
        ['1', 'y'],
        ['2', 'y'],
        ['3', null],
      ],
    ],
    [
      "SELECT d._id FROM docs d LEFT OUTER JOIN LATERAL UNNEST(d.items) i WHERE i.sku = 'a'",
      'i ON true WHERE',
      [['1']],
    ],
    ["SELECT e->>'sku' FROM docs d, jsonb_array_elements(d.items) AS e", 'unnest(d.items) AS e', [['a']]],
    ["SELECT value->>'sku' FROM docs, jsonb_array_elements(items)", 'unnest(items) AS u(value)', [['a']]],
    ["SELECT e->>'a' FROM docs, json_array_elements(j) AS t(e)", 'unnest(TRY_CAST(j AS JSON[])) AS t(e)', [['1']]],
    [
      "SELECT d._id, key FROM docs d, jsonb_each(d.author) WHERE key = 'id' ORDER BY 1",
      'json_each(d.author)',
      [
        ['1', 'id'],
        ['2', 'id'],
      ],
    ],
    // Times.
    [
      "SELECT CONVERT_TZ(made, 'UTC', 'Europe/Berlin') FROM docs WHERE n = 5",
      'timezone(',
      [['2024-06-02T00:30:00.000000']],
    ],
    [
      "SELECT CONVERT_TIMEZONE('UTC', 'Europe/Berlin', made)::DATE FROM docs WHERE n = 5",
      "timezone('Europe/Berlin', CAST(made AS TIMESTAMPTZ))",
      [['2024-06-02']],
    ],
    [
      "SELECT FROM_UTC_TIMESTAMP(made, 'Asia/Tokyo') FROM docs WHERE n = 5",
      'timezone(',
      [['2024-06-02T07:30:00.000000']],
    ],
    [idsWhere("day = strptime('3.06.2024', 'DD.MM.YYYY')"), "strptime('3.06.2024', '%d.%m.%Y')", [['1']]],
    [idsWhere("month(day) = 'june'"), "monthname(day) = 'June'", [['1']]],
    [idsWhere("dayofweek(day) = 'Monday'"), "dayname(day) = 'Monday'", [['1']]],
    [
      "SELECT FROM_UNIXTIME(seconds, '%Y-%m') FROM docs WHERE n = 5",
      "strftime(to_timestamp(seconds), '%Y-%m')",
      [['2024-06']],
    ],
    [
      "SELECT TO_TIMESTAMP('31.01.2024', 'DD.MM.YYYY')",
      "strptime('31.01.2024', '%d.%m.%Y')",
      [['2024-01-31T00:00:00.000000']],
    ],
    // Calls and types.
    [
      "SELECT DECODE(name, 'ann', 1, 'bob', 2, 0) FROM docs ORDER BY 1",
      "CASE name WHEN 'ann' THEN 1 WHEN 'bob' THEN 2 ELSE 0 END",
      [[0], [1], [2]],
    ],
    ["SELECT JSON_UNQUOTE(JSON_EXTRACT(author, '$.login')) FROM docs WHERE n = 5", 'json_extract_string(', [['x']]],
    ["SELECT JSONB_BUILD_OBJECT('a', n) FROM docs WHERE n = 5", "json_object('a', n)", [[{ a: 5 }]]],
    ["SELECT SUBSTRING_INDEX('a,b', ',', 1), DIV(7, 2)", "split_part('a,b', ',', 1), (7 // 2)", [['a', 3]]],
    ['SELECT CAST(n AS FLOAT64), n::NUMBER(10, 2) FROM docs WHERE n = 5', 'n::DECIMAL(10, 2)', [[5, 5]]],
    ['SELECT CAST(n AS UNSIGNED) FROM docs WHERE n = 5', 'CAST(n AS UBIGINT)', [[5]]],
    [
      "SELECT made::TIMESTAMP_NTZ, '1'::VARCHAR2(10), '1'::JSONB FROM docs WHERE n = 5",
      'made::TIMESTAMP,',
      [['2024-06-01T22:30:00.000000', '1', 1]],
    ],
  ])('%s', async (sql, part, rows) => {
    const corrected = (await errorOf(sql)).details.correctedSql ?? '';
    expect(corrected).toContain(part);
    expect((await engine.query({ sql: corrected })).rows).toEqual(rows);
  });

  test.each([
    [
      'a time zone that is not UTC, since a time may have its own',
      "SELECT CONVERT_TZ(made, 'Asia/Tokyo', 'Europe/Berlin') FROM docs",
    ],
    ['NULL, which DECODE finds', 'SELECT DECODE(name, NULL, 1, 2) FROM docs'],
    ['a number of which dialects differ', 'SELECT n::NUMBER FROM docs'],
    ['a later part of a text', "SELECT SUBSTRING_INDEX(name, ',', 2) FROM docs"],
    ['seconds or milliseconds', 'SELECT year(seconds) FROM docs'],
    ['words for true', 'SELECT 1 FROM docs WHERE paid'],
  ])('but not of %s', async (_, sql) => {
    expect((await errorOf(sql)).details.correctedSql).toBeUndefined();
  });
});

describe('what cannot be put right is said', () => {
  test.each([
    ['SELECT year(seconds) FROM docs', 'to_timestamp(n) if seconds'],
    ["SELECT date_trunc('day', seconds) FROM docs", 'TIMESTAMP_MILLIS(n) if milliseconds'],
    ['SELECT seconds::TIMESTAMP FROM docs', 'to_timestamp(n)'],
    ['SELECT 1 FROM docs WHERE seconds > now()', 'to_timestamp(n)'],
    ['SELECT 1 FROM docs WHERE paid', "compare it, x = 'yes'"],
    ["SELECT EXTRACT(MONTH FROM day) = 'June' FROM docs", "monthname(t) = 'June'"],
    ['SELECT 1 FROM docs WHERE ROWNUM < 3', 'LIMIT 10'],
    ['SELECT x FROM docs, UNNEST(tags) AS x WITH OFFSET AS i', 'UNNEST(x) WITH ORDINALITY AS u(item, nr)'],
    [
      "SELECT 1 FROM docs, JSON_TABLE(items, '$[*]' COLUMNS (sku VARCHAR(9) PATH '$.sku')) AS i",
      'UNNEST(t.items) AS u(item)',
    ],
    ['SELECT 1 FROM docs CROSS APPLY OPENJSON(tags) v', 'UNNEST(t.items) AS u(item)'],
    ['SELECT key FROM docs, jsonb_each_text(author)', 'json_each(t.o) AS e'],
  ])('%s', async (sql, said) => {
    expect((await errorOf(sql)).message).toContain(said);
  });
});
