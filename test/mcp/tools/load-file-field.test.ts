import { describe, expect, it } from 'vitest';
import { book, number, rows, text } from '../../cli/files/book.ts';
import { loadingHere } from './load-here.ts';

const { call, rowsOf, write } = loadingHere();

describe('file_field', () => {
  it('has the name of the file of each document, of any format, alone or of several', async () => {
    write('in/2024-01.csv', 'sku,n\na,1\nb,2\nc\n');
    write('in/2024-02.jsonl', '{"sku":"a","n":5}\n{"sku":"b","n":6}\n');
    write('in/2024-03.json', '[{"sku":"a","n":7}]');
    write('in/2024-04.xlsx', book(rows([text('sku'), text('n')], [text('a'), number('8')])));
    write('in/2024-05.xml', '<r><row><sku>a</sku><n>9</n></row><row><sku>b</sku><n>9</n></row></r>');
    const { data } = await call('load_file', { path: 'in', collection: 'all', file_field: 'file' });
    expect(data['complete']).toBe(true);
    expect(await rowsOf('SELECT file, count(*) FROM "all" GROUP BY 1 ORDER BY 1')).toEqual([
      ['in/2024-01.csv', 3],
      ['in/2024-02.jsonl', 2],
      ['in/2024-03.json', 1],
      ['in/2024-04.xlsx', 1],
      ['in/2024-05.xml', 2],
    ]);
    await call('load_file', { path: 'in/2024-01.csv', collection: 'one', file_field: 'from file' });
    expect(await rowsOf('SELECT sku, n, "from file" FROM one ORDER BY sku')).toEqual([
      ['a', 1, 'in/2024-01.csv'],
      ['b', 2, 'in/2024-01.csv'],
      ['c', null, 'in/2024-01.csv'],
    ]);
    const looked = await call('load_file', { path: 'in/2024-01.csv', dry_run: true, file_field: 'file' });
    expect(looked.text).toContain('a,1,in/2024-01.csv');
  });

  it('is refused where the file has such a field, or every document', async () => {
    write('own.csv', 'file,n\na,1\n');
    write('own.jsonl', '{"file":"a"}\n');
    for (const path of ['own.csv', 'own.jsonl'])
      expect((await call('load_file', { path, file_field: 'file' })).text).toMatch(/field (of that name|\\?"file\\?")/);
    expect((await call('load_file', { path: 'own.csv', file_field: '_id' })).text).toContain(
      'which every document has',
    );
    const both = await call('load_file', { path: 'own.csv', id_field: 'source', file_field: 'source' });
    expect(both.text).toContain('all documents of a file would be one');
    expect((await call('load_file', { path: 'own.csv', file_field: 'FILE' })).text).toContain('field of that name');
  });

  it('is offered where names of files differ by numbers and no field has a day', async () => {
    for (const month of [1, 2]) {
      write(`plain-0${month}.csv`, `sku,n\na,${month}\n`);
      write(`dated-0${month}.csv`, `day,n\n2024-0${month}-01,1\n`);
    }
    const load = async (name: string, more: object = {}) =>
      (await call('load_file', { path: `${name}-*.csv`, collection: name, ...more })).text;
    expect(await load('plain')).toContain('"file_field": "file" puts them into a field');
    expect(await load('dated')).not.toContain('file_field');
    expect(await load('plain', { collection: 'anew', file_field: 'month' })).not.toContain('file_field');
  });
});
