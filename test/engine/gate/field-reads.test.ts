import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/contract/json/json.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { doc, openSmall, temporaryFolder } from '../harness.ts';

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
  // Price and o.p have no type in common; one of the tags, and one of bits, does not fit.
  await engine.addDocuments('m', [
    doc('a', { price: 9.5, tags: ['x', 'y'], o: { p: 1, k: 1 }, n: 1 }),
    doc('b', { price: [80], tags: 'solo', o: { p: [1], k: 2 }, n: 2 }),
    doc('c', { price: { is: 100 }, tags: ['z'], o: { p: { q: 1 }, k: 3 }, n: 3 }),
    doc('d', { price: 'n/a', n: 4 }),
  ]);
  await engine.addDocuments('i', [
    doc('1', {
      lines: [
        { sku: 'a', price: 480.4 },
        { sku: 'b', price: '7' },
      ],
      bits: [1, '2', 10.4],
    }),
    doc('2', { lines: [{ sku: 'c', price: 99.95 }], bits: [9] }),
  ]);
  await engine.addDocuments('p', [doc('a', { price: 9.5, tags: ['x'], o: { p: 1 }, n: 1 })]);
  await engine.addDocuments('w', [doc('a', { price: [1] })]);
  await engine.commit([{ do: 'putAlias', workspace: 'commons', name: 'joined', tables: ['p', 'w'] }]);
  await engine.commit([{ do: 'createCollection', table: 'r', workspace: 'commons', name: 'rates' }]);
  const codes = ['EUR', 'USD', 'CHF', ...Array.from({ length: 20 }, (_, n) => `X${n}`)];
  await engine.addDocuments(
    'r',
    codes.map((code, n) =>
      doc(`${n}`, { o: { m: { [code]: { name: code, odd: n } } }, day: { [`d${n}`]: n }, rates: { [code]: n } }),
    ),
  );
});
afterAll(async () => {
  await engine.close();
  home.dispose();
});

async function warningsOf(sql: string): Promise<readonly string[]> {
  return (await engine.query({ sql })).warnings;
}

