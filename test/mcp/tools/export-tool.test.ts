import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fileMeans } from '../../../src/cli/means.ts';
import { type Client, createClient } from '../../../src/http/client.ts';
import { runTool } from '../../../src/mcp/call.ts';
import type { ToolResult } from '../../../src/mcp/fence.ts';
import type { Means } from '../../../src/mcp/means.ts';
import { tools } from '../../../src/mcp/tools/tools.ts';
import { startTestService, type TestService } from '../../service/harness.ts';

let service: TestService;
let client: Client;
let out: string;
let means: Means;
beforeAll(async () => {
  service = await startTestService();
  client = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
  out = join(service.folder, 'out');
  mkdirSync(out);
  means = fileMeans({ dataDir: join(service.folder, 'none'), exportDirs: [out] });
  await client.createCollection({ workspace: 'commons', name: 'docs' });
  const data = Array.from({ length: 60 }, (_, n) => ({ _id: `d${n}`, big: 2n ** 100n, n }));
  await client.addDocuments({ workspace: 'commons', collection: 'docs', data });
});
afterAll(async () => {
  await client.close();
  await service.remove();
});

async function call(args: Record<string, unknown>, own: Means = means): Promise<ToolResult> {
  const tool = tools().get('export_result');
  if (tool === undefined) throw new Error('no tool');
  const human = { ask: async () => ({ kind: 'approved' as const, by: 'chat' as const }) };
  const onFault = (error: unknown) => {
    throw error;
  };
  const run = { tool, args, connect: async () => client, human, signal: undefined, means: own, onFault };
  return (await runTool(run)) as ToolResult;
}

const answer = async (args: Record<string, unknown>, own?: Means) => (await call(args, own)).structuredContent;
const failure = async (args: Record<string, unknown>, own?: Means) => {
  const { isError, structuredContent } = await call(args, own);
  expect(isError).toBe(true);
  return structuredContent['error'];
};

describe('export_result', () => {
  it('writes a whole collection to a folder that the operator allows', async () => {
    const told = await answer({ collection: 'docs', path: 'docs.jsonl' });
    const text = readFileSync(join(out, 'docs.jsonl'), 'utf8');
    expect(told).toMatchObject({ path: join(out, 'docs.jsonl'), format: 'jsonl', rows: 60, bytes: text.length });
    expect(text.split('\n')[7]).toMatch(/^\{"_id":"d7",.*"big":1267650600228229401496703205376,"n":7\}$/);
  });

  it('writes a kept result there, compressed if the name says so', async () => {
    const { query_id } = await client.runQuery({ sql: { query: 'SELECT n FROM docs ORDER BY n' } }, { keepResult: 5 });
    const told = await answer({ query_id, path: 'rows.csv.gz' });
    expect(told).toMatchObject({ path: join(out, 'rows.csv.gz'), format: 'csv', gzip: true, rows: 60 });
    expect(readFileSync(join(out, 'rows.csv.gz')).subarray(0, 2)).toEqual(Buffer.from([0x1f, 0x8b]));
  });

  it('says which columns Parquet has as another type', async () => {
    const told = await answer({ workspace: 'commons', collection: 'docs', path: 'docs.parquet' });
    expect(told).toMatchObject({ rows: 60, written_as: [['big', 'HUGEINT', 'DECIMAL(38,0)']] });
  });

  it('does not say where files are to those on another machine', async () => {
    const told = await answer({ collection: 'docs', path: 'far.csv' }, { ...means, isElsewhere: true });
    expect(told['path']).toBe('far.csv');
  });

  it('refuses what it cannot do, and says how it can', async () => {
    expect(await failure({})).toMatchObject({ message: expect.stringContaining('either "query_id" or "collection"') });
    const without = await failure({ collection: 'docs' });
    expect(without).toMatchObject({ message: expect.stringMatching(/needs a "path" .* in \/.*\/out\.$/) });
    expect(await failure({ collection: 'docs' }, {})).toMatchObject({
      message: expect.stringContaining('(--export-dirs)'),
    });
    expect(await failure({ query_id: 'x' })).toMatchObject({ message: expect.stringContaining('give "format"') });
    expect(await failure({ collection: 'docs', path: 'x.parquet.gz' })).toMatchObject({
      message: expect.stringContaining('by itself'),
    });
    expect(await failure({ collection: 'docs', path: 'x.csv' }, {})).toMatchObject({
      message: expect.stringContaining('--export-dirs'),
    });
    expect(await failure({ collection: 'docs', path: '../x.csv' })).toMatchObject({ code: 'invalid_input' });
    await answer({ collection: 'docs', path: 'twice.csv' });
    expect(await failure({ collection: 'docs', path: 'twice.csv' })).toMatchObject({ code: 'already_exists' });
    expect(await failure({ collection: 'doc', path: 'x.csv' })).toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('Did you mean "docs"'),
    });
  });
});
