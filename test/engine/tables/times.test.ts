import { afterEach, beforeEach, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/contract/json/json.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import type { FieldNews } from '../../../src/engine/field-news.ts';
import { columnsOf, doc, openSmall, readBack, rowsOf, temporaryFolder, textOf } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

beforeEach(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await engine.commit([
    { do: 'createWorkspace', workspace: 'commons' },
    { do: 'createCollection', table: 't', workspace: 'commons', name: 'docs', recognizeTimes: true },
    { do: 'createCollection', table: 'u', workspace: 'commons', name: 'plain' },
  ]);
});

afterEach(async () => {
  await engine.close();
  folder.dispose();
});

const idOf = (n: number) => `d${n}`;

async function add(fields: readonly JsonObject[], from = 0): Promise<FieldNews[]> {
  const told: FieldNews[] = [];
  const documents = fields.map((one, n) => doc(idOf(from + n), one));
  const outcomes = await engine.addDocuments('t', documents, (one) => told.push(one));
  expect(outcomes.filter(({ status }) => status === 'error')).toEqual([]);
  return told;
}

/** Every value is given back as it was written: to changes, to a plain read, and by a page of a kept result. */
async function expectWritten(name: string, values: readonly unknown[]): Promise<void> {
  const ids = values.map((_, n) => idOf(n));
  const found = await readBack(engine, 't', ids);
  expect(found.map((document) => document?.[name])).toEqual(values);
  const rows = await rowsOf(engine, `SELECT ${name} FROM docs ORDER BY CAST(substr(_id, 2) AS INT)`);
  expect(rows.map(([value]) => value)).toEqual(values);
  const whole = await rowsOf(engine, 'SELECT * FROM docs ORDER BY CAST(substr(_id, 2) AS INT)');
  const index = (await columnsOf(engine)).findIndex((column) => column.startsWith(`${name} `));
  expect(whole.map((row) => row[index])).toEqual(values);
}

const typeOfField = async (name: string) =>
  (await columnsOf(engine)).find((column) => column.startsWith(`${name} `))?.slice(name.length + 1);

test.each([
  ['DATE', ['2024-02-29', '0001-01-01', '9999-12-31']],
  ['TIMESTAMP', ['2024-01-02T03:04:05', '2024-12-31T23:59:59']],
  ['TIMESTAMP', ['2024-01-02 03:04:05.120', '2024-12-31 23:59:59.999']],
  ['TIMESTAMP WITH TIME ZONE', ['2024-01-02T03:04:05Z', '0001-01-01T00:00:00Z']],
  ['TIMESTAMP WITH TIME ZONE', ['2024-01-02T03:04:05.120Z', '2024-12-31T23:59:59.000Z']],
  ['TIMESTAMP WITH TIME ZONE', ['2024-01-02T03:04:05.123456+00:00', '2024-12-31T23:59:59.000000+00:00']],
  ['TIMESTAMP WITH TIME ZONE', ['2024-01-02T01:04:05+05:30', '2024-12-31T23:59:59+05:30']],
  ['VARCHAR', ['2023-02-29', '2024-13-01']],
  ['VARCHAR', ['01-02-2024', '2024/01/02']],
  ['VARCHAR', ['2024-01-02T24:00:00Z', '2024-01-02T03:04:60Z']],
  ['VARCHAR', ['0000-01-01', '2024-01-02T03:04:05+19:00']],
  ['VARCHAR', ['20240102', '12:30:00']],
])('%s: %j', async (type, values) => {
  const news = await add(values.map((made) => ({ made, inner_: { list: [made], keys: { made } } })));
  expect(news).toEqual([]);
  expect(await typeOfField('made')).toBe(type);
  expect((await columnsOf(engine)).join()).not.toContain('_strays');
  await expectWritten('made', values);
  await expectWritten(
    'inner_',
    values.map((made) => ({ list: [made], keys: { made } })),
  );
});

test('text is text where the setting is off', async () => {
  await engine.addDocuments('u', [doc('a', { made: '2024-01-02' })]);
  expect(await columnsOf(engine, 'plain')).toContain('made VARCHAR');
});

