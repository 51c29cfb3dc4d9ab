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
        }),
      ),
    );
  }
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
  ['SELECT d FROM (SELECT t::DATE AS d FROM zoned)', SAID],
  [
    'SELECT month(of.year) FROM zoned',
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
  'SELECT CAST(utc AS DATE), hour(utc), CAST(plain AS DATE), hour(plain), CAST(_event_time AS DATE) FROM zoned',
  "SELECT CAST(t AT TIME ZONE 'Europe/Berlin' AS DATE), hour(t AT TIME ZONE 'Europe/Berlin'), year(t) FROM zoned",
  "SELECT date_trunc('hour', t), minute(t), t, max(t) FROM zoned GROUP BY ALL ORDER BY t",
  "SELECT count(*) FROM zoned WHERE t >= '2024-06-02'",
  'SELECT CAST(utc AS DATE), CAST(plain AS DATE), CAST(t AS TIMESTAMPTZ) FROM texts',
])('no warning: %s', async (sql) => {
  expect(await warningsOf(sql)).toEqual([]);
});

test('the expression that is named gives the days of the documents', async () => {
  const sql = "SELECT CAST(t AT TIME ZONE 'Etc/GMT-2' AS DATE) FROM zoned ORDER BY _id";
  expect((await engine.query({ sql })).rows).toEqual([['2024-06-01'], ['2024-06-02'], ['2024-06-02']]);
});

const restOf = (x: string, day = '01', next = '02') =>
  `${x} up to '2024-06-${day}' ends at its first moment, and leaves out the rest of that day: ${x} < '2024-06-${next}' has all of it.`;

test.each<[string, string[]]>([
  ["utc BETWEEN '2024-05-01' AND '2024-06-01'", [restOf('utc')]],
  ["DATE '2024-06-01' >= z.plain", [restOf('z.plain')]],
  // None of that day, a moment, what ends before it, and what is a day.
  ["utc <= '2024-06-02' AND utc <= '2024-06-01T00:00:00Z' AND utc < '2024-06-01'", []],
  ["CAST(utc AS DATE) <= '2024-06-01'", []],
])('the rest of a last day is told: %s', async (condition, said) => {
  expect(await warningsOf(`SELECT _id FROM zoned z WHERE ${condition}`)).toEqual(said);
});

test('the rest of a last day is told of text, and of what a parameter has', async () => {
  const parameters = [{ name: 'to', type: 'string', value: '2024-06-01' }];
  const asked = async (of: string) =>
    (await engine.query({ sql: `SELECT _id FROM ${of} WHERE utc <= :to`, parameters })).warnings;
  expect([await asked('texts'), await asked('zoned')]).toEqual([[restOf('utc')], [restOf('utc')]]);
  expect(await warningsOf("EXPLAIN SELECT _id FROM zoned WHERE utc <= '2024-06-01'")).toEqual([]);
});
