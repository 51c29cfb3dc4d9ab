import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Engine } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, temporaryFolder } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

const ROWS = 3_000;

beforeAll(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine);
  await engine.commit([
    { do: 'createCollection', table: 'f', workspace: 'commons', name: 'fees', recognizeTimes: false },
    { do: 'createCollection', table: 's', workspace: 'commons', name: 'several', recognizeTimes: false },
    { do: 'createCollection', table: 'r', workspace: 'commons', name: 'rare', recognizeTimes: false },
  ]);
  const fees = ['585,05', '1.895,83', '650,75', '1.200,00'];
  const documents = fees.map((fee, n) =>
    doc(`${n}`, { fee, n, of: { n: [9, 99, 299, 7][n] ?? 0 }, mixed: `${fee} EUR` }),
  );
  await engine.addDocuments('f', documents);
  const several = [
    {
      inv: 'RE-2024-99',
      week: '2024-W9',
      score: '9/10',
      line: '030-1234',
      size: '1.5 x 2',
      room: 'Room 9, 1st',
    },
    {
      inv: 'RE-2024-498',
      week: '2024-W10',
      score: '10/10',
      line: '0171-5',
      size: '1.25 x 2',
      room: 'Room 10, 2nd',
    },
    {
      inv: 'RE-2023-500',
      week: '2024-W11',
      score: '7/10',
      line: '089-55',
      size: '10.5 x 2',
      room: 'Room 8, 1st',
    },
  ];
  await engine.addDocuments(
    's',
    several.map((one, n) => doc(`${n}`, one)),
  );
  const late = [
    { amount: 'n/a', day: '2024-02-30', word: 'x1' },
    { amount: '1,500.00', day: '5/1/2024', word: 'x' },
  ];
  const amounts = Array.from({ length: ROWS }, (_, n) => ({ amount: `${n % 100}`, day: '2024-01-02', word: 'x' }));
  await engine.addDocuments(
    'r',
    [...amounts, ...late].map((one, n) => doc(`${n}`, one)),
  );
});

afterAll(async () => {
  await engine.close();
  folder.dispose();
});

const warningsOf = async (sql: string) => (await engine.query({ sql })).warnings;
const READS_FEE = "TRY_CAST(replace(regexp_replace(fee, '[^0-9,+-]', '', 'g'), ',', '.') AS DOUBLE) reads them.";

test.each([
  ["sum(TRY_CAST(replace(fee, ',', '.') AS DOUBLE))", "such as '1.895.83' and '1.200.00'"],
  ["sum(TRY_CAST(regexp_replace(lower(trim(fee)), '[^0-9,]', '', 'g') AS DOUBLE))", "such as '585,05' and '1895,83'"],
  ["count(*) FILTER (TRY_CAST(translate(fee, ',', '.') AS DOUBLE) > 500)", "such as '1.895.83' and '1.200.00'"],
  ["sum(x) FROM (SELECT TRY_CAST(replace(fee, ',', '.') AS DOUBLE) AS x", "such as '1.895.83' and '1.200.00'"],
])('what a cast of an expression makes NULL: %s', async (item, such) => {
  const [said, ...more] = await warningsOf(`SELECT ${item} FROM fees${item.includes('FROM') ? ')' : ''}`);
  expect(more).toEqual([]);
  expect(said).toContain(`${such}. ${READS_FEE}`);
});

test.each([
  "SELECT sum(TRY_CAST(replace(replace(fee, '.', ''), ',', '.') AS DOUBLE)) FROM fees",
  "SELECT sum(TRY_CAST(regexp_extract(mixed, '^[0-9]+') AS INT)) FROM fees",
  "SELECT count(*) FROM fees WHERE TRY_CAST(replace(fee, ',', '.') AS DOUBLE) IS NULL",
  "SELECT sum(coalesce(TRY_CAST(fee AS DOUBLE), TRY_CAST(replace(fee, ',', '.') AS DOUBLE))) FROM fees",
  'SELECT sum(TRY_CAST(n::VARCHAR AS DOUBLE)) FROM fees',
  "SELECT sum(TRY_CAST(replace(amount, ',', '') AS DOUBLE)) FROM rare",
  'SELECT count(TRY_CAST(word AS DOUBLE)) FROM rare',
])('nothing that is lost: %s', async (sql) => {
  expect(await warningsOf(sql)).toEqual([]);
});

