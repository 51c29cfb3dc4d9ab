import { afterAll, beforeAll, expect, it } from 'vitest';
import type { QueryLambda } from '../../../src/contract/lambdas.ts';
import { type Client, createClient } from '../../../src/http/client.ts';
import { callTool } from '../../../src/mcp/call.ts';
import { BUDGET } from '../../../src/mcp/results.ts';
import { estimateTokens } from '../../../src/mcp/room.ts';
import { presentLambdas } from '../../../src/mcp/tools/lambda-overview.ts';
import { startTestService, type TestService } from '../../service/harness.ts';

let service: TestService;
let client: Client;
const LAMBDA = { workspace: 'commons', lambda: 'daily' };
const SQL = { query: 'SELECT :n + 41000 AS n', default_parameters: [{ name: 'n', type: 'int', value: 7012 }] };

beforeAll(async () => {
  service = await startTestService();
  client = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
});
afterAll(async () => {
  await client.close();
  await service.remove();
});

const call = (name: string, args: Record<string, unknown>) =>
  callTool({ client, name, args, confirm: async () => false });

it('shows tags without the SQL of their versions, versions with their tags, and repeats no SQL that was sent', async () => {
  const made = await call('create_lambda', { ...LAMBDA, sql: SQL });
  const { version } = made.structured;
  expect(made.text).toContain(version);
  expect(made.text).not.toMatch(/41000|7012/);

  const tagged = await call('tag_lambda_version', { ...LAMBDA, tag: 'production', version });
  const tags = await call('list_lambda_tags', LAMBDA);
  for (const { text, structured } of [tagged, tags]) {
    expect(text).toMatch(/production.*/s);
    expect(text).toContain(version);
    expect(text + JSON.stringify(structured)).not.toMatch(/41000|7012|last_exec/);
  }
  const wrong = await call('execute_lambda_version', { ...LAMBDA, version: 'production' });
  expect(wrong.structured['next']).toBe('Run what a tag is on with execute_lambda_tag.');
  const versions = await call('list_lambda_versions', LAMBDA);
  expect(versions.structured['items']).toMatchObject([{ version, sql: SQL, tags: ['latest', 'production'] }]);
});

it('tells a default of null from none', async () => {
  const lambda = { ...LAMBDA, lambda: 'optional' };
  const declared = [
    { name: 'a', type: 'string', value: null },
    { name: 'b', type: 'string' },
  ];
  await call('create_lambda', { ...lambda, sql: { query: 'SELECT :a AS a, :b AS b', default_parameters: declared } });
  const { structured } = await call('list_lambda_versions', lambda);
  expect(structured['items']).toMatchObject([{ sql: { default_parameters: declared } }]);
  expect(JSON.stringify(structured)).not.toContain('"name":"b","type":"string","value"');
});

it('lists as many lambdas as an answer may have, and names of the others', () => {
  const parameters = Array.from({ length: 50 }, (_, n) => ({ name: `parameter_${n}`, type: 'int', value: n }));
  const lambdas = Array.from({ length: 300 }, (_, n) => ({
    workspace: 'ws',
    name: `lambda_${n}`,
    version_count: 1,
    latest_version: { description: 'word '.repeat(100), sql: { query: 'SELECT 1', default_parameters: parameters } },
  })) as unknown as QueryLambda[];
  const { text = '', next } = presentLambdas(lambdas);
  expect(estimateTokens(text)).toBeLessThan(BUDGET.tokensMax + 1_500);
  const [, listed = '', total, first] = /^\((\d+) of (\d+); then (\S+), .*, \+\d+\)$/m.exec(text) ?? [];
  expect(Number(listed)).toBeGreaterThan(10);
  expect([total, first]).toEqual(['300', `ws.lambda_${listed}`]);
  expect(next).toContain(`${300 - Number(listed)} are left out`);
});

it('says of a lambda and of a version alike that its SQL does not bind', () => {
  const version = {
    workspace: 'ws',
    name: 'big',
    version: '0a1b2c3d',
    state: 'INVALID_SQL',
    sql: { query: 'SELECT x' },
  };
  const lambda = { workspace: 'ws', name: 'big', version_count: 2, latest_version: version };
  const textOf = (one: unknown) => presentLambdas([one as QueryLambda]).text;
  expect(textOf(version)).toBe('ws.big (version 0a1b2c3d, INVALID_SQL): SELECT x\n(1)');
  expect(textOf(lambda)).toBe('ws.big (2 versions, INVALID_SQL): SELECT x\n(1)');
});

it('lists lambdas in a line each: what each is for, its parameters and its SQL', async () => {
  const lambda = { ...LAMBDA, lambda: 'per_day' };
  const query = 'SELECT :day AS day -- as it is\nFROM (SELECT 1) AS t';
  const parameters = [{ name: 'day', type: 'date', value: '2026-01-01' }];
  await call('create_lambda', {
    ...lambda,
    description: 'Sales\nper day',
    sql: { query, default_parameters: parameters },
  });
  const { text, structured } = await call('list_lambdas', {});
  expect(text).toMatch(
    /^commons\.per_day \(1 version, the latest of \d{4}-\d\d-\d\dT\d\d:\d\dZ\): "Sales per day"; :day date = "2026-01-01"; SELECT :day AS day -- as it is\\nFROM \(SELECT 1\) AS t$/m,
  );
  expect(text).toContain(':a string = null, :b string; SELECT');
  expect(structured['items']).toContainEqual(expect.objectContaining({ name: 'per_day', version_count: 1 }));
  expect((await call('list_workspace_lambdas', { workspace: 'commons' })).text).toContain('"Sales per day"; :day date');
});
