import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../src/contract/json/json.ts';
import { openEngine } from '../../../src/engine/duckdb/open.ts';
import { COMPAT_FUNCTIONS } from '../../../src/engine/duckdb/sql/compat.ts';
import type { Engine } from '../../../src/engine/engine.ts';

let folder = '';
let engine: Engine;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'colloquy-expressions-'));
  engine = await open('data.duckdb', 20_000);
});
/** `giveUp` does nothing: a machine too busy to stop a query in time is no reason to end the test process. */
const open = (file: string, queryTimeoutMs: number) =>
  openEngine({
    file: join(folder, file),
    limits: { resultBytesMax: 1024 * 1024, queryTimeoutMs },
    giveUp: () => undefined,
  });
afterAll(async () => {
  await engine.close();
  await rm(folder, { recursive: true });
});

const evaluate = (sql: string, ...values: JsonValue[]) =>
  engine.evaluate(
    { sql, parameters: ['p'] },
    values.map((value) => [value]),
  );
const failing = (why: string) => ({ error: expect.stringContaining(why) });

describe('text that a careless lexer reads in another way', () => {
  it.each<[string, unknown]>([
    // The string continues after the line break, with its escapes, so that what looks like a parameter is in a comment.
    ["e'a'\n'\\' , ' -- ' , :p", { value: "a' , " }],
    ["e'a'\n'\\' || ' -- ' || (SELECT key FROM _meta.records) || :p", { value: "a' || " }],
    ["e'a\\'' || :p", { value: "a'x" }],
    ["'a' --:p\n || :p", { value: 'ax' }],
  ])('is read as the engine does: %j', async (sql, expected) => {
    expect(await evaluate(sql, 'x')).toEqual([expected]);
  });

  it.each([
    "e'a' /* */ '\\' || :p || ' -- \n, (SELECT 1)",
    'U&"a\\" || :p --"',
    '1) FROM _meta.records --',
    ':p); SELECT (1',
  ])('is refused where it is no expression: %j', async (sql) => {
    await expect(engine.checkExpression({ sql, parameters: ['p'] })).rejects.toMatchObject({ code: 'query_error' });
  });
});

describe('functions of other SQL services', () => {
  it.each<[string, JsonValue, JsonValue]>([
    ['ZEROIFNULL(:p)', null, 0],
    ["REGEXP_LIKE(:p, 'a')", 'cat', true],
    ['TOKENIZE(:p)', 'One two', ['one', 'two']],
    ['ARRAY_CREATE(:p, 2)', 1, [1, 2]],
    ['VALUES(:p)', { a: 1 }, [1]],
  ])('%s is computed', async (sql, value, expected) => {
    await engine.checkExpression({ sql, parameters: ['p'] });
    expect(await evaluate(sql, value, value)).toEqual([{ value: expected }, { value: expected }]);
  });

  it('are all computed', async () => {
    for (const { name, example, gives, group } of COMPAT_FUNCTIONS) {
      if (group === 'Aggregates') continue;
      const [found] = await evaluate(`CASE WHEN :p THEN ${example} END`, true);
      expect.soft(found, name).toMatchObject({ value: gives });
    }
  });
});

