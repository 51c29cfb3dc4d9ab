import { afterEach, beforeEach, describe, expect, test } from 'vitest';
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
