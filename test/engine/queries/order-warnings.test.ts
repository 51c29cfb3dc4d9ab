import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Engine, Parameter } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, temporaryFolder } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

beforeAll(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine);
  const documents = Array.from({ length: 20 }, (_, n) =>
    doc(`${n}`, {
      price: n === 0 ? 'free' : `${n}`,
      zip: `0${1_000 + n}`,
      name: `name ${n}`,
      day: `${n + 1}.10.2024`,
      iso: `2024-10-${10 + n}`,
      of: { size: `${n * 7}` },
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

const PRICE = "price is text, ordered as text: '19' comes before '2'. As a number: TRY_CAST(price AS DOUBLE).";

test.each([
  ['SELECT max(price) FROM docs WHERE price <> :free', PRICE],
  ['SELECT price FROM docs ORDER BY price LIMIT 3', PRICE],
  ['SELECT name, price FROM docs ORDER BY 2 DESC LIMIT 3', PRICE],
  ['SELECT name, price FROM docs QUALIFY row_number() OVER (ORDER BY name) > 0 ORDER BY price', PRICE],
  ["SELECT count(*) FROM docs WHERE price > '5'", PRICE],
  ["SELECT count(*) FROM docs WHERE price BETWEEN '1' AND '5'", PRICE],
  ['SELECT count(*) FROM docs WHERE :five >= price', PRICE],
  [
    "SELECT min(d.of.size) FROM docs AS d WHERE d.of.size > '0'",
    "'133' comes before '14'. As a number: CAST(d.of.size AS DOUBLE)",
  ],
  ["SELECT count(*) FROM docs WHERE zip > '5'", "'01019' comes before '5'"],
  [
    "SELECT count(*) FROM docs WHERE day >= '2024-10-05'",
    "day is text such as '1.10.2024', compared as text and not as a time: strptime(day, '%d.%m.%Y') is the time.",
  ],
])('%s', async (sql, warning) => {
  const parameters = [
    { name: 'free', value: 'free' },
    { name: 'five', value: '5' },
  ].filter(({ name }) => sql.includes(`:${name}`));
  // The second time, the statement is known.
  for (let time = 0; time < 2; time++) {
    expect(await warningsOf(sql, parameters)).toEqual([expect.stringContaining(warning)]);
  }
});

test.each([
  'SELECT max(zip), min(name) FROM docs',
  'SELECT name, price FROM docs ORDER BY name',
  'SELECT _id FROM docs ORDER BY _id',
  "SELECT count(*) FROM docs WHERE zip BETWEEN '01005' AND '01007'",
  "SELECT count(*) FROM docs WHERE price = '5' OR name > '5'",
  "SELECT count(*) FROM docs WHERE iso >= '2024-10-05'",
  "SELECT count(*) FROM docs WHERE name >= '2024-10-05'",
  'SELECT max(price) FROM (SELECT TRY_CAST(price AS DOUBLE) AS price FROM docs)',
  'SELECT TRY_CAST(price AS DOUBLE) AS price FROM docs ORDER BY price',
])('no warning of: %s', async (sql) => {
  expect(await warningsOf(sql)).toEqual([]);
});
