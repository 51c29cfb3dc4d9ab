import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { rowsOf } from '../../engine/harness.ts';
import { type Loads, openLoads } from './loads.ts';

/* What is told of files that are read as they are, and are not what they seem. */

let loads: Loads;

beforeEach(async () => {
  loads = await openLoads();
});

afterEach(async () => {
  expect(loads.spooled()).toEqual([]);
  await loads.dispose();
});

const lines = (...all: string[]) => `${all.join('\n')}\n`;
const loaded: Loads['loadOwn'] = (...of) => loads.loadOwn(...of);
const notesOf = async (text: string) => (await loaded(text)).outcome.warnings;

describe('a file without a line of names', () => {
  const PEOPLE = lines('1,Ann,2024-01-01,1.5', '2,Bob,2024-01-02,3.0', '3,Cy,2024-01-03,4.5');

  test('is told with arguments that read it', async () => {
    const { outcome, rows } = await loaded(PEOPLE);
    expect(rows).toHaveLength(2);
    expect(outcome.warnings).toEqual([
      'The first line became the names of the columns, and it looks like a row ("1", "2024-01-01", "1.5" are values as those below are). If it is one, load the file anew with "format_params": {"firstLineAsColumnNames": false}, which calls the columns column_1 … column_4, or with their 4 names as "columnNames".',
    ]);
    const anew = await loads.create('anew');
    const { added, warnings } = await loads.load(anew, PEOPLE, { csv: { firstLineAsColumnNames: false } });
    expect([added, warnings]).toEqual([3, []]);
    expect((await loads.seen('anew')).columns.slice(1)).toEqual([
      'column_1 BIGINT',
      'column_2 VARCHAR',
      'column_3 DATE',
      'column_4 DOUBLE',
    ]);
  });

  test.each<[string, boolean, string[]]>([
    ['numbers alone', true, ['5,1,3', '6,2,4', '7,8,9']],
    ['one column of numbers', true, ['the,500', 'of,300', 'and,200']],
    ['addresses', true, ['Ann,ann@example.org', 'Bob,bob@example.org']],
    ['years', false, ['region,2022,2023', 'N,10,20', 'S,2021,2030']],
    ['one year', false, ['region,2022', 'N,10']],
    ['a series', false, ['q,0.25,0.5,0.9', 'a,1.5,2.5,3', 'b,4.5,5,6']],
    ['days above numbers', false, ['region,2024-01-01,2024-02-01', 'N,10,20']],
    ['one name that is a number', false, ['id,500,price,weight', '1,2,3.5,4', '2,3,4.5,5']],
    ['names', false, ['id,name', '1,a']],
  ])('is told of none but values above values: %s', async (_, isTold, all) => {
    const warnings = await notesOf(lines(...all));
    expect(warnings.some((one) => one.startsWith('The first line became'))).toBe(isTold);
  });
});

describe('numbers that may be versions', () => {
  test.each<[string, string[], string | undefined]>([
    ['two spellings of one', ['1.1', '1.10', '1.9'], 'in which 1.1 and 1.10 are one'],
    ['chapters', ['1.8', '1.9', '1.10', '1.11'], 'in which 1.10 is 1.1'],
    ['prices', ['1.10', '9.90', '12.00'], undefined],
    ['as programs write them', ['1.0', '1.1', '1.25', '1', '1.9', '10.1'], undefined],
  ])('are told by their form: %s', async (_, cells, what) => {
    const { outcome, columns } = await loaded(lines('version', ...cells));
    expect(columns).toEqual(['version DOUBLE']);
    const told = `"version" became numbers, ${what}: if these are versions, chapters or codes, load anew with "types": {"version": "STRING"}.`;
    expect(outcome.warnings).toEqual(what === undefined ? [] : [told]);
  });

  test('are told only where they become numbers', async () => {
    const docs = await loads.create('docs');
    await loads.add(docs, [{ version: 'x' }]);
    expect((await loads.load(docs, lines('version', '1.1', '1.10'))).warnings).toEqual([]);
  });
});