test.each([
  ["SELECT count(TRY_CAST(amount AS DOUBLE)) FROM rare WHERE amount NOT LIKE '%,%'", false],
  [
    'SELECT count(TRY_CAST(amount AS DOUBLE)) AS n FROM rare r WHERE length(r.amount) BETWEEN 1 AND 2 AND r.word IS NOT NULL',
    false,
  ],
  ['SELECT count(TRY_CAST(amount AS DOUBLE)) FROM rare WHERE TRY_CAST(amount AS DOUBLE) < 50', true],
  ["SELECT count(TRY_CAST(amount AS DOUBLE)) FROM rare WHERE amount LIKE '%,%' OR word = 'x'", true],
  ["SELECT count(TRY_CAST(amount AS DOUBLE)) FROM rare WHERE word = 'x'", true],
  ['SELECT TRY_CAST(amount AS DOUBLE) AS v FROM rare WHERE v < 50', true],
  ["SELECT (SELECT count(TRY_CAST(amount AS DOUBLE)) FROM rare) FROM rare WHERE amount = '1'", true],
])('values that WHERE leaves out are not lost: %s', async (sql, isTold) => {
  expect((await warningsOf(sql)).join()).toMatch(isTold ? /^1 value of amount/ : /^$/);
});

test('what a cast of an expression makes another number', async () => {
  await engine.commit([
    { do: 'createCollection', table: 'm', workspace: 'commons', name: 'money', recognizeTimes: false },
  ]);
  const money = [
    { balance: '1,000.00', amount: '6.020,23 €', weight: '12 kg', share: '5k', part: '7-1' },
    { balance: '(250.50)', amount: '8.470,75 EUR', weight: '7 kg', share: '12k', part: '18-2' },
  ];
  const wages = ['2.500', '12.500', '950', 'k. A.'].map((wage) => ({ wage }));
  await engine.addDocuments(
    'm',
    [...money, ...wages].map((one, n) => doc(`${n}`, one)),
  );
  const kept = (field: string) => `regexp_replace(${field}, '[^0-9.+-]', '', 'g')`;
  const balance = "CAST(replace(regexp_replace(balance, '[^0-9.(+-]', '', 'g'), '(', '-') AS DOUBLE)";
  expect(await warningsOf(`SELECT min(CAST(${kept('balance')} AS DOUBLE)) FROM money`)).toEqual([
    `${kept('balance')} makes 250.5 of '(250.50)': ${balance} makes -250.5.`,
  ]);
  expect((await engine.query({ sql: `SELECT min(${balance}) FROM money` })).rows).toEqual([[-250.5]]);
  expect(await warningsOf(`SELECT sum(TRY_CAST(${kept('amount')} AS DOUBLE)) FROM money`)).toEqual([
    `${kept('amount')} makes 6.02023 of '6.020,23 €': CAST(replace(regexp_replace(amount, '[^0-9,+-]', '', 'g'), ',', '.') AS DOUBLE) makes 6020.23.`,
  ]);
  expect(await warningsOf('SELECT max(wage) FROM money')).toEqual([
    "wage is text, ordered as text: '12.500' comes before '2.500'. If they are: TRY_CAST(replace(wage, '.', '') AS DOUBLE); if they are decimal points: TRY_CAST(wage AS DOUBLE).",
  ]);
  const bare = `CAST(${kept('balance')} AS DOUBLE)`;
  for (const wrong of [`${bare}) FILTER (WHERE share <> '(x)'`, `${bare}), max(balance`])
    expect((await warningsOf(`SELECT sum(${wrong}) FROM money`)).join()).toContain("makes 250.5 of '(250.50)'");
  for (const right of [
    `CASE WHEN balance LIKE '(%' THEN -1 ELSE 1 END * ${bare}`,
    `if(starts_with(balance, '('), -1, 1) * ${bare}`,
    `${bare}) FILTER (WHERE balance NOT LIKE '(%'`,
    `abs(${bare})`,
    "TRY_CAST(replace(wage, '.', '') AS BIGINT)",
    "TRY_CAST(replace(replace(wage, '.', ''), ',', '.') AS DOUBLE)",
    "CAST(replace(weight, ' kg', '') AS INT)",
    "CAST(replace(share, 'k', '000') AS INT)",
    "CAST(split_part(part, '-', 1) AS INT)",
    "CAST(regexp_replace(part, '-(.*)', '\\1') AS INT)",
    balance,
  ])
    expect(await warningsOf(`SELECT sum(${right}) FROM money`)).toEqual([]);
});

