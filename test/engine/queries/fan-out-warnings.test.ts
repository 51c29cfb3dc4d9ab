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
    ['ro', 'r_o'],
    ['ri', 'r_i'],
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
  await engine.addDocuments(
    'ro',
    ['a', 'b', 'c'].map((oid, n) => doc(oid, { oid, amount: (n + 1) * 10, note: n === 2 ? '' : 'x' })),
  );
  await engine.addDocuments(
    'ri',
    (
      [
        ['a', 1, 1],
        ['a', 2, 1],
        ['b', 1, 1],
        ['b', 2, 5],
      ] as const
    ).map(([oid, line, qty], n) => doc(`${n}`, { oid, line, qty, sku: `S${line}`, ...(qty === 5 && { gone: true }) })),
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
    'sum(o.total) counts a document of o once for each of its matches in i (up to 2): if each is to count once, sum(x) FROM (SELECT DISTINCT o._id, o.total AS x, … FROM …).',
  ],
  [
    'avg(total) FROM docs LEFT JOIN items USING (nr)',
    'avg(total) counts a document of docs once for each of its matches in items (up to 2)',
  ],
  [
    'o.who, count(o.total) FROM docs o, items i WHERE o.nr = i.nr GROUP BY 1',
    'if each is to count once, count(DISTINCT o._id).',
  ],
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
  // Conditions that leave several.
  ['sum(o.amount) FROM r_o o JOIN r_i i ON i.oid = o.oid WHERE i.qty = 1', 'matches in i (up to 2)'],
  ['sum(o.amount) FROM r_o o LEFT JOIN r_i i ON i.oid = o.oid AND i.qty < 4', 'matches in i (up to 2)'],
  ["sum(o.amount) FROM r_o o JOIN r_i i ON i.oid = o.oid WHERE lower(i.sku) LIKE 's%'", 'matches in i (up to 2)'],
  ["sum(o.amount) FROM r_o o JOIN r_i i ON i.oid = o.oid WHERE o.oid IN ('a', 'c')", 'matches in i (up to 2)'],
  ["sum(o.amount) FROM r_o o JOIN r_i i ON i.oid = o.oid WHERE o.note <> '' AND i.line > 0", 'matches in i (up to 2)'],
  ['sum(o.amount) FILTER (WHERE o.amount < 20) FROM r_o o JOIN r_i i ON i.oid = o.oid', 'matches in i (up to 2)'],
  ["sum(o.total) FROM docs o, unnest(o.lines) AS u(l) WHERE o.nr = 2 AND l.sku = 'a'", 'matches in u (up to 2)'],
  ['sum(o.total) FROM docs o, unnest(o.lines) AS u(l) WHERE l.at < 2', 'matches in u (up to 2)'],
  // A sum within a group is another one; so is an average in a group of the other side.
  ['o.note, sum(o.amount) FROM r_o o JOIN r_i i ON i.oid = o.oid GROUP BY ALL', 'matches in i (up to 2)'],
  ['i.qty, avg(o.amount) FROM r_o o JOIN r_i i ON i.oid = o.oid GROUP BY 1', 'matches in i (up to 2)'],
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
  // What has no match.
  'avg(o.amount) FROM r_o o LEFT JOIN r_i i ON i.oid = o.oid WHERE i.oid IS NULL',
  'sum(o.amount) FROM r_o o LEFT JOIN r_i i ON i.oid = o.oid WHERE i.gone IS NULL AND o.amount > 1',
  'count(o.amount) FROM r_o o LEFT JOIN r_i i USING (oid) WHERE i._id IS NULL',
  // The matches are chosen among.
  'sum(o.amount) FILTER (WHERE i.line = 1) FROM r_o o JOIN r_i i ON i.oid = o.oid',
  "sum(o.amount) FILTER (WHERE o.oid = 'c') FROM r_o o LEFT JOIN r_i i ON i.oid = o.oid",
  // Conditions that leave one at most.
  'sum(o.amount) FROM r_o o JOIN r_i i ON i.oid = o.oid WHERE i.qty = 5',
  'sum(o.amount) FROM r_o o JOIN r_i i ON i.oid = o.oid WHERE i.qty > 4',
  'sum(o.amount) FROM r_o o LEFT JOIN r_i i ON i.oid = o.oid AND i.qty > 4',
  'sum(o.amount) FROM r_o o JOIN r_i i ON i.oid = o.oid WHERE (i.qty BETWEEN 2 AND 9 OR i.qty > 100)',
  "sum(o.amount) FROM r_o o LEFT JOIN r_i i ON i.oid = o.oid WHERE o.oid = 'c'",
  "sum(o.amount) FROM r_o o LEFT JOIN r_i i ON i.oid = o.oid WHERE o.note = ''",
  "sum(o.amount) FROM r_o o LEFT JOIN r_i i ON i.oid = o.oid AND o.oid = 'c'",
  'sum(o.total) FROM docs o, unnest(o.lines) AS u(l) WHERE o.nr = 1',
  'sum(o.total) FROM docs o, unnest(o.lines) AS u(l) WHERE l.at > 1',
  // Those of which it is not known.
  'sum(o.amount) FROM r_o o JOIN r_i i ON i.oid = o.oid WHERE i.qty IN (SELECT max(qty) FROM r_i)',
  // An average of what is the same within each group.
  'o.note, avg(o.amount) FROM r_o o JOIN r_i i ON i.oid = o.oid GROUP BY 1',
  'o.oid, i.qty, avg(o.amount) FROM r_o o JOIN r_i i ON i.oid = o.oid GROUP BY ALL',
  // Nothing is joined.
  'sum(total) FROM docs o WHERE EXISTS (SELECT 1 FROM items i WHERE i.nr = o.nr)',
  'sum(o.total) FROM docs o SEMI JOIN items i ON o.nr = i.nr',
  'sum(total) FROM docs WHERE nr IN (SELECT nr FROM items)',
  'sum(o.total) FROM docs o JOIN (SELECT nr, sum(qty) AS q FROM items GROUP BY nr) i ON o.nr = i.nr',
])('no warning of what is counted once: %s', async (rest) => {
  expect(await warningsOf(`SELECT ${rest}`)).toEqual([]);
});