test('a spelling that is not that of the column is kept, and disagrees with nothing', async () => {
  const values = [
    '2024-01-02T03:04:05Z',
    '2024-01-02T05:04:05+02:00',
    '2024-01-02T03:04:05.000Z',
    '2024-01-02T03:04Z',
    '2024-01-02T03:04:05.123456789Z',
    '2024-01-02 03:04:05+0000',
  ];
  expect(await add(values.map((made) => ({ made })))).toEqual([]);
  expect(await typeOfField('made')).toBe('TIMESTAMP WITH TIME ZONE');
  await expectWritten('made', values);
  const outcome = await engine.query({ sql: 'SELECT count(DISTINCT made), max(made)::VARCHAR, count(made) FROM docs' });
  expect(outcome.rows).toEqual([[3, '2024-01-02 03:04:05.123456+00', 6]]);
  expect(outcome.warnings).toEqual([]);
});

test('what is no time of the kind is a stray, and said', async () => {
  const values = [...Array.from({ length: 5 }, (_, n) => `2024-01-0${n + 1}T00:00:00Z`), 'unknown', '2024-01-01', 7];
  const news = await add(values.map((made) => ({ made })));
  expect(news[0]?.strays).toMatchObject([{ path: '"made"', count: 3, type: 'TIMESTAMP WITH TIME ZONE' }]);
  await expectWritten('made', values);
  const outcome = await engine.query({ sql: "SELECT count(*) FROM docs WHERE made >= '2024-01-03'" });
  expect(outcome.rows).toEqual([[3]]);
  expect(outcome.warnings.join()).toContain('3 of made (');
});

test.each([
  [['2024-05-01T10:00:00Z', '2024-05-02T10:00:00Z', '9999-12-31T23:59:59-05:00'], 2],
  [['2024-05-01T10:00:00Z', '0001-01-01T00:00:00+01:00', '0000-05-01T00:00:00Z', '2024-05-02T10:00:00Z'], 2],
  [['2024-05-01', '0000-05-01', '2024-05-02'], 2],
  [['2024-05-01T10:00:00Z', '9999-12-31T23:59:59+00:00', '0001-01-01T00:00:00-0000'], 3],
])('years beyond those of times are strays, and said: %j', async (values, held) => {
  await add(values.map((made) => ({ made })));
  const { rows, warnings } = await engine.query({ sql: 'SELECT count(made) FROM docs' });
  expect([rows[0], warnings.length]).toEqual([[held], held < values.length ? 1 : 0]);
  await expectWritten('made', values);
});

test('dates become times at midnight with the first time, and text when most are no times', async () => {
  const values: unknown[] = ['2024-01-01', '2024-01-02', '2024-01-02T12:00:00'];
  await add(values.slice(0, 2).map((made) => ({ made: made as string })));
  expect(await typeOfField('made')).toBe('DATE');
  await add([{ made: '2024-01-02T12:00:00' }], 2);
  expect(await typeOfField('made')).toBe('TIMESTAMP');
  await expectWritten('made', values);
  const max = 'SELECT max(made) - min(made) > INTERVAL 1 DAY, count(made) FROM docs';
  expect(await engine.query({ sql: max })).toMatchObject({ rows: [[true, 3]], warnings: [] });
  const others = ['a', 'b', 'c', 'd'];
  const news = await add(
    others.map((made) => ({ made })),
    3,
  );
  expect(news[0]?.changes).toEqual([{ path: '"made"', before: 'TIMESTAMP', after: 'VARCHAR' }]);
  await expectWritten('made', [...values, ...others]);
});

test('a first text that is no time does not decide', async () => {
  const values = ['n/a', ...Array.from({ length: 9 }, (_, n) => `2024-01-0${n + 1}`)];
  await add(values.map((made) => ({ made, inner_: { made } })));
  expect(await typeOfField('made')).toBe('DATE');
  await expectWritten('made', values);
  expect(await typeOfField('inner_')).toBe('STRUCT(made DATE)');
});

test('a map of times, and one that a struct of times becomes', async () => {
  const seen = (n: number) => ({ [`user-${n}`]: `2024-01-02T03:04:${String(n).padStart(2, '0')}Z` });
  const values = Array.from({ length: 40 }, (_, n) => seen(n));
  await add(values.slice(0, 10).map((one) => ({ seen: one })));
  await add(
    values.slice(10).map((one) => ({ seen: one })),
    10,
  );
  expect(await typeOfField('seen')).toBe('MAP(VARCHAR, TIMESTAMP WITH TIME ZONE)');
  await expectWritten('seen', values);
});

