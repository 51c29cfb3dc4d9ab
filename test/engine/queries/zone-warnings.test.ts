import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Engine } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, temporaryFolder } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

beforeAll(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine);
  for (const [table, name, recognizeTimes] of [
    ['z', 'zoned', true],
    ['x', 'texts', false],
  ] as const) {
    await engine.commit([{ do: 'createCollection', table, workspace: 'commons', name, recognizeTimes }]);
    const times = ['2024-06-01T23:30:00+02:00', '2024-06-02T00:30:00+02:00', '2024-06-02T01:30:00+02:00'];
    const winter = (n: number, t: string) => (n === 0 ? t : '2024-01-02T00:30:00+01:00');
    await engine.addDocuments(
      table,
      times.map((t, n) =>
        doc(`${n}`, {
          t,
          of: { year: winter(n, t) },
          utc: '2024-06-01T23:30:00Z',
          india: '2024-06-01T00:00:00+05:30',
          plain: '2024-06-01T23:30:00',
          noon: '2024-06-01T12:00:00+02:00',
        }),
      ),
    );
  }
  await engine.commit([
    { do: 'createCollection', table: 'd', workspace: 'commons', name: 'days', recognizeTimes: true },
  ]);
  await engine.addDocuments('d', [doc('1', { day: '2024-06-01', at: '2024-06-01T00:00:00Z' })]);
  await engine.commit([{ do: 'putAlias', workspace: 'commons', name: 'also', tables: ['z'] }]);
});

afterAll(async () => {
  await engine.close();
  folder.dispose();
});

const warningsOf = async (sql: string) => (await engine.query({ sql })).warnings;
const SAID =
  "Days and hours of t are of UTC here, and its values were written at +02:00: t AT TIME ZONE 'Etc/GMT-2' (or their zone's name, 'Europe/…') has theirs.";

test.each([
  ['SELECT CAST(t AS DATE) AS d, count(*) FROM zoned GROUP BY d', SAID],
  ["SELECT date_trunc('day', t) FROM zoned", SAID],
  ['SELECT extract(hour FROM t), dayname(t) FROM zoned', SAID],
  ["SELECT strftime(t, '%d.%m.') FROM also", SAID],
  ['SELECT time_bucket(INTERVAL 1 DAY, t) AS d, count(*) FROM zoned GROUP BY 1', SAID],
  ["SELECT time_bucket(INTERVAL '1 day', t) FROM zoned", SAID],
  ['SELECT left(CAST(t AS VARCHAR), 10) AS d, count(*) FROM zoned GROUP BY 1', SAID],
  ["SELECT count(*) FROM zoned WHERE CAST(t AS VARCHAR) LIKE '2024-06-01%'", SAID],
  ["SELECT count(*) FROM zoned WHERE t::VARCHAR ILIKE '%T08:%'", SAID],
  ["SELECT split_part(t::VARCHAR, ' ', 1), substr(t::VARCHAR, 12, 2) FROM zoned", SAID],
  ['SELECT (t::VARCHAR)[1:10] FROM zoned', SAID],
  ['SELECT d FROM (SELECT t::DATE AS d FROM zoned)', SAID],
  [
    'SELECT dayname(of.year) FROM zoned',
    "written at +02:00 and +01:00: of.year AT TIME ZONE 'Europe/…', by the name of their zone, has",
  ],
  ['SELECT india::DATE FROM zoned', "india AT TIME ZONE 'Asia/…', by the name of their zone, has theirs."],
  [
    'SELECT TRY_CAST(t AS DATE) FROM texts',
    't is text, written at +02:00, and CAST(t AS DATE) gives the days as written; those of UTC are',
  ],
])('%s', async (sql, said) => {
  expect(await warningsOf(sql)).toEqual([expect.stringContaining(said)]);
});

