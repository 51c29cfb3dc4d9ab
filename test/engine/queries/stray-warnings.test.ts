import { DuckDBConnection } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Engine } from '../../../src/engine/engine.ts';
import { doc, openSmall, temporaryFolder } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

beforeAll(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await engine.commit([
    { do: 'createWorkspace', workspace: 'commons' },
    { do: 'createCollection', table: 't', workspace: 'commons', name: 'docs' },
    { do: 'createCollection', table: 'u', workspace: 'commons', name: 'other' },
    { do: 'createCollection', table: 'w', workspace: 'commons', name: 'o' },
    { do: 'putAlias', workspace: 'commons', name: 'al', tables: ['t', 'u'] },
  ]);
  const documents = Array.from({ length: 30 }, (_, n) =>
    doc(`d${n}`, {
      n: n === 3 ? 'x' : n,
      o: { a: n === 4 ? 'y' : n, b: [n, n === 5 ? 'z' : 1] },
      l: [{ v: n === 6 ? 'w' : n }],
      m: { [`k${n}`]: n === 7 ? 'q' : n, [`k${n + 1}`]: n },
      clean: n,
    }),
  );
  await engine.addDocuments('t', documents);
  await engine.addDocuments('u', [doc('e', { n: 1, clean: 2 })]);
  await engine.addDocuments(
    'w',
    documents.map(({ id, fields }) => doc(id, { o: fields['o'] ?? null })),
  );
});

afterAll(async () => {
  await engine.close();
  folder.dispose();
});

test.each([
  'SELECT sum(n) FROM docs',
  'SELECT sum("N") FROM docs',
  'SELECT sum(n) FROM al',
  'WITH c AS (SELECT * FROM docs) SELECT sum(n) FROM c',
  'SELECT sum(x) FROM (SELECT n AS x FROM docs)',
  'SELECT max(commons.docs.n) FROM commons.docs',
  'SELECT (SELECT max(n) FROM docs)',
  'SELECT sum(COLUMNS(*)) FROM (SELECT n, clean FROM docs)',
  'SELECT count(*) FROM docs d JOIN other o USING (n)',
  'SELECT count(*) FROM docs NATURAL JOIN other',
  'SELECT docs FROM docs',
  'SELECT to_json(d) FROM docs d',
  'SELECT DISTINCT n FROM docs',
  'SELECT n FROM docs ORDER BY n',
  'SELECT n FROM docs WHERE n > 3',
  'SELECT * REPLACE (n + 1 AS n) FROM docs',
  'SELECT * RENAME (n AS z) FROM docs',
  "SELECT * LIKE 'n%' FROM docs",
  "SELECT COLUMNS('^n$') FROM docs",
  'SELECT n, count(*) FROM docs GROUP BY ALL',
  'SELECT sum(o.a) FROM docs',
  "SELECT sum(o['a']) FROM docs",
  "SELECT sum(struct_extract(o, 'a')) FROM docs",
  'SELECT o.* FROM docs',
  'SELECT o.* EXCLUDE (b) FROM docs',
  'SELECT unnest(o) FROM docs',
  'SELECT json_keys(o) FROM docs',
  "SELECT o->>'a' FROM docs",
  'SELECT sum(list_sum(o.b)) FROM docs',
  'SELECT o.b[2] FROM docs',
  'SELECT sum(u.item.v) FROM docs, UNNEST(docs.l) AS u(item)',
  'SELECT sum(list_sum(list_transform(l, lambda x: x.v))) FROM docs',
  'SELECT UNNEST(l, recursive := true) FROM docs',
  'SELECT sum(m.k7) FROM docs',
  "SELECT sum(m['k7']) FROM docs",
  'SELECT sum(list_sum(map_values(m))) FROM docs',
  'FROM docs SELECT sum(n)',
  'SELECT avg(n) OVER () FROM docs',
  'SELECT n FROM docs UNION ALL SELECT n FROM other',
  'SELECT * FROM docs UNION ALL BY NAME SELECT * FROM other',
  'SELECT count(*) FROM docs WHERE n IS NULL',
  'SELECT n AS k FROM docs QUALIFY row_number() OVER (ORDER BY n) = 1',
  'SELECT count(*) FROM other WHERE EXISTS (SELECT 1 FROM docs WHERE other.n = docs.n)',
  'SELECT count(*) FROM docs d1, docs d2 WHERE d1.n = d2.n',
  'SELECT * FROM (SELECT * FROM docs)',
  'UNPIVOT docs ON n, clean INTO NAME k VALUE v',
  'SUMMARIZE docs',
  'SELECT _id FROM docs ORDER BY n DESC LIMIT 1',
  'SELECT p.* FROM o p(p, q)',
  'SELECT * EXCLUDE (_strays), n + 1 FROM docs',
  'SELECT sum(j.n) FROM (docs JOIN other o2 ON docs._id < o2._id) AS j',
  'SELECT sum(s.n) FROM (FROM docs) AS s',
  'SELECT n AS x FROM docs WHERE x > 5',
  'SELECT n AS x FROM docs ORDER BY x DESC',
  'SELECT clean, n FROM docs ORDER BY 2',
  'SELECT * FROM docs ORDER BY 4',
  'SELECT max(b) FROM docs AS d(a, b, c, d, e)',
  'SELECT n.max() FROM docs',
  'SELECT d.n.avg() FROM docs d',
  'SELECT n.abs().sqrt() FROM docs WHERE clean > 0',
  'SELECT n.sum() FILTER (WHERE clean > 0) FROM docs',
  'SELECT clean FROM docs WHERE n.abs() IS NULL',
  'SELECT clean FROM docs ORDER BY n.abs()',
  'SELECT clean, n AS x FROM docs ORDER BY x.abs()',
  'SELECT count(*) FROM docs a JOIN other b ON a.n.abs() = b.clean',
  'SELECT clean FROM other WHERE EXISTS (SELECT 1 FROM docs WHERE docs.n.abs() = other.clean)',
  'WITH c AS (SELECT n.abs() AS a FROM docs) SELECT a FROM c',
  'SELECT clean FROM docs GROUP BY clean HAVING n.sum() IS NULL',
  'SELECT l.list_transform(lambda one: one.v) FROM docs',
  'SELECT m.map_values() FROM docs',
  "SELECT m.element_at('k7') FROM docs",
  "SELECT o.struct_extract('a') FROM docs",
])('says that values were not seen: %s', async (sql) => {
  const { warnings } = await engine.query({ sql });
  expect(warnings.join()).toMatch(/not fit/);
});

