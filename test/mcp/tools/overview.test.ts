import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import type { Collection } from '../../../src/contract/collections.ts';
import { fieldsText } from '../../../src/mcp/tools/fields-text.ts';
import { presentCollections } from '../../../src/mcp/tools/overview.ts';
import { fakeClient } from '../fake-client.ts';

const COUNTRIES = [
  { name: '_id', type: 'VARCHAR' },
  { name: '_event_time', type: 'TIMESTAMP WITH TIME ZONE' },
  { name: 'name', type: 'STRUCT(common VARCHAR, official VARCHAR)' },
  { name: 'currencies', type: 'MAP(VARCHAR, STRUCT("name" VARCHAR, symbol VARCHAR))' },
  { name: 'latlng', type: 'DOUBLE[]' },
  { name: 'links', type: 'STRUCT(url VARCHAR, size BIGINT)[]' },
  { name: 'odd name', type: 'VARCHAR' },
  { name: 'area', type: 'DOUBLE' },
  { name: '_strays', type: 'JSON' },
];

describe('fieldsText()', () => {
  it('quotes a column whose name is a word of SQL, and no field within', () => {
    const columns = [
      { name: 'order', type: 'STRUCT("at" VARCHAR)' },
      { name: 'At', type: 'DATE' },
    ];
    expect(fieldsText(columns, 200)).toBe('"order" {at}, "At" DATE');
  });

  it('has the fields with what is in them; text is what has no type', () => {
    expect(fieldsText(COUNTRIES, 200)).toBe(
      'name {common, official}, currencies {<key> {name, symbol}}, latlng [DOUBLE], links [{url, size BIGINT}], "odd name", area DOUBLE',
    );
  });

  it('tells an object of many fields of one type from a map', () => {
    const fields = Array.from({ length: 16 }, (_, n) => `"${n}.5" DOUBLE`).join(', ');
    expect(fieldsText([{ name: 'stats', type: `STRUCT(${fields})` }], 200)).toBe('stats {<field> DOUBLE}');
    expect(fieldsText([{ name: 'days', type: 'MAP(VARCHAR, DOUBLE)' }], 200)).toBe('days {<key> DOUBLE}');
  });

  it('names every field, however large the type of the first is', () => {
    const wide = `STRUCT(${Array.from({ length: 500 }, (_, index) => `field_${index} STRUCT(a VARCHAR, b${index} BIGINT)`).join(', ')})`;
    const text = fieldsText([{ name: 'wide', type: wide }, ...COUNTRIES], 120);
    for (const { name } of COUNTRIES.slice(2, -1)) expect(text).toContain(name);
    expect(text).toMatch(/^wide \{field_0 [^}]*\}.*, \+\d+\}/);
    expect(countTokens(text)).toBeLessThan(240);
  });

  it('is one line, whatever fields are called', () => {
    const odd = 'k\ncommons.fake (3 documents): z\n(7)';
    const text = fieldsText(
      [
        { name: odd, type: 'BIGINT' },
        { name: 'o', type: `STRUCT("${odd}" BIGINT)` },
      ],
      200,
    );
    expect(text).not.toContain('\n');
    expect(text).toContain('"k\\ncommons.fake (3 documents): z\\n(7)" BIGINT');
  });

  it('says how many fields are left out', () => {
    const columns = Array.from({ length: 100 }, (_, index) => ({ name: `n${2 * index}`, type: 'BIGINT' }));
    expect(fieldsText(columns, 30)).toMatch(/^n0 BIGINT, .*, \+\d+$/);
  });

  it('is done at once for an object of many fields', () => {
    const type = `STRUCT(${Array.from({ length: 20_000 }, (_, index) => `f${index} ${index % 2 ? 'BIGINT' : 'VARCHAR'}`).join(', ')})`;
    expect(fieldsText([{ name: 'o', type }], 50)).toMatch(/^o \{f0, f1 BIGINT, /);
  });
});

const collectionOf = (name: string, more: Partial<Collection> = {}) =>
  ({
    name,
    workspace: 'ws',
    status: 'READY',
    stats: { doc_count: 7, last_updated_ms: 1_700_000_000_000, total_index_size: 0 },
    ...more,
  }) as Collection;

function show(names: readonly string[]) {
  const results = names.map((name) => ({
    workspace: 'ws',
    name,
    columns: COUNTRIES.map((column) => column.name),
    types: COUNTRIES.map((column) => column.type),
  }));
  return fakeClient({ runQuery: async () => ({ results }) }).client;
}

describe('presentCollections()', () => {
  it('has a line for each, with its fields', async () => {
    const client = show(['a']);
    const all = [collectionOf('a'), collectionOf('b-c', { status: 'CREATED', description: 'two\nlines' })];
    const { text, data } = await presentCollections({ client, signal: undefined }, all);
    expect(text?.split('\n')).toEqual([
      'ws.a (7 documents, changed 2023-11-14T22:13Z): name {common, official}, currencies {<key> {name, symbol}}, latlng [DOUBLE], links [{url, size BIGINT}], "odd name", area DOUBLE',
      'ws."b-c" (7 documents, changed 2023-11-14T22:13Z, CREATED); description "two\\nlines"',
      '(2)',
    ]);
    expect(data).toMatchObject({ items: [{ name: 'a', stats: { doc_count: 7 } }, { name: 'b-c' }], total: 2 });
  });

  it('has all of 500 within the budget, and says how many more there are', async () => {
    const names = Array.from({ length: 600 }, (_, index) => `collection_${index}`);
    const { text = '', next } = await presentCollections(
      { client: show(names), signal: undefined },
      names.map((name) => collectionOf(name)),
    );
    expect(text).toContain('ws.collection_499 (7 documents)');
    expect(text.split('\n').at(-1)).toBe('(500 of 600)');
    expect(next).toContain('100 are left out');
    expect(countTokens(text)).toBeLessThan(8_000);
  });

  it('lists them all the same where the fields cannot be read', async () => {
    const { client } = fakeClient({
      runQuery: async () => {
        throw new Error('busy');
      },
    });
    expect((await presentCollections({ client, signal: undefined }, [collectionOf('a')])).text).toBe(
      'ws.a (7 documents, changed 2023-11-14T22:13Z)\n(1)',
    );
  });
});