test.each([
  "SELECT left(utc::VARCHAR, 10), left(t::VARCHAR, 7), t::VARCHAR LIKE '2024%', time_bucket(INTERVAL 1 MONTH, t) FROM zoned",
  "SELECT left((t AT TIME ZONE 'Europe/Berlin')::VARCHAR, 10), time_bucket(INTERVAL 1 DAY, t AT TIME ZONE 'Europe/Berlin') FROM zoned",
  'SELECT time_bucket(INTERVAL 1 HOUR, t), t::VARCHAR, left(plain::VARCHAR, 10) FROM zoned',
  'SELECT CAST(utc AS DATE), hour(utc), CAST(plain AS DATE), hour(plain), CAST(_event_time AS DATE) FROM zoned',
  "SELECT CAST(t AT TIME ZONE 'Europe/Berlin' AS DATE), hour(t AT TIME ZONE 'Europe/Berlin'), year(t) FROM zoned",
  "SELECT date_trunc('hour', t), minute(t), t, max(t) FROM zoned GROUP BY ALL ORDER BY t",
  "SELECT count(*) FROM zoned WHERE t >= '2024-06-03' AND t < '2024-06-02T00:00:00+02:00' AND utc > '2024-05-31T22:00'",
  "SELECT count(*) FROM zoned WHERE t >= '2024-06-02' AND t AT TIME ZONE 'Etc/GMT-2' < '2024-06-02'",
  // No value is near the border of these.
  "SELECT month(t), year(of.year), strftime(t, '%Y-%m'), date_trunc('quarter', t) FROM zoned",
  'SELECT CAST(noon AS DATE) FROM zoned UNION ALL SELECT CAST(noon AS DATE) FROM texts',
  'SELECT CAST(utc AS DATE), CAST(plain AS DATE), CAST(t AS TIMESTAMPTZ) FROM texts',
])('no warning: %s', async (sql) => {
  expect(await warningsOf(sql)).toEqual([]);
});

test('a moment without a zone is told where values lie between it and that of their offset', async () => {
  const said = (text: string, theirs: string) =>
    `t is compared with '${text}' of UTC, and values near it were written at +02:00: '${theirs}' compares with it there.`;
  const where = (condition: string) => `SELECT count(*) FROM zoned WHERE ${condition}`;
  const [day, moment] = ["t >= '2024-06-02' AND t < '2024-06-03'", "t < TIMESTAMP '2024-06-02 00:00:00'"].map(where);
  expect(await warningsOf(day ?? '')).toEqual([said('2024-06-02', '2024-06-02T00:00:00+02:00')]);
  expect(await warningsOf(moment ?? '')).toEqual([said('2024-06-02 00:00:00', '2024-06-02 00:00:00+02:00')]);
  expect((await engine.query({ sql: where("t >= '2024-06-02T00:00:00+02:00'") })).rows).toEqual([[2]]);
});

test('the expression that is named gives the days of the documents', async () => {
  const sql = "SELECT CAST(t AT TIME ZONE 'Etc/GMT-2' AS DATE) FROM zoned ORDER BY _id";
  expect((await engine.query({ sql })).rows).toEqual([['2024-06-01'], ['2024-06-02'], ['2024-06-02']]);
});

const restOf = (x: string, day = '01', next = '02') =>
  `${x} up to '2024-06-${day}' ends at its first moment, and leaves out the rest of that day: ${x} < '2024-06-${next}' has all of it.`;

const timesOf = (x: string) =>
  `${x} > '2024-05-31' has the times of that day, too: ${x} >= '2024-06-01' begins behind it.`;
const swapped = (low: string, high: string) =>
  `BETWEEN ${low} AND ${high} is true of nothing: the lower bound comes first, BETWEEN ${high} AND ${low}.`;

