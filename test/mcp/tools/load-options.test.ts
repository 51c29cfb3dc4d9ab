import { strToU8, zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { loadingHere } from './load-here.ts';

const { call, rowsOf, write } = loadingHere();

let files = 0;
/** Loads a file into a collection of its own, which is named after it. */
async function load(ending: string, content: string | Uint8Array, args: Record<string, unknown> = {}) {
  files += 1;
  const name = `f${files}`;
  write(`${name}.${ending}`, content);
  return { name, ...(await call('load_file', { path: `${name}.${ending}`, ...args })) };
}
async function typesOf(name: string): Promise<Record<string, string>> {
  const rows = await rowsOf(`SELECT column_name, column_type FROM (DESCRIBE ${name})`);
  const types = rows as unknown as [string, string][];
  return Object.fromEntries(types.filter(([column]) => !column.startsWith('_')));
}

/** A workbook of one sheet, of rows of cells as XML. */
function book(...rows: string[][]): Uint8Array {
  const sheet = `<worksheet><sheetData>${rows.map((cells) => `<row>${cells.join('')}</row>`).join('')}</sheetData></worksheet>`;
  const parts = {
    '_rels/.rels':
      '<Relationships><Relationship Id="r1" Type="x/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    'xl/workbook.xml': '<workbook xmlns:r="r"><sheets><sheet name="S" r:id="r1"/></sheets></workbook>',
    'xl/_rels/workbook.xml.rels':
      '<Relationships><Relationship Id="r1" Type="x/worksheet" Target="worksheets/s.xml"/></Relationships>',
    'xl/worksheets/s.xml': sheet,
  };
  return zipSync(Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, strToU8(text)])));
}
const text = (value: string) => `<c t="inlineStr"><is><t>${value}</t></is></c>`;
const number = (value: string) => `<c><v>${value}</v></c>`;

describe('"event_time"', () => {
  const LINES = '{"_id":"a","at":86400,"when":{"day":"2024-01-02"}}\n';

  it('is a field, and a format where one is needed, of the collection that is created', async () => {
    const counted = await load('jsonl', LINES, { event_time: { field: 'at', format: 'seconds_since_epoch' } });
    expect(counted.isError).toBe(false);
    expect(await rowsOf(`SELECT _event_time FROM ${counted.name}`)).toEqual([['1970-01-02T00:00:00.000000Z']]);
    const nested = await load('jsonl', LINES, { event_time: 'when.day' });
    expect(await rowsOf(`SELECT _event_time FROM ${nested.name}`)).toEqual([['2024-01-02T00:00:00.000000Z']]);
    const csv = await load('csv', 'd,n\n02.01.2024,1\n', { event_time: '{"field":"d","format":"%d.%m.%Y"}' });
    expect(await rowsOf(`SELECT _event_time FROM ${csv.name}`)).toEqual([['2024-01-02T00:00:00.000000Z']]);
  });

  it('is told with the format that it has, where none was given', async () => {
    const rows = 'id;when\n1;23.03.2024 17:00\n2;24.03.2024 18:00\n';
    const { name, data, next } = await load('csv', rows, { event_time: 'when' });
    expect(data['stopped_because']).toContain('; it has the format "%d.%m.%Y %H:%M"');
    expect(next).toContain('call again with "event_time": {"field": its name, "format": that one, "time_zone": where');
    expect(next).not.toContain('"skip"');
    const event_time = { field: 'when', format: '%d.%m.%Y %H:%M', time_zone: 'Europe/Berlin' };
    await call('load_file', { path: `${name}.csv`, event_time });
    expect(await rowsOf(`SELECT min(_event_time) FROM ${name}`)).toEqual([['2024-03-23T16:00:00.000000Z']]);
    const either = await load('jsonl', '{"at":"03/04/2024"}\n', { event_time: 'at' });
    expect(either.text).toContain('it has the format \\"%d/%m/%Y\\" or \\"%m/%d/%Y\\"');
  });

  it('is what an existing collection has, or both are named', async () => {
    const eventTime = { field: 'at', format: 'SECONDS_since_epoch' };
    const { name } = await load('jsonl', LINES, { event_time: eventTime });
    const again = (more: object) => call('load_file', { path: `${name}.jsonl`, collection: name, ...more });
    expect((await again({ event_time: eventTime })).isError).toBe(false);
    expect((await again({})).isError).toBe(false);
    const other = await again({ event_time: 'when.day' });
    expect(other).toMatchObject({ isError: true });
    expect(other.text).toContain('its event time is "at" (seconds_since_epoch, UTC), not "when.day" (ISO-8601, UTC)');
    const { name: plain } = await load('jsonl', LINES);
    const none = await call('load_file', { path: `${plain}.jsonl`, collection: plain, event_time: 'at' });
    expect(none.text).toContain('its event time is that of "_event_time", not "at" (ISO-8601, UTC)');
  });

  it.each([
    ['nope', 'does not have the field \\"nope\\" that \\"event_time\\" names'],
    [{ field: 'at', format: 'secs' }, 'is \\"secs\\", which is no format'],
    [{ format: 'ISO-8601' }, 'argument \\"event_time\\": expected the name of a field'],
    [{ field: 'at', zone: 'UTC' }, 'argument \\"event_time\\": expected the name of a field'],
  ])('%j is refused', async (given, why) => {
    const { isError, text: said, name } = await load('jsonl', LINES, { event_time: given });
    expect([isError, JSON.stringify(said)]).toEqual([true, expect.stringContaining(why)]);
    expect((await call('get_collection', { workspace: 'commons', collection: name })).isError).toBe(true);
  });
});