describe('JSON that is compared as its text is warned about in every answer', () => {
  test.each([
    'SELECT max(price) FROM mixed',
    'SELECT arg_max(_id, price), max_by(_id, m.price) FROM mixed m',
    'SELECT n FROM mixed GROUP BY n HAVING min(price) IS NULL',
    'SELECT _id, price FROM mixed ORDER BY price',
    'SELECT * FROM mixed ORDER BY PRICE',
    'SELECT _id FROM mixed ORDER BY coalesce(price, 0) DESC',
    'SELECT rank() OVER (ORDER BY price) FROM mixed',
    "SELECT _id FROM mixed WHERE price > '50'",
    "SELECT _id FROM mixed WHERE price::VARCHAR = 'x' OR CAST(price AS TEXT) LIKE 'x%'",
    "SELECT _id FROM mixed WHERE price IN ('10', '80')",
    "SELECT _id FROM mixed WHERE price BETWEEN '50' AND '200'",
    "SELECT _id FROM mixed WHERE price LIKE '%n%'",
    'SELECT upper(price) FROM mixed',
    'SELECT price.upper(), m.price.max() FROM mixed m GROUP BY ALL',
    'SELECT count(*) FROM mixed JOIN mixed b USING (price)',
    'SELECT a._id FROM mixed a JOIN mixed b ON a.price = b.price',
    'WITH c AS (SELECT price AS p, max(price) AS q FROM mixed GROUP BY 1) SELECT p FROM c',
    'SELECT max(CASE WHEN n > 1 THEN price ELSE 0 END) FROM mixed',
    'SELECT max(price) FROM joined',
    'SELECT price FROM mixed ORDER BY 1 DESC',
    'SELECT price AS w FROM mixed ORDER BY w',
    'SELECT DISTINCT price FROM mixed ORDER BY 1',
    'SELECT price, count(*) FROM mixed GROUP BY 1 ORDER BY 1',
    'WITH t AS (SELECT price AS w FROM mixed) SELECT max(w) FROM t',
    'SELECT max(v) FROM (SELECT w AS v FROM (SELECT price AS w FROM mixed))',
  ])('%s', async (sql) => {
    const of = sql.includes('joined') ? 'joined' : 'mixed';
    expect(await warningsOf(sql)).toEqual([
      expect.stringMatching(new RegExp(`^price of commons\\.${of} is JSON.* by its text`, 'i')),
    ]);
  });

  test.each([
    'SELECT price, count(*) FROM mixed GROUP BY ALL ORDER BY ALL',
    'SELECT * FROM (SELECT price w FROM mixed) ORDER BY w',
  ])('beside other warnings: %s', async (sql) => {
    expect(await warningsOf(sql)).toContainEqual(expect.stringMatching(/^price of commons\.mixed is JSON/));
  });

  test.each([
    'SELECT max(o.p), min(mixed.o.p), max(commons.mixed.o.p) FROM mixed',
    "SELECT max(o['p']), max(struct_extract(o, 'p')), max(coalesce(o.p, 0)) FROM mixed",
  ])('in an object: %s', async (sql) => {
    expect(await warningsOf(sql)).toEqual([expect.stringMatching(/^o\.p of commons\.mixed is JSON/)]);
  });

  test.each([
    'SELECT price, o.p FROM mixed',
    "SELECT TRY_CAST(price->>'$' AS DOUBLE) AS price FROM mixed ORDER BY 1",
    "SELECT price::TEXT, min(price->'$'), max(o.p->>'$') FROM mixed GROUP BY ALL",
    'SELECT price.json_type(), price.typeof() FROM mixed',
    'SELECT json_type(price), typeof(price), count(price), any_value(price) FROM mixed GROUP BY ALL',
    'SELECT _id FROM mixed WHERE price IS NOT NULL',
    'SELECT list(price), arg_max(n, _id), coalesce(price, price) FROM mixed GROUP BY ALL',
    'SELECT price, count(*) FROM mixed GROUP BY price ORDER BY count(*)',
    'SELECT max(n), max(o.k), max(_event_time) FROM mixed WHERE n > 1 ORDER BY max(n)',
    'SELECT max(price), tags[1], len(tags), max(o.p) FROM plain GROUP BY ALL ORDER BY 1',
  ])('and not: %s', async (sql) => {
    expect(await warningsOf(sql)).toEqual([]);
  });

  test('for a few fields', async () => {
    const fields = (value: unknown) => Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`f${n}`, value]));
    const documents = [1, [1], { a: 1 }].map((value, n) => doc(`c${n}`, fields(value) as JsonObject));
    await engine.addDocuments('w', documents);
    const warnings = await warningsOf(`SELECT ${[0, 1, 2, 3, 4, 5, 6, 7].map((n) => `max(f${n})`)} FROM "my-ws".odd`);
    expect(warnings.length).toBe(6);
    expect(warnings[5]).toBe('3 more warnings of this kind are left out.');
  });
});