describe('rows that sum up others, or stand below them', () => {
  const ROWS = ['region,store,amount', 'N,1,10', 'N,2,20'];
  const NUMBERED = Array.from({ length: 40 }, (_, at) => `${4_001 + at},${at + 1}`);
  test.each<[string, string[], string | undefined, number]>([
    [
      'subtotals and a total without a word',
      [...ROWS, 'N Subtotal,,30', 'S,3,5', 'S Subtotal,,5', ',,35'],
      '3 rows (line 4 "N Subtotal"; 6, 7) seem to sum up others, or to stand below them: leave them out of sums and counts: WHERE "store" IS NOT NULL.',
      3,
    ],
    [
      'a last line',
      ['day,who,amount', '2024-01-01,a,10', '2024-01-02,b,20', '*** end of list ***,,'],
      '1 row (line 4 "*** end of list ***") seems to sum up others, or to stand below them: leave it out of sums and counts: WHERE "who" IS NOT NULL.',
      2,
    ],
    [
      'a word in the second cell',
      [...ROWS, ',Total,30'],
      '1 row (line 4 "Total") seems to sum up others, or to stand below them: leave it out of sums and counts: WHERE "region" IS NOT NULL.',
      2,
    ],
    [
      'a word in the first cell of a row that lacks nothing',
      ['a,b', 'x,20', 'z,5', 'Summe:,25'],
      `1 row (line 4 "Summe:") seems to sum up others, or to stand below them: leave it out of sums and counts: WHERE coalesce("a", '') NOT IN ('Summe:').`,
      2,
    ],
    [
      'sums in rows that lack nothing',
      ['a,b', 'x,20', 'z,5', 'Zwischensumme 1,25', 'x,1', 'y,2', 'Summe 2,3'],
      '2 rows',
      4,
    ],
    [
      'a word in the second cell of rows that lack nothing',
      ['a,b,n', 'N,a,10', 'N,b,5', 'N,Subtotal,15', 'S,c,20', 'S,Subtotal,20'],
      `2 rows (line 4 "Subtotal"; 6) seem to sum up others, or to stand below them: leave them out of sums and counts: WHERE coalesce("b", '') NOT IN ('Subtotal').`,
      3,
    ],
    [
      'a group of one row first, and a total in another column',
      ['a,b,n', 'N,a,10', 'N,Subtotal,10', 'S,c,20', 'S,d,20', 'S,Subtotal,40', 'Grand Total,all,50'],
      `3 rows (line 3 "Subtotal"; 6, 7) seem to sum up others, or to stand below them: leave them out of sums and counts: WHERE coalesce("a", '') NOT IN ('Grand Total') AND coalesce("b", '') NOT IN ('Subtotal').`,
      3,
    ],
    [
      'a word that other rows have, too, without a condition',
      ['a,b,n', 'N,Total,10', 'N,Shell,15', 'S,Total,25', 'S,Shell,20', 'S,Total,7'],
      '1 row (line 4 "Total") seems to sum up others, or to stand below them: leave it out of sums and counts.',
      5,
    ],
    [
      'short lines and an empty row behind a total',
      ['region,units', 'North,10', 'South,20', 'Total,30', ',', 'note: preliminary,', 'source: ERP,'],
      `4 rows (line 4 "Total"; 5, 6, 7) seem to sum up others, or to stand below them: leave them out of sums and counts: WHERE "region" IS NOT NULL AND coalesce("region", '') NOT IN ('Total', 'note: preliminary', 'source: ERP').`,
      2,
    ],
    [
      'words of formulas without a value',
      ['d,who,n', 'N,a,1', 'N,b,2', 'N Total,,', 'S,c,3', 'S Total,,'],
      '2 rows',
      3,
    ],
    ['a word above numbers, among them', ['k,n', ...NUMBERED, 'Total,820'], `1 row (line 42 "Total")`, 40],
    ['empty rows alone', ['a,b', 'x,1', 'y,2', 'z,', 'w,', ','], undefined, 5],
    ['several lines behind an average', [...ROWS, 'Average,,15', '', 'Source: us,,', 'as of today,,'], '3 rows', 2],
    [
      'sums by chance of groups with names',
      ['month,region,goal', '1,E,100', '1,W,100', '2,E,200', '2,W,200', '3,E,300', '3,W,300'],
      undefined,
      6,
    ],
    ['a brand', ['brand,country,n', 'Shell,UK,40', 'Esso,US,30', 'Total,,20', 'BP,UK,35', 'Jet,US,5'], undefined, 5],
    ['a rounded total above others', ['a,b,n', 'x,y,10', 'z,y,5', 'Total,,15.2', 'w,y,2', 'v,y,1'], '1 row', 4],
    ['a product', ['name,qty,price', 'Total Care,1,2', 'Sum,2,3', 'Care Total,3,4'], undefined, 3],
    ['what many lack', ['name,qty,price', 'Total Care,1,', 'x,2,', 'y,3,4', 'z,,5', 'w,,'], undefined, 5],
    ['numbers that happen to be sums', ['id,n', '1,1', '2,2', '3,3', '6,6'], undefined, 4],
  ])('are told with what leaves them out: %s', async (_, all, told, left) => {
    const { outcome } = await loaded(lines(...all));
    const warning = outcome.warnings.find((one) => one.includes('to sum up others'));
    expect(told === undefined ? warning : warning?.slice(0, told.length)).toBe(told);
    const where = warning?.includes('WHERE ') ? warning.slice(warning.indexOf('WHERE '), -1) : '';
    expect(await rowsOf(loads.engine, `SELECT count(*) FROM docs ${where}`)).toEqual([[left]]);
  });
});

