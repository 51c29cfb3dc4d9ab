import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Engine } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, temporaryFolder } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

beforeAll(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine);
  const all = Array.from({ length: 40 }, (_, n) => n);
  await engine.addDocuments(
    't',
    all.map((n) =>
      doc(`${n}`, {
        n,
        none: n % 4 === 0 ? null : `a${n}`,
        empty: n % 4 === 0 ? '' : `a${n}`,
        mixed: n % 4 === 0 ? '' : n % 4 === 1 ? null : `a${n}`,
        filled: `a${n}`,
        of: { none: n % 2 === 0 ? null : 'x' },
      }),
    ),
  );
});

afterAll(async () => {
  await engine.close();
  folder.dispose();
});

const warningsOf = async (sql: string) => (await engine.query({ sql })).warnings;
const EMPTY = "empty is '' in 10, which is not NULL: coalesce(empty, '') = '' has both.";

test.each([
  ["docs WHERE none = ''", "none is '' nowhere, and NULL in 10: none IS NULL has those."],
  ["docs d WHERE '' = d.of.none AND n > 1", "d.of.none is '' nowhere, and NULL in 20: d.of.none IS NULL has those."],
  ['docs WHERE empty IS NULL', EMPTY],
  ['docs WHERE empty IS NULL OR n = 3', EMPTY],
  ['docs WHERE mixed IS NULL', "mixed is '' in 10, which is not NULL: coalesce(mixed, '') = '' has both."],
])('no value that is asked for in the other way: %s', async (from, said) => {
  expect(await warningsOf(`SELECT count(*) FROM ${from}`)).toEqual([said]);
});

test.each([
  'docs WHERE none IS NULL',
  "docs WHERE empty = '' OR mixed = ''",
  "docs WHERE coalesce(empty, '') = '' OR coalesce(none, '') = ''",
  "docs WHERE mixed IS NULL OR mixed = ''",
  "docs WHERE nullif(empty, '') IS NULL",
  "docs WHERE filled = '' OR filled IS NULL",
  "docs WHERE empty IS NOT NULL AND none <> ''",
  'docs a LEFT JOIN docs b ON a.n = b.n + 1 WHERE b.empty IS NULL',
])('no warning: %s', async (from) => {
  expect(await warningsOf(`SELECT count(*) FROM ${from}`)).toEqual([]);
});