describe('a dry run', () => {
  it('warns of what the load will warn of, but for what only its end tells', async () => {
    const csv = `day;price\n${[1, 2, 3].map((n) => `31.12.202${n};12,5${n}\n01.02.202${n};1,0${n}\n`).join('')}`;
    const dry = await load('csv', csv, { dry_run: true });
    const { data } = await load('csv', csv);
    const warnings = dry.data['warnings'] as unknown as string[];
    expect(warnings).toEqual([expect.stringContaining("'%d.%m.%Y'"), expect.stringContaining('12,51')]);
    expect(data['warnings']).toEqual(warnings);
    const totalAfter = async (rows: number) => {
      const text = `a;b\n${'x;1\n'.repeat(rows)}Total;${rows}\n${'x;1\n'.repeat(rows)}`;
      return (await load('csv', text, { dry_run: true })).data['warnings'];
    };
    expect(await totalAfter(200)).toEqual([expect.stringContaining('line 202 "Total"')]);
    expect(await totalAfter(1_200)).toBeUndefined();
  });
});

describe('"header_row"', () => {
  it('is named where the first line is a title, and leaves out what is above it', async () => {
    const csv = 'Sales;;\n;;\nname;n;x\na;1;2\n';
    const titled = await load('csv', csv);
    expect([titled.isError, titled.text]).toEqual([true, expect.stringMatching(/give \\*"header_row\\*": 3/)]);
    const { name, isError } = await load('csv', csv, { header_row: 3 });
    expect(isError).toBe(false);
    expect(await rowsOf(`SELECT name, n, x FROM ${name}`)).toEqual([['a', 1, 2]]);
    const dry = await load('csv', csv, { format_params: { header_row: 3 }, dry_run: true });
    expect(dry.data['fields']).toBe('name, n BIGINT, x BIGINT');
    const json = await load('jsonl', '{"a":1}\n', { header_row: 2 });
    expect(json.text).toContain('says how csv or xlsx is read');
  });

  it('is told with what was to be left out, so that the next call leaves it out, too', async () => {
    const stopped = await load('csv', 'old\n1,2,3\n', { format_params: { columnNames: ['a', 'b'] }, skip: 1 });
    expect(stopped.text).toContain('"skip": 1');
  });
});

describe('"encoding"', () => {
  it('may be UTF-16, by its mark or said', async () => {
    const wide = Buffer.from('\ufeffname,n\nÄpfel,1\n', 'utf16le');
    for (const [content, more] of [
      [wide, {}],
      [wide.subarray(2), { format_params: { encoding: 'utf-16le' } }],
    ] as const) {
      const { name } = await load('csv', content, more);
      expect(await rowsOf(`SELECT name, n FROM ${name}`)).toEqual([['Äpfel', 1]]);
    }
  });
});

