import { beforeAll, describe, expect, it } from 'vitest';
import { estimateTokens } from '../../../src/mcp/room.ts';
import { collectionNameOf } from '../../../src/mcp/tools/load-plan.ts';
import { loadingHere } from './load-here.ts';

const { call, write } = loadingHere();

beforeAll(() => {
  write('five/orders.csv', 'id,total,placed_at\n1,2.5,2024-03-01T10:00:00Z\n2,7,2024-03-02T10:00:00Z\n');
  write('five/customers.json', '[{"_id":"c1","name":"Ada","address":{"city":"Rome"},"tags":["a"]}]');
  write('five/events.jsonl', '{"_id":"e1","n":1}\n{"_id":"e2","n":2}\n');
  write('five/products.tsv', 'sku\tprice\np1\t2\n');
  write('five/tickets.json', '[{"_id":"t1","items":[{"sku":"p1","n":2}]}]');
});

const load = (args: Record<string, unknown>) => call('load_file', args);

describe('load_file of many files', () => {
  it('loads a folder into collections named after its files, and answers what SQL needs', async () => {
    const { data, text, next } = await load({ path: 'five' });
    expect(data).toMatchObject({ complete: true, files: 5, counts: { ADDED: 7 } });
    expect(data['collections']).toEqual([
      {
        collection: 'commons.customers',
        file: 'five/customers.json',
        created: true,
        added: 1,
        fields: 'name, address {city}, tags []',
      },
      { collection: 'commons.events', file: 'five/events.jsonl', created: true, added: 2, fields: 'n BIGINT' },
      {
        collection: 'commons.orders',
        file: 'five/orders.csv',
        created: true,
        added: 2,
        without_id: 2,
        fields: 'id BIGINT, total DOUBLE, placed_at TIMESTAMP WITH TIME ZONE',
      },
      {
        collection: 'commons.products',
        file: 'five/products.tsv',
        created: true,
        added: 1,
        without_id: 1,
        fields: 'sku, price BIGINT',
      },
      {
        collection: 'commons.tickets',
        file: 'five/tickets.json',
        created: true,
        added: 1,
        fields: 'items [{sku, n BIGINT}]',
      },
    ]);
    expect(data).not.toHaveProperty('warnings');
    expect(next).toContain('run_query with FROM the collection');
    expect(estimateTokens(text)).toBeLessThan(5 * 100 + 150);
    const { data: rows } = await call('run_query', {
      query: 'SELECT c.address.city, count(*) FROM customers c, tickets t, orders o GROUP BY 1',
    });
    expect(rows['rows']).toEqual([['Rome', 2]]);
  });

  it('says of a second load what it replaced, and what it added again', async () => {
    await load({ path: 'five', workspace: 'again' });
    const { data } = await load({ path: ['five/events.jsonl', 'five/orders.csv'], workspace: 'again' });
    expect(data['collections']).toMatchObject([{ replaced: 2 }, { added: 2 }]);
    expect(data['warnings']).toEqual([
      expect.stringMatching(
        /^2 documents had no _id .*the collection had 2 before.*its documents are in twice: into a new collection with a unique "id_field" each comes once$/,
      ),
    ]);
    const one = await load({ path: 'five/orders.csv', workspace: 'again' });
    expect(one.data).toMatchObject({ collection: 'again.orders', counts: { ADDED: 2 } });
    expect(one.data['warnings']).toEqual([expect.stringContaining('the collection had 4 before')]);
  });

  it('warns of generated ids in collections that had documents alone', async () => {
    write('some/old.csv', 'a\n1\n');
    await load({ path: 'some', workspace: 'some' });
    write('some/new.csv', 'a\n1\n2\n3\n');
    const { data } = await load({ path: 'some', workspace: 'some' });
    expect(data['warnings']).toEqual([expect.stringMatching(/^1 document had no _id .*the collection had 1 before/)]);
  });

  it('names in its text the one file of a folder, and not one that "path" names', async () => {
    write('single/one.jsonl', '{"_id":"a"}\n');
    expect((await load({ path: 'single' })).text).toContain('single/one.jsonl');
    expect((await load({ path: 'single/one.jsonl' })).text).not.toContain('one.jsonl');
  });

  it('loads a pattern into one collection that is given', async () => {
    const path = '["five/*.json","five/events.jsonl"]';
    const { data, next } = await load({ path, workspace: 'one', collection: 'all' });
    expect(data['collections']).toMatchObject([{ collection: 'one."all"', files: 3, created: true, added: 4 }]);
    expect(next.split('in SQL its name alone stands in double quotes, "all"')).toHaveLength(2);
  });

  it('refuses two files whose collections would be alike, with both names, and loads the others', async () => {
    write('alike/Sales 1.csv', 'a\n1\n');
    write('alike/sales-1.csv', 'a\n1\n');
    write('alike/sub/Sales-1.json', '[{}]');
    const error = expect.stringContaining('both "alike/sales-1.csv" and "alike/sub/Sales-1.json"');
    expect((await load({ path: 'alike/**/*', workspace: 'alike' })).data).toMatchObject({
      complete: false,
      files: 1,
      collections: [{ collection: 'alike.Sales_1', added: 1 }],
      broken_files: [
        { file: 'alike/sales-1.csv', error },
        { file: 'alike/sub/Sales-1.json', error },
      ],
    });
    const only = await load({ path: ['alike/sales-1.csv', 'alike/sub/Sales-1.json'], workspace: 'none' });
    expect(only).toMatchObject({ isError: true, text: expect.stringContaining('Give "collection"') });
    expect((await call('get_workspace', { workspace: 'none' })).isError).toBe(true);
  });

  it('refuses to create what is missing if it is told so, before anything is loaded', async () => {
    await call('create_collection', { workspace: 'commons', name: 'a1' });
    write('partly/a1.jsonl', '{"_id":"a"}');
    write('partly/a2.jsonl', '{"_id":"a"}');
    const { text } = await load({ path: 'partly', create_collection: false });
    expect(text).toMatch(/not_found.*a2/);
    expect((await call('run_query', { query: 'SELECT count(*) FROM a1' })).data['rows']).toEqual([[0]]);
  });

  it('stops at a file that cannot be read on where others are for the same collection, and goes on from there', async () => {
    write('stop/s1.json', '[{"_id":"1"}]');
    write('stop/s2.json', '[{"_id":"2"},{"_id":"3"},');
    write('stop/s3.json', '[{"_id":"2","at":"later"}]');
    const { data, next, isError } = await load({ path: 'stop', collection: 'stopped' });
    expect(isError).toBe(true);
    expect(data).toMatchObject({
      complete: false,
      files: 1,
      counts: { ADDED: 3 },
      stopped_in: 'stop/s2.json',
      entries: 2,
      stopped_because: expect.stringContaining('The file is not JSON, at line 1'),
      not_loaded: ['stop/s3.json'],
    });
    expect(next).toContain('correct the file and call again with the same "path", "from": its name, "skip": 2');
    write('stop/s2.json', '[{"_id":"2"},{"_id":"3"},{"_id":"5"}]');
    const rest = await load({ path: 'stop', collection: 'stopped', from: 'stop/s2.json', skip: 2 });
    expect(rest.data).toMatchObject({ complete: true, files: 2, counts: { ADDED: 1, REPLACED: 1 } });
    const { text } = await load({ path: 'stop', collection: 'stopped', from: 's9.json' });
    expect(text).toContain('none of the 3 files that "path" names; the first of them is "stop/s1.json"');
  });

  it('goes on after it where each has a collection of its own, and says how to load the rest', async () => {
    write('apart/p1.json', '[{"_id":"1"}]');
    write('apart/p2.json', '[{"_id":"2"},{"_id":"3"},');
    write('apart/p3.json', '[{"_id":"4"}]');
    const { data, next, isError } = await load({ path: 'apart', workspace: 'apart' });
    expect(isError).toBe(true);
    const error = expect.stringContaining('The file is not JSON, at line 1');
    expect(data).toMatchObject({
      complete: false,
      files: 2,
      counts: { ADDED: 4 },
      broken_files: [{ file: 'apart/p2.json', error, documents_in: 2, skip: 2 }],
    });
    expect(next).toContain('do what each error says, and load them by themselves, with their "skip"');
  });

  it('goes on after what is refused if it is told so, and says which files are broken', async () => {
    write('skip/k1.json', '[');
    write('skip/k2.jsonl', '{"_id":"1"}\nbad\n{"_id":"2"}\n');
    write('skip/k3.json', '[{"_id":"3"}]');
    const { data, next, isError } = await load({ path: 'skip', on_error: 'skip' });
    expect(isError).toBe(false);
    expect(data).toMatchObject({
      complete: false,
      files: 2,
      counts: { ADDED: 3, ERROR: 1 },
      broken_files: [{ file: 'skip/k1.json', error: expect.stringContaining('not JSON'), documents_in: 0 }],
      failed: [{ file: 'skip/k2.jsonl', line: 2, error: expect.stringContaining('no JSON') }],
    });
    expect(data['collections']).toMatchObject([{ added: 2, failed: 1 }, { added: 1 }]);
    expect(next).toContain('broken_files are not loaded to their end');
  });

  it('answers a dry run with fields and rows, and writes nothing', async () => {
    const { data, next } = await load({ path: 'five/orders.csv', workspace: 'dry', dry_run: true });
    expect(data).toMatchObject({
      dry_run: true,
      file: 'five/orders.csv',
      format: 'csv',
      collection: 'dry.orders',
      would_be_created: true,
      looked_at: 'all 2 entries',
      fields: 'id BIGINT, total DOUBLE, placed_at TIMESTAMP WITH TIME ZONE',
      columns: ['id', 'total', 'placed_at'],
      rows: [
        [1, 2.5, '2024-03-01T10:00:00Z'],
        [2, 7, '2024-03-02T10:00:00Z'],
      ],
      without_id: true,
    });
    expect(next).toBe('nothing was written; call again without "dry_run" to load.');
    expect((await call('get_workspace', { workspace: 'dry' })).isError).toBe(true);
  });

  it('answers a dry run of several files with what is refused in them', async () => {
    write('dry/d1.json', '[{"_id":1,"a":{"b":[1,2]}},5]');
    write('dry/d2.json', '[');
    const many = await load({ path: 'dry', dry_run: true });
    expect(many.data['files']).toMatchObject([
      {
        file: 'dry/d1.json',
        fields: 'a {b [BIGINT]}',
        rows: [[1, { b: [1, 2] }]],
        refused: 1,
        first_refused: { line: 1, error: 'is no JSON object' },
      },
      { file: 'dry/d2.json', error: expect.stringContaining('not JSON') },
    ]);
    expect(many.next).toContain('with "on_error": "skip" the load leaves out what is refused');
  });

  it('shows what fits of many collections and wide documents, and says what is left out', async () => {
    const wide = JSON.stringify(
      Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`a_long_field_${at * at}`, at])),
    );
    for (let at = 0; at < 60; at += 1) write(`many/m${at}.jsonl`, wide);
    const { data, text } = await load({ path: 'many', workspace: 'many' });
    expect(data).toMatchObject({ complete: true, files: 60, counts: { ADDED: 60 } });
    const shown = data['collections'] as unknown as { fields: string }[];
    expect(shown.length).toBeGreaterThan(30);
    expect(shown[0]?.fields).toMatch(/^a_long_field_0 BIGINT, .*, \+\d+$/);
    expect(data['collections_not_shown'] ?? 0).toBe(60 - shown.length);
    expect(estimateTokens(text)).toBeLessThan(7_000);
  });

  it('tells of files beside them whose format it does not know', async () => {
    write('beside/b1.json', '[{"_id":"1"}]');
    write('beside/readme.md', '#');
    const { data, next } = await load({ path: 'beside' });
    expect(data).toMatchObject({ other_files: ['beside/readme.md'], collection: 'commons.b1', counts: { ADDED: 1 } });
    expect(next).toContain('other_files are not loaded: give "format"');
  });
});

describe('collectionNameOf()', () => {
  it.each([
    ['in/orders.csv', 'orders'],
    ['_Orders 2024.CSV', 'Orders_2024'],
    ['a/sales.2024-01.jsonl', 'sales_2024-01'],
    ['data', 'data'],
  ])('%s is %s', (name, collection) => {
    expect(collectionNameOf(name)).toBe(collection);
  });

  it('refuses a name of which nothing is left', () => {
    expect(() => collectionNameOf('in/_.csv')).toThrow('Give "collection"');
  });
});