describe('evaluate()', () => {
  it('says which type the SQL declares, where JSON has none', async () => {
    expect(await evaluate('CAST(:p AS DATE)', '2024-01-02')).toEqual([{ value: '2024-01-02', declared: 'time' }]);
    expect(await evaluate('CAST(:p AS DATE)', '2024-01-02', 'no')).toMatchObject([
      { declared: 'time' },
      { error: expect.stringContaining('no') },
    ]);
    expect(await evaluate('CAST(:p AS TIME)', '12:30')).toEqual([{ value: '12:30:00', declared: 'clock' }]);
    expect(await evaluate('CAST(:p AS decimal(18, 2))', '1.5')).toEqual([{ value: 1.5, declared: 'decimal 18 2' }]);
    expect(await evaluate('from_base64(:p)', 'AP8=')).toEqual([{ value: 'AP8=', declared: 'binary' }]);
    expect(await evaluate('CAST(:p AS VARCHAR)', '2024-01-02')).toEqual([{ value: '2024-01-02' }]);
    expect(await evaluate(':p * 1.5', 3)).toEqual([{ value: 4.5 }]);
  });

  it('gives each value its own type, whatever is beside it', async () => {
    const values: JsonValue[] = [
      1,
      2 ** 53,
      9_223_372_036_854_775_807n,
      1.5,
      'a',
      true,
      [1],
      [1.5],
      {},
      [{}],
      [1, 'a'],
      [[]],
    ];
    const expected = 'BIGINT BIGINT BIGINT DOUBLE VARCHAR BOOLEAN BIGINT[] DOUBLE[] JSON JSON[] JSON[] JSON[][]'.split(
      ' ',
    );
    const found = await evaluate('upper(pg_typeof(:p))', ...values);
    expect(found.map((one, index) => [values[index], one])).toEqual(
      values.map((value, index) => [value, { value: index === 1 ? 'DOUBLE' : expected[index] }]),
    );
  });

  it('casts to INT with 64 bits, or with 32 where the engine takes no more', async () => {
    expect(await evaluate('CAST(:p AS INT)', '9780439023481', 1.9)).toEqual([{ value: 9780439023481 }, { value: 1 }]);
    expect(await evaluate("lpad('a', :p::int, '0')", 3, '2')).toEqual([{ value: '00a' }, { value: '0a' }]);
    expect(await evaluate("DATE '2024-01-01' + CAST(:p AS int)", 1)).toMatchObject([{ value: '2024-01-02' }]);
  });

  it('gives values back exactly', async () => {
    const values: JsonValue[] = [
      null,
      0.1,
      -9_223_372_036_854_775_808n,
      '😀\u0000\n',
      [],
      [null],
      { a: { '': 1n << 60n } },
    ];
    expect(await evaluate(':p', ...values)).toEqual(values.map((value) => ({ value })));
  });

  it('tells the rows that fail from the others, each with its own reason', async () => {
    const values = Array.from({ length: 300 }, (_, index) => (index % 3 === 0 ? `x${index}` : String(index)));
    const found = await evaluate('CAST(:p AS INTEGER)', ...values);
    expect(found.filter((one) => 'error' in one)).toHaveLength(100);
    expect(found[1]).toEqual({ value: 1 });
    expect(found[3]).toEqual(failing("'x3'"));
    expect(found[299]).toEqual({ value: 299 });
  });

  it('knows NULL from a failure', async () => {
    expect(await evaluate("CASE :p WHEN 1 THEN NULL ELSE CAST('x' || :p AS INTEGER) END", 1, 2)).toEqual([
      { value: null },
      failing('x2'),
    ]);
  });

  it('finds the failing rows of functions that TRY does not accept', async () => {
    const found = await evaluate("CASE WHEN :p % 50 = 7 THEN error('no ' || :p) ELSE :p END", ...Array(120).keys());
    expect(found[7]).toEqual(failing('no 7'));
    expect(found[57]).toEqual(failing('no 57'));
    expect(found.filter((one) => 'error' in one)).toHaveLength(3);
  });

  it('says in few words what does not fit', async () => {
    const [found] = await evaluate(':p + 1', 'a');
    expect(found).toEqual(failing("No function matches the given name and argument types '+(VARCHAR"));
    expect(JSON.stringify(found)).not.toContain('Candidate');
  });

  it('refuses values that are no JSON', async () => {
    expect(await evaluate('0.0 / :p', 0, 1)).toEqual([failing('NaN or an infinity'), { value: 0 }]);
  });

  it('folds the names of parameters, and keeps lambdas their own', async () => {
    expect(await evaluate(':P || :p', 'a')).toEqual([{ value: 'aa' }]);
    expect(await evaluate('list_transform([1, 2], lambda p: p + :p)', 10)).toEqual([{ value: [11, 12] }]);
    expect(await evaluate("':p' || :p -- :q", 'a')).toEqual([{ value: ':pa' }]);
  });

  it('stops what is too large', async () => {
    const many = Array.from({ length: 1_000 }, () => 'x');
    await expect(evaluate('repeat(:p, 10000)', ...many)).rejects.toMatchObject({ code: 'content_too_large' });
    expect(await evaluate(':p', 1)).toEqual([{ value: 1 }]);
  });

  it('stops what takes too long', async () => {
    const impatient = await open('impatient.duckdb', 200);
    // Seconds in total, but in short steps: the engine checks between two steps whether to stop.
    const slow = Array.from({ length: 40_000 }, (_, index) => [`x${index}`]);
    const expression = { sql: "levenshtein(repeat(:p, 20), repeat('y', 1500))", parameters: ['p'] };
    await expect(impatient.evaluate(expression, slow)).rejects.toMatchObject({ code: 'query_timeout' });
    await impatient.close();
  });

  it('passes the gate again: what was never checked does not run', async () => {
    for (const sql of [
      '(SELECT 1)',
      "read_text('/etc/passwd')",
      '1 FROM range(3)',
      ':q',
      '1); DROP TABLE x; SELECT (1',
    ]) {
      await expect(evaluate(sql, 1)).rejects.toMatchObject({ code: 'query_error' });
    }
  });
});

