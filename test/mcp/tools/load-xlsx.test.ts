import { describe, expect, it } from 'vitest';
import { book, number, rows, text } from '../../cli/files/book.ts';
import { loadingHere } from './load-here.ts';

const { call, rowsOf, write } = loadingHere();

describe('load_file of a workbook with titles above its names', () => {
  const head = [text('guest'), text('room'), text('nights')];
  const sheet = rows([text('Bookings')], [text('as of 14.01.2026')], head, [text('Ada'), text('1'), number('2')]);

  it('stores nothing, and advises the row of the names alone, also for a collection that exists', async () => {
    write('bookings.xlsx', book(sheet));
    await call('create_collection', { workspace: 'commons', collection: 'bookings' });
    const refused = await call('load_file', { path: 'bookings.xlsx' });
    expect(refused.isError).toBe(true);
    expect(refused.text).toContain('give "header_row": 3');
    expect(refused.text).not.toContain('"skip"');
    const { data } = await call('load_file', { path: 'bookings.xlsx', format_params: { header_row: 3 } });
    expect(data).toMatchObject({ complete: true, counts: { ADDED: 1 } });
    expect(await rowsOf('SELECT guest, room, nights FROM bookings')).toEqual([['Ada', '1', 2]]);
  });
});

describe('load_file of a file of which all is refused', () => {
  it('removes the collection that it created, and says so; the advice then loads it', async () => {
    write('numbers.jsonl', '{"_id":1}\n{"_id":2}\n');
    write('objects.jsonl', '{"_id":{"a":1}}\n');
    for (const [name, hint, count] of [
      ['numbers', 'the file has numbers as _id', 2],
      ['objects', 'the file has objects or lists as _id', 1],
    ] as const) {
      const refused = await call('load_file', { path: `${name}.jsonl` });
      expect(refused.data).not.toHaveProperty('collection_created');
      expect(refused.text).toContain('all was refused, so the collection that was created for it is removed again');
      expect(refused.text).toContain(`${hint}: call again with "id_field": "_id"`);
      expect((await call('describe_collection', { collection: name })).text).toContain('not_found');
      const { data } = await call('load_file', { path: `${name}.jsonl`, id_field: '_id' });
      expect(data).toMatchObject({ collection_created: true, counts: { ADDED: count } });
    }
    write('more.jsonl', '{"_id":3}\n');
    const more = await call('load_file', { path: 'more.jsonl', collection: 'numbers' });
    expect(more.text).not.toContain('removed again');
    expect(await rowsOf('SELECT _id FROM numbers ORDER BY _id')).toEqual([['1'], ['2']]);
  });
});
