import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Engine, Parameter } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, temporaryFolder } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

const [COMPOSED, DECOMPOSED] = ['Zo\u00eb', 'Zoe\u0308'];

beforeAll(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine);
  const documents = Array.from({ length: 40 }, (_, n) =>
    doc(`${n}`, {
      n,
      level: n % 4 === 0 ? 'ERROR' : 'INFO',
      city: n % 3 === 0 ? 'Paris ' : 'Paris',
      who: n % 2 === 0 ? COMPOSED : DECOMPOSED,
      hidden: n % 2 === 0 ? 'Alf' : 'Al\u200bf',
      spaced: n % 2 === 0 ? 'New York' : 'New\u00a0York',
      zip: '00123',
      flag: n % 2 === 0 ? '' : '1',
      code: '="0012"',
      of: { status: 'Open' },
      event: n % 2 === 0 ? 'PushEvent' : 'PullEvent',
      week: `${38 + (n % 2)}/2024`,
      status: ['Shipped', 'shipped', 'SHIPPED', 'pending'][n % 4] ?? '',
      sku: ['7', '007', '8'][n % 3] ?? '',
      company: ['Acme', 'Acme ', 'Café', 'Cafe\u0301'][n % 4] ?? '',
      code2: ['a1', 'b1', '0', ''][n % 4] ?? '',
      unit: ['mW', 'MW', 'kW'][n % 3] ?? '',
      paid: ['yes', 'Yes', 'YES', 'no'][n % 4] ?? '',
      key: ['y', 'Y', 'n'][n % 3] ?? '',
      gene: ['Shh', 'SHH'][n % 2] ?? '',
      genotype: ['AA', 'Aa', 'aa'][n % 3] ?? '',
      measure: ['l', 'L', 'pH'][n % 3] ?? '',
      video: ['dQw4w9', 'dqw4W9', 'x1'][n % 3] ?? '',
      long: (n % 2 === 0 ? 'a' : 'A').repeat(5_000),
      clean: ['Zürich', 'Bern', 'Genf'][n % 3] ?? '',
    }),
  );
  await engine.addDocuments('t', documents);
});

afterAll(async () => {
  await engine.close();
  folder.dispose();
});

const warningsOf = async (sql: string, parameters: Parameter[] = []) =>
  (await engine.query({ sql, parameters })).warnings;

