import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonValue } from '../../../src/contract/json/json.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, temporaryFolder } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

beforeAll(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine, true);
  await engine.addDocuments(
    't',
    [9, 12.4, 12].map((k, at) =>
      doc(String(at), {
        code: `7011${at}`,
        payload: JSON.stringify({ k, zip: `7011${at}`, two: 10 + at, name: `n${at}`, nested: { v: 7, 'a b': k } }),
        attrs: { color: at === 0 ? 'red' : 'blue', weight: k },
        n: at,
        o: { a: at, b: 'x' },
      }),
    ),
  );
});

afterAll(async () => {
  await engine.close();
  folder.dispose();
});

const K = 'JSON_PARSE(payload).k';

describe('JSON that a statement computes', () => {
  const quotes = (of: string, other: string) =>
    `${of} is JSON, in which a text has quotes, so it differs from ${other}: (${of}->>'$') compares without them.`;
  const rounded = (of: string) =>
    `${of} is JSON, and rounded to compare it with an integer: CAST(${of} AS DOUBLE) compares what it is.`;
  const zip = 'json_parse(payload).zip';

  test.each<[string, string[]]>([
    [`${zip} = '70111'`, [quotes(zip, "'70111'")]],
    [`${zip} IN ('70111', '70112') OR '70111' <> ${zip}`, [quotes(zip, "'70111'")]],
    [`${zip} = code`, [quotes(zip, 'the text beside it')]],
    ['json_parse(d.payload).k = d.n', [rounded('json_parse(d.payload).k')]],
    ['json_parse(payload).k BETWEEN n AND n::INT + 1', [rounded('json_parse(payload).k')]],
    // Integers beside integers, numbers beside fractions, a number that was written as text, JSON as it is written.
    [`json_parse(payload).two = n AND json_parse(payload).k > n::DOUBLE AND json_parse(payload).two = '12'`, []],
    [`${zip} = '"70111"' OR (${zip}->>'$') = '70111'`, []],
  ])('is told where it is compared with what it is not: %s', async (condition, warnings) => {
    expect((await engine.query({ sql: `SELECT count(*) FROM docs d WHERE ${condition}` })).warnings).toEqual(warnings);
  });

  const asText = (of: string, pair: string) => [
    `${of} is text, ordered as text: ${pair}. As a number: CAST(${of} AS DOUBLE).`,
  ];
  const pair = "'12.4' comes before '9'";
  test.each<[string, string[]]>([
    ["SELECT max(payload->>'k') FROM docs", asText("(payload->>'k')", pair)],
    [
      "SELECT n FROM docs ORDER BY attrs->>'weight' DESC LIMIT 1",
      ["(attrs->>'weight') is text, ordered as text: '12.4' comes before '9.0'. As a number: attrs.weight."],
    ],
    [
      "SELECT arg_max(n, json_extract_string(payload, '$.k')) FROM docs",
      asText("json_extract_string(payload, '$.k')", pair),
    ],
    ["SELECT payload->>'k' AS k FROM docs ORDER BY k", asText("(payload->>'k')", pair)],
    ["SELECT n FROM docs d WHERE d.payload->>'k' > '10'", asText("(d.payload->>'k')", pair)],
    // Of one length, words, numbers beside a number, and a cast.
    ["SELECT max(payload->>'zip'), min(payload->>'two') FROM docs ORDER BY max(payload->>'name')", []],
    ["SELECT max(CAST(payload->>'k' AS DOUBLE)) FROM docs WHERE payload->>'k' > 'a'", []],
  ])('of which the text is put in order is told: %s', async (sql, warnings) => {
    expect((await engine.query({ sql })).warnings).toEqual(warnings);
  });

  test('is told where a parameter is none of it', async () => {
    const asked = async (sql: string, type: string, value: JsonValue) =>
      (await engine.query({ sql, parameters: [{ name: 'p', type, value }] })).warnings;
    const sql = `SELECT n FROM docs WHERE ${zip} = :p`;
    expect(await asked(sql, 'string', '70111')).toEqual([quotes(zip, "'70111'")]);
    expect(await asked(sql, 'string', '"70111"')).toEqual([]);
    expect(await asked(`SELECT n FROM docs WHERE ${K} = :p`, 'int', 12)).toEqual([rounded('json_parse(payload).k')]);
    expect(await asked(`SELECT n FROM docs WHERE ${K} = :p`, 'float', 12)).toEqual([]);
  });

  test('has texts that stand in for it', async () => {
    const sql = `SELECT coalesce(JSON_PARSE(payload).none, 'a'), CASE WHEN n = 0 THEN JSON_PARSE(payload).name ELSE 'b' END,
      nullif(JSON_PARSE(payload).name, 'n2') FROM docs ORDER BY n`;
    expect((await engine.query({ sql })).rows).toEqual([
      ['a', 'n0', 'n0'],
      ['a', 'b', 'n1'],
      ['a', 'b', null],
    ]);
  });

  test('compares with a literal as what it holds', async () => {
    const conditions: [string, number][] = [
      [`${K} > 9.5`, 2],
      [`${K} > 12`, 1],
      [`${K} = 12`, 1],
      [`12 <= ${K}`, 2],
      [`${K} BETWEEN 9 AND 12.3`, 2],
      [`${K} IN (9, 12.4)`, 2],
      [`${K} > -3`, 3],
      ["JSON_PARSE(payload).name = 'n1'", 1],
      ["JSON_PARSE(payload).name <> ''", 3],
      ["JSON_PARSE(payload).name NOT IN ('n1', 'n2')", 1],
      ["JSON_PARSE(payload).name IN ('n1', 'n2')", 2],
      ["json_extract(payload, '$.name') <> 'n1'", 2],
      ["attrs->'color' = 'red'", 1],
      ["'red' <> attrs->'color'", 2],
      ["(attrs->'color') NOT IN ('red', 'q')", 2],
      ["attrs->'color' NOT IN ('red', 'q')", 2],
      ["len(list_filter(ITEMS(attrs), lambda kv: kv[1] = 'color' AND kv[2] = 'red')) = 1", 1],
    ];
    for (const [condition, count] of conditions) {
      const { rows, warnings } = await engine.query({ sql: `SELECT count(*) FROM docs WHERE ${condition}` });
      expect([rows, warnings], condition).toEqual([[[count]], []]);
    }
    const items =
      "SELECT kv[1], n FROM docs, UNNEST(ITEMS(attrs) AS kv) WHERE kv[1] = 'color' ORDER BY kv[1], n LIMIT 1";
    expect(await engine.query({ sql: items })).toMatchObject({ rows: [['color', 0]], warnings: [] });
  });

  const asNumber = (x: string, pair = '12.4 comes before 9') =>
    `${x} is JSON, compared and ordered by its text: ${pair}. As a number: CAST(${x} AS DOUBLE).`;
  const k = 'json_parse(payload).k';
  const unknown = (x: string) =>
    `${x} is JSON, compared and ordered by its text, in which 10 comes before 9: CAST(${x} AS DOUBLE) is the number, (${x}->>'$') the text.`;

  test.each<[string, string[]]>([
    [`SELECT max(${K}) FROM docs`, [asNumber(k)]],
    [`SELECT max_by(n, ${K}), min_by(n, ${K}) FROM docs`, [asNumber(k)]],
    [`SELECT count(*) FROM docs WHERE ${K} > JSON_PARSE(payload).nested.v`, [asNumber(k)]],
    [`SELECT row_number() OVER (ORDER BY ${K} DESC) FROM docs`, [asNumber(k)]],
    [`WITH t AS (SELECT JSON_PARSE(payload) AS p FROM docs) SELECT max(p.k) FROM t`, [asNumber('p.k')]],
    [`SELECT ${K} AS k FROM docs ORDER BY k`, [asNumber(k)]],
    [`SELECT n FROM docs ORDER BY payload->'$.nested."a b"'`, [asNumber(`(payload->'$.nested."a b"')`)]],
    ['SELECT max(kv[2]) FROM docs, UNNEST(ITEMS(attrs) AS kv)', [unknown('kv[2]')]],
    [
      "SELECT n FROM docs WHERE JSON_PARSE(payload).name LIKE '%1' OR JSON_PARSE(payload).name LIKE '%n%'",
      [
        "json_parse(payload).name is JSON: to LIKE its text has quotes around it. Without them: (json_parse(payload).name->>'$').",
      ],
    ],
    [`SELECT CAST(payload AS JSON).k AS k FROM docs ORDER BY k`, [asNumber('CAST(payload AS JSON).k')]],
    // What is an object has no quotes around it, and is no number.
    ["SELECT length(payload::JSON), to_json(o) LIKE '%7%', json_object('a', n) AS j FROM docs ORDER BY j", []],
    // Numbers of one width, texts, casts, and what only passes JSON on.
    ['SELECT max(JSON_PARSE(payload).two), min(JSON_PARSE(payload).name) FROM docs ORDER BY 1', []],
    [`SELECT max(CAST(${K} AS DOUBLE)), max(length(payload->>'$.name')), any_value(${K}) FROM docs`, []],
    [`SELECT length(${K}), count(DISTINCT ${K}) FROM docs GROUP BY ${K}`, []],
  ])('is told where its text is put in order: %s', async (sql, warnings) => {
    expect((await engine.query({ sql })).warnings).toEqual(warnings);
  });
});