test.each([
  ['SELECT * FROM docs', 'x'],
  ['TABLE docs', 'x'],
  ['SELECT d.* FROM docs d WHERE clean = 3', 'x'],
  ['SELECT DOCS.* EXCLUDE (m) FROM commons.docs WHERE clean = 3', 'x'],
  ['SELECT n, n AS again FROM docs WHERE clean = 3 ORDER BY clean LIMIT 1', 'x'],
  ['SELECT _strays, n FROM docs WHERE clean = 3', 'x'],
  ['SELECT o.a FROM docs WHERE clean = 4', 'y'],
  ['SELECT o FROM docs WHERE clean = 5', 'z'],
  ['SELECT m.k7 FROM docs WHERE clean = 7', 'q'],
  ['SELECT n FROM al WHERE clean = 3', 'x'],
  ['SELECT o.* FROM o ORDER BY _id', 'y'],
  ['SELECT n AS "offset", clean AS limit FROM docs WHERE clean = 3 ORDER BY clean', 'x'],
  ['SELECT n AS limit FROM docs WHERE clean = 3 LIMIT 1', 'x'],
  ['FROM docs SELECT n AS from', 'x'],
])('shows them as they were written: %s', async (sql, value) => {
  const { rows, warnings } = await engine.query({ sql });
  expect(JSON.stringify(rows)).toContain(JSON.stringify(value));
  expect(warnings).toEqual([]);
});