describe('"types"', () => {
  const CSV = 'zip,n,day\n01234,5,2024-01-02\n5,6,2024-01-03\n';

  it('of a column is that by its name, and the others are found', async () => {
    const { name } = await load('csv', CSV, { types: { n: 'float' } });
    expect(await typesOf(name)).toEqual({ zip: 'VARCHAR', n: 'DOUBLE', day: 'DATE' });
    const named = await load('csv', '5;2\n', {
      types: '{"b":"STRING"}',
      format_params: { separator: ';', columnNames: ['a', 'b'] },
    });
    expect(await typesOf(named.name)).toEqual({ a: 'BIGINT', b: 'VARCHAR' });
  });

  it('"text" leaves every cell as it is', async () => {
    const { name } = await load('csv', CSV, { types: 'text' });
    expect(await typesOf(name)).toEqual({ zip: 'VARCHAR', n: 'VARCHAR', day: 'VARCHAR' });
    expect(await rowsOf(`SELECT zip, n, day FROM ${name} ORDER BY zip`)).toEqual([
      ['01234', '5', '2024-01-02'],
      ['5', '6', '2024-01-03'],
    ]);
  });

  it('are those of a sheet, too', async () => {
    const sheet = book(
      [text('zip'), text('n'), text('f')],
      [number('1234'), text('7'), '<c t="b"><v>1</v></c>'],
      [text('0012'), number('8'), number('1.5')],
    );
    const whole = await load('xlsx', sheet, { types: 'text' });
    expect(await rowsOf(`SELECT zip, n, f FROM ${whole.name} ORDER BY zip`)).toEqual([
      ['0012', '8', '1.5'],
      ['1234', '7', 'true'],
    ]);
    const some = await load('xlsx', sheet, { types: { zip: 'STRING', n: 'INTEGER' } });
    expect(await typesOf(some.name)).toMatchObject({ zip: 'VARCHAR', n: 'BIGINT' });
    const refused = await load('xlsx', sheet, { types: { f: 'INTEGER' }, on_error: 'skip' });
    expect(refused.data).toMatchObject({
      failed: [
        { row: 2, error: 'has "true" in column "f", which is no INTEGER' },
        { row: 3, error: 'has "1.5" in column "f", which is no INTEGER' },
      ],
    });
    const { text: said } = await load('xlsx', sheet, { types: { zipp: 'STRING' } });
    expect(said).toContain('"types" names "zipp", which is no column of the file. The columns are "zip", "n", "f".');
  });

  it.each([
    [
      { zipp: 'STRING' },
      'csv',
      '"zipp", which is no column of the file. The columns are "zip", "n", "day". Did you mean "zip"?',
    ],
    [{ constructor: 'STRING' }, 'csv', '"constructor", which is no column'],
    [{ zip: 'TEXT' }, 'csv', 'the type of "zip" is "TEXT", and not one of BOOLEAN, INTEGER, FLOAT, STRING'],
    ['txt', 'csv', 'argument "types": expected "infer", "text", or types of columns by name'],
    ['text', 'jsonl', 'the values of jsonl have types of their own'],
    [{ zip: 'STRING' }, 'parquet', 'the values of parquet have types of their own'],
  ])('%j of %s are refused', async (given, ending, why) => {
    const { isError, text: said } = await load(ending, CSV, { types: given });
    expect([isError, said]).toEqual([true, expect.stringContaining(why)]);
  });

  it('by place and by name at once are refused', async () => {
    const args = { types: { zip: 'STRING' }, format_params: { columnTypes: ['STRING'] } };
    expect((await load('csv', CSV, args)).text).toContain('given twice');
  });
});

