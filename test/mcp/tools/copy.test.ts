import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import type { JsonObject } from '../../../src/contract/json/json.ts';
import { type Client, createClient } from '../../../src/http/client.ts';
import { exportParts, withCollectionFile } from '../../../src/mcp/export-parts.ts';
import { copyTool } from '../../../src/mcp/tools/copy.ts';
import type { ToolContext } from '../../../src/mcp/tools/tool.ts';
import { startTestService, type TestService } from '../../service/harness.ts';

let service: TestService;
let client: Client;
beforeAll(async () => {
  service = await startTestService();
  client = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
});
afterAll(async () => {
  await client.close();
  await service.remove();
});

async function load(name: string, data: readonly JsonObject[], more: object = {}): Promise<void> {
  await client.createCollection({ workspace: 'commons', name, ...more });
  await client.addDocuments({ workspace: 'commons', collection: name, data: [...data] });
}

async function copy(collection: string, to: string, more: Partial<ToolContext> = {}) {
  const tool = copyTool();
  const context: ToolContext = { client, signal: undefined, progress: () => undefined, means: {}, ...more };
  return tool.run(context, tool.read({ workspace: 'commons', collection, to }));
}

/** All documents as they are stored, one a line. */
async function stored(workspace: string, collection: string): Promise<string[]> {
  const chunks: Buffer[] = [];
  await withCollectionFile(client, { workspace, collection, format: 'jsonl' }, undefined, async (file) => {
    for await (const part of exportParts(client, file)) chunks.push(part);
  });
  return Buffer.concat(chunks).toString().trim().split('\n').sort();
}

async function typesOf(table: string) {
  const { column_fields: columns } = await client.runQuery({ sql: { query: `SELECT * FROM ${table} LIMIT 0` } });
  return new Map(columns?.map(({ name, type }) => [name, type]));
}

const ODD: JsonObject[] = Array.from({ length: 300 }, (_, n) => ({
  _id: `d${n}`,
  _event_time: `2025-01-01T00:00:${String(n % 60).padStart(2, '0')}.000000Z`,
  n,
  at: n % 2 === 0 ? '2026-01-31T10:00:00+02:00' : '2026-02-01T00:00:00.5Z',
  counts: { [`key ${n}`]: n },
  mixed: n === 7 ? 'seven' : n === 8 ? [1] : { a: n },
  list: [{ x: n / 4 }],
}));