describe('an answer that computed with strays says so, and how many there are', () => {
  test.each([
    [
      'SELECT sum(len(tags)) FROM mixed',
      "commons.mixed: values that do not fit their field are NULL here: 1 of tags (VARCHAR[]): (_strays->>'tags').",
    ],
    ['SELECT _id, tags FROM mixed WHERE tags IS NULL', '1 of tags'],
    ['SELECT _id FROM mixed ORDER BY mixed.TAGS', '1 of tags'],
    ['SELECT DISTINCT tags FROM mixed', '1 of tags'],
    ['SELECT count(tags) FROM (SELECT * FROM mixed) WHERE n > 2', '1 of tags'],
    ['WITH c AS (SELECT * FROM mixed) SELECT c FROM c', '1 of tags'],
    ['WITH c AS (SELECT DISTINCT * EXCLUDE (_id, _event_time) FROM mixed) SELECT n FROM c', '1 of tags'],
    ['WITH c(a, b, x, y, z) AS (SELECT * FROM mixed) SELECT x, y, z FROM c', '1 of tags'],
    ['SELECT count(n) FROM (SELECT * FROM mixed ORDER BY 3)', '1 of tags'],
    [
      'WITH c AS (SELECT * FROM mixed) SELECT count(n) FROM (SELECT DISTINCT COLUMNS(* EXCLUDE (_id, _event_time)) FROM c)',
      '1 of tags',
    ],
    ['SELECT p.tags FROM mixed p JOIN plain q ON p._id = q._id', '1 of tags'],
    ['SELECT m FROM mixed m', '1 of tags'],
    ['SELECT to_json(mixed) FROM mixed', '1 of tags'],
    ['SUMMARIZE mixed', '1 of tags'],
    ['SELECT max(columns(*)::TEXT) FROM mixed', '1 of tags'],
    [
      'SELECT l.price FROM inv, unnest(lines) t(l)',
      "commons.inv: values that do not fit their field are NULL or rounded here: 1 of lines[].price (DOUBLE): coalesce(_strays->>('lines/'||i||'/price'), lines[i+1].price::VARCHAR) with UNNEST(range(len(lines))) AS u(i) in FROM.",
    ],
    ['SELECT list_filter(lines, lambda l: l.price > 3) FROM inv', '1 of lines[].price'],
    ['SELECT list_max(bits) FROM inv', '1 of bits[]'],
    ['SELECT lines[1].price, lines[2].sku FROM inv', '1 of lines[].price'],
  ])('%s', async (sql, start) => {
    for (const _ of [0, 1]) expect(await warningsOf(sql)).toEqual([expect.stringContaining(start)]);
  });

  test('with SQL that reads them in a list', async () => {
    const [said = ''] = await warningsOf('SELECT l.price FROM inv, unnest(lines) t(l)');
    const [, read, from] = /: (coalesce.*) with (.*) in FROM/.exec(said) ?? [];
    const { rows } = await engine.query({ sql: `SELECT ${read} FROM inv, ${from} ORDER BY 1` });
    expect(rows).toEqual([['480.4'], ['7'], ['99.95']]);
  });

  test.each([
    'SELECT * FROM mixed',
    'FROM mixed',
    'SELECT tags, _id AS x FROM mixed WHERE n > 1 ORDER BY n DESC LIMIT 2',
    'SELECT count(*), max(n) FROM mixed',
    'SELECT count(*) FROM (SELECT * FROM mixed) WHERE n > 2',
    'WITH c AS (SELECT *, n + 1 AS next FROM mixed), d AS (SELECT * FROM c) SELECT max(d.n), max(next) FROM d',
    'SELECT _id FROM mixed WHERE o.k = 1',
    'SELECT lines[1].sku FROM inv',
    'SELECT unnest(lines).sku FROM plain, (SELECT [] AS lines)',
    "SELECT coalesce(_strays->>('lines/'||i||'/price'), lines[i+1].price::VARCHAR) FROM inv, UNNEST(range(len(lines))) AS u(i)",
    "SELECT sum((_strays->>format('/bits/{}', i))::INT), sum(bits[i+1]) FROM inv, UNNEST(range(len(bits))) AS u(i)",
  ])('and not: %s', async (sql) => {
    expect(await warningsOf(sql)).toEqual([]);
  });

  test('the number is that of the moment, and is gone with them', async () => {
    await engine.commit([{ do: 'createCollection', table: 'l', workspace: 'commons', name: 'later' }]);
    const answer = async () => {
      const { rows, warnings } = await engine.query({ sql: 'SELECT max(v) FROM later' });
      return [rows[0]?.[0], warnings.map((text) => text.split(': ')[2])];
    };
    await engine.addDocuments('l', [doc('a', { v: 9.5 }), doc('b', { v: 80 }), doc('c', { v: 100 })]);
    expect(await answer()).toEqual([100, []]);
    await engine.addDocuments('l', [doc('d', { v: 'n/a' })]);
    expect(await answer()).toEqual([100, ['1 of v (DOUBLE)']]);
    await engine.addDocuments('l', [doc('e', { v: true })]);
    expect(await answer()).toEqual([100, ['2 of v (DOUBLE)']]);
    await engine.deleteDocuments('l', ['d', 'e']);
    expect(await answer()).toEqual([100, []]);
  });
});