describe('arguments under other names', () => {
  it('that once stood by themselves are understood, and the answer has the right ones', async () => {
    const { data, next, isError } = await load('csv', '1;2\n', {
      csv_separator: ';',
      csv_columns: ['a', 'b'],
      csv_types: ['STRING', 'INTEGER'],
    });
    expect([isError, data['counts']]).toEqual([false, { ADDED: 1 }]);
    expect(next).toContain('"csv_separator" is "separator" in "format_params"');
    expect(next).toContain('"csv_columns" is "columnNames" in "format_params"');
    const list = await load('json', '{"a":[{"x":1}],"b":[{"x":2},{"x":3}]}', { list_path: 'b', dry_run: true });
    expect(list.data).toMatchObject({ list_path: 'b', looked_at: 'all 2 entries' });
    expect(list.next).toContain('"list_path" is "list_path" in "format_params"');
  });

  it('as the API nests them are understood', async () => {
    const nested = { csv: { separator: ';', columnNames: ['a', 'b'] } };
    const { data, next } = await load('csv', '1;2\n', { format_params: nested, event_time_info: { field: 'b' } });
    expect(data['counts']).toEqual({ ADDED: 1 });
    expect(next).toContain('"event_time_info" is "event_time"');
    const same = { separator: ';', csv: { separator: ';' } };
    expect((await load('csv', 'a;b\n1;2\n', { format_params: same })).data['counts']).toEqual({ ADDED: 1 });
  });

  it('are types by name where they are no list', async () => {
    const { name, next } = await load('csv', 'zip,n\n1,2\n', { csv_types: { zip: 'STRING' } });
    expect(next).toContain('"csv_types" is "types"');
    expect(await typesOf(name)).toEqual({ zip: 'VARCHAR', n: 'BIGINT' });
    const listed = await load('csv', 'zip,n\n1,2\n', { csv_types: '["STRING","INTEGER"]' });
    expect(await typesOf(listed.name)).toEqual({ zip: 'VARCHAR', n: 'BIGINT' });
  });

  it.each([
    [
      { format_params: { seperator: ';' } },
      'there is no field "seperator" in "format_params"; did you mean "separator"?',
    ],
    [{ csv_separator: ';', format_params: { separator: ',' } }, 'there is no argument "csv_separator"'],
    [{ seperator: ';' }, 'there is no argument "seperator"'],
    [
      { format_params: { separator: ';', csv: { separator: ',' } } },
      '"separator" is in "format_params" twice, with two values.',
    ],
    [
      { format_params: { csv: { separator: ',' }, separator: ';' } },
      '"separator" is in "format_params" twice, with two values.',
    ],
    [
      { format_params: { list_path: 'a' } },
      '"list_path" in "format_params" says how json is read, and the file is csv. Leave it out',
    ],
    [{ sheet: 'One' }, '"sheet" in "format_params" says how xlsx is read, and the file is csv.'],
    [{ format: 'excel' }, 'argument "format": expected one of json, jsonl, csv, parquet, xml, avro, xlsx'],
  ])('%j is refused', async (args, why) => {
    expect((await load('csv', 'a\n1\n', args)).text).toContain(why);
  });
});

describe('"format_params" of several files', () => {
  it('are for those of its format, and refused where there is none', async () => {
    write('mixed/a.csv', 'n;m\n1;2\n');
    write('mixed/b.json', '[{"n":1}]');
    const both = await call('load_file', { path: 'mixed', format_params: { separator: ';' } });
    expect(both.isError).toBe(false);
    expect(await rowsOf('SELECT m FROM a')).toEqual([[2]]);
    const none = await call('load_file', { path: 'mixed', format_params: { doc_tag: 'x' } });
    expect(none.text).toContain('says how xml is read, and the files are csv, json.');
  });
});

describe('what is told', () => {
  it('of a dry run is how much it saw', async () => {
    const lines = Array.from({ length: 300 }, (_, n) => `{"n":${n}}\n`).join('');
    const { data, isError } = await load('jsonl', `${lines}broken\n`, { dry_run: true });
    expect([isError, data['looked_at']]).toEqual([false, 'only the first 200 entries; later ones may be refused']);
    expect((await load('jsonl', '{"n":1}\n', { dry_run: true })).data['looked_at']).toBe('all 1 entry');
  });

  it('of fields are all names, however large the type of the first is', async () => {
    const wide = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`some_long_name_${n}`, n]));
    const { data } = await load('jsonl', `${JSON.stringify({ wide, n: 1 })}\n`, { dry_run: true });
    expect(data['fields']).toBe('wide {<key> BIGINT}, n BIGINT');
  });

  it('of CSV is the separator that was recognized', async () => {
    expect((await load('csv', 'a;b\n1;2\n')).data['separator']).toBe(';');
    expect((await load('csv', 'a;b\n1;2\n', { dry_run: true })).data['separator']).toBe(';');
    expect((await load('csv', 'a,b\n1,2\n')).data).not.toHaveProperty('separator');
    expect((await load('tsv', 'a\tb\n1\t2\n')).data).not.toHaveProperty('separator');
  });

  it('of formulas is how many have no value, and where the first is', async () => {
    const sheet = book(
      [text('a'), text('b'), text('c')],
      [number('1'), '<c r="B2"><f>A2+1</f></c>', '<c r="C2"><f>A2</f><v>1</v></c>'],
      [number('2'), '<c r="B3"><f>A3+1</f><v></v></c>', '<c r="C3" t="str"><f>""</f><v></v></c>'],
    );
    const { data, name } = await load('xlsx', sheet);
    expect(data['warnings']).toContainEqual(
      expect.stringMatching(/^2 formulas without a stored value \(the first in cell B2\): left out; save the workbook/),
    );
    expect(await rowsOf(`SELECT count(*) FROM ${name}`)).toEqual([[2]]);
    const many = await call('load_file', { path: `${name}.xlsx`, dry_run: true });
    expect(many.data['warnings']).toHaveLength(1);
  });
});