test('what try_strptime and casts to lengths of time make NULL', async () => {
  await engine.commit([
    { do: 'createCollection', table: 'k', workspace: 'commons', name: 'clocks', recognizeTimes: false },
  ]);
  const two = (n: number) => `${n}`.padStart(2, '0');
  const clocks = Array.from({ length: 60 }, (_, n) =>
    doc(`${n}`, {
      day: n < 30 ? `${two((n % 28) + 1)}.${two((n % 12) + 1)}.2024` : `${two((n % 12) + 1)}/${two((n % 28) + 1)}/2024`,
      took: n % 2 === 0 ? `1:${two(n)}:00` : `${n}:${two(n)}`,
      begins: `${two(n % 24)}:05:00`,
    }),
  );
  await engine.addDocuments('k', clocks);
  const [ofDays = ''] = await warningsOf("SELECT count(try_strptime(day, '%m/%d/%Y')) FROM clocks");
  expect(ofDays).toMatch(/^30 of the 60 values of day that were looked at become NULL, such as '01\.01\.2024' and /);
  const days = / (try_strptime\(.*\)) reads them/.exec(ofDays)?.[1] ?? '';
  expect((await engine.query({ sql: `SELECT count(${days}) FROM clocks` })).rows).toEqual([[60]]);
  const [ofLengths = ''] = await warningsOf(
    'SELECT count(*) FROM clocks WHERE TRY_CAST(took AS INTERVAL) < INTERVAL 1 HOUR',
  );
  expect(ofLengths).toMatch(
    /^took is text such as '1:01' and '1:00:00', and a cast takes '1:01' for hours and minutes\. As /,
  );
  const length = /As a length of time: (.*)\.$/.exec(ofLengths)?.[1] ?? '';
  const { rows } = await engine.query({ sql: `SELECT count(*) FROM clocks WHERE ${length} < INTERVAL 1 HOUR` });
  expect(rows).toEqual([[30]]);
  for (const right of [
    `SELECT count(${days}), count(TRY_CAST(begins AS TIME)), count(TRY_CAST(begins AS INTERVAL)) FROM clocks`,
    "SELECT coalesce(try_strptime(day, '%m/%d/%Y'), try_strptime(day, '%d.%m.%Y')) FROM clocks",
    "SELECT count(*) FROM clocks WHERE try_strptime(day, '%m/%d/%Y') IS NULL",
    "SELECT if(day LIKE '%.%', try_strptime(day, '%d.%m.%Y'), try_strptime(day, '%m/%d/%Y')) FROM clocks",
    "SELECT max(try_strptime(day, '%m/%d/%Y')) FROM clocks WHERE day LIKE '%/%'",
    `SELECT max(${length}) FROM clocks`,
    "SELECT max(CAST(took AS INTERVAL)) FROM clocks WHERE took LIKE '%:%:%'",
  ])
    expect([right, await warningsOf(right)]).toEqual([right, []]);
});