test('a page of a kept result has the warnings of its condition and order', async () => {
  await engine.query({ sql: 'SELECT _id, price, n, tags FROM mixed ORDER BY n', keep: { id: 'kept', rowsMax: 1 } });
  const read = (page: object) => engine.results.read('kept', { offset: 0, limit: 10, ...page });
  const strays = expect.stringContaining('Some values do not fit');
  expect(await read({ orderBy: 'price DESC' })).toMatchObject({
    warnings: [strays, expect.stringMatching(/^price of the result is JSON/)],
  });
  const all = await read({ columns: ['tags', '_id'] });
  expect([all.columns.map(({ name }) => name), all.rows[1], all.warnings]).toEqual([
    ['tags', '_id'],
    ['solo', 'b'],
    [],
  ]);
  expect(await read({ where: 'tags IS NULL AND n = 2' })).toMatchObject({
    rows: [['b', [80], 2, 'solo']],
    total: 1,
    warnings: [strays],
  });
  await engine.results.drop('kept');
});

test('a page of a kept result has the warnings of its query', async () => {
  const sql = 'SELECT _id, len(tags) AS l, max(price) AS p FROM mixed GROUP BY ALL ORDER BY ALL';
  const { warnings } = await engine.query({ sql, keep: { id: 'kept', rowsMax: 1 } });
  expect(warnings).toEqual([expect.stringContaining('1 of tags'), expect.stringMatching(/^price of commons.mixed/)]);
  for (const page of [{}, { where: 'l IS NULL' }, { columns: ['_id'], orderBy: 'l' }]) {
    const read = await engine.results.read('kept', { offset: 0, limit: 10, ...page });
    expect(read.warnings).toEqual(warnings);
  }
  await engine.results.drop('kept');
});

describe('a key that no document has had in a map', () => {
  test.each([
    [
      'SELECT o.m.USX.name FROM rates',
      /^o\.m of commons\.rates is a map, and no document has had the key "USX" in it: it is NULL\. Did you mean "USD"/,
    ],
    ['SELECT _id FROM rates WHERE r.o.m.EUX IS NOT NULL', null],
    ['SELECT _id FROM rates r WHERE r.o.m.EUX IS NOT NULL', /the key "EUX".*"EUR"/],
    ['SELECT r.rates.rates FROM rates r', /^rates of .*the key "rates"/],
    ["SELECT o.m['eur'].name FROM rates", /the key "eur".*"EUR"/],
    ["SELECT o.m['USD']['name'], day['never'] FROM rates", /^day of .*the key "never".*map_keys/],
  ])('%s', async (sql, warning) => {
    if (warning === null) await expect(warningsOf(sql)).rejects.toThrow();
    else expect(await warningsOf(sql)).toEqual([expect.stringMatching(warning)]);
  });

  test.each([
    'SELECT o.m.EUR.name, o.m.USD, day.d3 FROM rates',
    'SELECT rates.rates.EUR, map_keys(rates.rates) FROM rates',
    "SELECT map_keys(o.m), o.m[_id], day['d' || _id] FROM rates",
    'SELECT * FROM rates',
    'SELECT e.key, e.value.name FROM rates, unnest(map_entries(o.m)) AS t(e)',
  ])('is not meant by: %s', async (sql) => {
    expect(await warningsOf(sql)).toEqual([]);
  });
});