test('text of a request goes to the engine as it is', async () => {
  const documents = Array.from({ length: 20 }, (_, n) => ({ _id: idOf(n), made: `2024-01-02T03:04:05.${100 + n}Z` }));
  for (const some of [documents.slice(0, 5), documents.slice(5)]) {
    const outcomes = await engine.addText('t', textOf(some));
    if (outcomes === undefined)
      await engine.addDocuments(
        't',
        some.map(({ _id, made }) => doc(_id, { made })),
      );
  }
  await expectWritten(
    'made',
    documents.map(({ made }) => made),
  );
  expect(await rowsOf(engine, 'SELECT count(made) FROM docs')).toEqual([[20]]);
});

test('a kept result shows times as they were written, too', async () => {
  await add(['2024-01-02T03:04:05.100Z', '2024-01-02T05:04:05+02:00'].map((made) => ({ made })));
  const id = 'k';
  await engine.query({ sql: 'SELECT _id, made FROM docs ORDER BY _id', keep: { id, rowsMax: 1 } });
  const page = await engine.results.read(id, { offset: 0, limit: 10, columns: ['made'] });
  expect(page.rows).toEqual([['2024-01-02T03:04:05.100Z'], ['2024-01-02T05:04:05+02:00']]);
});

test('the profile of a kept result counts a time that is spelled otherwise as a time', async () => {
  await add(
    ['2024-01-02T03:04:05Z', '2024-01-02T05:04:06+02:00', '2024-01-03T00:00:00Z', 'no'].map((made) => ({ made })),
  );
  await engine.query({ sql: 'SELECT made FROM docs ORDER BY _id', keep: { id: 'f', rowsMax: 1 } });
  expect(await engine.results.profile('f')).toMatchObject([{ strays: 1, nulls: 0, distinct: 3 }]);
});

test('documents come back from the trash and after a restart', async () => {
  const values = ['2024-01-02T03:04:05.100Z', '2024-01-02T05:04:05+02:00', 'no'];
  await add(values.map((made) => ({ made })));
  await engine.close();
  engine = await openSmall(folder.file);
  await expectWritten('made', values);
  await add([{ made: '2024-01-03T00:00:00.000Z' }], 3);
  await expectWritten('made', [...values, '2024-01-03T00:00:00.000Z']);
});

const COMPARED = [
  ["made > timestamptz '2024-01-02 10:00:00Z' - INTERVAL 1 DAY", 'made', 2],
  ["date '2024-01-02' <= plain.made", 'plain.made', 2],
  ["made BETWEEN date '2024-01-01' AND date '2024-01-02'", 'made', 2],
  ["made > date '2024-01-02'", 'made', 1],
  ["NOT made < timestamp '2024-01-02'", 'made', 2],
  ["made > date '2024-01-01' AND timestamp '2024-01-03' > \"MADE\" -- é", 'made', 2],
] as const;

test.each(COMPARED)('text is compared with a time: %s', async (condition, name, count) => {
  const made = ['2024-01-01', '2024-01-02', '2024-01-02T12:00:00+02:00'];
  await engine.addDocuments(
    'u',
    made.map((one, n) => doc(idOf(n), { made: one })),
  );
  const sql = `SELECT made, 'é', :p FROM plain WHERE ${condition}`;
  for (let time = 0; time < 2; time += 1) {
    const outcome = await engine.query({ sql, parameters: [{ name: 'p', type: 'int', value: '1' }] });
    expect(outcome.rows.length).toBe(count);
    expect(outcome.warnings.join()).toContain(`${name}`);
    expect(outcome.warnings.join()).toContain(': text, compared as a time.');
  }
  await expect(engine.inspect({ sql, allowMissingParameters: true })).resolves.toMatchObject({ unbound: null });
  await expect(engine.inspect({ sql, allowMissingParameters: true, allowUnbound: true })).resolves.toMatchObject({
    unbound: null,
  });
  await engine.addDocuments('u', [doc('b', { made: 'no' })]);
  const failing = engine.query({ sql, parameters: [{ name: 'p', type: 'int', value: '1' }] });
  await expect(failing).rejects.toThrow(`Not every value of ${name} is a time: TRY_CAST(${name} AS TIMESTAMPTZ)`);
});

