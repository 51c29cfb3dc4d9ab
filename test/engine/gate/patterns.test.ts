import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { quoteText } from '../../../src/engine/duckdb/sql/names.ts';
import { createFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture({ queryTimeoutMs: 100_000 });
});
afterAll(() => fixture.close());

const TEXTS = [
  '',
  'a',
  'ab',
  'aXbYc',
  'AxB\nyC',
  'a%b_c',
  'a.b*c',
  '\u00e9a\u00c9b',
  '\u0130\u212a\u017f',
  'i k s',
  'axbxcxd',
  '[a](b)|c^$\\',
  "it's",
  'ΑΣβς',
  '😀a😀b',
];
const PATTERNS = [
  '%a_b%c%',
  '%_a%_b%',
  '_%_%_',
  'a%b%_',
  '%.%_*%',
  '%[%]%(_)%',
  '%\\%_%',
  "%'%_",
  '%é%_%',
  '%i%_%s%',
  '%İ%K%_',
  '%😀%_%b',
  '%%_%%_%%',
  'A%x%_',
  '%σ%_%Σ',
  '%!%%_%',
  '%!_%_%!!%',
  '%\n%_%',
];

test('LIKE and ILIKE mean what they mean to the engine, also where they run as regular expressions', async () => {
  const texts = `(VALUES ${TEXTS.map((text) => `(${quoteText(text)})`).join(', ')}, (NULL)) v(t)`;
  const tests = PATTERNS.flatMap((pattern) =>
    ['LIKE', 'NOT LIKE', 'ILIKE', 'NOT ILIKE'].flatMap((word) => [
      `t ${word} ${quoteText(pattern)}`,
      `t ${word} ${quoteText(pattern)} ESCAPE '!'`,
      `(t || 'b') ${word}/**/E${quoteText(pattern.replaceAll('\\', '\\\\'))}`,
      `lower(t) ${word} ${quoteText(pattern)} = true`,
    ]),
  ).filter((text) => !/!\W* ESCAPE/.test(text));
  const sql = `SELECT ${tests.map((text, index) => `${text} AS c${index}`).join(', ')} FROM ${texts}`;
  expect(await fixture.rows(sql)).toEqual(await fixture.direct(sql));
  const plan = JSON.stringify(
    await fixture.rows("EXPLAIN SELECT _id FROM orders WHERE _id ILIKE '%a%b%' AND _id NOT LIKE '%c_%d%'"),
  );
  expect(plan).toContain('regexp_full_match');
  expect(plan).not.toContain('~~');
});

test('ILIKE knows the same pairs of letters as the engine', async () => {
  const codes = '(SELECT * FROM range(1, 55296) UNION ALL SELECT * FROM range(57344, 125000)) t(i)';
  const sql = (test: string) =>
    `SELECT count(*)::INTEGER FROM (SELECT chr(i::INTEGER) AS c FROM ${codes}) WHERE ${test}`;
  for (const letter of ['i', 'K', 's', 'å', 'ß', 'σ', 'Ω', 'ǆ', 'θ', 'ÿ', 'ა', 'ꭰ', 'ⰰ', '𐐨']) {
    const own = sql(`('-' || c || '-') ILIKE '%-%${letter}%-'`);
    expect.soft(await fixture.rows(own), letter).toEqual([[Number((await fixture.direct(own))[0]?.[0])]]);
  }
});

test('a pattern that stays, or that a parameter has, is refused where it could take very long', async () => {
  const bad = '%_a%_a%_a%_a%_b';
  const refused = [
    `SELECT 'a' GLOB '*?a*?a*?a*?a*?b'`,
    `SELECT like_escape('a', '${bad}', '!')`,
    `SELECT 'a' COLLATE NOCASE LIKE '${bad}'`,
    `SELECT 'a' COLLATE NOCASE LIKE '%a%a%a%a%b'`,
    `SELECT 'a' ~~ '${bad}'`,
  ];
  for (const sql of refused) {
    await expect(fixture.queries.query({ sql }), sql).rejects.toThrow(/regexp_matches/);
  }
  for (const sql of ['SELECT _id LIKE :p FROM orders', "SELECT _id NOT ILIKE '%' || :p || '%' FROM orders"]) {
    const ask = (value: string) => fixture.queries.query({ sql, parameters: [{ name: 'p', value }] });
    await ask('a%b%c_');
    await expect(ask(bad), sql).rejects.toThrow('Parameter ":p" is a pattern');
    await ask('a%b%c_');
    await expect(ask(bad), sql).rejects.toThrow('Parameter ":p" is a pattern');
  }
  const slow = '%a%a%a%a%b%c';
  for (const test of ['_id LIKE (SELECT :p)', '_id LIKE status || :p', '_id ILIKE :p', '_id LIKE :p OR _id GLOB :p']) {
    const asked = fixture.queries.query({
      sql: `SELECT ${test} FROM orders`,
      parameters: [{ name: 'p', value: slow }],
    });
    await expect(asked, test).rejects.toThrow('Parameter ":p" is a pattern');
  }
  const fast = ['_id LIKE :p', "_id NOT LIKE '%' || :p || '%'", "repeat('ab', 5000) || _id LIKE upper(:p)"];
  for (const test of fast) {
    const sql = `SELECT ${test} FROM orders`;
    await fixture.queries.query({ sql, parameters: [{ name: 'p', value: '%a%a%a%a%a%a%a%a%b%c%' }] });
  }
});

