import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import { type Token, tokens } from '../../../src/engine/duckdb/sql/tokens.ts';
import { propertyRuns } from '../../property.ts';
import { createFixture, type Fixture } from '../fixture.ts';
import { leaked, stateOf } from './gate-checks.ts';
import { DISGUISED, HOSTILE } from './hostile.ts';
import { LEGITIMATE } from './legitimate.ts';

/**
 * Mutations of both corpora. Whatever a mutation turns into, it is answered, or refused with one of the API's own
 * errors; it reveals nothing internal and changes nothing.
 */

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture({ queryTimeoutMs: 3_000, resultRowsMax: 100 });
});
afterAll(() => fixture.close());

/**
 * Longer statements are left out: they are meant to take long or to be large, and mutating them would not add anything.
 */
const SIZE_MAX = 400;
const hostile = [...Object.values(HOSTILE).flat(), ...DISGUISED].filter((sql) => sql.length < SIZE_MAX);
const seeds = [...hostile, ...LEGITIMATE.filter((sql) => sql.length < SIZE_MAX)];
const pieces = [...new Set(hostile.flatMap((sql) => [...tokens(sql)].map((token) => token.text)))];

type Mutate = (list: readonly Token[], sql: string, pick: number, other: string) => string;

/** The text with one token replaced. */
function replaced(sql: string, token: Token | undefined, text: string): string {
  return token === undefined ? sql : sql.slice(0, token.start) + text + sql.slice(token.end);
}

const MUTATIONS: Record<string, Mutate> = {
  swapCase: (list, sql, pick) =>
    replaced(
      sql,
      list[pick % list.length],
      (list[pick % list.length]?.text ?? '').replace(/[a-z]/gi, (letter) =>
        letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
      ),
    ),
  comment: (list, sql, pick) => {
    const token = list[pick % list.length];
    return replaced(sql, token, `/* ; */ ${token?.text ?? ''} -- '\n`);
  },
  quote: (list, sql, pick) => {
    const words = list.filter((token) => token.kind === 'word');
    const token = words[pick % Math.max(1, words.length)];
    return replaced(sql, token, `"${token?.text ?? ''}"`);
  },
  backticks: (list, sql, pick) => {
    const words = list.filter((token) => token.kind === 'word');
    const token = words[pick % Math.max(1, words.length)];
    return replaced(sql, token, `\`${token?.text ?? ''}\``);
  },
  drop: (list, sql, pick) => replaced(sql, list[pick % list.length], ''),
  double: (list, sql, pick) => {
    const token = list[pick % list.length];
    return replaced(sql, token, `${token?.text ?? ''} ${token?.text ?? ''}`);
  },
  put: (list, sql, pick) => {
    const token = list[pick % list.length];
    return replaced(sql, token, `${token?.text ?? ''} ${pieces[pick % pieces.length] ?? ''}`);
  },
  exchange: (list, sql, pick) => replaced(sql, list[pick % list.length], pieces[(pick * 7) % pieces.length] ?? ''),
  append: (_, sql, __, other) => `${sql}; ${other}`,
  subquery: (_, sql) => `SELECT * FROM (${sql}) t`,
  scalar: (_, sql) => `SELECT (${sql})`,
  cte: (_, sql, __, other) => `WITH x AS (${sql}) ${other}`,
  union: (_, sql, __, other) => `${sql} UNION ALL ${other}`,
  except: (_, sql) => `SELECT * EXCEPT(a) FROM (${sql})`,
  unnest: (_, sql) => `SELECT x FROM UNNEST((${sql}) AS x) u`,
  values: (_, sql) => `SELECT VALUES((${sql}))`,
  explain: (_, sql) => `EXPLAIN ANALYZE ${sql}`,
  escape: (list, sql, pick) => {
    const strings = list.filter((token) => token.kind === 'string');
    return replaced(sql, strings[pick % Math.max(1, strings.length)], "e'\\'' 'x'");
  },
};

const step = fc.record({
  how: fc.constantFrom(...Object.keys(MUTATIONS)),
  pick: fc.nat({ max: 10_000 }),
  other: fc.constantFrom(...seeds),
});
const mutated = fc
  .tuple(fc.constantFrom(...seeds), fc.array(step, { minLength: 1, maxLength: 3 }))
  .map(([seed, steps]) =>
    steps.reduce((sql, { how, pick, other }) => {
      const list = [...tokens(sql)];
      return list.length === 0 ? sql : (MUTATIONS[how]?.(list, sql, pick, other) ?? sql);
    }, seed),
  );

const CODES = ['query_error', 'invalid_input', 'resource_exceeded', 'query_timeout'];

test('whatever becomes of hostile and legitimate statements, nothing changes and nothing is told', {
  timeout: 900_000,
}, async () => {
  const before = await stateOf(fixture);
  await fc.assert(
    fc.asyncProperty(mutated, async (sql) => {
      const outcome = await fixture.queries.query({ sql }).catch((error: unknown) => error);
      if (outcome instanceof Error) {
        expect(outcome, sql).toBeInstanceOf(ApiError);
        expect(CODES, `${sql}: ${outcome.message}`).toContain((outcome as ApiError).code);
      }
      const told = outcome instanceof Error ? outcome.message : JSON.stringify(outcome);
      // One of the fixture's collections has the name of an engine table.
      expect(leaked(told.replaceAll('duckdb_settings', ''), sql), sql).toEqual([]);
      expect(await stateOf(fixture), sql).toBe(before);
    }),
    propertyRuns(400),
  );
  expect(await fixture.rows('SELECT count(*) FROM orders')).toEqual([[3]]);
});