test('what a unit leaves in a number, and units that differ', async () => {
  await engine.commit([
    { do: 'createCollection', table: 'q', workspace: 'commons', name: 'lots', recognizeTimes: false },
  ]);
  const lots = Array.from({ length: 40 }, (_, n) =>
    doc(`${n}`, {
      either: `Rs. ${n < 2 ? 500 : `${n},500`}`,
      about: `approx. ${n + 5} kg`,
      area: `${n + 50} m2`,
      land: n % 10 === 0 ? `${n} ha` : `${n}.5 km²`,
      amount: `${['€', '$', '£'][n % 3]}${n * 7 + 100}.00`,
      kept: `$${n}.50`,
    }),
  );
  await engine.addDocuments('q', lots);
  const kept = (field: string) => `regexp_replace(${field}, '[^0-9.]', '', 'g')`;
  const sum = (field: string) => `SELECT sum(CAST(${kept(field)} AS DOUBLE)) FROM lots`;
  const read = (field: string) =>
    `CAST(${kept(`regexp_extract(${field}, '[+-]?[0-9][0-9., ]*')`).replace('.]', '.+-]')} AS DOUBLE)`;
  for (const [field, wrong, right, value] of [
    ['about', "0.5 of 'approx. 5 kg'", 5, 980],
    ['area', "502 of '50 m2'", 50, 2_780],
  ] as const) {
    expect(await warningsOf(sum(field))).toEqual([`${kept(field)} makes ${wrong}: ${read(field)} makes ${right}.`]);
    const { rows } = await engine.query({ sql: `SELECT sum(${read(field)}) FROM lots` });
    expect(rows).toEqual([[value]]);
    expect(await warningsOf(`SELECT sum(${read(field)}) FROM lots`)).toEqual([]);
  }
  const ways = `makes 0.5 of 'Rs. 500'. If a comma parts thousands: ${read('either')}; if it is the decimal point: `;
  expect(await warningsOf(sum('either'))).toEqual([expect.stringContaining(ways)]);
  for (const [field, such] of [
    ['land', "'0 ha', '1.5 km²'"],
    ['amount', "'€100.00', '$107.00', '£114.00'"],
  ] as const) {
    const said = `${field} is in several units, such as ${such}, and ${kept(field)} leaves them out`;
    expect(await warningsOf(sum(field))).toEqual([expect.stringContaining(said)]);
    expect(await warningsOf(`${sum(field)} WHERE ${field} IS NOT NULL`)).toEqual([expect.stringContaining(said)]);
  }
  for (const right of [
    sum('kept'),
    `${sum('land')} WHERE land LIKE '%ha'`,
    `SELECT regexp_replace(amount, '[0-9., +-]+', '', 'g'), sum(CAST(${kept('amount')} AS DOUBLE)) FROM lots GROUP BY 1`,
    `SELECT sum(CAST(${kept('land')} AS DOUBLE) * if(land[-2:] = 'ha', 0.01, 1)) FROM lots`,
  ])
    expect([right, await warningsOf(right)]).toEqual([right, []]);
});

test('of what few documents have, all are counted', async () => {
  const documents = (ROWS + 2).toLocaleString('en-US');
  expect(await warningsOf('SELECT sum(TRY_CAST(amount AS DOUBLE)) FROM rare')).toEqual([
    `1 value of amount in the ${documents} documents becomes NULL, such as '1,500.00'. TRY_CAST(regexp_replace(amount, '[^0-9.+-]', '', 'g') AS DOUBLE) reads them.`,
  ]);
  const [ofDays = ''] = await warningsOf('SELECT max(TRY_CAST(day AS DATE)) FROM rare');
  expect(ofDays).toContain(`2 values of day in the ${documents} documents become NULL, such as '2024-02-30' and `);
  const sql = /If the day is first: (.*); if/.exec(ofDays)?.[1] ?? '';
  expect((await engine.query({ sql: `SELECT max(${sql}) FROM rare` })).rows).toEqual([['2024-01-05']]);
});