describe('names of columns among the rows', () => {
  const joined = (rows: number, row: (at: number) => string, names = 'sku,place,n') =>
    [0, 1, 2].flatMap((file) => [names, ...Array.from({ length: rows }, (_, at) => row(file * rows + at))]);

  test.each<[string, string[], string, number]>([
    [
      'in a column of text, behind the rows that are looked at',
      joined(700, (at) => `S${at},P,${at}`),
      `2 rows (line 702; 1,403) repeat the names of the columns, as where files were joined: leave them out of sums and counts: WHERE coalesce("sku", '') NOT IN ('sku').`,
      2_100,
    ],
    ['in columns of numbers', joined(70, (at) => `${at},${at % 7},3`), `WHERE coalesce(CAST("sku" AS VARCHAR)`, 210],
  ])('are told where they are those of the file, %s', async (_, all, told, left) => {
    const { warnings, lasting } = (await loaded(lines(...all))).outcome;
    expect(warnings.join()).toContain(told);
    expect(warnings.join()).not.toContain('repeat another');
    expect(await rowsOf(loads.engine, `SELECT count(*) FROM docs WHERE ${lasting[0]?.where}`)).toEqual([[left]]);
  });

  const laterWithout = (at: number) => (at < 1_200 ? `${at}` : '');
  test.each<[string, string[], string | undefined, number]>([
    [
      'but by another column, of text',
      joined(700, (at) => `${laterWithout(at)},P${at},${at}`),
      `coalesce("place", '') NOT IN ('place')`,
      2_100,
    ],
    ['nor at all', joined(700, (at) => `${laterWithout(at)},${at},${at}`), undefined, 2_102],
  ])('are not told by what rows may lack at which nobody looked, %s', async (_, all, where, left) => {
    const { warnings, lasting } = (await loaded(lines(...all))).outcome;
    expect(warnings.join()).toContain('2 rows (line 702; 1,403) repeat');
    expect(lasting).toMatchObject([{ where, count: 2 }]);
    expect(await rowsOf(loads.engine, `SELECT count(*) FROM docs WHERE ${where ?? 'true'}`)).toEqual([[left]]);
  });

  const TABLE = ['region,units,n', 'N,1,10', 'S,2,21'];
  test.each<[string, string[], number | undefined]>([
    ['below an empty row', [...TABLE, ',,', 'region,staff,cost', 'N,3,4'], 5],
    ['below an empty line and a title', [...TABLE, '', 'Costs,,', 'Region,Type,Cost', 'N,a,4'], 6],
    ['in two columns, of which one has a name of the first', ['k,n', 'a,1', '', 'k,m', 'b,2'], 4],
    ['a row of words for missing values', ['k,n', 'a,1', '', 'b,none', 'c,3'], undefined],
    ['a row of text', ['k,n', 'a,1', 'k,none', 'c,3'], undefined],
    ['a row behind a cell of two lines', ['k,n,m', '"a', 'b",1,1', 'k,none,few', 'c,3,4'], undefined],
    ['text below text', ['k,n', 'a,b', '', 'k,m', 'c,d'], undefined],
  ])('are told where they may be those of another table: %s', async (_, all, line) => {
    const told = (await notesOf(lines(...all))).find((one) => one.startsWith('Below an empty row'));
    expect(told?.match(/"header_row": (\d+)/)?.[1]).toBe(line === undefined ? undefined : String(line));
  });
});

describe('texts that say that there is no value', () => {
  const told = (sql: string) => `which are no NULL: ${sql} makes them NULL.`;
  test.each<[string, string[], string | undefined]>([
    ['one', ['NULL', 'VIP', 'regular'], told(`NULLIF("note", 'NULL')`)],
    ['several', ['n/a', 'VIP', 'k. A.'], told(`CASE WHEN "note" NOT IN ('n/a', 'k. A.') THEN "note" END`)],
    ['marks among marks', ['+', '-', '.'], undefined],
    ['a name', ['Null', 'Ann', 'none'], undefined],
    ['nothing else', ['n/a', 'n/a', 'n/a'], undefined],
  ])('are told of a column of text with what reads them: %s', async (_, cells, part) => {
    const warnings = await notesOf(lines('id,note', ...cells.map((cell, at) => `${at},${cell}`)));
    if (part === undefined) expect(warnings).toEqual([]);
    else expect(warnings).toEqual([expect.stringContaining(part)]);
  });
});