describe('a pattern that is known only for each row', () => {
  const quoted = (list: readonly string[]) => list.map((text) => `(${quoteText(text)})`).join(', ');
  const own = ['%a%X%b%Y%c', '%\\%.*%[%(%', '%_%_%_%', 'é%a%É%b%%%%', '%%%%%b', '%a%b%c%d%_', "%'%s%%", '%İ%K%_%_%'];

  test('means what it means to the engine, in short texts and in long ones', async () => {
    const texts = [
      ...TEXTS,
      ...['ab', 'aXbYc\n', 'éaÉb', 'İKſ_%'].map((text) => text.repeat(Math.ceil(101 / Buffer.byteLength(text)))),
    ];
    const from = `(VALUES ${quoted(texts)}, (NULL)) v(t), (VALUES ${quoted([...PATTERNS, ...own])}, (NULL)) w(p)`;
    const words = ['LIKE', 'NOT LIKE', 'ILIKE', 'NOT ILIKE', '~~', '!~~*'];
    const columns = words.map((word, index) => `t ${word} p AS c${index}, t ${word} p || 'b' AS d${index}`);
    const sql = `SELECT t, p, ${columns.join(', ')} FROM ${from} ORDER BY ALL`;
    expect(await fixture.rows(sql)).toEqual(await fixture.direct(sql));
  });

  test.each([
    "repeat('a', 2000) LIKE repeat('%a', 9) || 'b' || i",
    "repeat('a', 2000) ILIKE repeat('%a', 9) || 'b' || i",
    "repeat('a', 90) NOT LIKE repeat('%a', 30) || 'b' || i",
    "repeat('a', 2000) LIKE (SELECT repeat('%_a', 9) || 'b')",
    "repeat('a', 2000) LIKE repeat('%_a', 9) || 'b'",
    "repeat('a', 300) ILIKE '%a' || '%a' || '%a' || '%a' || '%a' || '%b'",
    "repeat('a', 300) ILIKE concat('%a', '%a%a%a', '%a', '%b')",
    "repeat('a', 2000) LIKE CASE WHEN random() < 0.5 THEN '%a%a%a%a%a%b' ELSE 'b' || i END",
    "(SELECT string_agg('a', '') FROM range(1000000)) LIKE '%' || repeat('a', 97) || (i % 2) || 'b'",
    "len(list_filter(['%_a%_a%_a%_a%_a%_b'], lambda p: repeat('a', 2000) LIKE p)) = 1",
  ])('takes time linear in the text: %s', async (test) => {
    const [row] = await fixture.rows(`SELECT count(*) FILTER (WHERE ${test}) FROM range(300) t(i)`);
    expect(row?.[0]).toBe(test.includes('NOT') ? 300 : 0);
  });

  test('is refused where it has no other way', async () => {
    for (const test of [
      "'aaa' GLOB repeat('*a', 9) || 'b' || i",
      "like_escape('aaa', repeat('%a', 9) || 'b' || i, '!')",
      "'aaa' LIKE repeat('%a', 9) || 'b' || i /* collate */",
      "'aaa' COLLATE NOCASE NOT ILIKE repeat('%a', 9) || 'b' || i",
    ])
      await expect(fixture.queries.query({ sql: `SELECT ${test} FROM range(3) t(i)` }), test).rejects.toThrow(
        /regexp_matches/,
      );
  });

  test('compares by the collation of the text', async () => {
    const sql = `SELECT 'AB' COLLATE NOCASE LIKE p, 'AB' LIKE p FROM (VALUES ('%b'), ('%B')) t(p)`;
    expect(await fixture.rows(sql)).toEqual([
      [true, false],
      [true, true],
    ]);
  });

  test('leaves the plans of others as they are, and their errors', async () => {
    const plan = () => fixture.rows("EXPLAIN SELECT _id FROM orders WHERE _id LIKE '%ab%cd%ef%'");
    const before = await plan();
    await fixture.rows('SELECT _id FROM orders WHERE _id LIKE status');
    await fixture.rows('SELECT _id FROM orders WHERE _id LIKE status');
    expect(await plan()).toEqual(before);
    for (const test of ['_id LIKE [_id]', '5 LIKE _id']) {
      const asked = fixture.queries.query({ sql: `SELECT ${test} FROM orders` });
      await expect(asked, test).rejects.toThrow(/LIKE|~~/);
    }
  });
});

