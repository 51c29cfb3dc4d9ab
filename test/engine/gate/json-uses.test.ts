import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Engine } from '../../../src/engine/engine.ts';
import { doc, openSmall, rowsOf, temporaryFolder } from '../harness.ts';

const home = temporaryFolder();
let engine: Engine;

beforeAll(async () => {
  engine = await openSmall(home.file);
  await engine.commit([
    { do: 'createWorkspace', workspace: 'commons' },
    { do: 'createWorkspace', workspace: 'my-ws' },
    { do: 'createCollection', table: 'm', workspace: 'commons', name: 'mixed' },
    { do: 'createCollection', table: 'p', workspace: 'commons', name: 'plain' },
    { do: 'createCollection', table: 'w', workspace: 'my-ws', name: 'odd' },
    { do: 'createCollection', table: 'i', workspace: 'commons', name: 'inv' },
  ]);
  await engine.addDocuments('m', [
    doc('a', { price: 9.5, tags: ['x', 'y'], o: { p: 1, k: 1 }, n: 1, 'odd key': 1, none: null }),
    doc('b', { price: 80, tags: 'solo', o: { p: 'one', k: 2 }, n: 2, 'odd key': 'x' }),
    doc('c', { price: 100, tags: ['z'], n: 3 }),
    doc('d', { price: 'n/a', n: 4 }),
  ]);
  await engine.addDocuments('i', [
    doc('1', {
      lines: [
        { sku: 'a', price: 480.4 },
        { sku: 'b', price: '7' },
      ],
      bits: [1, '2', 10.4],
      o: { l: [1, 'x'] },
    }),
    doc('2', { lines: [{ sku: 'c', price: 99.95 }], bits: [9] }),
  ]);
  await engine.addDocuments('p', [doc('a', { price: 9.5, tags: ['x'], o: { p: 1 }, n: 1 })]);
  await engine.addDocuments('w', [doc('a', { price: 1 }), doc('b', { price: 'x' })]);
  await engine.commit([{ do: 'putAlias', workspace: 'commons', name: 'joined', tables: ['p', 'w'] }]);
  await engine.commit([{ do: 'createCollection', table: 'r', workspace: 'commons', name: 'rates' }]);
  const codes = ['EUR', 'USD', 'CHF', ...Array.from({ length: 20 }, (_, n) => `X${n}`)];
  await engine.addDocuments(
    'r',
    codes.map((code, n) =>
      doc(`${n}`, { o: { m: { [code]: { name: code, odd: n % 2 === 0 ? n : 'x' } } }, day: { [`d${n}`]: n } }),
    ),
  );
});
afterAll(async () => {
  await engine.close();
  home.dispose();
});

async function warningsOf(sql: string): Promise<readonly string[]> {
  return (await engine.query({ sql, generateWarnings: true })).warnings;
}