test('days as Excel counts them, among others, are told with what reads both', async () => {
  const warnings = await notesOf(lines('id,day', '1,2024-01-03', '2,45293', '3,2024-02-01', '4,2024-02-02'));
  const sql = /(coalesce\(.*\))\.$/.exec(warnings.join())?.[1];
  expect(await rowsOf(loads.engine, `SELECT min(${sql})::VARCHAR FROM docs`)).toEqual([['2024-01-02']]);
});

test('columns whose names are whole numbers stay in their places', async () => {
  expect((await loaded(lines('store,2022,2023', 'A,10,11'))).columns).toEqual([
    'store VARCHAR',
    '2022 BIGINT',
    '2023 BIGINT',
  ]);
});

describe('a label above each block', () => {
  test('is told with SQL that fills it down', async () => {
    const { outcome } = await loaded(lines('region,v', 'N,1', ',2', ',3', 'S,4', ',5', ',6'));
    const [warning = ''] = outcome.warnings;
    expect(warning).toContain('"region" is empty in most rows, as where a label stands once above a block.');
    const sql = warning.slice(warning.indexOf('last_value'), warning.indexOf(' is that, while'));
    const regions = `SELECT r, sum(v) FROM (SELECT v, ${sql} AS r FROM docs) GROUP BY r ORDER BY r`;
    expect((await rowsOf(loads.engine, regions)).map(([r, v]) => [r, Number(v)])).toEqual([
      ['N', 6],
      ['S', 15],
    ]);
  });

  test.each([
    ['labels come again', ['N,1', ',2', 'N,3', ',4', ',5']],
    ['rows begin without one', [',1', 'N,2', ',3', 'S,4', ',5', ',6']],
    ['few lack one', ['N,1', 'S,2', ',9', 'W,4', 'E,5']],
    ['numbers', ['1,1', ',2', '2,3', ',4', ',5']],
  ])('is not told of where %s', async (_, rows) => {
    expect(await notesOf(lines('region,v', ...rows))).toEqual([]);
  });
});

describe('values on the first row of a group only', () => {
  const filled = (...columns: string[]) =>
    `${columns.join(', ')} ${columns.length === 1 ? 'has a value' : 'have values'} only on`;
  test.each<[string, string[], string | undefined]>([
    ['one column', ['order,country,qty', '1,DE,1', '1,,5', '1,,4', '2,FR,2', '2,,1'], filled('"country"')],
    [
      'several, of which some are rare',
      ['no,paid,code,n', 'a,x,,1', 'a,,,1', 'b,y,Z,1', 'b,,,2', 'c,z,Z,1'],
      filled('"paid"', '"code"'),
    ],
    ...['valid_to', 'validTo', 'end_date', 'bis'].map((end): [string, string[], undefined] => [
      `the open end of a history, ${end}`,
      [
        `cust,segment,valid_from,${end}`,
        'a,x,2020-01-01,2021-01-01',
        'a,y,2021-01-01,',
        'b,x,2019-01-01,2022-01-01',
        'b,z,2022-01-01,',
      ],
      undefined,
    ]),
    [
      'the open end as a year',
      ['cust,from_year,to_year', 'a,2020,2021', 'a,2021,', 'b,2019,2022', 'b,2022,'],
      undefined,
    ],
    [
      'whom it goes to',
      ['no,ship_to,n', 'a,DE,1', 'a,,2', 'b,FR,3', 'b,,4'],
      filled('"ship_to"').replace('"order"', '"no"'),
    ],
    ['another day', ['order,paid_on,n', 'a,2020-01-01,1', 'a,,2', 'b,2020-01-02,3', 'b,,4'], filled('"paid_on"')],
    ['groups of one', ['no,paid', 'a,x', 'b,', 'c,z'], undefined],
    ['values anywhere', ['no,note', 'a,x', 'a,y', 'a,', 'b,z', 'b,'], undefined],
    ['groups that do not stand together', ['no,note', 'a,x', 'a,', 'b,z', 'b,', 'a,y', 'a,'], undefined],
  ])('are told with what fills them: %s', async (_, all, told) => {
    const { outcome } = await loaded(lines(...all));
    const warning = outcome.warnings.find((one) => one.includes('the first row of each'));
    expect(told === undefined ? warning : warning?.slice(0, told.length)).toBe(told);
  });

  test('are filled by that', async () => {
    const { outcome } = await loaded(lines('order,country,qty', '1,DE,1', '1,,5', '1,,4', '2,FR,2', '2,,1'));
    const sql = /max.*\)(?= has)/.exec(outcome.warnings.join())?.[0];
    expect(
      await rowsOf(loads.engine, `SELECT c, sum(qty) FROM (SELECT qty, ${sql} AS c FROM docs) GROUP BY c ORDER BY c`),
    ).toEqual([
      ['DE', 10],
      ['FR', 3],
    ]);
  });
});

