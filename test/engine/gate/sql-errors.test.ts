import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ApiError } from '../../../src/contract/errors.ts';
import type { Engine, Parameter } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, rowsOf, temporaryFolder } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

beforeEach(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine);
});

afterEach(async () => {
  await engine.close();
  folder.dispose();
});

const messageOf = (sql: string) =>
  engine.query({ sql }).then(
    () => 'no error',
    (error: Error) => error.message,
  );

describe('a call that takes no text', () => {
  beforeEach(() => engine.addDocuments('t', [doc('a', { amount: '5', o: { at: '2026-01-01' }, n: 1 })]));

  test.each([
    ['sum(amount)', 'amount is text: CAST(amount AS DOUBLE)'],
    ['avg(d.amount)', 'd.amount is text: CAST(d.amount AS DOUBLE)'],
    ['round("amount", 2)', '"amount" is text: CAST("amount" AS DOUBLE)'],
    ['n * amount', 'amount is text: CAST(amount AS DOUBLE)'],
    ['sum(lower(amount))', 'lower(amount) is text: CAST(lower(amount) AS DOUBLE)'],
    ['sum(DISTINCT d.amount ORDER BY n)', 'd.amount is text: CAST(d.amount AS DOUBLE)'],
    ['month(o.at)', 'o.at is text: o.at::TIMESTAMPTZ'],
    ['o.at - INTERVAL 1 DAY', 'o.at is text: o.at::TIMESTAMPTZ'],
    ["'é', _event_time + INTERVAL 1 DAY, o.at + INTERVAL 1 DAY", 'o.at is text: o.at::TIMESTAMPTZ'],
    ['_event_time + INTERVAL 1 DAY, INTERVAL 1 DAY + o.at', 'o.at is text: o.at::TIMESTAMPTZ'],
    ['year(_event_time), year(o.at)', 'o.at is text: o.at::TIMESTAMPTZ'],
    ["date_trunc('month', o.at)", 'o.at is text: o.at::TIMESTAMPTZ'],
    ["date_diff('day', now(), o.at)", 'o.at is text: o.at::TIMESTAMPTZ'],
    ['extract(month FROM o.at)', 'x is text: x::TIMESTAMPTZ'],
    ['o.at - amount', 'o.at is text: CAST(o.at AS DOUBLE); for a time: o.at::TIMESTAMPTZ'],
  ])('says what reads it, and lists no candidates: %s', async (expression, hint) => {
    const message = await messageOf(`SELECT ${expression} FROM docs AS d`);
    expect(message.split('\n')).toContain(hint);
    expect(message).not.toContain('Candidate');
    const [, cast] = /^(?:\S+) is text: (.*?)(?:;|$)/.exec(hint) ?? [];
    if (!hint.startsWith('x '))
      expect(await rowsOf(engine, `SELECT ${cast} IS NULL OR true FROM docs AS d`)).toHaveLength(1);
  });

  test('says so of the time of strftime()', async () => {
    expect(await messageOf("SELECT strftime(o.at, '%Y') FROM docs")).toContain("strftime(x::TIMESTAMP, '%Y-%m-%d')");
  });

  test('has few candidates where it is wrong otherwise', async () => {
    expect(await messageOf('SELECT lower(amount, 2) FROM docs')).toContain('lower(VARCHAR) -> VARCHAR');
    const message = await messageOf('SELECT n - o FROM docs');
    expect(message.split('\n').length).toBeLessThan(12);
    expect(message).toMatch(/and \d\d more/);
  });
});

test('a field of JSON that is compared with a decimal is to be cast', async () => {
  await engine.addDocuments('t', [doc('a', { v: 99.9 }), doc('b', { v: [1] }), doc('c', { v: {} })]);
  expect(await messageOf('SELECT * FROM docs WHERE v = 99.9')).toContain("TRY_CAST(x->>'$' AS DOUBLE)");
});

test.each([
  ['SELECT CAST(_id AS object) FROM docs', 'There is no type object: write JSON.'],
  ['SELECT CAST(_id AS array) FROM docs', 'There is no type array: write JSON[], or VARCHAR[].'],
  ["SELECT * FROM TABLE('docs')", "Write the name of the collection instead of TABLE('…')"],
  ["SELECT FIELD('_id') FROM docs", 'Write "a", for example.'],
  ['SELECT coalesce(_id, UNDEFINED) FROM docs', 'write NULL instead of UNDEFINED.'],
])('what is written otherwise here is said: %s', async (sql, said) => {
  const message = await messageOf(sql);
  expect(message).toContain(said);
  expect(message).not.toContain('Did you mean');
});

