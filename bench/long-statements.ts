/** Long-running statements, by what takes their time; `big` stands for a collection of bench documents. */
export const LONG: readonly (readonly [kind: string, sql: string])[] = [
  ['cross join', 'SELECT count(*) FROM range(1000000000) a, range(1000) b WHERE (a.range * b.range) % 7 = 3'],
  ['cross join of documents', 'SELECT count(*) FROM big a, big b WHERE a.amount * b.amount % 7 < 0.001'],
  ['inequality join', 'SELECT count(*) FROM big a JOIN big b ON a.amount < b.amount AND a.created > b.created'],
  ['hash join, many matches', 'SELECT count(*) FROM big a JOIN big b ON a.kind = b.kind WHERE a.amount + b.amount < 0'],
  ['hash join, 10 million rows built', hashJoin(10_000_000)],
  [
    'sort, numbers',
    'SELECT max(x) FROM (SELECT random() x, row_number() OVER (ORDER BY random()) FROM range(50000000))',
  ],
  ['sort, texts', 'SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY text, _id) n FROM big, range(10))'],
  ['first 100 of many', 'SELECT a.text FROM big a, range(10000) ORDER BY hash(a.text || range) LIMIT 100'],
  [
    'group by, many groups',
    'SELECT i % 30000001 g, count(*) c FROM range(200000000) t(i) GROUP BY 1 HAVING count(*) > 1000',
  ],
  ['count(DISTINCT) in groups', 'SELECT i % 1000003, count(DISTINCT i) FROM range(200000000) t(i) GROUP BY 1'],
  ['distinct texts', 'SELECT count(*) FROM (SELECT DISTINCT text || range FROM big, range(100))'],
  ['window, running sum', 'SELECT max(s) FROM (SELECT sum(i) OVER (ORDER BY hash(i)) s FROM range(20000000) t(i))'],
  [
    'window, moving median',
    'SELECT max(s) FROM (SELECT median(amount) OVER (ORDER BY created ROWS 10000 PRECEDING) s FROM big)',
  ],
  [
    'window, moving list',
    'SELECT max(len(s)) FROM (SELECT list(amount) OVER (ORDER BY created ROWS 5000 PRECEDING) s FROM big)',
  ],
  ['median of all', 'SELECT median(hash(i)) FROM range(100000000) t(i)'],
  ['string_agg, ordered', "SELECT strlen(string_agg(text, ',' ORDER BY _id)) FROM big, range(5)"],
  ['list of all, sorted', 'SELECT len(list_sort(list(hash(i)))) FROM range(5000000) t(i)'],
  [
    'list in each row: transform',
    'SELECT max(list_sum(list_transform(range(10000), lambda x: sqrt(x + i)))) FROM range(1000000) t(i)',
  ],
  [
    'list in each row: sort',
    'SELECT max(list_sort(list_transform(range(1000), lambda x: hash(x + i)))[1]) FROM range(10000000) t(i)',
  ],
  [
    'text in each row: regexp_replace',
    "SELECT max(strlen(regexp_replace(repeat('x', 990 + i % 3), 'x', 'yy', 'g'))) FROM range(10000000) t(i)",
  ],
  [
    'text in each row: levenshtein',
    "SELECT max(levenshtein(repeat('x', 199 + i % 2), repeat('y', 200))) FROM range(10000000) t(i)",
  ],
  [
    'JSON of each document',
    "SELECT max(json_extract_string(to_json(b)::VARCHAR::JSON, '$.user.name')) FROM big b, range(100)",
  ],
  [
    'unnest of documents',
    'SELECT item.sku, count(*) FROM (SELECT unnest(items) item FROM big, range(1000)) GROUP BY 1',
  ],
  ['recursive', 'WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t'],
  [
    'correlated subquery',
    'SELECT max((SELECT count(*) FROM big b WHERE b.amount < a.amount AND b.kind = a.kind)) FROM big a',
  ],
  [
    'costly expression',
    `SELECT max(${Array.from({ length: 200 }, (_, i) => `sin(cos(sqrt(i + ${i})))`).join(' + ')}) FROM range(100000000) t(i)`,
  ],
  [
    'union, distinct',
    'SELECT count(*) FROM (SELECT hash(i) FROM range(50000000) t(i) UNION SELECT hash(i + 1) FROM range(50000000) t(i))',
  ],
  ['summarize', 'SUMMARIZE SELECT b.* FROM big b, range(10)'],
  ['large result', 'SELECT b.* FROM big b, range(100)'],
  ['one large value', 'SELECT list(b) FROM big b'],
];

function hashJoin(rows: number): string {
  const built = `SELECT hash(i) % ${2 * rows} AS i, i AS j FROM range(${rows}) t(i)`;
  return `SELECT count(*), max(a.i + b.i) FROM range(${10 * rows}) a(i) JOIN (${built}) b ON a.i = b.i`;
}