describe('a JSON field is warned about where SQL takes it for something else', () => {
  test.each([
    ['SELECT max(price) FROM mixed', /ORDER BY, min and max go by its text\. Use TRY_CAST\(price->>'\$' AS DOUBLE\)/],
    ['SELECT min(price) FROM mixed', /"price" of commons\.mixed is JSON/],
    ['SELECT arg_max(_id, price), max_by(_id, m.price) FROM mixed m', /go by its text/],
    ['SELECT max(price) OVER (PARTITION BY n) FROM mixed', /go by its text/],
    ['SELECT rank() OVER (ORDER BY price) FROM mixed', /go by its text/],
    ['SELECT list(n ORDER BY price) FROM mixed', /go by its text/],
    ['SELECT _id FROM mixed ORDER BY price DESC', /go by its text/],
    ['SELECT _id, price AS p FROM mixed ORDER BY p', /go by its text.*TRY_CAST\(p->>/],
    ['SELECT _id, price FROM mixed ORDER BY 2', /go by its text.*TRY_CAST\("price"->>/],
    ['SELECT * FROM mixed ORDER BY price', /go by its text/],
    ["SELECT _id FROM mixed WHERE price > '50'", /compares by its text, or rounded with an integer/],
    ['SELECT _id FROM mixed WHERE n < 4 AND price BETWEEN 50 AND 200', /compares by its text/],
    ['SELECT _id FROM mixed WHERE n < 4 AND price IN (10, 80)', /compares by its text/],
    ['SELECT _id FROM mixed WHERE price IN (SELECT price FROM mixed)', /compares by its text/],
    ['SELECT a._id FROM mixed a JOIN mixed b ON a.price = b.price', /compares by its text.*TRY_CAST\(a\.price->>/],
    ['SELECT count(*) FROM mixed JOIN mixed b USING (price)', /compares by its text/],
    ["SELECT CASE price WHEN '1' THEN 1 END FROM mixed", /compares by its text/],
    ['SELECT n FROM mixed GROUP BY n HAVING min(price) IS NULL', /go by its text/],
    [
      "SELECT _id FROM mixed WHERE tags LIKE 'solo'",
      /LIKE and functions see its text, with quotes\. Use \(tags->>'\$'\) for the text/,
    ],
    ['SELECT upper(tags) FROM mixed', /see its text, with quotes/],
    ["SELECT 'x' IN tags FROM mixed", /see its text, with quotes/],
    ['SELECT tags[1] FROM mixed', /\[n\] counts from 0\. Use \(tags->>0\) for the first item\./],
    ['SELECT tags[1:2] FROM mixed', /\[n\] counts from 0/],
    ['SELECT len(tags) FROM mixed', /its length is that of its text\. Use json_array_length\(tags\) for/],
    [
      "SELECT _id FROM mixed WHERE n = 9 AND tags->>'$' = 'solo'",
      /AND and OR take it before an arrow does\. Use \(tags->>/,
    ],
    ['SELECT max(o.p), min(mixed.o.p), max(commons.mixed.o.p) FROM mixed', /^"o\.p" of .*TRY_CAST\(o\.p->>/],
    ['SELECT max(price.x) FROM mixed', /^"price" of commons\.mixed .*TRY_CAST\(price\.x->>/],
    ['SELECT max("odd key") FROM mixed', /^"odd key" of .*TRY_CAST\("odd key"->>/],
    ['SELECT max(PRICE) FROM mixed', /^"price" of .*TRY_CAST\(PRICE->>/],
    ['SELECT max(price) FROM "my-ws".odd', /^"price" of my-ws\.odd /],
    ['SELECT max("my-ws".odd.price) FROM "my-ws".odd', /TRY_CAST\("my-ws"\.odd\.price->>/],
    ['SELECT max(price) FROM joined', /^"price" of commons\.joined /],
    ['WITH c AS (SELECT price AS p FROM mixed) SELECT max(p) FROM c', /^"price" of .*TRY_CAST\(p->>/],
    ['SELECT max(price) FROM (SELECT * FROM mixed) s', /go by its text/],
    ['SELECT max(q.price) FROM (SELECT mixed.* EXCLUDE (n) FROM mixed, plain) q', /go by its text/],
    ['SELECT (SELECT count(*) FROM plain WHERE plain._id = mixed.tags) FROM mixed WHERE n = 9', /compares by its text/],
    ['SELECT price FROM mixed UNION ALL SELECT price FROM mixed ORDER BY price', /go by its text/],
    ["SELECT list_filter([1], x -> price > '5') FROM mixed", /compares by its text/],
    ['SELECT max(l.price) FROM inv, unnest(lines) t(l)', /^"lines\[\]\.price" of .*TRY_CAST\(l\.price->>/],
    ['SELECT l.sku FROM inv i, UNNEST(i.lines) l ORDER BY l.price DESC', /^"lines\[\]\.price" of .* go by its text/],
    ['SELECT 1 FROM inv, UNNEST(lines AS l) u WHERE l.price > 480', /^"lines\[\]\.price" of .* compares by its text/],
    ['SELECT arg_max(l.sku, l.price) FROM inv, unnest(lines) WITH ORDINALITY t(l, n)', /go by its text/],
    ['SELECT max(l.price) FROM (SELECT unnest(lines) AS l FROM inv)', /go by its text/],
    ['SELECT max(x.price) FROM inv, LATERAL (SELECT unnest(inv.lines) AS x)', /go by its text/],
    ['SELECT max(lines[1].price) FROM inv', /TRY_CAST\(lines\[1\]\."price"->>/],
    ['SELECT lines[1].price > 480 FROM inv', /compares by its text/],
    ['SELECT list_filter(lines, lambda l: l.price > 3) FROM inv', /"lines\[\]\.price" .* compares/],
    ['SELECT max(t) FROM inv, unnest(bits) AS u(t)', /^"bits\[\]" of .*TRY_CAST\(t->>/],
    ['SELECT count(*) FROM (SELECT unnest(bits) AS t FROM inv) WHERE t > 9', /compares by its text/],
    [
      'SELECT list_max(bits), list_sort(list_distinct(bits)) FROM inv',
      /^"bits\[\]" of .* Use list_transform\(bits, lambda x: TRY_CAST\(x->>'\$' AS DOUBLE\)\) for numbers\.$/,
    ],
    ['SELECT list_contains(inv.bits, 9) FROM inv', /compares by its text/],
    ['SELECT list_max(o.l) FROM inv', /^"o\.l\[\]" of /],
    ['SELECT list_max(list(price)), list(price ORDER BY price) FROM mixed', /go by its text/],
    ['SELECT max(coalesce(price, 0)) FROM mixed', /TRY_CAST\(price->>/],
    ['SELECT max(ifnull(price, 0)), max(if(price IS NULL, 0, price)) FROM mixed', /go by its text/],
    ['SELECT max(CASE WHEN n > 1 THEN price ELSE 0 END) FROM mixed', /go by its text/],
    ['SELECT _id FROM mixed ORDER BY coalesce(price, 0) DESC', /go by its text/],
    ["SELECT _id FROM (SELECT _id, coalesce(price, 0) AS w FROM mixed) WHERE w > '9'", /compares .*TRY_CAST\(w->>/],
    ['SELECT rank() OVER (ORDER BY coalesce(price, 0) DESC) FROM mixed', /go by its text/],
    ['SELECT arg_max(_id, coalesce(price, 0)), greatest(coalesce(price, 0), 100) FROM mixed GROUP BY ALL', /go by its/],
    ['SELECT max(columns(*)) FROM "my-ws".odd', /"price" of my-ws\.odd .* go by its text/],
    ["SELECT max(columns('^pri')) FROM mixed", /TRY_CAST\("price"->>/],
    ["SELECT max(o['p']), max(struct_extract(o, 'p')), max(coalesce(o.p, 0)) FROM mixed", /^"o\.p" of /],
    ['SELECT any_value(price) > 5, max(price) > 5 FROM mixed', /go by its text; it compares/],
  ])('%s', async (sql, message) => {
    const warnings = await warningsOf(sql);
    expect(warnings).toEqual([expect.stringMatching(message)]);
    expect(warnings[0]?.length).toBeLessThan(300);
  });

  test('once for each field, with all that was done with it', async () => {
    const warnings = await warningsOf("SELECT price, tags[1], len(tags) FROM mixed WHERE price > '1' ORDER BY price");
    expect(warnings).toEqual([
      `"tags" of commons.mixed is JSON, since its documents had no type in common: [n] counts from 0; its length is that of its text. Use (tags->>0) for the first item, json_array_length(tags) for the number of items.`,
      `"price" of commons.mixed is JSON, since its documents had no type in common: ORDER BY, min and max go by its text; it compares by its text, or rounded with an integer. Use TRY_CAST(price->>'$' AS DOUBLE) for the number, (price->>'$') for the text.`,
    ]);
  });

  test('for a few fields, and only where it is asked for', async () => {
    const fields = Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`f${n}`, n]));
    const texts = Object.fromEntries(Object.keys(fields).map((name) => [name, 'x']));
    await engine.addDocuments('w', [doc('c', fields), doc('d', texts)]);
    const sql = `SELECT ${Object.keys(fields).map((name) => `max(${name})`)} FROM "my-ws".odd`;
    const warnings = await warningsOf(sql);
    expect(warnings.length).toBe(6);
    expect(warnings[5]).toBe('3 more fields used here are JSON as well.');
    expect((await engine.query({ sql })).warnings).toEqual([]);
  });

  test('again when the same text runs again, and from the document on that makes it JSON', async () => {
    await engine.commit([{ do: 'createCollection', table: 'l', workspace: 'commons', name: 'later' }]);
    const sql = 'SELECT max(v) FROM later';
    await engine.addDocuments('l', [doc('a', { v: 9.5 }), doc('b', { v: 80 })]);
    for (const _ of [0, 1, 2])
      expect(await engine.query({ sql, generateWarnings: true })).toMatchObject({ rows: [[80]], warnings: [] });
    await engine.addDocuments('l', [doc('c', { v: 'n/a' })]);
    for (const _ of [0, 1, 2]) {
      const { rows, warnings } = await engine.query({ sql, generateWarnings: true });
      expect([rows, warnings.length]).toEqual([[[9.5]], 1]);
    }
    expect(await rowsOf(engine, "SELECT max(TRY_CAST(v->>'$' AS DOUBLE)) FROM later")).toEqual([[80]]);
  });

  test('in the second form of a statement too', async () => {
    for (const _ of [0, 1, 2]) expect(await warningsOf("SELECT tags[1] FROM mixed WHERE _id = 'a'")).toHaveLength(1);
  });
});

test('a page of a kept result has the warnings of its condition and order', async () => {
  const sql = 'SELECT _id, price, n, [price] AS many FROM mixed ORDER BY n';
  await engine.query({ sql, keep: { id: 'kept', rowsMax: 1 } });
  const read = (page: object) => engine.results.read('kept', { offset: 0, limit: 10, ...page });
  expect(await read({ orderBy: 'price DESC' })).toMatchObject({
    warnings: [expect.stringMatching(/^"price" of the result is JSON.* go by its text\. Use TRY_CAST\(price->>/)],
  });
  expect((await read({ where: "price > '5'", orderBy: 'n', columns: ['_id'] })).warnings).toHaveLength(1);
  expect((await read({ where: 'list_max(many) IS NULL' })).warnings).toEqual([
    expect.stringMatching(/^"many\[\]" of the result .* list_transform\(many, /),
  ]);
  expect((await read({ where: 'n > 2', orderBy: "TRY_CAST(price->>'$' AS DOUBLE)" })).warnings).toEqual([]);
  await engine.results.drop('kept');
});

test('what a warning says to use reads the field', async () => {
  expect(
    await rowsOf(
      engine,
      `SELECT _id, TRY_CAST(price->>'$' AS DOUBLE), tags->>'$', tags->>0, json_array_length(tags), TRY_CAST(o.p->>'$' AS DOUBLE)
       FROM mixed ORDER BY TRY_CAST(price->>'$' AS DOUBLE) DESC NULLS LAST`,
    ),
  ).toEqual([
    ['c', 100, '["z"]', 'z', 1, null],
    ['b', 80, 'solo', null, 0, null],
    ['a', 9.5, '["x","y"]', 'x', 2, 1],
    ['d', null, null, null, null, null],
  ]);
  // The wrong answers that the warnings are for.
  expect(await rowsOf(engine, 'SELECT max(price), min(len(tags)) FROM mixed')).toEqual([[9.5, 5]]);
  expect(await rowsOf(engine, 'SELECT _id FROM mixed WHERE n < 4 AND price < 10')).toEqual([]);
});

test.each([
  'SELECT * FROM mixed',
  'SELECT price, tags, o.p FROM mixed',
  "SELECT TRY_CAST(price->>'$' AS DOUBLE) AS price FROM mixed ORDER BY price",
  "SELECT TRY_CAST(price->>'$' AS DOUBLE) AS price FROM mixed ORDER BY 1",
  "SELECT n % 2 AS k, max(TRY_CAST(price->>'$' AS DOUBLE)) AS price FROM mixed GROUP BY k HAVING price > 5 ORDER BY price",
  "SELECT max(price::TEXT), max(CAST(tags AS TEXT)), min(price->'$'), max(o.p->>'$') FROM mixed",
  "SELECT _id FROM mixed WHERE tags->>'$' = 'solo' OR (tags->>0) > 'a' OR (tags->'$[0]') IS NULL",
  'SELECT json_type(price), json_array_length(tags), typeof(price), count(price), count(DISTINCT tags), any_value(price) FROM mixed GROUP BY ALL',
  'SELECT _id FROM mixed WHERE price IS NOT NULL OR tags IS NULL',
  'SELECT list(price), arg_max(price, n), max_by(tags, n), coalesce(price, tags), first(price ORDER BY n) FROM mixed GROUP BY ALL',
  'SELECT lag(price) OVER (PARTITION BY tags ORDER BY n), first_value(price) OVER (ORDER BY n) FROM mixed',
  'SELECT price, count(*) FROM mixed GROUP BY price ORDER BY count(*)',
  'SELECT DISTINCT ON (price) _id FROM mixed',
  "SELECT tags['x'], o.k, max(o.k) FROM mixed GROUP BY ALL",
  'SELECT max(n), max(o.k), max(_event_time) FROM mixed WHERE n > 1 ORDER BY max(n)',
  'SELECT max(price), tags[1], len(tags), max(o.p) FROM plain GROUP BY ALL ORDER BY 1',
  'SELECT max(l.sku), len(lines), lines[1].sku FROM inv, unnest(lines) t(l) WHERE l.sku > lines[1].sku GROUP BY ALL',
  "SELECT max(TRY_CAST(l.price->>'$' AS DOUBLE)), list(l.price), count(l.price) FROM inv, unnest(lines) t(l)",
  "SELECT list_max(list_transform(bits, lambda x: TRY_CAST(x->>'$' AS DOUBLE))), len(bits), bits[1] FROM inv",
  "SELECT max(l) FROM inv, unnest([1, 2]) t(l) WHERE len(list_filter(lines, lambda price: price.sku > 'b')) > 1",
  'SELECT coalesce(price, 0), CASE WHEN n > 1 THEN price END FROM mixed',
  "SELECT max(columns('^n$')) FROM mixed",
  'SELECT max(p.price) FROM mixed m, plain p WHERE p.n > m.n',
  'SELECT max(price) FROM (SELECT * EXCLUDE (price), 1 AS price FROM mixed)',
  'SELECT max(price) FROM (SELECT * REPLACE (n AS price) FROM mixed)',
  'WITH mixed AS (SELECT 1 AS price) SELECT max(price) FROM mixed',
  'WITH c(price) AS (SELECT n FROM mixed) SELECT max(price) FROM c',
  'WITH w AS (SELECT price FROM mixed) SELECT (WITH RECURSIVE w AS (SELECT 1 AS price UNION ALL SELECT price + 1 FROM w WHERE price < 3) SELECT max(price) FROM w) FROM w',
  'SELECT (SELECT max(price) FROM plain) FROM mixed',
  'SELECT (SELECT max(price) FROM unnest([1, 2]) AS t(price)) FROM mixed',
  'SELECT [price FOR price IN [1, 2] IF price > 1], list_filter([1], lambda price: price > 1) FROM mixed',
  'SELECT unnest(TRY_CAST(tags AS JSON[])) AS tag FROM mixed ORDER BY n',
  'SELECT max(a.price) FROM mixed m(a1, b1, price), plain a',
  'SELECT max(none) FROM mixed WHERE none IS NULL',
  'SELECT n FROM mixed UNION ALL SELECT price FROM plain ORDER BY n',
  'SUMMARIZE mixed',
  'DESCRIBE mixed',
])('no warning: %s', async (sql) => {
  expect(await warningsOf(sql)).toEqual([]);
});

describe('a key that no document has had in a map', () => {
  test.each([
    [
      'SELECT o.m.USX.name FROM rates',
      /^"o\.m" of commons\.rates is a map, and no document has had the key "USX" in it: it is NULL\. Did you mean "USD"/,
    ],
    ['SELECT _id FROM rates WHERE r.o.m.EUX IS NOT NULL', null],
    ['SELECT _id FROM rates r WHERE r.o.m.EUX IS NOT NULL', /the key "EUX".*"EUR"/],
    ["SELECT o.m['eur'].name FROM rates", /the key "eur".*"EUR"/],
    ["SELECT o.m['USD']['name'], day['never'] FROM rates", /^"day" of .*the key "never".*map_keys/],
    ['WITH t AS (SELECT o.m AS m FROM rates) SELECT count(m.EURO) FROM t', /the key "EURO".*"EUR"/],
    ['SELECT max(o.m.EUR.odd) FROM rates', /"o\.m\.EUR\.odd" of commons\.rates is JSON/],
  ])('%s', async (sql, warning) => {
    if (warning === null) await expect(warningsOf(sql)).rejects.toThrow();
    else expect(await warningsOf(sql)).toEqual([expect.stringMatching(warning)]);
  });

  test.each([
    'SELECT o.m.EUR.name, o.m.USD, day.d3 FROM rates',
    "SELECT map_keys(o.m), o.m[_id], day['d' || _id] FROM rates",
    'SELECT * FROM rates',
    'SELECT e.key, e.value.name FROM rates, unnest(map_entries(o.m)) AS t(e)',
  ])('is not meant by: %s', async (sql) => {
    expect(await warningsOf(sql)).toEqual([]);
  });
});