describe('a field that is not there', () => {
  beforeEach(async () => {
    const wide = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`field_${n}`, n]));
    await engine.addDocuments('t', [
      doc('a', {
        status: 'x',
        order: 1,
        tags: [{ name: 'a', value: 1 }],
        labels: ['x'],
        o: { at: { city: 'x', zip: 1 }, wide, commits: [{ author: { nick: 'x' } }] },
      }),
    ]);
  });

  test.each([
    ['SELECT nothing FROM docs', 'docs has _id, _event_time, status, "order", tags[], labels[], o{}.'],
    ['SELECT d.nothing FROM docs d JOIN (SELECT 1 AS one) ON true', 'docs has _id, '],
    ['SELECT o.at.nothing FROM docs', 'There is no field "nothing" in o."at".\no."at" has city VARCHAR, zip BIGINT.'],
    ['SELECT d.o.nothing FROM docs d', 'd.o has "at" object, wide object, commits list of object.'],
    [
      "SELECT 1 FROM docs WHERE o.commits.author.nick = 'x'",
      'o.commits is a list of {author}.\nAdd UNNEST(o.commits) AS u(x) to FROM, and write x.author.nick; or list_transform(o.commits, lambda x: x.author.nick).',
    ],
    [
      "SELECT 1 FROM docs WHERE list_contains(tags, 'a')",
      "tags is a list of {name, value}: compare one of its fields, list_contains([x.name for x in tags], 'a').",
    ],
    [
      "SELECT 1 FROM docs WHERE 'a' = ANY(tags)",
      "compare one of its fields, list_contains([x.name for x in tags], 'a').",
    ],
    ['SELECT tags[1].nothing FROM docs', 'tags[] has name VARCHAR, value BIGINT.'],
    ['SELECT u.x.nothing FROM docs, UNNEST(tags) AS u(x)', 'The object has name, value.'],
    ['SELECT o.wide.field_400 FROM docs', 'o.wide has 40 fields; near: field_0, '],
    ['SELECT labels.name FROM docs', 'labels is a list of values.\nAdd UNNEST(labels) AS u(x) to FROM, and write x;'],
    ['SELECT value FROM docs', 'value is in the list tags: add UNNEST(tags) AS u(x) to FROM, and write x.value.'],
    ['SELECT city FROM docs', 'city is o."at".city.'],
    ['SELECT status, count(*) n FROM docs GROUP BY 1 HAVING cnt > 1', 'SELECT names n.\ndocs has _id, '],
  ])('is said with those that are: %s', async (sql, told) => {
    expect(await messageOf(sql)).toContain(told);
  });

  test('of a WITH is said with what the WITH has', async () => {
    const message = await messageOf('WITH w AS (SELECT status AS s FROM docs) SELECT stat FROM w');
    expect(message).toContain('"s"');
    expect(message).not.toContain('docs has');
  });

  test('is pointed at, within an object too', async () => {
    const refused = engine.query({ sql: 'SELECT 1,\n  o.at.nothing FROM docs' });
    await expect(refused).rejects.toMatchObject({ details: { line: 2, column: 8 } });
  });

  test('is said with near ones where there are many', async () => {
    const fields = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`column${n}`, n]));
    await engine.addDocuments('t', [doc('b', fields)]);
    expect(await messageOf('SELECT colum FROM docs')).toMatch(/\ndocs has 67 fields; near: column\d/);
  });
});

test('text that is no time is read by the format that it has', async () => {
  await engine.addDocuments('t', [doc('a', { v: '31/01/2026', w: '01/02/2026' })]);
  expect(await messageOf('SELECT v::DATE FROM docs')).toContain(`strptime(x, '%d/%m/%Y'), and others`);
  expect(await messageOf('SELECT w::DATE FROM docs')).toContain(
    `strptime(w, '%d/%m/%Y') AS DATE); if the month is: CAST(strptime(w, '%m/%d/%Y') AS DATE)`,
  );
});

describe('a field that has no column', () => {
  const ODD = ['k4999', 'with space', "it's", 'quo"te', 'a.b', 'sl/ash~', 'back\\slash', 'ümläut', '$'];

  test('is found by what the error says, whatever its name', async () => {
    const columns = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, index]));
    const others = Object.fromEntries(ODD.map((key) => [key, `found ${key}`]));
    await engine.addDocuments('t', [doc('a', { ...columns, ...others })]);
    for (const key of ODD) {
      for (const from of ['docs', 'docs AS d']) {
        const prefix = from === 'docs' ? '' : 'd.';
        const message = await messageOf(`SELECT ${prefix}"${key.replaceAll('"', '""')}" FROM ${from}`);
        const [, expression] = /Fields without a column of their own are in _extra: (.*)$/.exec(message) ?? [];
        expect(expression, message).toBeDefined();
        expect(await rowsOf(engine, `SELECT ${expression} FROM docs`)).toEqual([[`found ${key}`]]);
      }
    }
  });

  test('is reported as missing, without a word about _extra, if every field has a column', async () => {
    await engine.addDocuments('t', [doc('a', { k: 1 })]);
    expect(await messageOf('SELECT nothing FROM docs')).not.toContain('_extra');
  });
});