test('SQL that is offered reads also those that few documents have', async () => {
  const error = await engine.query({ sql: 'SELECT sum(amount) FROM rare' }).catch((thrown: unknown) => thrown);
  const { details } = error as { details: { correctedSql: string } };
  const { rows } = await engine.query({ sql: details.correctedSql });
  expect(rows).toEqual([[(ROWS / 100) * 4_950 + 1_500]]);
});

test.each([
  ["max(replace(fee, '.', ''))", "'1895,83' comes before '585,05'. As a number: CAST(replace(regexp_replace(replace("],
  ["max(of->>'n')", "(of->>'n') is text, ordered as text: '299' comes before '7'. As a number: of.n."],
  ["max(json_extract_string(of, '$.n'))", "'299' comes before '7'. As a number: of.n."],
  ["count(*) FILTER (of->>'n' > '99')", "'299' comes before '7'. As a number: of.n."],
  ['max(CAST(of.n AS VARCHAR))', 'CAST(of.n AS VARCHAR) is text, ordered as text: '],
])('text that a statement makes and puts in order: %s', async (item, said) => {
  expect(await warningsOf(`SELECT ${item} FROM fees`)).toEqual([expect.stringContaining(said)]);
});

test.each([
  ['inv', 'RE-2024-498'],
  ['week', '2024-W11'],
  ['score', '10/10'],
])('the order of text of several numbers: %s', async (field, most) => {
  const [said = '', ...more] = await warningsOf(`SELECT max(${field}) FROM several`);
  expect(more).toEqual([]);
  const sql = /(?:By its numbers|As a length of time): (.*)\.$/.exec(said)?.[1] ?? '';
  expect((await engine.query({ sql: `SELECT max_by(${field}, ${sql}) FROM several` })).rows).toEqual([[most]]);
});

test('conditions beside text of several numbers', async () => {
  const beside = (condition: string) => warningsOf(`SELECT count(*) FROM several WHERE ${condition}`);
  expect(await beside("inv > 'RE-2024-100'")).toEqual([expect.stringContaining('By its numbers: ')]);
  expect(await beside("inv > 'x' OR line > '030-9' OR size > '1.5' OR room > 'Room 9'")).toEqual([]);
});

test('a day that ends what is made a time of, and texts beside those that are left out', async () => {
  await engine.commit([
    { do: 'createCollection', table: 'w', workspace: 'commons', name: 'whole', recognizeTimes: false },
  ]);
  const seconds = [1_709_164_800, 1_709_200_000, 1_709_250_000, 1_706_745_600];
  const documents = seconds.map((s, n) => ({ s, t: new Date(s * 1_000).toISOString(), team: n === 1 ? 'IT ' : 'IT' }));
  await engine.addDocuments(
    'w',
    documents.map((one, n) => doc(`${n}`, one)),
  );
  const beside = (condition: string) => warningsOf(`SELECT count(*) FROM whole WHERE ${condition}`);
  for (const x of ['to_timestamp(s)', 'CAST(t AS TIMESTAMP)'])
    expect(await beside(`${x} BETWEEN '2024-02-01' AND '2024-02-29'`)).toEqual([
      `${x} up to '2024-02-29' ends at its first moment, and leaves out the rest of that day: ${x} < '2024-03-01' has all of it.`,
    ]);
  expect(await beside("to_timestamp(s) BETWEEN '2024-02-01' AND '2024-03-15' OR t::DATE <= '2024-02-29'")).toEqual([]);
  const stays = "team also has 'IT ', which is not 'IT' (spaces around) and stays: trim(team) compares without that.";
  expect(await beside("team NOT IN ('IT', 'HR')")).toEqual([stays]);
  expect(await beside("team <> 'IT'")).toEqual([stays]);
  expect(await beside("team NOT IN ('IT', 'IT ') OR trim(team) <> 'IT'")).toEqual([]);
});
