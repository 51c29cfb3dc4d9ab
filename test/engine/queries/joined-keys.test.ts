import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Engine } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, temporaryFolder } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

beforeAll(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine);
  await engine.commit([
    { do: 'createCollection', table: 'p', workspace: 'commons', name: 'people', recognizeTimes: false },
  ]);
  const all = Array.from({ length: 60 }, (_, n) => n);
  await engine.addDocuments(
    't',
    all.map((n) =>
      doc(`d${n}`, {
        who: `00${(n % 20) + 1}`,
        mail: `p${n % 20}@X.org`,
        code: `c${n % 20}`,
        few: `c${n * 3}`,
        part: n % 20 === 0 ? 'P-1000' : `p10${10 + (n % 20)}`,
        team: n === 7 ? 'sales ' : (['Sales', 'IT', 'Legal'][n % 3] ?? ''),
        digits: `${n % 20}-${n % 30}`,
        number: n % 20,
        wide: `${(n % 20) + 1}`,
      }),
    ),
  );
  await engine.addDocuments(
    'p',
    all.map((n) =>
      doc(`${n + 1}`, {
        who: `${n + 1}`,
        mail: ` P${n}@x.org`,
        code: `c${n}`,
        part: n === 0 ? 'P-1000' : `P-10${10 + n}`,
        team: ['Sales', 'IT', 'Legal'][n % 3] ?? '',
        digits: `${n % 20}${n % 30}`,
        number: n + 1,
      }),
    ),
  );
});

afterAll(async () => {
  await engine.close();
  folder.dispose();
});

const warningsOf = async (sql: string) => (await engine.query({ sql })).warnings;
const found = (own: string, other: string) => `${own} finds 0 of 20 values that were looked at, and ${other} finds 20.`;

test.each([
  ['docs d JOIN people p ON d.who = p._id', found('d.who = p._id', "ltrim(d.who, '0') = ltrim(p._id, '0')")],
  [
    'docs d JOIN people p ON d.who = p.number::VARCHAR',
    found('d.who = CAST(p.number AS VARCHAR)', "ltrim(d.who, '0') = ltrim(CAST(p.number AS VARCHAR), '0')"),
  ],
  [
    'docs WHERE who NOT IN (SELECT CAST(number AS TEXT) FROM people)',
    found(
      'who IN (SELECT CAST(number AS VARCHAR) …)',
      "ltrim(who, '0') IN (SELECT ltrim(CAST(number AS VARCHAR), '0') …)",
    ),
  ],
  ['docs LEFT JOIN people p USING (who)', found('USING (who)', "ON ltrim(a.who, '0') = ltrim(b.who, '0')")],
  ['docs d, people p WHERE p.mail = d.mail', 'lower(trim(p.mail)) = lower(trim(d.mail)) finds 20.'],
  [
    'docs WHERE who NOT IN (SELECT p.who FROM people p)',
    found('who IN (SELECT p.who …)', "ltrim(who, '0') IN (SELECT ltrim(p.who, '0') …)"),
  ],
  [
    'docs d JOIN people p USING (part)',
    "USING (part) finds 1 of 20 values that were looked at, and ON regexp_replace(lower(a.part), '[^\\pL\\pN]', '', 'g') = regexp_replace(lower(b.part), '[^\\pL\\pN]', '', 'g') finds 20.",
  ],
  [
    'docs d JOIN people p USING (team)',
    'finds 3 of 4 values that were looked at, and ON lower(trim(a.team)) = lower(trim(b.team)) finds 4.',
  ],
])('keys that are spelled otherwise: %s', async (from, said) => {
  expect(await warningsOf(`SELECT count(*) FROM ${from}`)).toEqual([expect.stringContaining(said)]);
});

test.each([
  'docs d JOIN people p USING (code)',
  'docs d JOIN people p ON d.few = p.code',
  'docs d JOIN people p ON d.code = p.who',
  "docs d JOIN people p ON ltrim(d.who, '0') = p._id",
  'docs a JOIN docs b ON a.who = b.who',
  'docs d JOIN people p ON d.wide = p.number::VARCHAR',
  'docs d JOIN people p ON d.number::VARCHAR = p.number::VARCHAR',
  'docs WHERE wide IN (SELECT number::VARCHAR FROM people)',
  // `1-11` and `11-1` would be one.
  'docs d JOIN people p ON d.digits = p.digits',
  // Whoever compares them in another spelling, too, knows how they are spelled.
  'docs d JOIN people p ON d.mail = p.mail OR lower(trim(d.mail)) = lower(trim(p.mail))',
  "docs WHERE who NOT IN (SELECT p.who FROM people p) AND ltrim(who, '0') IN (SELECT ltrim(p.who, '0') FROM people p)",
])('no warning: %s', async (from) => {
  expect(await warningsOf(`SELECT count(*) FROM ${from}`)).toEqual([]);
});