test.each([
  [
    "SELECT count(*) FROM docs WHERE level = 'error'",
    "level has no value 'error' in the documents that were looked at, but has 'ERROR' (in 10).",
  ],
  [
    "SELECT * FROM docs d WHERE d.level IN ('error', 'fatal')",
    "d.level has no value 'error' or 'fatal' in the documents that were looked at, but has 'ERROR' (in 10).",
  ],
  ['SELECT n FROM docs WHERE :level = level', "has no value 'error'"],
  ["SELECT sum(CASE WHEN of.status = 'open' THEN 1 ELSE 0 END) FROM docs", "of.status has no value 'open'"],
  ["SELECT n FROM docs WHERE city = 'PARIS'", "but has 'Paris' (in 26), 'Paris ' (in 14)."],
  [
    "SELECT n FROM docs WHERE n = 100 OR zip = '123'",
    "zip has no value '123' in the documents that were looked at, but has '00123' (in 40).",
  ],
  [
    "SELECT n FROM docs WHERE event = 'push'",
    "event has no value 'push' in the documents that were looked at, but has 'PushEvent' (in 20).",
  ],
  [
    "SELECT count(*) FROM docs WHERE week IN ('38', '40')",
    "no value '38' or '40' in the documents that were looked at, but has '38/2024'",
  ],
  ["SELECT n FROM docs WHERE code = '0012'", 'but has \'="0012"\' (in 40).'],
  ["SELECT count(*) FROM docs WHERE level IN ('error', 'INFO')", "level has no value 'error' in"],
  ["SELECT count(*) FROM docs WHERE level = 'error' OR n = 1", "level has no value 'error' in"],
  ["SELECT count(*) FROM docs WHERE level <> 'error' AND n > 1", "level has no value 'error' in"],
  ['SELECT n % 2, count(*) FILTER (WHERE level = :level) FROM docs GROUP BY 1', "has 'ERROR' (in 10)."],
  ["SELECT DISTINCT CASE level WHEN 'Info' THEN 1 WHEN 'ERROR' THEN 2 END FROM docs", "no value 'Info' in"],
  ["SELECT n FROM docs WHERE clean = 'Zu\u0308rich'", "but has 'Zürich' (another form of Unicode, in 14)."],
  [
    "SELECT count(*) FROM docs WHERE status = 'shipped'",
    "status also has 'SHIPPED' (in 10), 'Shipped' (in 10), which is not 'shipped' (letter case): lower(status) = 'shipped' has them, too.",
  ],
  ['SELECT count(*) FROM docs d WHERE :shipped = d.status', "lower(d.status) = 'shipped' has them, too."],
  [
    "SELECT count(*) FROM docs WHERE sku = '007'",
    "sku also has '7' (in 14), which is not '007' (zeros before it): ltrim(sku, '0') = '7' has it, too.",
  ],
  [
    "SELECT count(*) FILTER (WHERE spaced = 'New York') FROM docs",
    "(characters that are not seen): replace(spaced, chr(160), ' ') = 'New York' has it, too.",
  ],
  [`SELECT n FROM docs WHERE who = '${COMPOSED}'`, `nfc_normalize(who) = '${COMPOSED}' has it, too.`],
  [
    "SELECT count(*) FROM docs WHERE company IN ('Acme', 'Café')",
    "trim(nfc_normalize(company)) IN ('Acme', …) has them, too.",
  ],
  [
    "SELECT count(*) FROM docs WHERE status <> 'shipped'",
    "status also has 'Shipped', which is not 'shipped' (letter case) and stays: lower(status) compares without that.",
  ],
])('nothing is as asked, but nearly: %s', async (sql, said) => {
  const parameters = sql.includes(':level')
    ? [{ name: 'level', value: 'error' }]
    : sql.includes(':shipped')
      ? [{ name: 'shipped', value: 'shipped' }]
      : [];
  expect(await warningsOf(sql, parameters)).toEqual([expect.stringContaining(said)]);
});

test.each([
  [
    'SELECT city, count(*) FROM docs GROUP BY city',
    "Values of city look alike and count as different: 'Paris ' and 'Paris' (spaces around). trim(city) makes them one.",
  ],
  ['SELECT max(n), d.who FROM docs d GROUP BY ALL', 'nfc_normalize(d.who) makes them one.'],
  ['SELECT DISTINCT who AS w FROM docs', 'nfc_normalize(who) makes them one.'],
  ['SELECT count(DISTINCT hidden) FROM docs', '(characters that are not seen). regexp_replace('],
  ['SELECT count(*) FROM (SELECT spaced FROM docs GROUP BY 1)', 'Values of spaced look alike'],
])('groups that look alike: %s', async (sql, said) => {
  const warnings = await warningsOf(sql);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]?.replace(/'Paris' and 'Paris '/, "'Paris ' and 'Paris'")).toContain(said);
  const [, alike = ''] = /\)\. (.*) makes them one\.$/.exec(warnings.join()) ?? [];
  expect((await engine.query({ sql: `SELECT count(DISTINCT ${alike}) FROM docs AS d` })).rows).toEqual([[1]]);
});

test.each([
  [
    'SELECT count(DISTINCT company) FROM docs',
    `'Acme' and 'Acme ' (spaces around), 'Café' and '${'Cafe\u0301'}' (another form of Unicode). trim(nfc_normalize(company)) makes them one.`,
  ],
  ['SELECT status, count(*) FROM docs WHERE n % 4 < 3 GROUP BY 1', '(letter case). lower(status) makes them one.'],
  [
    "SELECT count(DISTINCT d.sku) FROM docs d WHERE sku <> '8'",
    "'7' and '007' (zeros before it). ltrim(d.sku, '0') makes",
  ],
  ['SELECT count(DISTINCT trim(company)) FROM docs', 'nfc_normalize(trim(company)) makes them one.'],
  ["SELECT paid, count(*) FROM docs WHERE paid <> 'no' GROUP BY 1", 'lower(paid) makes them one.'],
  ["SELECT count(*) FROM docs WHERE key = 'y'", "lower(key) = 'y' has it, too."],
  ['SELECT trim(company) AS c, count(*) FROM docs GROUP BY 1', 'nfc_normalize(trim(company)) makes them one.'],
])('one expression makes all of them one: %s', async (sql, said) => {
  expect(await warningsOf(sql)).toEqual([expect.stringContaining(said)]);
});

