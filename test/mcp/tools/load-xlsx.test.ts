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
      expect(refused.data).not.toHaveProperty('created');
      expect(refused.text).toContain('all was refused, so the collection that was created for it is removed again');
      expect(refused.text).toContain(`${hint}: call again with "id_field": "_id"`);
      expect((await call('describe_collection', { collection: name })).text).toContain('not_found');
      const { data } = await call('load_file', { path: `${name}.jsonl`, id_field: '_id' });
      expect(data).toMatchObject({ created: true, counts: { ADDED: count } });
    }
    write('more.jsonl', '{"_id":3}\n');
    const more = await call('load_file', { path: 'more.jsonl', collection: 'numbers' });
    expect(more.text).not.toContain('removed again');
    expect(await rowsOf('SELECT _id FROM numbers ORDER BY _id')).toEqual([['1'], ['2']]);
  });
});

describe('load_file of texts that are spelled as people do', () => {
  const names = ['team', 'w', 'd', 'b', 'plain', 'n', 'long'];
  // A space where a look at its beginning ends.
  const long = `${'x'.repeat(63)} and more`;
  const cells = [
    ['Sales', '12,5', '05.01.2024', '6.020,23 €', 'a', 'x1', long],
    ['sales ', '3,75', '16.01.2024', '8.470,75 EUR', 'b', 'x2', long],
  ];

  it('tells the same of them in files of any format, and before they are loaded', async () => {
    const csv = [names, ...cells].map((row) => row.map((cell) => `"${cell}"`).join(';')).join('\n');
    write('spelled.csv', `${csv}\n`);
    write('spelled.xlsx', book(rows(names.map(text), ...cells.map((row) => row.map(text)))));
    const documents = cells.map((row) => Object.fromEntries(row.map((cell, at) => [names[at], cell])));
    write('spelled.jsonl', documents.map((one) => `${JSON.stringify(one)}\n`).join(''));
    write('spelled.json', JSON.stringify(documents));
    const told: unknown[] = [];
    for (const format of ['csv', 'xlsx', 'jsonl', 'json']) {
      const [path, collection] = [`spelled.${format}`, `spelled_${format}`];
      const previewed = await call('load_file', { path, collection, dry_run: true });
      const { data } = await call('load_file', { path, collection });
      const all: string[] = data['warnings'] ?? [];
      const warnings = all.filter((one) => !one.includes('no _id'));
      for (const one of warnings) expect(previewed.text).toContain(JSON.stringify(one).slice(1, -1));
      told.push(warnings);
    }
    expect(told[0]).toEqual(
      ['"team" is text with spaces', '"w" is text such as "12,5"', '"d" is text', '"b" is text'].map((said) =>
        expect.stringContaining(said),
      ),
    );
    expect(told.slice(1)).toEqual([told[0], told[0], told[0]]);
  });
});
