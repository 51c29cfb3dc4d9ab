import { afterAll, beforeAll, expect, test } from 'vitest';
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
