import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/contract/json/json.ts';
import { type Client, createClient } from '../../../src/http/client.ts';
import { describeCollection } from '../../../src/mcp/tools/describe.ts';
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

let count = 0;
async function load(documents: readonly JsonObject[]): Promise<string> {
  const collection = `all${++count}`;
  await client.createCollection({ workspace: 'commons', name: collection, recognize_times: true });
  await client.addDocuments({ workspace: 'commons', collection, data: [...documents] });
  return collection;
}

async function linesOf(collection: string, input: { path?: string; search?: string; lines?: number } = {}) {
  const context = { client, signal: undefined };
  const { data } = await describeCollection(context, { workspace: 'commons', collection, ...input });
  const rows = data['rows'] as unknown[][];
  return { data, lines: new Map(rows.map(([path, ...rest]) => [String(path), rest])) };
}

/** 300 documents, of which the last hundred are not in the sample. */
const DOCUMENTS: JsonObject[] = Array.from({ length: 300 }, (_, n) => ({
  _id: `d${String(n).padStart(3, '0')}`,
  n: n - 7,
  group: ['a', 'b', 'c'][n % 3] ?? '',
  made: `2026-01-${String((n % 28) + 1).padStart(2, '0')}T00:00:00Z`,
  order: { 'odd "key"': n % 2 === 0 ? n / 4 : null, at: { x: n } },
  tags: n % 10 === 0 ? ['t'] : [],
  seen: { [`user ${n % 90}`]: { times: n } },
  items: [{ price: n, of: n % 2 === 0 ? [] : [{ deep: true }] }],
  ...(n === 299 ? { late: 'x' } : {}),
  ...(n === 298 ? { n: 'odd', made: 'never' } : {}),
}));

