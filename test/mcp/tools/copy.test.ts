import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/contract/json/json.ts';
import { type Client, createClient } from '../../../src/http/client.ts';
import { exportParts, withCollectionFile } from '../../../src/mcp/export-parts.ts';
import { copyTool } from '../../../src/mcp/tools/copy.ts';
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

async function copy(collection: string, to: string) {
  const tool = copyTool();
  const context = { client, signal: undefined, progress: () => undefined, means: {} };
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
    const { data, isError } = await copy('odd', 'archive.odd_too');
    expect(data).toEqual({
      done: 'Copied 300 documents: commons.odd to archive.odd_too.',
      documents: 300,
      complete: true,
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

  it('copies an empty collection', async () => {
    await client.createCollection({ workspace: 'commons', name: 'empty' });
    expect((await copy('empty', 'empty_too')).data).toMatchObject({ documents: 0, complete: true });
  });

  it('adds to nothing that exists, and needs a collection to copy', async () => {
    await expect(copy('odd', 'prices')).rejects.toMatchObject({ code: 'already_exists' });
    await expect(copy('nothing', 'more')).rejects.toMatchObject({ code: 'not_found' });
    await expect(copy('odd', 'commons.')).rejects.toMatchObject({ code: 'invalid_input' });
  });
});