test('a name before a point is the table, if that has the column', async () => {
  await engine.commit([{ do: 'createCollection', table: 'v', workspace: 'commons', name: 'twins' }]);
  await engine.addDocuments('v', [
    doc('a', { x: 1, o: { x: 2, offset: 3 } }),
    doc('b', { x: 1, o: { x: 2, offset: 3 } }),
    doc('c', { x: 'outer', o: { x: 'inner', offset: 'off' } }),
  ]);
  const shown = async (sql: string) => (await engine.query({ sql: `${sql} ORDER BY _id` })).rows.at(-1);
  expect(await shown('SELECT o.x FROM twins AS o')).toEqual(['outer']);
  expect(await shown('SELECT o.o.x FROM twins AS o')).toEqual(['inner']);
  expect(await shown('SELECT o.x FROM twins')).toEqual(['inner']);
  expect(await shown('SELECT twins.x, commons.twins.x, commons.twins.o.x FROM twins')).toEqual([
    'outer',
    'outer',
    'inner',
  ]);
  expect(await shown('SELECT o.offset FROM twins')).toEqual(['off']);
  expect(await shown('FROM twins SELECT x, o.offset')).toEqual(['outer', 'off']);
});

test('says of a field in how many documents it has another spelling, which is not read', async () => {
  await engine.commit([{ do: 'createCollection', table: 'x', workspace: 'commons', name: 'cased' }]);
  await engine.addDocuments('x', [
    doc('a', { Name: 'A' }),
    doc('b', { name: 'B' }),
    doc('c', { name: 'C', Name: 'D' }),
  ]);
  for (const sql of [
    'SELECT name FROM cased',
    'SELECT count(c.NAME) FROM cased c',
    'SELECT 1 FROM cased WHERE name > 1',
    'SELECT name.max() FROM cased',
  ]) {
    expect((await engine.query({ sql: sql.replace('> 1', "> ''") })).warnings).toEqual([
      `2 documents of commons.cased have "name", which SQL does not tell from "Name", and does not read: it is in _extra. coalesce("Name", _extra->>'$.name') reads both.`,
    ]);
  }
  for (const sql of [
    'SELECT * FROM cased',
    `SELECT coalesce("Name", _extra->>'$.name') FROM cased`,
    'SELECT _id FROM cased',
  ])
    expect((await engine.query({ sql })).warnings).toEqual([]);
  await engine.deleteDocuments('x', ['b', 'c']);
  expect((await engine.query({ sql: 'SELECT name FROM cased' })).warnings).toEqual([]);
});

test('a key that differs from its field only in case is shown, unless another value is', async () => {
  await engine.commit([{ do: 'createCollection', table: 'y', workspace: 'commons', name: 'keyed' }]);
  const map = (n: number) => Object.fromEntries([0, 1].map((one) => [`k${n + one}`, { Key: n }]));
  await engine.addDocuments(
    'y',
    Array.from({ length: 30 }, (_, n) => doc(`d${n + 10}`, { o: { Key: n, t: 1 }, m: map(n) })),
  );
  await engine.addDocuments('y', [
    doc('e1', { o: { key: 'low' }, m: { k0: { key: 'low' }, K1: { Key: 1 } } }),
    doc('e2', { o: { Key: 1, key: 2 } }),
    doc('e3', { o: { Key: 'odd' } }),
  ]);
  const ofLast = async (column: string) => {
    const { rows, warnings } = await engine.query({ sql: `SELECT ${column} FROM keyed WHERE _id >= 'e' ORDER BY _id` });
    expect(warnings).toEqual([]);
    return rows.flat();
  };
  expect(await ofLast('o."key"')).toEqual(['low', 2, 'odd']);
  expect(await ofLast('O.KEY')).toEqual(['low', 1, 'odd']);
  expect(await ofLast('keyed.o.Key')).toEqual(['low', 1, 'odd']);
  expect(await ofLast('m.k0.key')).toEqual(['low', null, null]);
  expect(await ofLast('m.k1')).toEqual([null, null, null]);
  const { warnings } = await engine.query({ sql: 'SELECT sum(o.key) FROM keyed' });
  expect(warnings).toEqual([
    expect.stringMatching(/: 2 of o\.key, which cannot be a field; 1 of o\.Key .*\. SELECT _id, _strays/),
  ]);
});

