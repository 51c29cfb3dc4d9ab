import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Engine } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, temporaryFolder } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

beforeAll(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine);
  for (const [table, name] of [
    ['i', 'items'],
    ['c', 'customers'],
    ['r', 'rates'],
  ] as const)
    await engine.commit([{ do: 'createCollection', table, workspace: 'commons', name, recognizeTimes: false }]);
  const all = Array.from({ length: 12 }, (_, n) => n);
  await engine.addDocuments(
    't',
    all.map((n) =>
      doc(`${n}`, {
        nr: n,
        who: `c${n % 3}`,
        total: 100,
        lines: Array.from({ length: n % 4 }, (_, at) => ({ sku: 'a', at, subs: [at] })),
        tags: ['x', 'y'].slice(n % 2),
        one: [n],
      }),
    ),
  );
  await engine.addDocuments(
    'i',
    all.flatMap((n) => [0, 1].map((at) => doc(`${n}-${at}`, { nr: n, line: at, sku: at === 0 ? 'a' : 'b', qty: 2 }))),
  );
  await engine.addDocuments(
    'c',
    // The last one is nobody's, and twice.
    [0, 1, 2, 9, 9].map((n, at) => doc(`${at}`, { id: `c${n}`, area: 'N', age: 30 + n })),
  );
  await engine.addDocuments(
    'r',
    [0, 1, 2, 0].map((n, at) => doc(`r${at}`, { of: `c${n}`, rate: 2 })),
  );
});

afterAll(async () => {
  await engine.close();
  folder.dispose();
});

const warningsOf = async (sql: string) => (await engine.query({ sql })).warnings;

test.each([
  [
    'sum(o.total) FROM docs o JOIN items i ON o.nr = i.nr',
    'sum(o.total) counts a document of o once for each of its matches in i (up to 2): if each is to count once, sum(total) FROM (SELECT DISTINCT o._id, o.total, … FROM …).',
  ],
  [
    'avg(total) FROM docs LEFT JOIN items USING (nr)',
    'avg(total) counts a document of docs once for each of its matches in items (up to 2)',
  ],
  ['o.who, count(o.total) FROM docs o, items i WHERE o.nr = i.nr GROUP BY 1', 'if each is to count once, count(DISTINCT o._id).'],
  ['sum(o.total * 2) FROM docs o JOIN items i ON o.nr = i.nr AND i.qty > 1', 'sum(…) counts a document of o'],
  ['sum(o.total) FROM docs o JOIN items i ON CAST(o.nr AS VARCHAR) = CAST(i.nr AS VARCHAR)', 'matches in i (up to 2)'],
  ['sum(o.total) FROM docs o JOIN customers c ON o.who = c.id JOIN items i ON o.nr = i.nr', 'matches in i (up to 2)'],
  ['sum(o.total) FROM docs o JOIN customers c ON o.who = c.id JOIN rates r ON r.of = c.id', 'matches in r (up to 2)'],
  ["sum(o.total) FROM docs o, unnest(o.lines) AS u(l) WHERE l.sku = 'a'", 'matches in u (up to 3)'],
  ['sum(total) FROM docs CROSS JOIN unnest(lines) AS l', 'matches in l (up to 3)'],
  [
    'sum(l.at) FROM docs o, unnest(o.lines) AS u(l), unnest(o.tags) AS w(t)',
    'counts an item of u once for each of its matches in w (up to 2): if each is to count once, put its sum into a query of its own',
  ],
  [
    'sum(q.t) FROM (SELECT nr, sum(total) AS t FROM docs GROUP BY nr) q JOIN items i ON i.nr = q.nr',
    'sum(q.t) counts a row of q once for each of its matches in i (up to 2): if each is to count once, put its sum into a query of its own',
  ],
])('documents that are counted once for each match: %s', async (rest, said) => {
  expect(await warningsOf(`SELECT ${rest}`)).toEqual([expect.stringContaining(said)]);
});

test.each([
  // What the warnings give.
  'sum(total) FROM (SELECT DISTINCT o._id, o.total FROM docs o JOIN items i ON o.nr = i.nr)',
  'count(DISTINCT o._id) FROM docs o JOIN items i ON o.nr = i.nr',
  // One match: by the data, though nobody has c9, which is there twice; by an id; by a condition.
  'sum(o.total) FROM docs o JOIN customers c ON o.who = c.id',
  'sum(o.total) FROM docs o JOIN docs p ON CAST(o.nr AS VARCHAR) = p._id',
  'sum(o.total) FROM docs o JOIN items i ON o.nr = i.nr WHERE i.line = 1',
  "sum(o.total) FROM docs o JOIN items i ON o.nr = i.nr AND i.sku = 'a'",
  'sum(o.total) FROM docs o, unnest(o.lines) AS u(l) WHERE l.at = 1',
  'sum(total) FROM docs, unnest(one) AS u(n)',
  // One match in each group.
  'i.sku, sum(o.total) FROM docs o JOIN items i ON o.nr = i.nr GROUP BY 1',
  't, sum(total) FROM docs, unnest(tags) AS u(t) GROUP BY t',
  't, sum(total) FROM docs, unnest(tags) AS u(t) GROUP BY ALL',
  // Of both sides, of the side with many, and of rows.
  'sum(o.total * i.qty) FROM docs o JOIN items i ON o.nr = i.nr',
  'sum(i.qty) FROM docs o JOIN items i ON o.nr = i.nr',
  'sum(c.age) FROM docs o JOIN customers c ON o.who = c.id',
  'count(*), max(o.total), any_value(o.total) FROM docs o JOIN items i ON o.nr = i.nr',
  'o.nr, count(o.nr) FROM docs o JOIN items i ON o.nr = i.nr GROUP BY o.nr',
  // Nothing is joined.
  'sum(total) FROM docs o WHERE EXISTS (SELECT 1 FROM items i WHERE i.nr = o.nr)',
  'sum(o.total) FROM docs o SEMI JOIN items i ON o.nr = i.nr',
  'sum(total) FROM docs WHERE nr IN (SELECT nr FROM items)',
  'sum(o.total) FROM docs o JOIN (SELECT nr, sum(qty) AS q FROM items GROUP BY nr) i ON o.nr = i.nr',
])('no warning of what is counted once: %s', async (rest) => {
  expect(await warningsOf(`SELECT ${rest}`)).toEqual([]);
});