describe('describe_collection of all documents', () => {
  it('names text that is numbers, which codes with leading zeros are not', async () => {
    const documents = Array.from({ length: 20 }, (_, n) => ({
      _id: String(n),
      lat: `${n - 5}.25`,
      code: `0${n}`,
      some: n === 9 ? 'none' : String(n),
      at: { lng: String(n) },
    }));
    const { data } = await linesOf(await load(documents));
    expect(data['numbers_as_text']).toEqual(['lat', 'at.lng']);
    const plain = await linesOf(await load([{ n: 1, t: 'x' }]));
    expect(plain.data['numbers_as_text']).toBeUndefined();
  });

  it('has the share, the number of different values and the range of each field, also of late ones', async () => {
    const { data, lines } = await linesOf(await load(DOCUMENTS));
    expect(data['basis']).toBe('all 300 documents; examples from 200');
    expect(lines.get('n')).toEqual(['BIGINT', '100%', 299, '-7 … 292']);
    expect(lines.get('group')).toEqual(['VARCHAR', '100%', 3, ['a', 'b', 'c']]);
    expect(lines.get('made')?.slice(0, 3)).toEqual(['TIMESTAMP WITH TIME ZONE', '100%', 28]);
    expect(lines.get('made')?.[3]).toBe('2026-01-01T00:00:00.000000Z … 2026-01-28T00:00:00.000000Z');
    expect(lines.get('order."odd ""key"""')).toEqual(['number', '50%', 150, '0 … 74.5']);
    expect(lines.get('tags')).toEqual(['list of text', '100%', null, ['t']]);
    expect(lines.get('seen')).toEqual(['map of 90 keys', '100%', null, ['user 0', 'user 1', 'user 2']]);
    expect(lines.get('seen.<key>.times')?.slice(0, 2)).toEqual(['integer', '100%']);
    expect(lines.get('items[].of[].deep')?.slice(0, 2)).toEqual(['boolean', '50%']);
    expect(lines.get('late')?.slice(0, 2)).toEqual(['VARCHAR', '<1%']);
    expect(data['strays']).toEqual([
      { path: 'made', read: "(_strays->>'made')", values: 1, example: '"never"' },
      { path: 'n', read: "(_strays->>'n')", values: 1, example: '"odd"' },
    ]);
  });

  it('tells an object of many fields of one type from a map, and how each is read', async () => {
    const fixed = Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`f${n}`, n]));
    const collection = await load(Array.from({ length: 3 }, () => ({ stats: fixed })));
    const context = { client, signal: undefined };
    const { data, next } = await describeCollection(context, { workspace: 'commons', collection });
    expect(data['rows']).toContainEqual(['stats', 'object of 16 keys', '100%', null, ['f0', 'f1', 'f2']]);
    expect(data['rows']).toContainEqual(['stats.<field>', 'integer', '100%', null, [0, 1, 2]]);
    expect(next).toContain('<field> is any field of an object');
    expect(next).not.toContain('<key>');
    const sql = `SELECT e.key, e.value FROM ${collection}, unnest(map_entries(stats)) AS u(e)`;
    expect((await client.runQuery({ sql: { query: sql } })).results).toHaveLength(48);
  });

  it('lists all values of a field with few and short ones, and only examples of others', async () => {
    const states = ['open', 'paid', 'sent', 'lost', 'back'];
    const documents = Array.from({ length: 300 }, (_, n) => ({
      _id: String(n),
      // The last is in one document, behind the sample.
      state: n === 290 ? 'rare' : (states[n % 5] ?? ''),
      o: { state: n % 4 === 0 ? null : (states[n % 4] ?? '') },
      many: `m${n % 13}`,
      long: `${'x'.repeat(39)}${n % 5}y`,
      wide: `${'x'.repeat(30)}${n % 9}`,
    }));
    const { lines } = await linesOf(await load(documents));
    expect(lines.get('state')?.slice(2)).toEqual([6, [...states, 'rare'].sort()]);
    expect(lines.get('o.state')?.slice(2)).toEqual([3, ['lost', 'paid', 'sent']]);
    for (const few of ['many', 'long', 'wide']) expect(lines.get(few)?.[3]).toHaveLength(3);
  });

  it('says how strays are read, and with a path only those of that field', async () => {
    const fit = { n: 1, o: { 'a/b': 1, c: 1 }, l: [{ v: 1 }] };
    const collection = await load([fit, fit, fit, { n: 'x', o: { 'a/b': 'y', c: 'z' }, l: [{ v: 'w' }] }]);
    const { data } = await linesOf(collection, { path: 'O' });
    expect(data['strays']).toEqual([
      { path: 'o."a/b"', read: "(_strays->>'o/a~1b')", values: 1, example: '"y"' },
      { path: 'o.c', read: "(_strays->>'o/c')", values: 1, example: '"z"' },
    ]);
    const sql = `SELECT (_strays->>'o/a~1b') AS v FROM ${collection} WHERE (_strays->>'o/a~1b') IS NOT NULL`;
    expect((await client.runQuery({ sql: { query: sql } })).results).toEqual([{ v: 'y' }]);
    const list = (await linesOf(collection, { path: 'l' })).data['strays'];
    expect(list).toEqual([{ path: 'l[].v', values: 1, example: '"w"' }]);
  });

  it('says in how many further fields are values that do not fit', async () => {
    const fields = (value: (n: number) => unknown) =>
      Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`f${n}`, value(n)]));
    const { data } = await linesOf(
      await load([fields((n) => n), fields((n) => n), fields(() => 'odd')] as JsonObject[]),
    );
    expect(data['strays']).toHaveLength(10);
    expect(data['more_fields_with_strays']).toBe(2);
  });

  it('shows one field and what is in it, or those with a text, or fewer lines', async () => {
    const collection = await load(DOCUMENTS);
    const inside = await linesOf(collection, { path: 'ORDER' });
    expect([...inside.lines.keys()]).toEqual(['order', 'order."odd ""key"""', 'order.at', 'order.at.x']);
    const found = await linesOf(collection, { search: 'USER 1' });
    expect([...found.lines.keys()]).toEqual(['seen']);
    const few = await linesOf(collection, { lines: 5 });
    expect(few.lines.size).toBe(5);
    expect(few.data).toMatchObject({ truncated: true, left_out: expect.arrayContaining(['late']) });
    await expect(linesOf(collection, { path: 'ordr' })).rejects.toMatchObject({
      code: 'invalid_input',
      message: 'There is no field "ordr". Did you mean order?',
    });
  });

  it('folds deep fields into their parents, so that all are named within 40 lines and few tokens', async () => {
    const nested = (n: number) =>
      Object.fromEntries(Array.from({ length: 9 }, (_, k) => [`k${k}`, { a: n, b: `${k}` }]));
    const documents = Array.from({ length: 50 }, (_, n) => ({
      ...Object.fromEntries(Array.from({ length: 30 }, (__, k) => [`f${k}`, n % (k + 1)])),
      nested: nested(n),
    }));
    const { data, lines } = await linesOf(await load(documents));
    expect(lines.size).toBeLessThanOrEqual(40);
    expect(data['truncated']).toBe(false);
    const text = JSON.stringify(data['rows']);
    for (let k = 0; k < 9; k++) expect(text).toContain(`k${k}`);
    expect(countTokens(text)).toBeLessThan(1_200);
  });
});