const EQUAL = [
  // Of one instant, and of the day that it is in.
  ["made = timestamptz '2024-01-02 12:00:00Z'", ['b']],
  ["made = date '2024-01-02'", ['a']],
  ["plain.made <> date '2024-01-02'", ['b', 'c']],
  ["made IN (date '2024-01-02', timestamptz '2024-01-02 12:00:00Z')", ['a', 'b']],
  ["commons.plain.made NOT IN (date '2024-01-02', date '2024-01-03')", ['b', 'c']],
  ["timestamp '2024-01-02 12:00:00' IN (made)", ['b']],
  ["made IS DISTINCT FROM date '2024-01-02'", ['b', 'c']],
  ["MADE IS NOT DISTINCT FROM timestamp '2024-01-02 12:00:00'", ['b']],
  ["NULLIF(made, date '2024-01-02') IS NULL", ['a']],
  ["CASE \"made\" WHEN date '2024-01-02' THEN true WHEN date '2024-01-03' THEN false END", ['a']],
  ["NOT made = date '2024-01-02'", ['b', 'c']],
  ["made = now() OR date_trunc('day', timestamp '2024-01-02 10:00:00') = made", ['a']],
  ["made = max(date '2024-01-02') OVER ()", undefined],
  ["made = (SELECT max(CAST('2024-01-02' AS DATE)))", ['a']],
  ["made = date '2024-01-01' + INTERVAL 1 DAY", ['a']],
  ["(made, 1) = (date '2024-01-02', 1)", ['a']],
  ["o.made = date '2024-01-02'", ['a']],
  ['made = (SELECT max(day) FROM docs)', ['a']],
  ['EXISTS (SELECT 1 FROM docs WHERE docs.day = plain.made)', ['a']],
  ["EXISTS (SELECT 1 FROM unnest([o.made, made]) AS u(made_) WHERE made_ = date '2024-01-02')", ['a']],
  ["len(list_filter([made], lambda made: made = date '2024-01-02')) = 1", ['a']],
  ["EXISTS (SELECT 1 FROM plain AS p(x, y, made_) WHERE x = plain._id AND made_ = date '2024-01-02')", ['a']],
] as const;