test('the letter case of the keys of maps counts', async () => {
  await engine.commit([{ do: 'createCollection', table: 'z', workspace: 'commons', name: 'exact' }]);
  await engine.addDocuments('z', [
    ...Array.from({ length: 40 }, (_, n) => doc(`d${n}`, { m: { [`k${n}`]: n, [`l${n}`]: n } })),
    doc('bad', { m: { K0: 'bad' } }),
  ]);
  expect(await engine.query({ sql: 'SELECT sum(m.k0) FROM exact' })).toMatchObject({ rows: [[0]], warnings: [] });
  expect((await engine.query({ sql: 'SELECT sum(m."K0") FROM exact' })).warnings).toEqual([
    expect.stringContaining('1 of m.<key> (BIGINT)'),
  ]);
});

test('says once what all are seen as, or of each that is seen otherwise', async () => {
  await engine.commit([{ do: 'createCollection', table: 'k', workspace: 'commons', name: 'kinds' }]);
  const fit = Array.from({ length: 3 }, (_, at) => doc(`d${at}`, { n: at, s: 'x', d: 0.5 }));
  await engine.addDocuments('k', [...fit, doc('odd', { n: 'n', s: 9, d: 'd' }), doc('more', { n: 3, s: 10, d: 1.5 })]);
  const warned = async (sql: string) => (await engine.query({ sql })).warnings.join();
  expect(await warned('SELECT sum(n), max(s), sum(d) FROM kinds')).toMatch(
    /^commons\.kinds: values that do not fit their field are, unless said otherwise, NULL here: 2 of s \(VARCHAR, text\).*1 of n \(BIGINT\)/,
  );
  expect(await warned('SELECT max(s) FROM kinds')).toMatch(/ are text here: 2 of s \(VARCHAR\): \(_strays->>'s'\)\.$/);
});

test('numbers that are read as their text lose nothing', async () => {
  await engine.commit([{ do: 'createCollection', table: 'st', workspace: 'commons', name: 'statuses' }]);
  const documents = Array.from({ length: 40 }, (_, n) => {
    const points = n % 4 === 0 ? n : `${n}`;
    return doc(`${n}`, { status: n % 4 === 0 ? 404 : '200', points, list: [{ points }], of: n === 8 ? { a: 1 } : 'x' });
  });
  await engine.addDocuments('st', documents);
  const warned = async (sql: string) => (await engine.query({ sql })).warnings;
  for (const right of [
    "SELECT count(*) FROM statuses WHERE status = '404'",
    "SELECT count(*) FROM statuses WHERE status LIKE '4%'",
    'SELECT status, count(*) FROM statuses GROUP BY 1 ORDER BY 1',
    'SELECT max(status) FROM statuses',
    'SELECT count(*) FROM statuses WHERE TRY_CAST(status AS INT) >= 400',
    'SELECT sum(TRY_CAST(points AS INT)), max(CAST(points AS INT)) FROM statuses',
    'SELECT sum(TRY_CAST(u.f.points AS INT)) FROM statuses, unnest(list) AS u(f)',
  ])
    expect([right, await warned(right)]).toEqual([right, []]);
  expect((await warned('SELECT max(points) FROM statuses')).join()).toMatch(/of points \(VARCHAR\)/);
  expect((await warned('SELECT max(u.f.points) FROM statuses, unnest(list) AS u(f)')).join()).toMatch(
    /ordered as text/,
  );
  expect((await warned("SELECT count(*) FROM statuses WHERE of = 'x'")).join()).toMatch(/ are text here: 1 of of/);
});

test.each([
  "SELECT sum(n), count(_strays->>'n') FROM docs",
  "SELECT sum(n), count(json_extract_string(_strays, '/n')), count(_strays->'$.N') FROM docs",
  'SELECT _strays, n + 1 FROM docs',
  'SELECT d.n + 1, D._STRAYS FROM docs d',
  'SELECT max(n) FROM docs WHERE _strays IS NULL',
  "SELECT * FROM docs WHERE n > 3 OR (_strays->>'n') IS NOT NULL",
])('says nothing where the statement reads the strays itself: %s', async (sql) => {
  expect((await engine.query({ sql })).warnings).toEqual([]);
});