test.each([
  "SELECT count(*) FROM docs WHERE lower(status) = 'shipped'",
  "SELECT count(*) FROM docs WHERE status IN ('shipped', 'Shipped', 'SHIPPED')",
  "SELECT count(*) FROM docs WHERE status = 'pending' OR sku = '8'",
  "SELECT count(*) FROM docs WHERE code2 = '' OR code2 = '0' OR code2 = 'a1'",
  'SELECT code2, count(*) FROM docs GROUP BY 1',
  'SELECT lower(status) AS s, count(*) FROM docs GROUP BY 1',
  "SELECT count(DISTINCT ltrim(sku, '0')), count(DISTINCT trim(nfc_normalize(company))) FROM docs",
  "SELECT count(*) FROM docs WHERE level = 'ERROR' AND n > 100",
  "SELECT count(*) FROM docs WHERE level IN ('error', 'ERROR') OR level = 'Error'",
  "SELECT count(*) FROM docs WHERE level NOT IN ('fatal', 'INFO') OR lower(level) = 'error'",
  "SELECT count(*) FROM docs WHERE level <> 'Info' AND lower(level) <> 'info'",
  "SELECT * FROM docs WHERE _id = 'A'",
  'SELECT clean, level, count(*) FROM docs GROUP BY ALL',
  'SELECT DISTINCT zip, clean FROM docs',
  'SELECT trim(city), count(*) FROM docs GROUP BY 1',
  // Units and ids whose letter case means something, and texts that are too long to be told.
  "SELECT count(*) FROM docs WHERE unit = 'MW'",
  'SELECT unit, count(*), count(DISTINCT unit) FROM docs GROUP BY unit',
  'SELECT count(DISTINCT video) FROM docs',
  'SELECT count(DISTINCT gene), count(DISTINCT genotype), count(DISTINCT measure) FROM docs',
  "SELECT count(*) FROM docs WHERE gene = 'Shh' OR genotype IN ('AA', 'Aa') OR measure = 'l'",
  'SELECT long, count(*) FROM docs GROUP BY long',
])('no warning: %s', async (sql) => {
  expect(await warningsOf(sql)).toEqual([]);
});

test('an empty answer has the most frequent values of a field of few', async () => {
  await engine.commit([{ do: 'createCollection', table: 'fk', workspace: 'commons', name: 'few_kinds' }]);
  const kinds = Array.from({ length: 60 }, (_, n) =>
    doc(`${n}`, {
      sat: ['1 - bad', '2', '5 - good'][n % 3] ?? '',
      region: n % 3 === 0 ? 'Süd' : 'Nord',
      mail: `m${n}@x.de`,
    }),
  );
  await engine.addDocuments('fk', kinds);
  const warned = (where: string) => warningsOf(`SELECT count(*) FROM few_kinds WHERE ${where}`);
  const none = 'in the documents that were looked at, but has';
  expect(await warned("sat = '5'")).toEqual([`sat has no value '5' ${none} '5 - good' (in 20).`]);
  expect(await warned("region = 'Sued'")).toEqual([
    `region has no value 'Sued' ${none} 'Nord' (in 40), 'Süd' (in 20).`,
  ]);
  expect(await warningsOf("SELECT count(*) FROM docs WHERE zip = '001'")).toEqual([
    `zip has no value '001' ${none} '00123' (in 40).`,
  ]);
  expect(await warned("mail = 'nobody@x.de'")).toEqual([]);
  expect(await warned("sat = '2' AND region = 'Nord' AND mail = 'm0@x.de'")).toEqual([]);
});