describe('a regular expression that is known only for each row', () => {
  const from = "(SELECT 't' || i AS t, i FROM range(300) r(i))";

  test.each([
    "regexp_matches(t, t || repeat('.*', 5000))",
    "t ~ (t || repeat('.*', 5000))",
    "t !~ (t || repeat('a?', 2000))",
    "t NOT SIMILAR TO (t || repeat('.', 5000))",
    "regexp_extract(t, t || repeat('.*', 5000), 1, 'i') = ''",
    "regexp_extract_all(t, t || repeat('.*', 5000)) = []",
    "regexp_replace(t, t || repeat('.*', 5000), 'x', 'gi') = ''",
    "len(REGEXP_SPLIT(t, t || repeat('.*', 5000))) = 1",
    "REGEXP_LIKE(t, t || repeat('.*', 5000))",
    "t.regexp_full_match(t || repeat('.*', 5000))",
    "len(list_filter([t], lambda x: regexp_matches(x, x || repeat('.*', 5000)))) = 1",
    "EXISTS (SELECT regexp_split_to_table(t, t || repeat('.*', 5000)))",
    "regexp_matches(t, t || '\\PL\\pL')",
    "regexp_matches(t, t || '\\pL{300}')",
    "regexp_matches(t, t || '((a{1,9}){1,9}){1,9}')",
    "regexp_matches(t, t || repeat('a{0}b{0,500}', 20))",
    "regexp_matches(t, CASE WHEN random() < 0.5 THEN 'a' ELSE i || '.{900}' END)",
  ])('is refused where compiling it takes long: %s', async (condition) => {
    const asked = fixture.queries.query({ sql: `SELECT count(*) FROM ${from} WHERE ${condition}` });
    await expect(asked).rejects.toThrow('computed for each row is too large');
  });

  test("is refused where it would reach the engine's own function", async () => {
    for (const name of ['main.regexp_matches', 'system.main.regexp_matches', 'SYSTEM.Regexp_Matches']) {
      const asked = fixture.queries.query({ sql: `SELECT ${name}(t, t || 'a') FROM ${from}` });
      await expect(asked, name).rejects.toThrow('by its plain name');
      await fixture.rows(`SELECT ${name}(t, 'a') FROM ${from}`);
    }
  });

  test('means what it means to the engine, beside constants', async () => {
    const words = Array.from({ length: 300 }, (_, index) => `word${index}`).join('|');
    const patterns = "(VALUES ('t1.*'), ('[0-9]{1,3}'), ('^t(\\d)'), (''), (NULL)) v(p)";
    const columns = [
      'regexp_matches(t, p)',
      "regexp_matches(t, p, 'i')",
      't ~ p',
      't !~ p',
      't SIMILAR TO p',
      'regexp_extract_all(t, p)',
      "regexp_extract(t, '(t)(.)', ['a', 'b'])",
      'regexp_split_to_array(t, p)',
      "string_split_regex(t, p, 'i')",
      "t.regexp_matches('^' || p)",
      `regexp_matches(t, '${words}')`,
      'regexp_split_to_table(t, p)',
    ];
    const sql = `SELECT t, p, ${columns.map((column, index) => `${column} AS c${index}`).join(', ')}
      FROM ${from}, ${patterns} WHERE i < 12 ORDER BY ALL`;
    expect(await fixture.rows(sql)).toEqual(await fixture.direct(sql));
    const replaced = `SELECT regexp_replace(t, p, 'x', 'g'), regexp_replace(t, '${words}', 'x', 'g') FROM ${from}, ${patterns} WHERE i < 12`;
    expect(await fixture.rows(replaced)).toEqual(await fixture.direct(replaced));
    // The guard is there again, where nothing is computed.
    const large = "SELECT regexp_replace(repeat('x', 10000), 'x', repeat('y', 9000), 'g')";
    await expect(fixture.queries.query({ sql: large })).rejects.toThrow('too large');
  });
});

test('of the values of parameters no path of JSON may be made that looks at any depth twice', async () => {
  const from = `(SELECT '{"a": {"a": {"a": 1}}}'::JSON AS j)`;
  const ask = (path: string, a: string, b?: string) =>
    fixture.queries.query({
      sql: `SELECT ${path} FROM ${from}`,
      parameters: [{ name: 'a', value: a }, ...(b === undefined ? [] : [{ name: 'b', value: b }])],
    });
  await ask('j->:a', '$..a');
  await ask("j->('$.' || :a)", 'a');
  await ask("j->'$.a', :a", '$..a..a');
  for (const [path = '', a = '', b] of [
    ['j->:a', '$..a..a'],
    ["j->>('$.' || :a)", '.a..a'],
    ["json_exists(j, '$.' || lower(substr(:a, 2)))", '-.a..a'],
    [':a AS q, j->q', '$.**.a.**'],
    ['json_type(j, :a || :b)', '$..a', '..a'],
  ])
    await expect(ask(path, a, b), path).rejects.toThrow('At most one ".." or "**"');
});