describe('readTimes()', () => {
  it('reads texts in a zone, and gives null for those that do not fit', async () => {
    const format = { pattern: '%d.%m.%Y %H:%M', timeZone: 'Europe/Berlin' };
    expect(await engine.readTimes(['01.07.2026 12:00', 'x', ''], format)).toEqual([1_782_900_000_000_000n, null, null]);
  });

  it.each([
    ['%Q', 'UTC', '"%Q"'],
    ['%Y', 'No/Where', '"No/Where"'],
    ["%Y'); --", "x'", "x'"],
    ['%Y\0', 'UTC', 'NUL'],
  ])('refuses %j in %j', async (pattern, timeZone, why) => {
    await expect(engine.readTimes(['2026'], { pattern, timeZone })).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining(why),
    });
  });
});

describe('a decimal of a number has the digits that the number has in its document', () => {
  const declared = 'decimal 38 2';
  it.each<[string, JsonValue, unknown]>([
    ['CAST(:p AS DECIMAL(38, 2))', 1.005, { value: 1.01, declared }],
    [':p::decimal(38, 2)', 12345678901234.56, { value: '12345678901234.56', declared }],
    ['try_cast(:p as numeric(38, 2))', '12345678901234567.12', { value: '12345678901234567.12', declared }],
    ['CAST(:p AS DECIMAL(38, 2))', 12345678901234567890n, { value: '12345678901234567890.00', declared }],
    ['CAST(:p AS DECIMAL(30, 2))', 1e22, { value: 1e22, declared: 'decimal 30 2' }],
    ['(:p + 0.5)::DECIMAL(38, 2)', 1e22 + 2 ** 21, failing('e+22 has fewer digits than this decimal')],
    ['CAST(:p AS DECIMAL(38, 2))', 1e22, { value: 1e22, declared }],
    ['CAST(:p AS DECIMAL(38, 20))', 1.1, { value: 1.1, declared: 'decimal 38 20' }],
    ['CAST(:p * 1 AS DECIMAL(38, 20))', 1.1, failing('give it as text')],
    ['CAST(round(:p, 2) AS DECIMAL(18, 2))', 1234.567, { value: 1234.57, declared: 'decimal 18 2' }],
    ['CAST(:p AS DECIMAL(38, 2))', Number('12345678901234567.12'), failing('give it as text')],
    ['CAST(:p[1] AS DECIMAL(38, 2))', [Number('12345678901234567.12')], failing('give it as text')],
  ])('%s of %s', async (sql, value, expected) => {
    expect(await evaluate(sql, value)).toEqual([expected]);
    const rows = await evaluate(sql, value, 0.5, value);
    expect(rows[2]).toEqual(rows[0]);
  });
});
