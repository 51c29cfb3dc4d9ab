import { readFileSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { zipSync } from 'fflate';
import { afterAll, describe, expect, it } from 'vitest';
import { kindOf } from '../../../src/cli/files/xlsx-dates.ts';
import { Zip } from '../../../src/cli/files/zip.ts';
import { book, HEAD, number, rows, text } from './book.ts';
import { filesFolder } from './opened.ts';

const { read, fixture, remove, root } = filesFolder();
afterAll(remove);

describe('workbooks of another writer', () => {
  it('have the rows of the first sheet with cells, by the names in its first row', async () => {
    // `fixtures/make-xlsx.py` wrote it.
    const { documents, places, error, nulled, file } = await read(fixture('book.xlsx'));
    expect(error).toBeUndefined();
    expect(documents).toEqual([
      {
        id: 1,
        name: 'Ada & <Co>',
        day: '2024-02-29',
        at: '2024-02-29T01:02:03',
        clock: '01:02:03',
        paid: true,
        amount: 0.1,
        2024: 'x',
        column_I: 'no name',
        total: 1.5,
      },
      { id: 2, name: 'grüße\nzwei', at: '1899-12-31T00:00:00', paid: false, amount: -12.25 },
      {
        id: 3,
        name: 'plain bold',
        day: '1900-03-01',
        amount: 12345678901,
        total: '2024-02-29T12:00:00',
        column_L: 0.5,
      },
    ]);
    expect([places, nulled]).toEqual([[3, 4, 6], 1]);
    expect(file).toMatchObject({ format: 'xlsx', unit: 'row', sheet: 'Orders', sheets: ['Second sheet'] });
  });

  it('have the sheet that is asked for, and say which there are', async () => {
    fixture('book.xlsx');
    for (const sheet of ['Second sheet', 'second SHEET']) {
      expect((await read('book.xlsx', undefined, { sheet })).documents).toEqual([{ a: 'x', b: 1 }]);
    }
    const { error } = await read('book.xlsx', undefined, { sheet: 'Chart' });
    expect(error).toContain('no "sheet" "Chart". Its sheets are "Orders", "Second sheet".');
    expect((await read('book.xlsx', undefined, { sheet: 'Order' })).error).toContain('Did you mean "Orders"?');
  });

  it('may count days from 1904 on', async () => {
    expect((await read(fixture('book-1904.xlsx'))).documents).toEqual([{ day: '2024-02-29' }]);
  });

  it('are known by their content, and not read compressed as a whole', async () => {
    const content = readFileSync(join(root, fixture('book.xlsx')));
    expect((await read('b.xyz', content, { format: 'xlsx' })).documents).toHaveLength(3);
    expect((await read('b.csv', content)).error).toContain('Give "format": "xlsx"');
    expect((await read('b.xlsx.gz', gzipSync(content))).error).toContain('a workbook compressed with gzip');
  });

  it('cut off anywhere are refused, and damaged ones end or are read as before', async () => {
    const content = readFileSync(join(root, fixture('book.xlsx')));
    const whole = (await read('whole.xlsx', content)).documents;
    for (let length = 0; length < content.length; length += 211) {
      expect((await read('cut.xlsx', content.subarray(0, length))).error).toMatch(/cannot be read|is no workbook/);
    }
    for (let at = 0; at < content.length; at += 53) {
      const damaged = Buffer.from(content);
      damaged[at] = (damaged[at] ?? 0) ^ 0xff;
      const { documents, error } = await read('damaged.xlsx', damaged);
      if (error === undefined) expect(documents).toHaveLength(whole.length);
    }
  });
});

describe('a title above the names', () => {
  const titled = book(
    rows([text('Sales of 2024')], [text('all shops')], [text('name'), text('n'), text('x')], [text('a'), number('1')]),
  );

  it('is not taken for them, and the row that has them is named, before anything is stored', async () => {
    const { documents, error } = await read('titled.xlsx', titled);
    expect(error).toBe(
      'Row 1 of the sheet names 1 of 3 columns, and seems to be a title. If row 3 has the names, give "header_row": 3, and what is above it is left out.',
    );
    expect(documents).toEqual([]);
  });

  it('is found out by later rows, and the first with about as many cells as any has the names', async () => {
    const head = [text('day'), text('room'), text('guest'), text('n')];
    const noted = [text('x'), text('y'), text('z'), number('1'), text('a note')];
    const notes = Array.from({ length: 20 }, () => [text('a word on this list')]);
    const { documents, error } = await read('late.xlsx', book(rows([text('Bookings')], ...notes, head, noted)));
    expect(error).toContain('If row 22 has the names, give "header_row": 22,');
    expect(documents).toEqual([]);
  });

  it('may be a row of groups, with names of one spelling in the row below', async () => {
    const group = (place: string, name: string) => `<c r="${place}" t="inlineStr"><is><t>${name}</t></is></c>`;
    const names = [text('Region'), text('Plan'), text('Actual'), text('Plan'), text('Actual')];
    const data = [text('North'), ...[1, 2, 3, 4].map((n) => number(String(n)))];
    const grouped = book(rows([group('B1', 'Q1'), group('D1', 'Q2')], names, data));
    const both = await read('groups.xlsx', grouped);
    expect(both.documents).toEqual([{ Region: 'North', 'Q1 Plan': 1, 'Q1 Actual': 2, 'Q2 Plan': 3, 'Q2 Actual': 4 }]);
    expect(both.file?.warnings?.()).toEqual([
      'Rows 1 and 2 name the columns together, e.g. "Q1 Plan"; "header_row": 2 in "format_params" takes row 2 alone.',
    ]);
    const { documents, file } = await read('groups.xlsx', grouped, { headerRow: 2 });
    expect(documents).toEqual([{ Region: 'North', Plan: 1, Actual: 2, Plan_2: 3, Actual_2: 4 }]);
    expect(file?.warnings?.()).toEqual([
      'The file has columns of one name: another column "Plan" is "Plan_2", another column "Actual" is "Actual_2".',
    ]);
  });

  it('has groups as merged cells, also over texts; a row of names that would do alone is none of two', async () => {
    const sheet = (head: string[], second: string[], ...merges: string[]) => {
      const at = (row: number) => (cell: string, n: number) =>
        cell === '' ? '' : `<c r="${'ABCD'[n]}${row}" t="inlineStr"><is><t>${cell}</t></is></c>`;
      const all = [head, second, ['x', 'Rd 1', 'Rome', 'y']].map((cells, n) => cells.map(at(n + 1)));
      const merged = merges.map((ref) => `<mergeCell ref="${ref}"/>`).join('');
      return book(rows(...all).replace('</worksheet>', `<mergeCells>${merged}</mergeCells></worksheet>`));
    };
    const two = sheet(['name', 'address', '', 'note'], ['', 'street', 'city', ''], 'A1:A2', 'B1:C1', 'D1:D2');
    expect((await read('two.xlsx', two)).documents).toEqual([
      { name: 'x', 'address street': 'Rd 1', 'address city': 'Rome', note: 'y' },
    ]);
    const titled = sheet(['Guests', '', 'as of May', ''], ['name', 'street', 'city', 'note'], 'A1:B1', 'C1:D1');
    const { documents, file } = await read('title.xlsx', titled);
    expect(documents[0]).toEqual({ Guests: 'name', column_B: 'street', 'as of May': 'city', column_D: 'note' });
    expect(file?.warnings?.()).toEqual([]);
    const plain = sheet(['name', 'street', '', 'note'], ['a', 'b', 'c', '']);
    expect((await read('plain.xlsx', plain)).documents).toHaveLength(2);
  });

  it('has names without spaces around them', async () => {
    const { documents } = await read('spaced.xlsx', book(rows([text(' name '), text(' ')], [text(' a '), text('b')])));
    expect(documents).toEqual([{ name: ' a ', column_B: 'b' }]);
  });

  it('is left out with the rows down to theirs', async () => {
    const { documents, places } = await read('titled.xlsx', titled, { headerRow: 3 });
    expect([documents, places]).toEqual([[{ name: 'a', n: 1 }], [4]]);
  });
});

describe('cells', () => {
  it('are values, and absent if they are empty or have an error', async () => {
    const { documents, nulled, error } = await read(
      'cells.xlsx',
      book(
        rows(
          HEAD,
          [number('1'), number('1E400')],
          [number(''), text('')],
          [text('_x000D_z'), '<c t="str"><f>A1</f><v></v></c>'],
          ['<c t="b"><v>1</v></c>', '<c t="d"><v>2024-01-02T03:04:05</v></c>'],
          ['<c t="e"><v>#N/A</v></c>', '<c t="str"><f>B1</f><v>shown</v></c>'],
          ['<c r="C1"><v>5</v></c>'],
        ),
      ),
    );
    expect(error).toBeUndefined();
    expect(documents).toEqual([
      { a: 1 },
      { a: '\rz' },
      { a: true, b: '2024-01-02T03:04:05' },
      { b: 'shown' },
      { column_C: 5 },
    ]);
    expect(nulled).toBe(2);
  });

  it.each([
    ['yyyy-mm-dd', 'date'],
    ['[$-409]mmmm d, yyyy;@', 'date'],
    ['m/d/yy h:mm AM/PM', 'datetime'],
    ['mm:ss', 'time'],
    ['[h]:mm:ss', 'duration'],
    ['0.00', undefined],
    ['General', undefined],
    ['"day" 0', undefined],
    ['[Red]#,##0;-0', undefined],
  ])('formatted as %s show a %s', (code, kind) => {
    expect(kindOf(code)).toBe(kind);
  });
});

/** A sheet whose cells have their places, with merged ones. */
const placed = (merges: string[], ...cells: Record<string, string>[]) => {
  const of = (row: Record<string, string>, at: number) =>
    `<row r="${at + 1}">${Object.entries(row)
      .map(([column, value]) => `<c r="${column}${at + 1}" t="str"><v>${value}</v></c>`)
      .join('')}</row>`;
  const merged = merges.map((ref) => `<mergeCell ref="${ref}"/>`).join('');
  return `<worksheet><sheetData>${cells.map(of).join('')}</sheetData><mergeCells>${merged}</mergeCells></worksheet>`;
};

describe('merged cells', () => {
  it('have their value in each row of the data, which is told', async () => {
    const sheet = placed(
      ['A1:B1', 'A2:A4', 'B5:C5', 'A6:C6'],
      { A: 'Region', B: 'City', C: 'n' },
      { A: 'North', B: 'Oslo', C: '1' },
      { B: 'Bergen', C: '2' },
      { B: 'Tromso', C: '3' },
      { A: 'South', B: 'closed' },
      { A: 'a heading' },
    );
    const { documents, file } = await read('merged.xlsx', book(sheet));
    expect(documents).toEqual([
      { Region: 'North', City: 'Oslo', n: '1' },
      { Region: 'North', City: 'Bergen', n: '2' },
      { Region: 'North', City: 'Tromso', n: '3' },
      { Region: 'South', City: 'closed' },
      { Region: 'a heading' },
    ]);
    expect(file?.warnings?.()).toEqual(['"Region": 2 cells have the value of the merged cell that they belong to.']);
  });

  it('of hostile sizes are filled up to a limit, which is told', async () => {
    const rows = Array.from({ length: 2_000 }, () => ({ B: 'x' }));
    const wide = Array.from({ length: 5_000 }, () => 'A2:XFD1048576');
    const begun = performance.now();
    const sheet = placed(wide, { A: 'a', B: 'b' }, { A: 'y'.repeat(40_000), B: 'z' }, ...rows);
    const { file, error } = await read('wide.xlsx', book(sheet));
    expect(error).toBeUndefined();
    expect(file?.warnings?.().join(' ')).toContain(
      'The sheet has more merged cells, which are empty but for the first.',
    );
    expect(performance.now() - begun).toBeLessThan(20_000);
  });
});

describe('what a sheet is told of', () => {
  const relations = `<Relationships>${['worksheet worksheets/s.xml', 'styles styles.xml']
    .map((one, at) => {
      const [type, target] = one.split(' ');
      return `<Relationship Id="r${at + 1}" Type="http://example.org/${type}" Target="${target}"/>`;
    })
    .join('')}</Relationships>`;
  const styled = (sheet: string, styles: string) =>
    book(sheet, { 'xl/styles.xml': `<styleSheet>${styles}</styleSheet>`, 'xl/_rels/workbook.xml.rels': relations });

  it('are zeros that formats show, amounts of several currencies, digits that are lost, and what is hidden', async () => {
    const codes = ['00000', '[$€-407]#,##0.00', '"$"#,##0.00', '0.0%', '#,##0'];
    const styles = `<numFmts>${codes.map((code, n) => `<numFmt numFmtId="${164 + n}" formatCode="${code.replace(/"/g, '&quot;')}"/>`).join('')}</numFmts>
      <cellXfs>${codes.map((_, n) => `<xf numFmtId="${164 + n}"/>`).join('')}</cellXfs>`;
    const cell = (style: number, value: string) => `<c s="${style}"><v>${value}</v></c>`;
    const row = (zip: string, currency: number) => [
      cell(0, zip),
      cell(currency, '1.5'),
      cell(3, '0.05'),
      cell(4, '4111111111111111'),
      text('x'),
    ];
    const head = ['zip', 'price', 'rate', 'card', 'note'].map(text);
    const data = rows(head, row('1067', 1), row('50667', 2), row('7', 1), [text('n/a')]);
    const hidden = data
      .replace('<sheetData>', '<cols><col min="5" max="9" hidden="1"/></cols><sheetData>')
      .replace(/<row>(?=<c s="0"><v>(?:50667|7)<)/g, '<row hidden="1">');
    const { documents, file } = await read('seen.xlsx', styled(hidden, styles));
    expect(documents.map((one) => (one as Record<string, unknown>)['zip'])).toEqual(['01067', '50667', '00007', 'n/a']);
    expect(documents[0]).toEqual({ zip: '01067', price: 1.5, rate: 0.05, card: 4111111111111111, note: 'x' });
    expect(file?.warnings?.()).toEqual([
      '"zip": 3 numbers are text with the zeros that their format shows ("01067"); "types": {"zip": "INTEGER"} makes them numbers.',
      '"card": 3 numbers have more than 15 digits, of which workbooks keep 15: the last ones may be lost. Such numbers have to be text in the workbook.',
      '"price": the cells are amounts of several currencies by their formats (2 in €, 1 in $), which the numbers do not have: give the currency a column in the sheet, or load the sheet saved as CSV, which has it.',
      '2 rows are hidden or filtered out in the sheet (3-4): they are loaded as well.',
      'Hidden in the sheet, and loaded as well: 1 column ("note").',
    ]);
    const typed = await read('seen.xlsx', styled(hidden, styles), { types: { zip: 'STRING' } });
    expect(typed.documents).toEqual(documents);
    expect(typed.file?.warnings?.()).toEqual(file?.warnings?.().slice(1));
  });

  it('are lengths of time, which are days', async () => {
    const styles = '<cellXfs><xf numFmtId="0"/><xf numFmtId="46"/></cellXfs>';
    const row = (name: string, days: number) => [text(name), `<c s="1"><v>${days}</v></c>`];
    const [north, south] = [
      [row('Ada', 1.1), row('Bob', 2.2), row('Subtotal', 3.3000000000000003)],
      [row('Cy', 0.25), row('Di', 0.5), row('Subtotal', 0.75)],
    ];
    const sheet = rows([text('who'), text('worked')], ...north, ...south, row('Total', 4.05));
    const { documents, file } = await read('sums.xlsx', styled(sheet, styles));
    expect(documents[0]).toEqual({ who: 'Ada', worked: 1.1 });
    expect(file?.warnings?.()).toEqual(['"worked": 7 values are lengths of time, in days: "worked" * 24 is hours.']);
  });
});

describe('hostile workbooks', () => {
  const strings = (content: string) => ({ 'xl/sharedStrings.xml': `<sst>${content}</sst>` });
  const shared = '<c t="s"><v>0</v></c>';

  it.each([
    ['a sheet of one space', book(`<worksheet><sheetData>${' '.repeat(15_000_000)}`), '10 MiB'],
    ['a long text', book(rows(HEAD, [shared]), strings(`<si><t>${'x'.repeat(15_000_000)}</t></si>`)), '10 MiB'],
    ['a text that is missing', book(rows(HEAD, ['<c t="s"><v>7</v></c>'])), 'the text number 7, which is not there'],
    ['too many columns', book(rows(HEAD, Array(20_000).fill(number('1')))), 'beyond the 16,384 columns'],
    ['an entity', book(`<!DOCTYPE a [<!ENTITY x "y">]>${rows([text('&x;')])}`), 'not expanded'],
    ['no sheet', book('', { 'xl/workbook.xml': '<workbook/>' }), 'no sheet with cells'],
    ['no part of that name', book('', { 'xl/_rels/workbook.xml.rels': '<Relationships/>' }), 'no sheet with cells'],
    ['no workbook', zipSync({ 'data.csv': Buffer.from('a,b') }), 'no workbook (xlsx), but another ZIP archive'],
    ['no archive', Buffer.from('hello'), 'cannot be read as a ZIP archive'],
    ['nothing', Buffer.alloc(0), 'cannot be read as a ZIP archive'],
    ['a password', Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1]), 'or one with a password'],
  ])('with %s are refused in bounded time', async (_, content, why) => {
    const begun = performance.now();
    const { error } = await read('hostile.xlsx', content);
    expect(error).toContain(why);
    expect(performance.now() - begun).toBeLessThan(20_000);
  });

  it('have parts in proportion to their size, beyond 64 MiB', async () => {
    const content = zipSync({ part: new Uint8Array(70_000_000) });
    writeFileSync(join(root, 'bomb.zip'), content);
    const handle = await open(join(root, 'bomb.zip'));
    let bytes = 0;
    try {
      const zip = await Zip.open(handle);
      await expect(async () => {
        for await (const { piece } of zip.pieces('part')) bytes += piece.length;
      }).rejects.toThrow('expands to more than 250 times its size');
    } finally {
      await handle.close();
    }
    expect(bytes).toBeLessThanOrEqual(64 * 1024 * 1024);
  });

  it('whose cells all have one long text leave out rows that are too large', async () => {
    const content = book(
      rows(HEAD, [shared], Array(16_000).fill(shared)),
      strings(`<si><t>${'x'.repeat(99_000)}</t></si>`),
    );
    const { documents } = await read('amplified.xlsx', content);
    expect(documents).toEqual([{ a: 'x'.repeat(99_000) }, { problem: expect.stringContaining('10 MiB') }]);
  });

  it('end in the middle of a sheet after the rows before', async () => {
    const { documents, error } = await read(
      'end.xlsx',
      book(rows(HEAD, [number('1')]).replace(/<\/sheetData.*/, '<row>')),
    );
    expect(documents).toEqual([{ a: 1 }]);
    expect(error).toContain('its part "xl/worksheets/s.xml" is damaged: unclosed tag: row');
  });
});