describe('what cannot be meant', () => {
  test.each([
    [
      'SELECT lines[0].sku FROM inv',
      'lines[0] is always null: the items of a list count from 1, so lines[1] is the first.',
    ],
    ['SELECT i.lines[0] FROM inv i', 'i.lines[0] is always null'],
    ["SELECT split(_id, '.')[0] FROM inv", '(…)[0] is always null: the items of a list count from 1'],
    ["SELECT count(*) FROM plain WHERE typeof(n) = 'VARCHAR'", "TYPEOF is never 'VARCHAR': it gives int,"],
    ["SELECT typeof(n) IN ('BIGINT', 'int') FROM plain", "TYPEOF is never 'BIGINT'"],
    ["SELECT 1 FROM plain WHERE _id ~ 'part'", "~ fits only if the whole text does: regexp_matches(x, 'part')"],
    ["SELECT 1 FROM plain WHERE _id SIMILAR TO 'part%'", 'write .* for %, and . for _'],
    ["SELECT 1 FROM plain WHERE _id !~ '^part'", "regexp_matches(x, '^part')"],
    ["SELECT 1 FROM rates WHERE o->'k' LIKE 'y%'", "(o->'k') is JSON: to LIKE its text has quotes around it"],
    ['SELECT count(*) FROM (SELECT DISTINCT * FROM plain)', 'SELECT DISTINCT * compares whole documents'],
    ['WITH p AS (SELECT * FROM plain) SELECT DISTINCT p.* FROM p', 'no two are alike'],
    ['SELECT DISTINCT * FROM (FROM plain UNION ALL BY NAME FROM inv)', 'SELECT DISTINCT * compares whole documents'],
    ['FROM plain UNION BY NAME (SELECT * FROM mixed WHERE n > 1)', 'UNION BY NAME compares whole documents'],
    ['SELECT DISTINCT * EXCLUDE (_id) FROM plain', '* EXCLUDE (_id) has _event_time, which is when each was stored'],
    [
      'SELECT * EXCLUDE (_id) FROM plain UNION BY NAME SELECT * EXCLUDE (_id) FROM mixed',
      '* EXCLUDE (_id, _event_time) leaves them out',
    ],
    ['SELECT * EXCLUDE (n), sum(n) FROM plain GROUP BY ALL', 'GROUP BY ALL groups by _id and _event_time, too'],
    ['SELECT count(DISTINCT p) FROM plain p', 'count(DISTINCT …) of whole documents finds no two alike'],
    ['SELECT plain, count(*) FROM plain GROUP BY plain', 'GROUP BY of whole documents'],
    ['PIVOT plain ON n IN (1, 2) USING max(price)', '_id and _event_time among them, so each document is a row'],
    ['PIVOT plain ON n IN (1, 2) USING count(_id)', 'that it does not name, _event_time among them'],
    ['SELECT count(*) FROM plain WHERE 7 NOT IN (SELECT NULLIF(n, 1) FROM plain)', 'if a value is NULL in a row'],
    ['SELECT _id FROM plain WHERE 7 NOT IN (SELECT o.k FROM mixed WHERE o.k > 1 OR true)', 'add WHERE o.k IS NOT NULL'],
    [
      'SELECT _id FROM plain WHERE 7 NOT IN (SELECT m.o.k FROM mixed m)',
      'in some documents: add WHERE m.o.k IS NOT NULL',
    ],
    ['SELECT _id FROM plain WHERE n IN (SELECT n FROM inv)', 'n in IN (SELECT n …) is a field of the query around it'],
    ['SELECT count(n > 1) FROM plain', 'count(condition) counts the rows where it does not hold, too'],
    ['SELECT count(CASE WHEN n > 1 THEN 1 ELSE 0 END) FROM plain', 'count(CASE … ELSE …) counts'],
    ['SELECT count(*) FROM plain NATURAL JOIN mixed', 'JOIN … USING (price, tags, o, n)'],
    [
      'SELECT extract(year FROM _event_time), week(_event_time), count(*) FROM plain GROUP BY ALL',
      'Beside week(x) use isoyear(x).',
    ],
    ["SELECT strftime(_event_time, '%Y-W%V') FROM plain", 'Write %G instead of %Y.'],
    ['SELECT 1 FROM plain WHERE year(_event_time) = 2025 AND 1 = week(_event_time)', 'Beside week(x) use isoyear(x).'],
    [
      "SELECT year(_event_time::DATE), week(_event_time) FROM plain WHERE _event_time >= '2024-03-01' GROUP BY ALL",
      'Beside week(x) use isoyear(x).',
    ],
    [
      'SELECT year(_event_time), week(_event_time) FROM plain WHERE month(_event_time) = 1 GROUP BY ALL',
      'use isoyear(x).',
    ],
    ['SELECT 1 FROM plain WHERE year(_event_time) = n AND week(_event_time) = 53', 'Beside week(x) use isoyear(x).'],
    [
      "SELECT strftime(_event_time, 'YYYY-MM') FROM plain",
      "strftime(x, 'YYYY-MM') is that text in each row, since codes begin with %: strftime(x, '%Y-%m-%d %H:%M:%S').",
    ],
    [
      "SELECT try_strptime(_id, 'Y-m-d') FROM plain",
      "NULL but for that text, since codes begin with %: try_strptime(x, '%Y-%m-%d %H:%M:%S').",
    ],
    [
      'SELECT 1 FROM plain WHERE extract(dow FROM _event_time) IN (6, 7)',
      'dow(x) is never 7: it is 0 (Sunday) to 6, and isodow(x) 1 (Monday) to 7.',
    ],
    ['SELECT 1 FROM plain WHERE dayofweek(_event_time) BETWEEN 1 AND 7', 'dayofweek(x) is never 7'],
    ['SELECT 1 FROM plain WHERE extract(dayofweek FROM _event_time) = 0', 'is never 0: it is 1 (Sunday) to 7.'],
    ["SELECT CASE isodow(_event_time) WHEN 0 THEN 'Sunday' END FROM plain", 'it is 1 (Monday) to 7 (Sunday).'],
    ['SELECT 1 FROM plain WHERE 13 <> month(_event_time)', 'month(x) is never 13: it is 1 to 12.'],
    ["SELECT 1 FROM plain WHERE _id SIMILAR TO '%[0-9]%'", 'write .* for %, and . for _'],
    ['SELECT _id FROM plain WHERE n = NULL', '= NULL is never true: write n IS NULL.'],
    ['SELECT _id FROM plain p WHERE NULL <> p.o.p', '<> NULL is never true: write p.o.p IS NOT NULL.'],
    ['SELECT _id FROM plain WHERE n NOT IN (1, NULL)', 'NOT IN (…, NULL) is never true'],
    ['SELECT _id FROM plain WHERE n + 1 IN (1, NULL)', 'add OR x IS NULL if that is meant'],
    [
      "SELECT _event_time AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin' FROM inv",
      "shifts the wrong way: _event_time AT TIME ZONE 'Europe/Berlin' is its time there.",
    ],
  ])('is warned of: %s', async (sql, warning) => {
    expect(await warningsOf(sql)).toContainEqual(expect.stringContaining(warning));
  });

  test.each([
    "SELECT typeof(n) = 'int' FROM plain",
    'SELECT count_if(n > 1), COUNT_IF(n > 1 OR n < 0), countif(n > 1), count(n > 1 OR NULL), sum(n > 1) FROM plain',
    'SELECT DISTINCT * EXCLUDE (_id, _event_time) FROM plain',
    'SELECT DISTINCT * FROM (SELECT n FROM plain)',
    'SELECT DISTINCT p.* FROM plain p JOIN mixed m ON p.n = m.n',
    'SELECT DISTINCT * FROM (SELECT *, unnest([1, 1]) FROM plain)',
    'SELECT DISTINCT ON (n) * FROM plain',
    'SELECT p.*, count(*) FROM plain p JOIN mixed m ON p.n = m.n GROUP BY ALL',
    'SELECT n, count(*) FROM (SELECT _id, n FROM plain) GROUP BY ALL',
    'SELECT count(DISTINCT p) FROM plain p JOIN mixed m ON p.n = m.n',
    'SELECT * FROM plain WHERE n > 0 EXCEPT SELECT * FROM plain WHERE n > 1',
    'SELECT count(*) FROM plain JOIN mixed USING (_id)',
    'PIVOT plain ON n IN (1, 2) USING max(price) GROUP BY tags',
    'PIVOT (SELECT * EXCLUDE (_id, _event_time) FROM plain) ON n IN (1, 2) USING max(price)',
    'SELECT * FROM plain UNION ALL SELECT * FROM plain',
    'WITH plain AS (SELECT 1 AS n) SELECT DISTINCT * FROM plain',
    'SELECT n FROM plain WHERE 7 NOT IN (SELECT n FROM plain)',
    'SELECT _id FROM plain WHERE _id NOT IN (SELECT _id FROM plain)',
    'SELECT _id FROM plain WHERE 7 NOT IN (SELECT coalesce(m.o.k, 7) FROM mixed m)',
    'SELECT n IS DISTINCT FROM NULL, coalesce(n, NULL), n IN (NULL) FROM plain',
    'SELECT n FROM plain WHERE 1 NOT IN (SELECT n FROM plain WHERE n IS NOT NULL)',
    'SELECT _id FROM plain WHERE n > 99 AND 7 NOT IN (SELECT m.o.k FROM mixed m WHERE M.O.K IS NOT NULL AND n > 0)',
    'SELECT _id FROM plain WHERE n > 99 AND 7 NOT IN (SELECT m.o.k FROM mixed m WHERE o.k <> 7)',
    'SELECT _id FROM plain WHERE n > 99 AND 7 NOT IN (SELECT m.o.k FROM mixed m JOIN inv ON 7 <> m.o.k)',
    'WITH w AS (SELECT o.k AS w FROM mixed WHERE o.k BETWEEN 1 AND 9) SELECT _id FROM plain WHERE n > 99 AND 7 NOT IN (SELECT w FROM w)',
    'SELECT DISTINCT n, count(DISTINCT n) FROM plain n GROUP BY n',
    "SELECT year(_event_time), week(_event_time) FROM plain WHERE _event_time >= '2025-02-01' AND _event_time < '2025-06-01' AND n > 0 GROUP BY ALL",
    'SELECT count(n > 1 OR NULL), COUNT_IF(n > 1 OR n = 0) FROM plain',
    'SELECT _id FROM plain WHERE 7 IN (SELECT "max(n)" FROM (SELECT max(n) FROM plain))',
    "SELECT upper(pg_typeof(n)) = 'BIGINT' FROM plain",
    "SELECT _event_time AT TIME ZONE 'UTC', timezone('UTC', _id::TIMESTAMP AT TIME ZONE 'UTC') FROM inv WHERE false",
    "SELECT 1 FROM plain WHERE _id SIMILAR TO 'a(b|c)' OR _id NOT SIMILAR TO 'a_[0-9]+'",
    'SELECT _id FROM inv i WHERE _id IN (SELECT _id FROM plain) OR 1 IN (SELECT i.lines[1].price FROM plain)',
    'SELECT count(CASE WHEN n > 1 THEN 1 END), count(n), count(DISTINCT n > 1) FROM plain',
    "SELECT year(_event_time), isoyear(_event_time), week(_id::DATE), strftime(_event_time, '%G-W%V %Y-%m-%d') FROM plain WHERE false GROUP BY ALL",
    'SELECT 1 FROM plain WHERE year(_event_time) = 2025 AND week(_event_time) BETWEEN 2 AND 51',
    'SELECT 1 FROM plain WHERE isoyear(_event_time) = 2025 AND week(_event_time) = 1',
    'SELECT count(*) FROM plain NATURAL JOIN (SELECT n FROM mixed)',
    'SELECT count(*) FROM plain NATURAL JOIN (SELECT * FROM plain)',
    'SELECT 1 FROM plain WHERE year(_event_time) = 2025 AND week(_event_time) >= 10 AND week(_event_time) < 20',
    'SELECT year(_event_time), week(_event_time) FROM plain WHERE month(_event_time) = 6 GROUP BY ALL',
    "SELECT year(_event_time), week(_event_time) FROM plain WHERE _event_time >= '2024-03-01' AND _event_time < TIMESTAMP '2024-06-01' GROUP BY ALL",
    'SELECT 1 FROM plain WHERE hour(_event_time) < 24 AND extract(dayofweek FROM _event_time) = 7 AND isodow(_event_time) = 7',
    "SELECT strftime(_event_time, '%d.%m.') FROM plain WHERE _id SIMILAR TO '[0-9]+%'",
    'SELECT lines[1] FROM inv',
    "SELECT 1 FROM rates WHERE o->'k' LIKE '%y%' OR o->'k' LIKE '1%'",
    "SELECT 1 FROM plain WHERE _id ~ '.*part.*' AND _id ~ '^whole$' AND regexp_full_match(_id, 'whole')",
  ])('and not: %s', async (sql) => {
    expect(
      (await warningsOf(sql)).filter((warning) =>
        / is (?:always null|never|JSON|that text)|~ fits|around it|counts|isoyear|%G|SIMILAR|whole documents|_event_time|NOT IN|NULL is| NULL:/.test(
          warning,
        ),
      ),
    ).toEqual([]);
  });
});

