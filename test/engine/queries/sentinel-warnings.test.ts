import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Engine } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, temporaryFolder } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

beforeAll(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine, true);
  const all = Array.from({ length: 60 }, (_, n) => n);
  await engine.addDocuments(
    't',
    all.map((n) =>
      doc(`${n}`, {
        temp: n % 20 === 7 ? -999 : 20 + (n % 5),
        of: { level: n % 20 === 7 ? 9999 : n % 20 === 8 ? -9999 : 0.5 + (n % 5) },
        begins: `2024-01-${String(1 + (n % 28)).padStart(2, '0')}`,
        ends: n % 3 === 0 ? '9999-12-31' : `2024-03-${String(1 + (n % 28)).padStart(2, '0')}`,
        seen: n % 3 === 0 ? '1970-01-01T00:00:00Z' : `2024-03-01T${String(n % 24).padStart(2, '0')}:00:00Z`,
        once: n === 7 ? -999 : n % 5,
        change: n % 3 === 0 ? -1 : n % 5,
        price: [9, 19, 49, 99][n % 4] ?? 0,
        list: [99, 199, 499, 999][n % 4] ?? 0,
        flag: n % 2 === 0 ? 99 : 1,
        cost: n % 10 === 0 ? 999 : n % 7,
        size: n % 10 === 0 ? 999 : n % 7 === 1 ? 1.5 : n % 7,
        age: n % 10 === 0 ? 999 : 20 + (n % 7),
        rank: n + 40,
        year: 1970 + n,
      }),
    ),
  );
});

afterAll(async () => {
  await engine.close();
  folder.dispose();
});

const warningsOf = async (sql: string) => (await engine.query({ sql })).warnings;
const TEMP =
  'temp has -999 (3 times) far from all its other values (20 to 24), as what stands for no value often is: then nullif(temp, -999) leaves it out.';

test.each([
  ['avg(temp), min(temp) FROM docs', TEMP],
  ['begins, sum(temp * 2) FROM docs WHERE temp < 100 AND temp <> -1 GROUP BY 1', TEMP],
  ['avg(temp) OVER (ORDER BY begins) FROM docs', TEMP],
  ['avg(t) FROM (SELECT temp AS t FROM docs)', 'nullif(t, -999) leaves it out'],
  [
    'avg(d.of.level) FROM docs d',
    'd.of.level has -9999 (3 times) and 9999 (3 times) far from all its other values (0.5 to 4.5), as what stands for no value often is: then nullif(nullif(d.of.level, -9999), 9999) leaves it out.',
  ],
  [
    "avg(ends - begins) FROM docs WHERE ends > '2024-01-01'",
    "ends has 9999-12-31 (20 times) far from all its other values (2024-03-01 to 2024-03-28), as what stands for no value often is: then nullif(ends, '9999-12-31') leaves it out.",
  ],
  ['avg(age) FROM docs', 'nullif(age, 999) leaves it out.'],
  ['min(seen) FROM docs', "nullif(seen, '1970-01-01') leaves it out."],
])('values that stand for none: %s', async (rest, said) => {
  expect(await warningsOf(`SELECT ${rest}`)).toEqual([expect.stringContaining(said)]);
});

test.each([
  'avg(nullif(temp, -999)), min(nullif(temp, -999)) FROM docs',
  'avg(t) FROM (SELECT nullif(temp, -999) AS t FROM docs)',
  'avg(CASE WHEN temp > -900 THEN temp END) FROM docs',
  'avg(temp) FILTER (WHERE temp <> -999) FROM docs',
  'avg(temp) FROM docs WHERE temp > -100',
  'avg(temp) FROM docs WHERE temp BETWEEN 0 AND 100',
  'avg(temp) FROM docs WHERE temp NOT IN (-999, 0)',
  "max(ends) FROM docs WHERE ends < '3000-01-01'",
  "max(ends) FROM docs WHERE ends <> DATE '9999-12-31'",
  "max(nullif(ends, '9999-12-31')) FROM docs",
  'avg(t) FROM (SELECT greatest(temp, 0) AS t FROM docs)',
  'count(temp), count(DISTINCT ends) FROM docs',
  'temp, ends FROM docs ORDER BY temp LIMIT 1',
  // Once, near to others, or one of many that are alike.
  'avg(once), min(change), max(rank), min(year), avg(flag) FROM docs',
  'sum(price), avg(list), max(begins) FROM docs',
  // Prices end in nines.
  'sum(cost), avg(size) FROM docs',
  // Those that the WHERE leaves have none.
  'avg(temp) FROM docs WHERE change = 2 AND once < 3 AND begins < begins',
])('no warning of values that are left out, or meant: %s', async (rest) => {
  expect(await warningsOf(`SELECT ${rest}`)).toEqual([]);
});
