import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { loadingHere } from './load-here.ts';

const FIXTURES = join(import.meta.dirname, '../../cli/files/fixtures');
const { call, pathOf, rowsOf, write } = loadingHere();

beforeAll(() => {
  write('all/people.xml', '<people><person id="1"><name>Ada</name></person><person id="2"/></people>');
  copyFileSync(join(FIXTURES, 'orders-snappy.avro'), pathOf('all/records.avro'));
  copyFileSync(join(FIXTURES, 'book.xlsx'), pathOf('all/book.xlsx'));
});

const load = (args: Record<string, unknown>) => call('load_file', args);

describe('load_file', () => {
  it('says how numbers as _id are taken', async () => {
    write('numbers.json', '[{"_id":1,"v":1.5},{"_id":2,"v":2}]');
    const stopped = await load({ path: 'numbers.json' });
    expect(stopped.next).toContain('"id_field": "_id"');
    expect(stopped.next).not.toContain('correct the file');
    const loaded = await load({ path: 'numbers.json', id_field: '_id' });
    expect(loaded.data).toMatchObject({ complete: true, counts: { ADDED: 2 } });
    expect(loaded.data).not.toHaveProperty('documents_before');
    write('more/numbers.jsonl', '{"_id":"3","v":3}');
    expect((await load({ path: 'more/numbers.jsonl' })).data).toMatchObject({ documents_before: 2 });
    expect(await rowsOf('SELECT _id FROM numbers ORDER BY 1')).toEqual([['1'], ['2'], ['3']]);
  });

  it('says what a file of CSV without rows may be', async () => {
    write('list.csv', '[{"a":1},{"a":2}]');
    expect((await load({ path: 'list.csv' })).next).toContain('if it is no CSV, give its "format"');
  });
});

describe('load_file of XML, Avro and workbooks', () => {
  it('loads a folder of them into collections named after the files', async () => {
    const { data } = await load({ path: 'all' });
    expect(data['counts']).toEqual({ ADDED: 34 });
    expect(data['collections']).toMatchObject([
      { collection: 'commons.book', added: 3 },
      { collection: 'commons.people', added: 2, fields: '"@id", name' },
      { collection: 'commons.records', added: 29 },
    ]);
    expect(await rowsOf('SELECT id, whole, exact, day FROM records WHERE id > 1000')).toEqual([
      ['9007199254740993', '-9007199254740993', '1.5000', '2024-02-29'],
    ]);
    expect(await rowsOf('SELECT "@id", name FROM people ORDER BY 1')).toEqual([
      ['1', 'Ada'],
      ['2', null],
    ]);
  });

  it('tells what was recognized in one file', async () => {
    const xml = await load({ path: 'all/people.xml', workspace: 'one', id_field: '@id' });
    expect(xml.data).toMatchObject({ format: 'xml', doc_tag: 'person', counts: { ADDED: 2 } });
    const book = await load({ path: 'all/book.xlsx', workspace: 'one' });
    expect(book.data).toMatchObject({
      format: 'xlsx',
      sheet: 'Orders',
      other_sheets: ['Second sheet'],
      error_cells: 1,
    });
    expect(book.next).toContain('"sheet" in "format_params" names another');
    const avro = await load({ path: 'all/records.avro', workspace: 'one' });
    expect(avro.data).toMatchObject({ format: 'avro', values_made_null: 2, decimals_as_text: ['exact'] });
  });

  it('takes the elements, or the sheet, that are asked for', async () => {
    write('feed.xml', '<rss><channel><title/><item><n>1</n></item><item><n>2</n></item></channel></rss>');
    const whole = await load({ path: 'feed.xml', dry_run: true });
    expect(whole.data).toMatchObject({ doc_tag: 'channel', lists: ['item: 2 items', 'n: 2 items'] });
    const feed = await load({ path: 'feed.xml', format_params: { doc_tag: 'item', root_tag: 'channel' } });
    expect(feed.data['counts']).toEqual({ ADDED: 2 });
    const sheet = await load({ path: 'all/book.xlsx', format_params: { sheet: 'Second sheet' }, dry_run: true });
    expect(sheet.data).toMatchObject({ columns: ['a', 'b'], rows: [['x', 1]] });
  });

  it('stops where a file is broken, with the line, and what is before it is in', async () => {
    write('broken.xml', '<r>\n<d>1</d>\n<d>2</d>\n<d>');
    const { data, isError } = await load({ path: 'broken.xml' });
    expect([data['counts'], isError]).toEqual([{ ADDED: 2 }, true]);
    expect(data['stopped_because']).toContain('The file is not XML, at line 4: unclosed tag: d');
  });
});