test.each<[string, string[]]>([
  ["utc BETWEEN '2024-05-01' AND '2024-06-01'", [restOf('utc')]],
  ["DATE '2024-06-01' >= z.plain", [restOf('z.plain')]],
  // None of that day, a moment, what ends before it, and what is a day.
  ["utc <= '2024-06-02' AND utc <= '2024-06-01T00:00:00Z' AND utc < '2024-06-01'", []],
  ["CAST(utc AS DATE) <= '2024-06-01'", []],
  // A month and a day from one midnight to the next are meant.
  ["utc > '2024-05-01' AND utc <= '2024-06-01'", []],
  ["'2024-05-31' < plain AND plain <= DATE '2024-06-01'", []],
  ["utc > '2024-05-15' AND utc <= '2024-06-01'", [restOf('utc')]],
  ["utc > '2024-05-31' OR utc <= '2024-06-01'", [restOf('utc')]],
  ["utc BETWEEN DATE '2024-06-01' AND '2024-05-01'", [swapped("'2024-06-01'", "'2024-05-01'")]],
  ['length(_id) BETWEEN 2.5 AND -1', [swapped('2.5', '-1')]],
  ["length(_id) BETWEEN 9.5 AND 10 AND _id BETWEEN '9' AND '10'", []],
  ["utc > '2024-05-31' OR z.plain > '2024-06-01'", []],
  ["india > '2024-05-31'", [timesOf('india')]],
  ["india < '2024-06-15' AND DATE '2024-05-31' < india", [timesOf('india')]],
  // What follows is that day, a week or a month.
  [
    "india > '2024-05-31' AND india < '2024-06-01' OR india > '2024-05-31' AND india <= '2024-06-07'",
    [expect.stringContaining("india is compared with '2024-06-01' of UTC")],
  ],
])('the rest of a last day is told: %s', async (condition, said) => {
  expect(await warningsOf(`SELECT _id FROM zoned z WHERE ${condition}`)).toEqual(said);
});

test('the rest of a last day is told of text, and of what a parameter has', async () => {
  const parameters = [{ name: 'to', type: 'string', value: '2024-06-01' }];
  const asked = async (of: string) =>
    (await engine.query({ sql: `SELECT _id FROM ${of} WHERE utc <= :to`, parameters })).warnings;
  const same = { sql: 'SELECT _id FROM zoned WHERE utc = :to', parameters };
  expect((await engine.query(same)).warnings).toEqual([
    expect.stringContaining("CAST(utc AS DATE) = '2024-06-01' has"),
  ]);
  expect([await asked('texts'), await asked('zoned')]).toEqual([[restOf('utc')], [restOf('utc')]]);
  expect(await warningsOf("EXPLAIN SELECT _id FROM zoned WHERE utc <= '2024-06-01'")).toEqual([]);
});

const first = (own: string, meant: string) => `${own} takes the first moment of a day only: ${meant} has all of it.`;
const all = (own: string, meant: string) =>
  `${own} leaves out the first moment of a day only: ${meant} leaves out all of it.`;
const DAY = "'2024-06-01'";

test.each<[string, string[]]>([
  [`zoned z WHERE utc = DATE ${DAY}`, [first(`utc = ${DAY}`, `CAST(utc AS DATE) = ${DAY}`)]],
  [`zoned z WHERE ${DAY} <> z.plain`, [all(`z.plain <> ${DAY}`, `CAST(z.plain AS DATE) <> ${DAY}`)]],
  [`zoned WHERE utc IN (${DAY}, '2024-06-05')`, [first(`utc IN (${DAY}, …)`, `CAST(utc AS DATE) IN (${DAY}, …)`)]],
  [`zoned WHERE utc NOT IN (${DAY})`, [all(`utc NOT IN (${DAY})`, `CAST(utc AS DATE) NOT IN (${DAY})`)]],
  [`texts WHERE utc = ${DAY}`, [first(`utc = ${DAY}`, `utc[:10] = ${DAY}`)]],
  ['zoned JOIN days d ON zoned.utc = d.day', [first('zoned.utc = d.day', 'CAST(zoned.utc AS DATE) = d.day')]],
  [
    'zoned z JOIN (SELECT CAST(plain AS DATE) AS day FROM zoned) d ON d.day = z.plain',
    [first('z.plain = d.day', 'CAST(z.plain AS DATE) = d.day')],
  ],
  // No value of that day, one of its moments, what is a day, and times that all are midnights.
  ["zoned WHERE utc = '2024-06-03' OR utc = '2024-06-01T23:30:00Z'", []],
  [`zoned WHERE CAST(plain AS DATE) = ${DAY} AND CAST(utc AS DATE) IN (${DAY})`, []],
  [`days d JOIN days e ON d.at = e.day AND d.at = '2024-06-01' AND d.at <> ${DAY}`, []],
])('a day that is meant as a whole is told: %s', async (from, said) => {
  expect(await warningsOf(`SELECT 1 FROM ${from}`)).toEqual(said);
});