describe('lines above a table', () => {
  const TITLE = ['Kontoumsätze', '', 'Konto:;DE02', 'Saldo per 31.12.2024:;12.345,67 EUR', 'Filter:;keine', ''];
  const TABLE = [
    'Tag;Wer;Betrag',
    ...Array.from({ length: 8 }, (_, n) => `"0${n + 1}.01.2024";"Müller";"1.${n}00,50"`),
  ];
  const ADVICE = 'its first 6 lines are above the table: give "header_row": 7';

  test('are refused with all that the file needs', async () => {
    const text = lines(...TITLE, ...TABLE);
    const docs = await loads.create('docs');
    await expect(loads.load(docs, text)).rejects.toThrow(ADVICE);
    const latin = Buffer.from(text, 'latin1');
    await expect(loads.load(docs, latin)).rejects.toThrow(ADVICE);
    expect((await loads.load(docs, latin, { headerRow: 7 })).added).toBe(8);
  });

  test('are refused so above any table, if they are comments', async () => {
    const docs = await loads.create('docs');
    for (const table of [
      ['id,amt', '1,10'],
      ['name;city', 'Ann;Rome', 'Bob;Bonn'],
    ]) {
      const advice = 'its first line is above the table: give "header_row": 2';
      await expect(loads.load(docs, lines('# exported', ...table))).rejects.toThrow(advice);
    }
  });

  test.each<[string, string[], number]>([
    ['a mark before the first name', ['#id,amt', '1,10', '2,20'], 2],
    ['a mark before the only name', ['# text', 'x', 'y, z', 'w'], 2],
    ['a separator behind each row', ['a,b,c', '1,2,3,', '4,5,6,', '7,8,9,', '1,1,1,'], 0],
    ['rows that lack their last cells', ['a,b,c', '1', '2,3', '4', '5,6', '7'], 5],
    ['text with separators', ['text', 'x', 'y, z', 'w'], 2],
    ['text alone, with a separator in each', ['note', 'Hello, Bob', 'Hi, Ann', 'Bye, Joe'], 0],
    ['names of rows, which it does not name', ['a,b', 'r1,x,y', 'r2,u,v', 'r3,p,q'], 0],
  ])('are none where the first line has the names: %s', async (_, all, added) => {
    expect((await loads.load(await loads.create('docs'), lines(...all))).added).toBe(added);
  });

  test('a reason that many rows have is said once', async () => {
    const all = ['a,b', ...Array.from({ length: 5 }, () => '"x"y,1')];
    const { stopped } = await loads.load(await loads.create('docs'), lines(...all), { onError: 'stop' });
    expect(stopped).toBe(
      '5 rows cannot be stored, so nothing is stored: 2, 3, 4 has text after the quote that ends a cell: a quote within a cell is written twice; and 2 more',
    );
  });
});

test('a text in a formula is read as such, and told once', async () => {
  const text = lines('id,name', '="00123",a', '"=""00456""",="x', '"=""1"" & ""2""",="c"');
  const { outcome, rows } = await loaded(text);
  expect(rows).toEqual([
    ['00123', 'a'],
    ['00456', '="x'],
    ['="1" & "2"', 'c'],
  ]);
  expect(outcome.warnings).toEqual([
    '3 cells such as ="00123", a formula for spreadsheets, are read as the text in it.',
  ]);
});

test('columns that are aligned with spaces are told', async () => {
  const told = 'The file has one column, in which spaces align several';
  const warnings = await notesOf(lines('name      amount', 'Ann          1.5', 'Bob         22.0'));
  expect(warnings.map((one) => one.slice(0, told.length))).toEqual([told]);
  const text = await loads.load(await loads.create('texts'), lines('text', 'a  b', 'c'));
  expect(text.warnings.filter((one) => one.startsWith(told))).toEqual([]);
});