describe('columns that a set operation puts together by place', () => {
  beforeAll(async () => {
    const documents: Record<string, JsonObject> = {
      people: { first_name: 'Ada', last_name: 'Lovelace', n: 1 },
      turned: { last_name: 'Hopper', n: 2, first_name: 'Grace' },
    };
    for (const [name, document] of Object.entries(documents)) {
      await engine.commit([{ do: 'createCollection', table: name, workspace: 'commons', name }]);
      await engine.addDocuments(name, [doc('1', document)]);
    }
  });
  const warningsOf = async (sql: string) => (await engine.query({ sql })).warnings;

  test.each([
    ['SELECT first_name FROM (SELECT * FROM people UNION ALL SELECT * FROM turned)', 'UNION ALL BY NAME'],
    [
      'WITH t AS (FROM turned) SELECT * EXCLUDE (_id, _event_time, n) FROM people UNION SELECT * EXCLUDE (_id, _event_time, n) FROM t',
      'UNION BY NAME',
    ],
    [
      'SELECT first_name, last_name FROM people UNION ALL SELECT last_name, first_name FROM turned',
      'UNION ALL BY NAME',
    ],
    [
      'SELECT first_name, last_name FROM people INTERSECT SELECT last_name, first_name FROM turned',
      'in the same order',
    ],
  ])('by place: %s', async (sql, step) => {
    const said = 'puts columns together by their places, and first_name has another place in each SELECT: ';
    expect(await warningsOf(sql)).toEqual([expect.stringMatching(new RegExp(`^\\w+ ${said}.*${step}`))]);
  });

  test.each([
    'SELECT first_name FROM (SELECT * FROM people UNION ALL BY NAME SELECT * FROM turned)',
    'SELECT * FROM people UNION ALL SELECT * FROM people',
    'SELECT first_name, last_name FROM people UNION ALL SELECT last_name, first_name FROM people',
    "SELECT first_name, n FROM people UNION ALL SELECT 'all', sum(n) FROM turned",
  ])('nothing is said of: %s', async (sql) => {
    expect(await warningsOf(sql)).toEqual([]);
  });

  test('a UNION that fails for it is corrected by name, and not by a cast', async () => {
    const sql = 'SELECT sum(n) FROM (SELECT * FROM people UNION ALL SELECT * FROM turned)';
    await expect(engine.query({ sql })).rejects.toMatchObject({
      message: expect.stringContaining('columns are put together by name, since first_name has another place'),
      details: { correctedSql: sql.replace('UNION ALL', 'UNION ALL BY NAME') },
    });
    expect((await engine.query({ sql: sql.replace('UNION ALL', 'UNION ALL BY NAME') })).rows).toEqual([[3]]);
  });
});