test.each(EQUAL)('equality looks at the instant as well: %s', async (condition, found) => {
  await add([{ day: '2024-01-02' }]);
  const made = ['2024-01-02', '2024-01-02T14:00:00+02:00', '2024-01-04T00:00:00Z'];
  await engine.addDocuments(
    'u',
    made.map((one, n) => doc('abc'[n] ?? '', { made: one, o: { made: one } })),
  );
  const where = found === undefined ? 'QUALIFY' : 'WHERE';
  const { rows, warnings } = await engine.query({ sql: `SELECT _id FROM plain ${where} ${condition} ORDER BY _id` });
  expect(rows.flat()).toEqual(found ?? ['a']);
  expect(warnings.join()).toMatch(/made"?_?: text, compared as a time\. Text without a zone counts as UTC\./i);
});

test('equality of text and times in joins, and of names that are made on the way', async () => {
  await add([{ made: '2024-01-02T12:00:00Z' }]);
  await engine.addDocuments('u', [doc('a', { made: '2024-01-02T14:00:00+02:00' }), doc('b', { made: '2024-01-02' })]);
  for (const sql of [
    'SELECT p._id FROM plain p JOIN docs d ON p.made = d.made',
    'SELECT p._id FROM docs d LEFT JOIN plain p ON d.made = p.made',
    'WITH c AS (SELECT _id, made AS at FROM plain) SELECT c._id FROM c, docs WHERE c.at = docs.made',
    'SELECT s._id FROM (SELECT * FROM plain) s, (SELECT * FROM docs) d WHERE d.made IS NOT DISTINCT FROM s.made',
    'WITH p AS (SELECT * FROM plain), d AS (FROM docs) SELECT p._id FROM p JOIN d ON p.made = d.made',
    'WITH p AS (FROM plain UNION FROM plain) SELECT _id FROM p WHERE made = (SELECT made FROM docs)',
    "SELECT _id, made AS x FROM plain WHERE x = timestamptz '2024-01-02 12:00:00Z'",
  ]) {
    const { rows, warnings } = await engine.query({ sql });
    expect(rows.map(([id]) => id)).toEqual(['a']);
    expect(warnings.join()).toContain(': text, compared as a time.');
  }
  for (const join of ['JOIN plain p USING (made)', 'NATURAL JOIN plain p'])
    await expect(engine.query({ sql: `SELECT 1 FROM docs d ${join}` })).rejects.toThrow(
      'is text on one side of the join, and a time on the other: write ON CAST(a.',
    );
  await expect(engine.query({ sql: "SELECT 1 FROM plain WHERE lower(made) = date '2024-01-02'" })).rejects.toThrow(
    'One side is text, and compared with a time: write CAST(x AS TIMESTAMPTZ)',
  );
  for (const sql of [
    "SELECT made = '2024-01-02T12:00:00Z', made = d.made FROM docs d",
    "SELECT count(*) FROM plain a JOIN plain b USING (made) WHERE a.made = '2024-01-03' AND made IN ('a', 'b')",
    'SELECT count(*) FROM docs a JOIN docs b USING (made)',
    'SELECT count(*) FROM docs NATURAL JOIN docs c',
    'SELECT now() - made = INTERVAL 1 DAY, _event_time = now() FROM docs',
  ]) {
    expect((await engine.query({ sql })).warnings).toEqual([]);
  }
  const days = "SELECT CAST(made AS DATE) = date '2024-01-02' FROM plain";
  expect((await engine.query({ sql: days })).warnings).toEqual([]);
  await engine.addDocuments('u', [doc('c', { made: '2024-01-03T01:00:00+02:00' })]);
  const { warnings } = await engine.query({ sql: days });
  expect(warnings).toEqual([expect.stringContaining('gives the days as written')]);
});

test('an alias shows times as they were written, where its collections spell them alike', async () => {
  await engine.commit([
    ...['v', 'w'].map((table) => ({
      do: 'createCollection' as const,
      table,
      workspace: 'commons',
      name: table,
      recognizeTimes: true,
    })),
    { do: 'putAlias', workspace: 'commons', name: 'alike', tables: ['t', 'v'] },
    { do: 'putAlias', workspace: 'commons', name: 'unlike', tables: ['t', 'v', 'w', 'u'] },
  ]);
  const made = '2024-05-01T10:00:00+02:00';
  await add([{ made, o: { made, l: [made] } }, { made: '2024-05-01T10:00:00.5Z' }]);
  await engine.addDocuments('v', [doc('v', { made, o: { made, l: [made], n: 1 }, own: '2024-05-01T10:00:00.1' })]);
  await engine.addDocuments('w', [doc('w', { made: '2024-05-01T10:00:00Z', o: { made } })]);
  const shown = (sql: string) => rowsOf(engine, `${sql} ORDER BY _id`);
  expect(await shown('SELECT made, own FROM alike')).toEqual([
    [made, null],
    ['2024-05-01T10:00:00.5Z', null],
    [made, '2024-05-01T10:00:00.1'],
  ]);
  expect(await shown("SELECT o, o.l FROM alike WHERE _id <> 'd1'")).toEqual([
    [{ made, l: [made] }, [made]],
    [{ made, l: [made], n: 1 }, [made]],
  ]);
  expect(await shown("SELECT * EXCLUDE (_event_time, _strays) FROM alike WHERE _id = 'v'")).toEqual([
    ['v', made, { made, l: [made], n: 1 }, '2024-05-01T10:00:00.1'],
  ]);
  // An instant that is spelled in several ways is shown as what is computed.
  expect(await shown("SELECT made, o.made, own FROM unlike WHERE _id IN ('v', 'w')")).toEqual([
    ['2024-05-01T08:00:00.000000Z', made, '2024-05-01T10:00:00.1'],
    ['2024-05-01T10:00:00.000000Z', made, null],
  ]);
});

test('what is computed of a time has a zone where the time has one', async () => {
  await add([{ made: '2024-05-01T10:00:00+02:00', own: '2024-05-01T10:00:00', o: { made: '2024-05-01T10:00:00Z' } }]);
  expect(await rowsOf(engine, 'SELECT made, own, o FROM docs')).toEqual([
    ['2024-05-01T10:00:00+02:00', '2024-05-01T10:00:00', { made: '2024-05-01T10:00:00Z' }],
  ]);
  const sql = `SELECT max(made), date_trunc('day', made), made AT TIME ZONE 'Europe/Berlin', max(own),
    date_trunc('day', own), own AT TIME ZONE 'Europe/Berlin', max(o.made) FROM docs GROUP BY ALL`;
  expect(await rowsOf(engine, sql)).toEqual([
    [
      '2024-05-01T08:00:00.000000Z',
      '2024-05-01T00:00:00.000000Z',
      '2024-05-01T10:00:00.000000',
      '2024-05-01T10:00:00.000000',
      '2024-05-01T00:00:00.000000',
      '2024-05-01T08:00:00.000000Z',
      '2024-05-01T10:00:00.000000Z',
    ],
  ]);
});

test('JSON is compared with times as text is: of an alias over dates and times, for one', async () => {
  await engine.commit([
    { do: 'createCollection', table: 'v', workspace: 'commons', name: 'days', recognizeTimes: true },
    { do: 'putAlias', workspace: 'commons', name: 'moments', tables: ['t', 'v'] },
  ]);
  await add([{ moment: '2024-05-03T10:00:00' }]);
  await engine.addDocuments('v', [doc('a', { moment: '2024-05-03' })]);
  for (const [condition, found] of [
    ["moment > DATE '2024-05-03'", ['d0']],
    ["moment = DATE '2024-05-03'", ['a']],
    ["moment BETWEEN DATE '2024-05-03' AND DATE '2024-05-04'", ['a', 'd0']],
  ]) {
    const { rows, warnings } = await engine.query({ sql: `SELECT _id FROM moments WHERE ${condition} ORDER BY 1` });
    expect([condition, rows.flat()]).toEqual([condition, found]);
    const [said, more] = warnings;
    expect(said).toBe('moment: text, compared as a time. Text without a zone counts as UTC.');
    // One of them has a later moment of that day.
    expect(more === undefined).toBe(String(condition).includes('BETWEEN'));
  }
});

test('a comparison that a cast does not help fails as it was written', async () => {
  await engine.addDocuments('u', [doc('a', { made: '2024-01-02', o: { made: '2024-01-02' } })]);
  const failing = engine.query({ sql: "SELECT 1\nFROM plain WHERE made || 'x' > now() AND made < now()" });
  await expect(failing).rejects.toMatchObject({ details: { line: 2, column: expect.any(Number) } });
  await expect(failing).rejects.toThrow('Cannot compare values of type VARCHAR');
  const later = engine.query({ sql: 'SELECT 1 FROM plain WHERE made < now() AND nothing > 1' });
  await expect(later).rejects.toMatchObject({ details: { line: 1, column: 44 } });
  expect(await rowsOf(engine, 'SELECT 1 FROM plain WHERE plain.o.made < now()')).toEqual([[1]]);
  for (const compared of [
    'lower(made) < now()',
    'NOT lower(made) < now() AND true',
    'now() > lower(made)',
    "CASE WHEN made > '' THEN made END < now()",
  ]) {
    await expect(engine.query({ sql: `SELECT 1 FROM plain WHERE ${compared}` })).rejects.toThrow(
      'One side is text: write CAST(x AS',
    );
  }
});

test('a parameter that is a time is compared with text', async () => {
  await engine.addDocuments('u', [doc('a', { made: '2024-01-02' }), doc('b', { made: '2024-01-03' })]);
  const parameters = [{ name: 'p', type: 'date', value: '2024-01-02' }] as const;
  const outcome = await engine.query({ sql: 'SELECT _id FROM plain WHERE made > :p', parameters: [...parameters] });
  expect(outcome.rows).toEqual([['b']]);
  const sql = 'SELECT _id FROM plain WHERE made = :P';
  for (let time = 0; time < 2; time += 1) {
    const asTime = await engine.query({ sql, parameters: [...parameters] });
    expect([asTime.rows, asTime.warnings.length]).toEqual([[['a']], 1]);
    const asText = await engine.query({ sql, parameters: [{ name: 'p', value: '2024-01-03' }] });
    expect([asText.rows, asText.warnings]).toEqual([[['b']], []]);
  }
});

test('a page of a kept result compares text with times as a query does', async () => {
  await engine.addDocuments('u', [doc('a', { made: '2024-01-02T23:00:00Z' }), doc('b', { made: '2024-01-03' })]);
  await engine.query({ sql: 'SELECT _id, made FROM plain ORDER BY _id', keep: { id: 'q', rowsMax: 1 } });
  for (const [where, found] of [
    ["made = date '2024-01-03'", 'b'],
    ["made < date '2024-01-03'", 'a'],
  ]) {
    const page = await engine.results.read('q', { offset: 0, limit: 9, where });
    expect(page.rows.map(([id]) => id)).toEqual([found]);
    expect(page.warnings).toEqual(['made: text, compared as a time. Text without a zone counts as UTC.']);
  }
});

test('a failed cast to a number says nothing of times', async () => {
  await engine.addDocuments('u', [doc('a', { made: 'no' })]);
  const failing = engine.query({ sql: 'SELECT CAST(made AS INTEGER) FROM plain' });
  await expect(failing).rejects.toThrow('Could not convert string');
  await expect(failing).rejects.not.toThrow('TIMESTAMPTZ');
});
