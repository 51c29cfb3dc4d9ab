import { statSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { spoolCsv } from '../../../src/service/loading/csv-spool.ts';
import { createSpool } from '../../../src/service/loading/spool.ts';
import { rowsOf } from '../../engine/harness.ts';
import { type Loads, openLoads } from './loads.ts';

/* Files of CSV as people have them: cells of several kinds in one column, and headers that are not quite one. */

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

describe('the columns', () => {
  test.each<[string, string[], string, string]>([
    [
      'zones',
      ['2024-10-27T02:30:00+02:00', '2024-10-27T02:30:00+01:00', '2024-12-31T23:30:00-0500', '2025-01-01T00:15:00Z'],
      'TIMESTAMP WITH TIME ZONE',
      '2025-01-01T04:30:00Z',
    ],
    [
      'fractions',
      ['2024-03-30T12:00:00Z', '2024-03-30T12:00:00.500Z', 'n/a'],
      'TIMESTAMP WITH TIME ZONE',
      '2024-03-30T12:00:00.5Z',
    ],
    ['separators', ['2024-01-01T10:00', '2024-01-01 10:00:00.25', ''], 'TIMESTAMP', '2024-01-01T10:00:00.25Z'],
    ['minutes', ['2024-01-01T10:00', '2024-01-01T09:00'], 'TIMESTAMP', '2024-01-01T10:00:00Z'],
    ['dates, too', ['2024-01-02', '2024-01-01T10:00:00'], 'TIMESTAMP', '2024-01-02T00:00:00Z'],
    [
      'no seconds',
      ['2024-01-01T10:00Z', '2024-06-01T10:00+02:00', '2024-01-01 10:00:00-0230'],
      'TIMESTAMP WITH TIME ZONE',
      '2024-06-01T08:00:00Z',
    ],
    [
      'no seconds at all',
      ['2024-02-29T21:27Z', '2024-02-29T21:28Z'],
      'TIMESTAMP WITH TIME ZONE',
      '2024-02-29T21:28:00Z',
    ],
    [
      'nanoseconds',
      ['2024-02-29T21:27:00.123456789Z', '2024-02-29T21:27:00.12Z'],
      'TIMESTAMP WITH TIME ZONE',
      '2024-02-29T21:27:00.123456Z',
    ],
    [
      'the last day',
      ['2024-01-01T00:00:00Z', '9999-12-31T23:59:59Z', 'n/a'],
      'TIMESTAMP WITH TIME ZONE',
      '9999-12-31T23:59:59Z',
    ],
    [
      'the first day',
      ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.25Z'],
      'TIMESTAMP WITH TIME ZONE',
      '0001-01-01T00:00:00.25Z',
    ],
    [
      'far zones',
      ['2024-01-01T00:00:00+18:00', '2024-01-01T00:00:00-1800'],
      'TIMESTAMP WITH TIME ZONE',
      '2024-01-01T18:00:00Z',
    ],
    ['dates but for words', ['2024-01-02', 'unknown', '2024-01-01'], 'DATE', '2024-01-02T00:00:00Z'],
  ])('are times however each is spelled: %s', async (_, cells, type, latest) => {
    const { columns, rows } = await loaded(lines('a', ...cells));
    expect(columns.slice(0, 1)).toEqual([`a ${type}`]);
    expect(rows).toEqual(cells.filter((cell) => cell !== '').map((cell) => [cell]));
    const [found] = await rowsOf(
      loads.engine,
      'SELECT max(a)::TIMESTAMPTZ = $1::TIMESTAMPTZ FROM docs'.replaceAll('$1', `'${latest}'`),
    );
    expect(found).toEqual([true]);
  });

  test.each<[string, string[], string]>([
    ['7', ['7', 'N/A', '-', '12.5', '3'], 'DOUBLE'],
    ['integers', ['7', 'null', '9007199254740993'], 'BIGINT'],
    ['few words', [...Array.from({ length: 40 }, (_, n) => `${n}`), 'keine'], 'BIGINT'],
    [
      'words first',
      [...Array.from({ length: 2_100 }, () => 'n/a'), ...Array.from({ length: 2_200 }, (_, n) => `${n}`)],
      'BIGINT',
    ],
    ['a word behind nothing', [...Array.from({ length: 2_000 }, () => ''), 'n/a', '1', '2'], 'BIGINT'],
    [
      'doubles as programs write them',
      ['0.5', '-7.026073336601257e-9', '7.026073336601257E-9', '0.00002869984172284603', '45343866944313050'],
      'DOUBLE',
    ],
    ['words of the engine', ['1.5', 'nan', '2', '3'], 'DOUBLE'],
    ['only words', ['n/a', 'n/a'], 'VARCHAR'],
    ['more words than values', ['7', 'n/a', '-'], 'VARCHAR'],
    ['many words', ['1', '2', '3', 'A', 'B'], 'VARCHAR'],
    ['other digits', [...Array.from({ length: 40 }, (_, n) => `${n}`), '1,200'], 'VARCHAR'],
    ['leading zeros', ['10115', '10117', '01067'], 'VARCHAR'],
    ['integers that a double does not give back', ['9007199254740993', '1.5', '2'], 'VARCHAR'],
    ['long ones beside words', ['1234567890123456789', '1.5', 'n/a', '3'], 'VARCHAR'],
    ['codes that could be exponents', ['1E5', '100000', '12E3'], 'VARCHAR'],
    ['times with and without zone', ['2024-01-01T10:00:00Z', '2024-01-01T10:00:00', '2024-01-01T10:00:00'], 'VARCHAR'],
    ['days that are none', ['2024-01-01', '2024-02-30', '2024-01-03'], 'VARCHAR'],
  ])('are numbers, but for words beside them: %s', async (_, cells, type) => {
    const { columns, rows: all } = await loaded(
      lines('k,a', ...cells.map((cell, n) => `${n},${cell.includes(',') ? `"${cell}"` : cell}`)),
    );
    const rows = all.map((row) => (row as unknown[]).slice(1));
    expect(columns[1]).toBe(`a ${type}`);
    const shown = (cell: string) => {
      if (cell === '') return null;
      const isExact = type === 'DOUBLE' || (type === 'BIGINT' && Number.isSafeInteger(Number(cell)));
      return isExact && /^-?\d/.test(cell) ? Number(cell) : cell;
    };
    expect(rows).toEqual(cells.map((cell) => [shown(cell)]));
  });

  test.each<[string, string[], string[], unknown[][]]>([
    [
      'a column without a name, as of an index',
      [',a', '0,x', '1,y'],
      ['column_1 BIGINT', 'a VARCHAR'],
      [
        [0, 'x'],
        [1, 'y'],
      ],
    ],
    [
      'columns without names at the end',
      ['a,b,,', '1,2,,', '3,4,,5'],
      ['a BIGINT', 'b BIGINT', 'column_3 JSON', 'column_4 BIGINT'],
      [
        [1, 2, null, null],
        [3, 4, null, 5],
      ],
    ],
    ['a line with another separator', ['sep=^', 'a^b,c', '1^2'], ['a BIGINT', 'b,c BIGINT'], [[1, 2]]],
    ['a name that looks like that', ['sep=x', '5', '6'], ['sep=x BIGINT'], [[5], [6]]],
    [
      'empty names behind the last',
      [',Name,,Amount,,,', '1,x,,5,,,'],
      [
        'column_1 BIGINT',
        'Name VARCHAR',
        'column_3 JSON',
        'Amount BIGINT',
        'column_5 JSON',
        'column_6 JSON',
        'column_7 JSON',
      ],
      [[1, 'x', null, 5, null, null, null]],
    ],
    ['a line that says what the separator is', ['sep=;', 'a;b', '1;2,5'], ['a BIGINT', 'b VARCHAR'], [[1, '2,5']]],
  ])('of a file with %s', async (_, text, columns, rows) => {
    const found = await loaded(lines(...text));
    expect([found.columns, found.rows]).toEqual([columns, rows]);
  });

  test('of a file with a title above its names are not taken from that', async () => {
    const text = lines('Report of "2024";;', ';;', '', 'name;qty;price', 'x;1;2', 'y;3;4');
    await expect(loaded(text)).rejects.toThrow(
      /names 1 of 3 columns; their names seem to be in line 4: give "header_row": 4/,
    );
    const { entries } = await loads.load(await loads.create('below'), text, { headerRow: 4 });
    expect(entries).toBe(2);
    expect(await rowsOf(loads.engine, 'SELECT name, qty, price FROM below ORDER BY name')).toEqual([
      ['x', 1, 2],
      ['y', 3, 4],
    ]);
  });

  test('of a file with a title are separated as its names are', async () => {
    const { columns } = await loads.loadOwn(lines('Sales, 2024, all', '', 'a;b', '1;2,5'), { headerRow: 3 });
    expect(columns).toEqual(['a BIGINT', 'b VARCHAR']);
  });

  test('of many columns with words beside numbers are found soon', async () => {
    const names = Array.from({ length: 300 }, (_, n) => `c${n}`);
    const rows = Array.from({ length: 30 }, (_, r) =>
      names
        .map((_, n) => ((r + n) % 13 === 0 ? 'n/a' : n % 2 === 0 ? `${r * n}` : `2024-01-0${(r % 9) + 1}`))
        .join(','),
    );
    const { columns, outcome } = await loaded(lines(names.join(','), ...rows));
    expect(columns.slice(0, 2)).toEqual(['c0 BIGINT', 'c1 DATE']);
    expect(outcome.warnings).toHaveLength(10);
  }, 20_000);

  test('of many columns of text for the sake of one cell are found soon, and told as one', async () => {
    const names = Array.from({ length: 400 }, (_, n) => `c${n}`);
    const rows = Array.from({ length: 20 }, (_, r) => names.map((_, n) => (r === 9 ? '1.2.3' : `${r * n}`)).join(','));
    const { columns, outcome } = await loaded(lines(names.join(','), ...rows));
    expect(columns[7]).toBe('c7 VARCHAR');
    expect(outcome.warnings).toEqual([
      '400 columns are text for the sake of a few of their values: "c0", "c1", "c2" and 397 more. The first: "c0" is text, since 1 of 20 values is no number as JSON writes it: line 11 has "1.2.3".',
    ]);
  }, 20_000);

  test.each([
    ['at the beginning', 0, '02134'],
    ['behind what is looked at first', 4_000, '00501'],
  ])('of digits are codes if one has a zero first, %s, and nothing has to be said of that', async (_, at, code) => {
    const rows = Array.from({ length: 5_000 }, (_, n) => `${n},${n === at ? code : n === 7 ? 'n/a' : 10_001 + n}`);
    const { columns, outcome } = await loaded(lines('id,zip', ...rows));
    const others = outcome.warnings.filter((one) => !one.includes('there is no value'));
    expect([columns[1], others]).toEqual(['zip VARCHAR', []]);
  });

  test.each([
    ['at the beginning', 7],
    ['behind what is looked at first', 4_000],
  ])('of integers of any width are told to be text for one with a zero first, %s', async (_, at) => {
    const rows = Array.from({ length: 5_000 }, (_, n) => `${n},${n === at ? '0123' : n}`);
    const { columns, outcome } = await loaded(lines('id,amount', ...rows));
    expect([columns[1], outcome.warnings]).toEqual([
      'amount VARCHAR',
      [
        `"amount" is text, since 1 of 5,000 values is no number as JSON writes it: line ${(at + 2).toLocaleString('en-US')} has "0123".`,
      ],
    ]);
  });

  test('of short records are there, and take no more room on the way than the file', async () => {
    const names = Array.from({ length: 400 }, (_, n) => `c${n}`);
    const rows = Array.from({ length: 3_000 }, (_, r) => `${r}`);
    const text = lines(names.join(','), ...rows, names.map((_, n) => `${n}`).join(','));
    const { outcome } = await loaded(text);
    expect(outcome.added).toBe(3_001);
    expect(await rowsOf(loads.engine, 'SELECT count(*), count(c1), max(c1), max(c0) FROM docs')).toEqual([
      [3_001, 1, 1, 2_999],
    ]);
    const spool = createSpool(loads.engine.spool);
    const body = (async function* () {
      yield Buffer.from(text);
    })();
    const { rows: spooled } = await spoolCsv(body, spool, { skip: 0 }, new AbortController().signal);
    const bytes = spooled.parts.reduce((sum, { path }) => sum + statSync(path).size, 0);
    await spool.remove();
    expect(bytes).toBeLessThan(3 * text.length);
  }, 60_000);

  test.each<[string, string[], string, boolean]>([
    ['all groups of three', ['1.500', '2.000', '950'], 'VARCHAR', true],
    ['words beside them', ['1.500', 'n/a', '20.000', '950'], 'VARCHAR', true],
    ['other fractions', ['1.500', '2.25', '950'], 'DOUBLE', false],
    ['fractions of one', ['0.500', '1.250', '950'], 'DOUBLE', false],
  ])('between semicolons are no numbers if dots may be between thousands: %s', async (_, cells, type, isTold) => {
    const rows = cells.map((cell, n) => `p${n};${cell};1,5`);
    const { columns, outcome } = await loaded(lines('name;qty;price', ...rows));
    expect(columns[1]).toBe(`qty ${type}`);
    expect(outcome.warnings.some((one) => one.includes('its dots may be between thousands'))).toBe(isTold);
    if (!isTold) return;
    const cast = cells.includes('n/a') ? 'TRY_CAST' : 'CAST';
    expect(outcome.warnings.join()).toContain(` ${cast}(replace("qty", '.', '') AS BIGINT)`);
    const given = await loads.load(await loads.create('given'), lines('qty;p', ...cells.map((cell) => `${cell};1,5`)), {
      types: { qty: 'FLOAT' },
      onError: 'skip',
    });
    expect(given.refusedCount).toBe(cells.filter((cell) => cell === 'n/a').length);
  });

  test.each<[string, (cell: string) => string, string, boolean]>([
    ['tabs', (cell) => cell, '\t', true],
    ['bars', (cell) => cell, '|', true],
    ['commas', (cell) => `"${cell}"`, ',', true],
    ['tabs, if the commas are between thousands', () => '1,500', '\t', false],
  ])('are no numbers where another column has decimal commas: %s', async (_, spelled, separator, isText) => {
    const rows = ['51,2', '50,1', '9,75'].map((cell, n) =>
      ['a', ['1.234', '12.500', '804.100'][n], spelled(cell)].join(separator),
    );
    const { columns, outcome } = await loaded(lines(['name', 'qty', 'lat'].join(separator), ...rows));
    expect(columns[1]).toBe(`qty ${isText ? 'VARCHAR' : 'DOUBLE'}`);
    const told = outcome.warnings.join();
    expect(told.includes('its dots may be between thousands')).toBe(isText);
    const sql = told.slice(told.indexOf('CAST('), told.indexOf(' is the number'));
    if (isText) expect(await rowsOf(loads.engine, `SELECT sum(${sql})::DOUBLE FROM docs`)).toEqual([[817_834]]);
  });

  test.each<[string, string[], string | undefined, number | string]>([
    ['decimal commas', ['12,50', '1.200,00', '7'], 'sum', 1_219.5],
    ['money', ['$1,200.50', '$3.00'], 'sum', 1_203.5],
    ['percentages', ['12.5%', '7 %'], 'sum', 19.5],
    ['days of Germany', ['31.12.2024', '01.02.2024'], 'max', "TIMESTAMP '2024-12-31'"],
    ['days of the US', ['12/31/2024', '02/01/2024'], 'max', "TIMESTAMP '2024-12-31'"],
    ['codes', ['010', '01067', '99084'], undefined, 0],
    ['phones', ['+49 30 1234', '+49 89 5678'], undefined, 0],
    ['versions', ['1.2.3', '1.10.0'], undefined, 0],
    ['brackets', ['1,000.00', '(250.50)', '(1,100.00)'], 'sum', -350.5],
    ['brackets around German ones', ['1.000,00', '(250,50)', '-'], 'sum', 749.5],
    ['minus behind', ['100.25', '50.00-'], 'sum', 50.25],
    ['two spellings of a currency', ['6.020,23 €', '8.470,75 EUR'], 'sum', 14_490.98],
    ['groups of three alone', ['1.234.567', '1.234'], 'sum', 1_235_801],
    ['words beside them', ['12,50', 'offen', '1.200,00'], 'sum', 1_212.5],
    ['units', ['12 kg', '1.5 kg'], 'sum', 13.5],
    ['sides', ['100.00 CR', '50.00 DR', '25.00 DR'], 'sum', 25],
    ['sides in German', ['1.100,50 H', '100,25 S'], 'sum', 1_000.25],
    ['streets', ['12 Main St', '7 Oak St'], undefined, 0],
    ['parts of codes', ['12ab', '7cd', '9ef', '3gh'], undefined, 0],
    ['lists', ['1,2,3', '4', '5,6'], undefined, 0],
    ['lengths of time', ['9m 52s', '1h 2m 3s'], undefined, 0],
  ])(
    'that are text since they are spelled otherwise are told with what reads them: %s',
    async (_, cells, by, total) => {
      const { columns, outcome } = await loaded(lines('a;b', ...cells.map((cell) => `${cell};x`)));
      expect(columns[0]).toBe('a VARCHAR');
      const [told = ''] = outcome.warnings;
      const [, sql] = /^"a" is text such as ".*"(?:\.[ \w]*)?: (.*?)(?: reads it)?\.$/.exec(told) ?? [];
      expect(by === undefined ? told : sql).toEqual(by === undefined ? '' : expect.stringMatching(/CAST|strptime/));
      if (sql === undefined) return;
      expect(await rowsOf(loads.engine, `SELECT ${by}(${sql}) = ${total} FROM docs`)).toEqual([[true]]);
    },
  );

  test('are told to be text only where they become that', async () => {
    const docs = await loads.create('docs');
    await loads.add(docs, [{ _id: 'a', t: '2024-01-01' }]);
    const { warnings } = await loads.load(docs, lines('_id,t', 'b,2024-01-02', 'c,2024-01-03', 'd,7 May'));
    expect(warnings.filter((one) => one.includes('is text'))).toEqual([]);
  });

  test('give numbers with zeros at their end, whatever the column has', async () => {
    const docs = await loads.create('docs');
    await loads.add(docs, [
      { _id: 'a', n: 1.5 },
      { _id: 'b', n: 2.5 },
    ]);
    await loads.load(docs, lines('_id,n', 'c,0.5000000000000000000', 'd,n/a', 'e,12.50000000000000000'));
    expect(await rowsOf(loads.engine, 'SELECT sum(n) FROM docs')).toEqual([[17]]);
  });
});
