import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import type { Client } from '../../../src/http/client.ts';
import { lambdaColumns } from '../../../src/mcp/tools/lambda-columns.ts';
import { ERAS, type EraClient, fillShop, openStage, type Stage } from '../era-clients.ts';

let stage: Stage;
let client: EraClient;
let versions: { first: string; second: string };
beforeAll(async () => {
  stage = await openStage();
  versions = await fillShop(stage);
  const [, modern] = ERAS;
  if (modern === undefined) throw new Error('no era');
  client = await modern.open(stage.assistant());
});
afterAll(async () => {
  await client.close();
  await stage.remove();
});

const place = { workspace: 'shop', lambda: 'big' };

async function compare(args: Record<string, unknown>) {
  const result = await client.callTool({ name: 'compare_lambda_versions', arguments: { ...place, ...args } });
  return result as {
    isError?: boolean;
    structuredContent: Record<string, unknown> & { error?: { code: string; message: string; did_you_mean?: string[] } };
    content: { text: string }[];
  };
}

describe('compare_lambda_versions', () => {
  it('says what differs between a tag and the latest version, and what breaks callers', async () => {
    const { structuredContent, content } = await compare({ from: 'production', to: 'latest' });
    expect(structuredContent).toMatchObject({
      lambda: 'shop.big',
      from: `${versions.first} (production)`,
      to: `${versions.second} (latest)`,
      verdict: 'breaks callers',
      to_is: 'newer',
      sql_diff: '  SELECT _id, total\n  FROM shop.orders\n- WHERE total > :min\n+ WHERE total > :min AND city = :city',
      parameters: [
        { name: 'min', change: 'changed', from: 'int, default "10"', to: 'float, default "10"', breaks: true },
        { name: 'city', change: 'added', to: 'any type, required', breaks: true },
      ],
      description: { from: 'Large orders', to: 'Large orders of a city' },
      next: expect.stringMatching(/^2 changes of parameters break callers/),
    });
    expect(content[0]?.text).toContain('+ WHERE total > :min AND city = :city');
  });

  it('says what the latest version changed, if nothing else is given', async () => {
    const { structuredContent } = await compare({});
    expect(structuredContent).toMatchObject({
      from: versions.first,
      to: `${versions.second} (latest)`,
      verdict: 'breaks callers',
      to_is: 'newer',
    });
    expect((await compare({ from: 'production' })).structuredContent).toMatchObject({ to_is: 'newer' });
    await client.callTool({
      name: 'create_lambda',
      arguments: { workspace: 'shop', lambda: 'only', sql: { query: 'SELECT 1 AS one' } },
    });
    const only = await compare({ lambda: 'only' });
    expect(only.content[0]?.text).toContain('no version before latest');
    for (const one of ['SELECT 2 AS two', 'SELECT 1 AS one'])
      await client.callTool({
        name: 'create_lambda_version',
        arguments: { workspace: 'shop', lambda: 'only', sql: { query: one } },
      });
    // The first version again: what was latest before is the newest.
    const again = await compare({ lambda: 'only' });
    expect(again.structuredContent).toMatchObject({ to_is: 'older', verdict: 'breaks callers' });
  });

  it('takes a parameter that is declared without a value for a required one with a type', async () => {
    const query = 'SELECT _id, total\nFROM shop.orders\nWHERE total > :min';
    const { structuredContent } = await compare({
      from: 'production',
      sql: { query, default_parameters: [{ name: 'min', type: 'int' }] },
    });
    expect(structuredContent).toMatchObject({
      parameters: [{ name: 'min', change: 'changed', from: 'int, default "10"', to: 'int, required', breaks: true }],
    });
  });

  it('compares with a draft that is stored nowhere', async () => {
    const query = 'SELECT _id, total\nFROM shop.orders\nWHERE total > :min';
    const sql = { query, default_parameters: [{ name: 'min', type: 'int', value: '20' }] };
    const { structuredContent, content } = await compare({ from: 'production', sql });
    expect(content[0]?.text).not.toContain('undefined');
    expect(structuredContent).toMatchObject({
      to: 'draft',
      verdict: 'compatible',
      parameters: [
        { name: 'min', change: 'changed', from: 'int, default "10"', to: 'int, default "20"', breaks: false },
      ],
    });
    expect(structuredContent['next']).toContain('Changed SQL or defaults can give other rows.');
    expect(structuredContent).not.toHaveProperty('description');
    expect(await stage.other.listLambdaVersions({ workspace: 'shop', queryLambda: 'big' })).toHaveLength(2);
  });

  it('counts one change as one', async () => {
    const sql = { query: 'SELECT _id, total\nFROM shop.orders\nWHERE total > :min AND city = :city' };
    const { structuredContent } = await compare({ from: 'latest', sql });
    expect(structuredContent['next']).toMatch(/1 change of parameters breaks callers/);
  });

  it('says which result columns go, change their type, and come', async () => {
    const query = "SELECT count(*) AS orders, 'x' AS total -- of a text\nFROM shop.orders WHERE total > :min;";
    const sql = { query, default_parameters: [{ name: 'min', type: 'int', value: '10' }] };
    const { structuredContent } = await compare({ from: 'production', sql });
    expect(structuredContent['columns']).toEqual([
      { name: '_id', change: 'removed', from: 'VARCHAR', breaks: true },
      { name: 'total', change: 'changed', from: expect.any(String), to: 'VARCHAR', breaks: true },
      { name: 'orders', change: 'added', to: 'BIGINT', breaks: false },
    ]);
    expect(structuredContent['next']).toMatch(/^2 changes of result columns break callers/);
  });

  it('takes a default of the type null as a run does, so that a renamed column is seen', async () => {
    const lambda = { workspace: 'shop', queryLambda: 'optional' };
    const of = (column: string) => ({
      query: `SELECT count(*) AS ${column} FROM shop.orders WHERE :c IS NULL OR city = :c`,
      default_parameters: [{ name: 'c', type: 'null' as const }],
    });
    await stage.other.createLambdaVersion({ ...lambda, create: true, sql: of('n') });
    const { structuredContent } = await compare({ lambda: 'optional', sql: of('n2') });
    expect(structuredContent).toMatchObject({
      verdict: 'breaks callers',
      columns: [
        { name: 'n', change: 'removed' },
        { name: 'n2', change: 'added' },
      ],
    });
    expect(structuredContent).not.toHaveProperty('null_taken_for');
  });

  it('finds columns of SQL with parameters that have no value', async () => {
    const { structuredContent } = await compare({
      from: 'production',
      sql: { query: 'SELECT _id FROM shop.orders WHERE total > :min' },
    });
    expect(structuredContent).toMatchObject({
      columns: [{ name: 'total', change: 'removed', breaks: true }],
      null_taken_for: ['min'],
      next: expect.stringMatching(/1 change of parameters and 1 change of result columns break callers/),
    });
  });

  it('says that types of columns made of a parameter without a value may be others', async () => {
    const { structuredContent } = await compare({
      from: 'production',
      sql: { query: 'SELECT :min AS _id, total FROM shop.orders' },
    });
    expect(structuredContent['next']).toMatch(/Types were found with NULL for the parameters/);
  });

  it.each([
    ['SELECT _id FROM shop.nothing', /nothing/],
    ['SELECT FROM WHERE', /syntax|parse/i],
  ])('says that the draft %s does not run', async (query, why) => {
    const { structuredContent } = await compare({ from: 'production', sql: { query } });
    expect(structuredContent['verdict']).toBe('breaks callers');
    expect(structuredContent).toMatchObject({ does_not_run: { to: expect.stringMatching(why) } });
    expect(structuredContent).not.toHaveProperty('columns');
    expect(structuredContent['next']).toMatch(/SQL that does not run break/);
    expect(structuredContent['next']).toMatch(/result columns could not be compared/);
  });

  it('says which version is older, and where columns are in another order', async () => {
    const back = await compare({ from: 'latest', to: 'production' });
    expect(back.structuredContent).toMatchObject({ verdict: 'breaks callers', to_is: 'older' });
    const query = 'SELECT total, _id\nFROM shop.orders\nWHERE total > :min';
    const sql = { query, default_parameters: [{ name: 'min', type: 'int', value: '10' }] };
    const moved = await compare({ from: 'production', sql });
    expect(moved.structuredContent).toMatchObject({ verdict: 'compatible', columns_in_order: ['total', '_id'] });
    expect(moved.structuredContent).not.toHaveProperty('to_is');
  });

  it('says where nothing differs', async () => {
    const { structuredContent } = await compare({ from: versions.first, to: 'production' });
    expect(structuredContent).toMatchObject({ verdict: 'same' });
    expect(structuredContent).not.toHaveProperty('next');
  });

  it.each([
    [{ to: 'latest', sql: { query: 'SELECT 1' } }, /both "to" and "sql" are given/],
    [{ to: 'latest', form: 'x' }, /did you mean "from"/],
  ])('refuses %j', async (args, why) => {
    const { isError, structuredContent } = await compare(args);
    expect(isError).toBe(true);
    expect(structuredContent.error).toMatchObject({ code: 'invalid_input', message: expect.stringMatching(why) });
  });

  it('names the nearest tag, version and lambda', async () => {
    const mistyped = await compare({ from: 'prodction', to: 'latest' });
    expect(JSON.stringify(mistyped.structuredContent)).toMatch(/did.you.mean.{1,5}production/i);
    const other = await compare({ lambda: 'bgi', to: 'latest' });
    expect(JSON.stringify(other.structuredContent)).toMatch(/did.you.mean.{1,5}big/i);
    const unknown = await compare({ from: '0123456789abcdef', to: 'latest' });
    expect(unknown.structuredContent.error?.code).toBe('not_found');
  });
});

describe('lambdaColumns', () => {
  const sql = { query: 'SELECT a FROM shop.orders WHERE a > :min' };

  it('says that a service tells no columns', async () => {
    const silent = { validateQuery: async () => ({}), runQuery: async () => ({ results: [] }) } as unknown as Client;
    expect(await lambdaColumns(silent, { sql }, undefined)).toEqual({
      kind: 'unknown',
      why: expect.stringContaining('tells no columns'),
    });
  });

  it('says which parameters have no value where SQL runs with none', async () => {
    const wanting = {
      validateQuery: async () => ({ parameters: ['min'] }),
      runQuery: async () => Promise.reject(new ApiError('query_error', 'Cannot run it.')),
    } as unknown as Client;
    expect(await lambdaColumns(wanting, { sql }, undefined)).toEqual({
      kind: 'unknown',
      why: 'No value is known for :min. Cannot run it.',
    });
  });
});