describe('copy_collection', () => {
  it('copies documents as they are stored, with times as they were spelled and what does not fit', async () => {
    await load('odd', ODD, { recognize_times: true, description: 'Odd ones', retention_secs: 300_000_000 });
    await client.createWorkspace({ name: 'archive' });
    const { data, isError } = await copy('odd', 'archive.odd_too');
    expect(data).toEqual({
      done: 'Copied 300 documents: commons.odd to archive.odd_too.',
      documents: 300,
      complete: true,
      warnings: [expect.stringContaining('2 of "mixed"')],
    });
    expect(isError).toBeUndefined();
    expect(await stored('archive', 'odd_too')).toEqual(await stored('commons', 'odd'));
    expect(await typesOf('archive.odd_too')).toEqual(await typesOf('commons.odd'));
    expect(await client.getCollection({ workspace: 'archive', collection: 'odd_too' })).toMatchObject({
      description: 'Odd ones',
      retention_secs: 300_000_000,
      recognize_times: true,
    });
  });

  it('keeps types that only a mapping has declared, and says that the mapping stays behind', async () => {
    const price = { field_name: 'price', value: 'TRY_CAST(:p AS DECIMAL(18, 2))', on_error: 'FAIL' as const };
    const input_fields = [{ field_name: 'p', if_missing: 'SKIP' as const, is_drop: true, param: 'p' }];
    await load('prices', [{ _id: '1', p: '12.50' }], {
      field_mappings: [{ name: 'p', input_fields, output_field: price }],
    });
    const { data } = await copy('prices', 'prices_too');
    expect(data).toMatchObject({ complete: true, not_copied: ['field_mappings'] });
    expect((await typesOf('prices_too')).get('price')).toBe('DECIMAL(18,2)');
    expect(await stored('commons', 'prices_too')).toEqual(await stored('commons', 'prices'));
  });

  it('says which types come out otherwise, since the documents that they came from are gone', async () => {
    await load('shrunk', [{ _id: 'x', n: 'none', m: 1 }]);
    await client.addDocuments({ workspace: 'commons', collection: 'shrunk', data: [{ _id: '1', m: 1 }] });
    await client.deleteDocuments({ workspace: 'commons', collection: 'shrunk', data: [{ _id: 'x' }] });
    const { data } = await copy('shrunk', 'shrunk_too');
    expect(data).toMatchObject({ other_types: [{ column: 'n', type: 'none', was: 'VARCHAR' }] });
  });

  it('copies an empty collection', async () => {
    await client.createCollection({ workspace: 'commons', name: 'empty' });
    expect((await copy('empty', 'empty_too')).data).toMatchObject({ documents: 0, complete: true });
  });

  it('adds to nothing that exists, and needs a collection to copy', async () => {
    await expect(copy('odd', 'prices')).rejects.toMatchObject({ code: 'already_exists' });
    await expect(copy('nothing', 'more')).rejects.toMatchObject({ code: 'not_found' });
    await expect(copy('odd', 'commons.')).rejects.toMatchObject({ code: 'invalid_input' });
  });

  it('names the aliases of the source and its clustering key, which stay behind', async () => {
    const clustering_key = [{ field_name: 'n', type: 'AUTO' }];
    await load('clustered', [{ _id: '1', n: 1 }], { clustering_key });
    await client.createAlias({ workspace: 'commons', name: 'also', collections: ['commons.clustered'] });
    const { data, next } = await copy('clustered', 'clustered_too');
    expect(data).toMatchObject({ not_copied: ['clustering_key', 'alias commons.also'] });
    expect(next).toMatch(/lambdas/);
  });

  it('takes names of fields for no types', async () => {
    const at = '2026-01-31T10:00:00+02:00';
    await load('named', [{ _id: '1', o: { DATE: 'x', 'a "UUID" b': 'y', TIME: at } }]);
    expect((await copy('named', 'named_too')).data).toMatchObject({ complete: true });
    await load('timed', [{ _id: '1', at, o: { DECIMAL: 'x' } }], { recognize_times: true });
    const { next } = await copy('timed', 'timed_too');
    expect(next).not.toMatch(/spelled/);
    expect(await stored('commons', 'timed_too')).toEqual(await stored('commons', 'timed'));
  });

  it('says that times are spelled anew where other types are declared', async () => {
    const price = { field_name: 'price', value: 'TRY_CAST(:p AS DECIMAL(18, 2))', on_error: 'FAIL' as const };
    const input_fields = [{ field_name: 'p', if_missing: 'SKIP' as const, is_drop: true, param: 'p' }];
    const field_mappings = [{ name: 'p', input_fields, output_field: price }];
    const at = '2026-01-31T10:00:00+02:00';
    const odd = [1, 2, 'x'].map((mixed, n) => ({ _id: `d${n}`, p: '1', mixed }));
    await load('both', [{ _id: '1', p: '12.50', at, h: 123456789012345678901n }, ...odd] as JsonObject[], {
      recognize_times: true,
      field_mappings,
    });
    const { data, next } = await copy('both', 'both_too');
    expect(data).toMatchObject({
      complete: true,
      retyped: [{ name: 'h', type: 'HUGEINT', written_as: 'DECIMAL(38,0)' }],
      warnings: [expect.stringContaining('1 of "mixed"')],
    });
    expect(next).toContain('2026-01-31T08:00:00.000000Z');
    expect((await stored('commons', 'both_too'))[0]).toContain('"at":"2026-01-31T08:00:00.000000Z"');
  });

  it('takes names as they are printed', async () => {
    await client.createWorkspace({ name: 'my-ws' });
    await client.createWorkspace({ name: 'my-ws.sub' });
    const { data } = await copy('empty', '"my-ws.sub"."em-pty"');
    expect(data).toMatchObject({ done: expect.stringContaining('to "my-ws.sub"."em-pty".') });
    expect((await copy('empty', 'my-ws.sub.more')).data).toMatchObject({ complete: true });
  });

  it('makes no workspace, which may be a slip, and names those that are near', async () => {
    await expect(copy('empty', 'archvie.empty')).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('"archive"'),
      details: { messageKey: 'WORKSPACE_NOT_FOUND' },
    });
  });

  it('leaves nothing if the export fails', async () => {
    const exportCollection = () => Promise.reject(new ApiError('storage_full', 'The disk is full.'));
    const failing = { ...client, exportCollection };
    await expect(copy('odd', 'never', { client: failing })).rejects.toMatchObject({ code: 'storage_full' });
    await expect(client.getCollection({ workspace: 'commons', collection: 'never' })).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it.each([false, true])('says what exists if the load ends early (cancelled: %s)', async (isCancelled) => {
    const over = new AbortController();
    const broken: Client['load'] = async (_call, _body, options) => {
      options?.onProgress?.({ entries: 100, added: 100, replaced: 0 });
      if (isCancelled) over.abort();
      throw new ApiError(isCancelled ? 'aborted' : 'connection_failed', 'It is gone.');
    };
    const to = `part_${isCancelled}`;
    const answer = await copy('odd', to, { client: { ...client, load: broken }, signal: over.signal });
    expect(answer).toMatchObject({
      isError: true,
      data: {
        done: `Copied 100 of 300 documents: commons.odd to commons.${to}.`,
        complete: false,
        stopped: isCancelled ? 'it was cancelled' : 'It is gone.',
      },
    });
    expect(answer.next).toMatch(/not known: delete the new collection if it exists, and copy again/);
  });

  it('tells how far it is, on both ways', async () => {
    const told: number[] = [];
    await copy('odd', 'odd_told', { progress: (done, total) => told.push(done, total ?? 0) });
    expect(told.slice(-2)).toEqual([600, 600]);
  });
});