test('UNNEST of what is no list says what to write', async () => {
  await engine.addDocuments('t', [doc('a', { n: 1, o: { k: 1 }, j: [1, 'x'] })]);
  for (const sql of ['SELECT unnest(n) FROM docs', 'SELECT * FROM docs, UNNEST(docs.o) AS u(k)']) {
    expect(await messageOf(sql)).toMatch(/UNNEST\(map_entries\(o\)\) AS u\(e\).*UNNEST\(TRY_CAST\(x AS JSON\[\]\)\)/);
  }
  expect(await rowsOf(engine, 'SELECT e.key, e.value FROM docs, UNNEST(map_entries(o)) AS u(e)')).toEqual([['k', 1]]);
  expect(await rowsOf(engine, 'SELECT item FROM docs, UNNEST(TRY_CAST(j AS JSON[])) AS u(item)')).toHaveLength(2);
});

test('UNNEST where rows are grouped says where it belongs', async () => {
  await engine.addDocuments('t', [doc('a', { l: ['x', 'x', 'y'] })]);
  const message = await messageOf('SELECT unnest(l), count(*) FROM docs GROUP BY 1');
  expect(message).toContain('FROM t, UNNEST(t.list) AS u(item)');
  expect(
    await rowsOf(engine, 'SELECT item, count(*) FROM docs, UNNEST(docs.l) AS u(item) GROUP BY 1 ORDER BY 1'),
  ).toEqual([
    ['x', 2],
    ['y', 1],
  ]);
});

describe('what is told of parameters and numbers in a wrong place', () => {
  const errorOf = (sql: string, ...parameters: Parameter[]) =>
    engine.query({ sql, parameters }).then(
      () => ({ message: 'no error', details: {} }),
      (error: ApiError) => error,
    );

  test('ORDER BY a parameter, and a key that an object lacks', async () => {
    const { message } = await errorOf('SELECT _id FROM docs ORDER BY :col', { name: 'col', value: 'n' });
    expect(message).toContain("CASE :col WHEN 'a' THEN a");
    const ofKey = await errorOf('SELECT :obj.min', { name: 'obj', type: 'object', value: { max: 3 } });
    expect(ofKey).toMatchObject({
      message: 'Parameter ":obj" has no key "min".\nIt has "max".',
      details: { line: 1, column: 13 },
    });
  });

  test('a number that is cast to a time', async () => {
    expect((await errorOf('SELECT CAST(1704067200 AS timestamp)')).details).toMatchObject({
      correctedSql: 'SELECT to_timestamp(1704067200)',
    });
    expect((await errorOf('SELECT CAST(1.5 AS timestamp)')).message).toContain('TIMESTAMP_MILLIS(n) if milliseconds');
  });

  test('INTERVAL with a parameter', async () => {
    const sql = "SELECT DATE '2024-03-04' - INTERVAL :d DAY - interval :m months";
    const { rows } = await engine.query({
      sql,
      parameters: [
        { name: 'd', value: 3 },
        { name: 'm', value: 1 },
      ],
    });
    expect(rows).toEqual([['2024-02-01T00:00:00.000000']]);
  });
});

test('a list in the place of a value, and a value in that of a list, are told with what to write', async () => {
  await engine.addDocuments('t', [doc('a', { status: 'open', l: ['x'], day: '2026-01-01T00:00:00Z' })]);
  const parameters = [{ name: 'l', value: ['open'] }];
  const saidOf = (condition: string) =>
    engine.query({ sql: `SELECT 1 FROM docs WHERE ${condition}`, parameters }).then(
      () => 'no error',
      (error: Error) => error.message,
    );
  expect(await saidOf('status IN (:l)')).toContain('write x = ANY(:l).');
  expect(await saidOf('status NOT IN (:l)')).toContain('write x <> ALL(:l).');
  const ofValue = await saidOf("list_transform(l, lambda i: lower(i)) = 'x'");
  expect(ofValue).toContain('write list_contains(list, value)');
  expect(ofValue).not.toContain('IN takes');
  expect(await saidOf('day::TIMESTAMPTZ = ANY(CAST(:l AS TIMESTAMPTZ))')).toBe(
    'ANY takes a list, and this is one value: write CAST(:l AS TIMESTAMPTZ[]).',
  );
});

test('a zone that there is not is told with those of its place, and an offset with what has its sign', async () => {
  const saidOf = async (zone: string) => (await messageOf(`SELECT now() AT TIME ZONE '${zone}'`)).split('\n')[1];
  expect(await saidOf('Berlin')).toBe("Zones are named as 'Europe/Berlin'.");
  expect(await saidOf('new york')).toBe("Zones are named as 'America/New_York'.");
  expect(await saidOf('+02:00')).toMatch(/^Write 'Etc\/GMT-2' .*, or \(t AT TIME ZONE 'UTC'\) \+ INTERVAL '2:00'\.$/);
  expect(await saidOf('-03:30')).toBe("Write (t AT TIME ZONE 'UTC') - INTERVAL '3:30'.");
  const [row] = await rowsOf(
    engine,
    "SELECT now() AT TIME ZONE 'Etc/GMT-2' = (now() AT TIME ZONE 'UTC') + INTERVAL '2:00'",
  );
  expect(row).toEqual([true]);
});