test.each([
  "SELECT sum(n), count(_strays->>'o/a') FROM docs",
  'SELECT sum(n), count(_strays) FROM docs',
  'SELECT sum(n) FROM docs WHERE _strays IS NOT NULL',
  "SELECT sum(n), 'n' FROM docs WHERE json_array_length(_strays) IS NULL",
])('says what else of the strays the statement does not read: %s', async (sql) => {
  expect((await engine.query({ sql })).warnings).toEqual([expect.stringMatching(/ here: \d+ of n \(BIGINT\)/)]);
});

test.each([
  ['clean > 10', false],
  ['clean > 10 AND n > 1 AND "n" < 100', false],
  ['clean < 10', true],
  ['n > 10', true],
  ['clean > 10 OR n > 1', true],
])('values that do not fit and that WHERE leaves out are not told: %s', async (where, isTold) => {
  const { warnings } = await engine.query({ sql: `SELECT sum(n) FROM docs d WHERE ${where}` });
  expect(warnings.join()).toMatch(isTold ? /1 of n / : /^$/);
});

test('asks the rows of WHERE only where there is something to tell, and keeps what it knows of all', async () => {
  await engine.commit([{ do: 'createCollection', table: 'cd', workspace: 'commons', name: 'codes' }]);
  const documents = Array.from({ length: 30 }, (_, n) => doc(`${n}`, { code: n === 20 ? 404 : '200', clean: n }));
  await engine.addDocuments('cd', documents);
  const asked = vi.spyOn(DuckDBConnection.prototype, 'runAndReadAll');
  try {
    await engine.query({ sql: 'SELECT max(code) FROM codes WHERE clean > 11' });
    const counts = () => asked.mock.calls.map(([sql]) => sql).filter((sql) => sql.startsWith('SELECT place, '));
    expect(counts().map((sql) => sql.includes('clean > 11'))).toEqual([false]);
    await engine.query({ sql: 'SELECT sum(n) FROM docs WHERE clean > 12' });
    await engine.query({ sql: 'SELECT sum(n) FROM docs WHERE clean > 13' });
    expect(counts().map((sql) => /clean > 1[123]/.exec(sql)?.[0])).toEqual([
      undefined,
      undefined,
      'clean > 12',
      'clean > 13',
    ]);
  } finally {
    asked.mockRestore();
  }
});

test('tells of all rows where those of WHERE take too long', async () => {
  const read = DuckDBConnection.prototype.runAndReadAll;
  const slow = 'SELECT count(*) FROM range(1000000000000) AS t(i) WHERE hash(i) = 1';
  const asked = vi.spyOn(DuckDBConnection.prototype, 'runAndReadAll').mockImplementation(function (
    this: DuckDBConnection,
    sql,
    ...more
  ) {
    return read.call(this, sql.startsWith('SELECT place, ') && sql.includes('clean > 14') ? slow : sql, ...more);
  });
  try {
    const { rows, warnings } = await engine.query({ sql: 'SELECT count(n) FROM docs WHERE clean > 14' });
    expect(rows).toEqual([[15]]);
    expect(warnings).toEqual([expect.stringContaining('1 of n (BIGINT)')]);
  } finally {
    asked.mockRestore();
  }
});

test('says nothing of fields that the statement does not read', async () => {
  for (const sql of ['SELECT sum(clean) FROM docs', 'SELECT * EXCLUDE (n, o, l, m, _strays) FROM docs']) {
    expect(await engine.query({ sql })).toMatchObject({ warnings: [] });
  }
});

test.each([
  ['SELECT n, n + 1, count(*) OVER () FROM docs', 'n ?field1 ?count', 'x'],
  ['SELECT n IS DISTINCT FROM 1, n, FROM docs -- n', '?field0 n', true],
  ['SELECT clean AS "from", n + 1, n/* , */FROM docs', 'from ?field1 n', 3],
])('what is picked has its stray, and what is computed its name: %s', async (sql, names, first) => {
  const { columns, rows } = await engine.query({ sql: `${sql}\nWHERE _id = 'd3'` });
  expect(columns.map(({ name }) => name).join(' ')).toBe(names);
  expect(rows).toHaveLength(1);
  expect(rows[0]?.[0]).toBe(first);
  expect(rows[0]).toContain('x');
});
