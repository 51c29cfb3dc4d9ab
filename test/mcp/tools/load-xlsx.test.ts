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
