import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readStatement } from '../../../src/engine/duckdb/sql/statement.ts';
import { type Token, tokens } from '../../../src/engine/duckdb/sql/tokens.ts';
import { isSameTree } from '../../../src/engine/duckdb/sql/tree.ts';
import { MORE } from '../../long.ts';
import { propertyRuns } from '../../property.ts';
import { createFixture, type Fixture } from '../fixture.ts';
import { DISGUISED } from '../gate/hostile.ts';
import { LEGITIMATE } from '../gate/legitimate.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());

const texts = (sql: string) => [...tokens(sql)].map(({ text }) => text);

describe('tokens()', () => {
  test.each([
    ["'a'\n'b'", ["'a'\n'b'"]],
    ["'a' 'b'", ["'a'", "'b'"]],
    ["'a'\n'\\' :b", ["'a'\n'\\'", ':', 'b']],
    ["e'a'\n'\\' :b'", ["e'a'\n'\\' :b'"]],
    ["e'a'\r'\\' :b' x", ["e'a'\r'\\' :b'", 'x']],
    ["e'a' -- c'\n'\\' :b' x", ["e'a' -- c'\n'\\' :b'", 'x']],
    ["e'a'\n -- c'\n\n'\\' :b' x", ["e'a'\n -- c'\n\n'\\' :b'", 'x']],
    ["e'a'\n'b'\n'\\' :b' x", ["e'a'\n'b'\n'\\' :b'", 'x']],
    ["e'a' /* c */\n'b\\' x", ["e'a'", "'b\\'", 'x']],
    ["e'a' '\\' :b", ["e'a'", "'\\'", ':', 'b']],
    ["e'a'\n", ["e'a'"]],
    ["e'a'\n-- x", ["e'a'"]],
    ["e'a'\n'", ["e'a'\n'"]],
    ['$$a$$\n$$b$$', ['$$a$$', '$$b$$']],
    ["$a$ ' $a$ ' $a$ '", ["$a$ ' $a$", "' $a$ '"]],
    ["U&'a' x", ['U', '&', "'a'", 'x']],
    ['-- a\r1', ['1']],
    ['/* /* */ 1 */ 2', ['2']],
  ])('%j', (sql, expected) => {
    expect(texts(sql)).toEqual(expected);
  });

  test('takes no time that grows faster than the text', () => {
    const started = performance.now();
    for (const part of ['-', '- ', '--\n', "'\n", "e'\n", '/*', '\n', '$', '$a', "'a'\n--"]) texts(part.repeat(60_000));
    expect(performance.now() - started).toBeLessThan(3_000);
  });
});

async function treeOf(sql: string): Promise<unknown> {
  const text = JSON.stringify(sql).slice(1, -1);
  if (text.includes('\\u0000')) return undefined;
  const quoted = `'${sql.replaceAll("'", "''")}'`;
  const [row] = await fixture.direct(
    `SELECT json_serialize_sql(${quoted}::VARCHAR, skip_null := true, skip_empty := true, skip_default := true)`,
  );
  const parsed = JSON.parse(String(row?.[0])) as { error: boolean; statements?: unknown };
  return parsed.error ? undefined : parsed.statements;
}

/**
 * A colon followed by a parameter's name is not SQL to the engine; so if the engine can parse a text, it has no
 * parameters, and our reading of it must not change its tree.
 */
async function expectSameTree(sql: string): Promise<boolean> {
  const tree = await treeOf(sql);
  if (tree === undefined) return false;
  const statement = await readStatement(sql);
  expect(isSameTree(tree, await treeOf(statement.body)), JSON.stringify(sql)).toBe(true);
  return true;
}

/**
 * Whether a spaced colon follows a word: `rows :n` is a parameter to us, while `total :n` names a value to the engine.
 * The two cannot be told apart, so this is the one place where our reading is meant to differ.
 */
function isAmbiguous(sql: string): boolean {
  let last: Token | undefined;
  for (const token of tokens(sql)) {
    if (token.text === ':' && last?.kind === 'word' && last.end < token.start) return true;
    last = token;
  }
  return false;
}

describe('readStatement() leaves the tree of the engine as it is', () => {
  test('for odd and for ordinary statements', async () => {
    let parsed = 0;
    for (const sql of [...DISGUISED, ...LEGITIMATE]) {
      // These are rewritten by us, so their trees differ on purpose.
      if (
        /^EXPLAIN|\b(?:UNNEST|OBJECT|ARRAY_CREATE|REGEXP_EXTRACT)\(|(?:\bAS |::|, |i )(?:INT|FLOAT)\b|\b(?:FORMAT|PARSE)_|\bUNDEFINED\b/i.test(
          sql,
        )
      )
        continue;
      if (await expectSameTree(sql)) parsed++;
    }
    expect(parsed).toBeGreaterThan(80);
  });

  test('for strings, comments and names put together at random', { ...MORE, timeout: 60_000 }, async () => {
    const scrap = fc.constantFrom(
      ..."' '' e' E' \\' \\\\ \\ $$ $a$ $ä$ -- /* */ \" \"\" :b :1 ::bigint : U& x' b' n' a 1 , ( ) [ ] ? ; é \n \r \t \f \u2028".split(
        ' ',
      ),
      ' ',
      "'\n'",
      "' -- ",
      "e'a'\n'",
      "'b'",
      'AS a',
      ', 1',
    );
    const sql = fc.array(scrap, { minLength: 1, maxLength: 14 }).map((scraps) => `SELECT 1, ${scraps.join('')}`);
    let parsed = 0;
    await fc.assert(
      fc.asyncProperty(sql, async (text) => {
        fc.pre(!isAmbiguous(text));
        try {
          if (await expectSameTree(text)) parsed++;
        } catch (error) {
          if ((error as { code?: string }).code !== 'query_error') throw error;
        }
      }),
      propertyRuns(4_000),
    );
    expect(parsed).toBeGreaterThan(20);
  });
});
