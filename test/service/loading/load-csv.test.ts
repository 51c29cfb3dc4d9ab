import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/contract/json/json.ts';
import { fileTest, rowsOf } from '../../engine/harness.ts';
import { ON_LAKE } from '../../lake/lake-for.ts';
import { type Loads, openLoads } from './loads.ts';

let loads: Loads;

beforeEach(async () => {
  loads = await openLoads();
});

afterEach(async () => {
  expect(loads.spooled()).toEqual([]);
  await loads.dispose();
});

const lines = (...all: string[]) => `${all.join('\n')}\n`;

/** Loads a file into one collection and adds documents to another: SQL sees the same of both. */
async function expectAlike(text: string, documents: JsonObject[], before: JsonObject[] = []): Promise<void> {
  const [loaded, added] = [await loads.create('loaded'), await loads.create('added')];
  for (const one of [loaded, added]) if (before.length > 0) await loads.add(one, before);
  const { warnings, refusedCount, stopped } = await loads.load(loaded, text);
  expect([refusedCount, stopped]).toEqual([0, null]);
  const told = await loads.add(added, documents);
  expect(await loads.seen('loaded')).toEqual(await loads.seen('added'));
  // That of a column which exports have is about the file.
  const ofFields = warnings.filter((one) => !one.includes('of the file is a field of that name'));
  expect(ofFields.map((one) => one.replaceAll('commons.loaded', 'commons.added'))).toEqual(told);
}

const loaded: Loads['loadOwn'] = (...of) => loads.loadOwn(...of);

describe('the types of columns', () => {
  fileTest('are those that all of their cells have', async () => {
    await expectAlike(
      lines(
        '_id,n,big,huge,f,b,t,day,zip,plus,mixed,long,quoted',
        'a,1,9007199254740993,170141183460469231731687303715884105727,1.5,true,2024-01-02T03:04:05Z,2024-01-02,00501,+1,1,0.12345678901234567890,"1"',
        'b,-2,1,2,2e+3,false,2024-01-02T03:04:06Z,2024-02-29,10115,+2,x,0.5,""',
        'c,,,,,,,,,,,,"a, ""b"""',
      ),
      [
        {
          _id: 'a',
          n: 1,
          big: 9007199254740993n,
          huge: 170141183460469231731687303715884105727n,
          f: 1.5,
          b: true,
          t: '2024-01-02T03:04:05Z',
          day: '2024-01-02',
          zip: '00501',
          plus: '+1',
          mixed: '1',
          long: '0.12345678901234567890',
          quoted: '1',
        },
        {
          _id: 'b',
          n: -2,
          big: 1,
          huge: 2,
          f: 2000,
          b: false,
          t: '2024-01-02T03:04:06Z',
          day: '2024-02-29',
          zip: '10115',
          plus: '+2',
          mixed: 'x',
          long: '0.5',
          quoted: '',
        },
        { _id: 'c', quoted: 'a, "b"' },
      ],
    );
  });

  test('are decided by the last row as by the first', async () => {
    const rows = Array.from({ length: 5_000 }, (_, n) => `${n},${n},${n % 2 === 0},,`);
    const { columns, rows: found } = await loaded(lines('a,b,c,d,e', ...rows, '1.5,x,no,7,2024-01-01'));
    expect(columns).toEqual(['a DOUBLE', 'b BIGINT', 'c VARCHAR', 'd BIGINT', 'e DATE', '_strays JSON']);
    expect(found.at(-1)).toEqual([1.5, 'x', 'no', 7, '2024-01-01']);
    expect(found[1]).toEqual([1, 1, 'false', null, null]);
  });

  test.each([
    ['01-02-2024', 'VARCHAR'],
    ['2024-13-01', 'VARCHAR'],
    ['2023-02-29', 'VARCHAR'],
    ['0000-01-01', 'VARCHAR'],
    ['2024-01-01T25:00:00', 'VARCHAR'],
    ['2024-01-01 10:00:00', 'TIMESTAMP'],
    ['2024-01-01T10:00:00.123456+02:00', 'TIMESTAMP WITH TIME ZONE'],
    ['9999-12-31T23:00:00-02:00', 'VARCHAR'],
    ['-0', 'DOUBLE'],
    ['1e400', 'VARCHAR'],
    ['1e-400', 'VARCHAR'],
    ['123456789012345.5', 'DOUBLE'],
    ['0.12345678901234568', 'DOUBLE'],
    ['0.123456789012345678', 'VARCHAR'],
    ['100000000000000000000.0', 'DOUBLE'],
    ['9223372036854775808', ON_LAKE ? 'DECIMAL(38,0)' : 'HUGEINT'],
    ['170141183460469231731687303715884105728', 'VARCHAR'],
    ['.5', 'VARCHAR'],
    ['1.', 'VARCHAR'],
    ['0x10', 'VARCHAR'],
    ['NaN', 'VARCHAR'],
    ['TRUE', 'BOOLEAN'],
    ['tRUE', 'VARCHAR'],
    ['12E5', 'VARCHAR'],
    ['1.2E5', 'DOUBLE'],
    ['1e-5', 'DOUBLE'],
    [' 1', 'VARCHAR'],
    ['1_000', 'VARCHAR'],
    ['{"a":1}', 'VARCHAR'],
  ])('of %s is %s', async (cell, type) => {
    const { columns, rows } = await loaded(lines('a', cell.includes('"') ? `"${cell.replaceAll('"', '""')}"` : cell));
    expect(columns).toEqual([`a ${type}`]);
    if (type === 'VARCHAR' || type.startsWith('TIME')) expect(rows).toEqual([[cell]]);
  });

  test('are text for times where the collection recognizes none', async () => {
    const docs = await loads.create('docs', { recognizeTimes: false });
    await loads.load(docs, lines('a', '2024-01-01'));
    expect((await loads.seen('docs')).columns).toEqual(['_id VARCHAR', 'a VARCHAR']);
  });

  test('can be given, and a cell that has no such value refuses its row', async () => {
    const columnTypes = ['INTEGER', 'FLOAT', 'BOOLEAN', 'STRING'] as const;
    const { outcome, columns, rows } = await loaded(
      lines('a,b,c,d', '+1, 1.5 ,TRUE,007', '\t2,.5,false,1', '1.5,1,true,x', ',,,', '1,1,yes,x'),
      { csv: { columnTypes: [...columnTypes] } },
    );
    expect(columns).toEqual(['a BIGINT', 'b DOUBLE', 'c BOOLEAN', 'd VARCHAR']);
    expect(rows).toEqual([
      [1, 1.5, true, '007'],
      [null, null, null, null],
      [2, 0.5, false, '1'],
    ]);
    expect(outcome.refused).toEqual([
      { at: 4, id: null, why: 'has "1.5" in column "a", which is no INTEGER' },
      { at: 6, id: null, why: 'has "yes" in column "c", which is no BOOLEAN' },
    ]);
  });
});

describe('spaces', () => {
  fileTest('around names are left out, and around text stay and are told', async () => {
    const docs = await loads.create('docs');
    const { warnings } = await loads.load(docs, lines('_id, city ,n,  ', 'a, Oslo ,1,x', 'b,Rome,2,y'));
    expect(await rowsOf(loads.engine, 'SELECT _id, city, n, column_4 FROM docs ORDER BY _id')).toEqual([
      ['a', ' Oslo ', 1, 'x'],
      ['b', 'Rome', 2, 'y'],
    ]);
    expect(warnings.filter((one) => one.includes('spaces'))).toEqual([
      '"city" is text with spaces around it, such as " Oslo ", which no comparison leaves out: trim("city") does.',
    ]);
  });

  fileTest.each<[string, string, string[]]>([
    [
      'after commas',
      ', ',
      ['_id, n, city, day', 'a, 1, "Oslo, N", 2024-01-01 ', '  b, 2, , ', 'c,3,Rome , 2024-01-02'],
    ],
    [
      'that align columns',
      ' | ',
      ['_id | n   | city    |day', ' a | 1   | Oslo, N | 2024-01-01', 'b  |  2| |', 'c|3 |Rome|  2024-01-02'],
    ],
    [
      'before and after quotes',
      ' , ',
      ['_id, n, city, day', 'a, "1" , "Oslo, N" , "2024-01-01"', 'b, "2", , ', 'c,"3"  ,"Rome",2024-01-02'],
    ],
  ])('beside separators are no part of cells: %s', async (_, separator, text) => {
    // The last line, which lacks some of them, is behind so many others that it is not looked at before.
    const more = Array.from({ length: 5_000 }, (_one, n) => [`m${n}`, `${n}`, 'x', '2024-01-01'].join(separator));
    const { columns } = await loads.loadOwn(lines(...text.slice(0, -1), ...more, text.at(-1) ?? ''));
    expect(columns).toEqual(['n BIGINT', 'city VARCHAR', 'day DATE']);
    const sql = "SELECT _id, n, city, day::VARCHAR FROM docs WHERE _id IN ('a', 'b', 'c') ORDER BY _id";
    expect(await rowsOf(loads.engine, sql)).toEqual([
      ['a', 1, 'Oslo, N', '2024-01-01'],
      ['b', 2, null, null],
      ['c', 3, 'Rome', '2024-01-02'],
    ]);
  });

  test('do not tell one name from another', async () => {
    const docs = await loads.create('docs');
    await loads.load(docs, lines('_id,n, n', 'a,1,2'));
    expect(await rowsOf(loads.engine, 'SELECT n, n_2 FROM docs')).toEqual([[1, 2]]);
  });
});

describe('rows for a collection that has the columns', () => {
  test('become what documents become: they widen, and what does not fit is a stray', async () => {
    await expectAlike(
      lines('_id,n,b,t,s,w', 'd,12,true,2024-01-02,5,1.5', 'e,n/a,maybe,soon,true,2', 'f,1.5,false,2024-01-03,x,3'),
      [
        { _id: 'd', n: 12, b: true, t: '2024-01-02', s: '5', w: 1.5 },
        { _id: 'e', n: 'n/a', b: 'maybe', t: 'soon', s: 'true', w: 2 },
        { _id: 'f', n: 1.5, b: false, t: '2024-01-03', s: 'x', w: 3 },
      ],
      ['a', 'b', 'c', 'x', 'y'].map((_id) => ({ _id, n: 1, b: true, t: '2023-01-02', s: 'x', w: 1 })),
    );
  });

  test('change the type of a column when most values are others', async () => {
    await expectAlike(
      lines('_id,n', ...Array.from({ length: 20 }, (_, n) => `r${n},text ${n}`)),
      Array.from({ length: 20 }, (_, n) => ({ _id: `r${n}`, n: `text ${n}` })),
      [{ _id: 'a', n: 1 }],
    );
  });

  test('keep objects, lists and other spellings of times as strays', async () => {
    await expectAlike(
      lines('_id,o,l,j,t,d', 'x,1,2,3,2024-01-01,7', 'y,{},[],true,2024-01-02,9007199254740993'),
      [
        { _id: 'x', o: '1', l: 2, j: '3', t: '2024-01-01', d: 7 },
        { _id: 'y', o: '{}', l: '[]', j: 'true', t: '2024-01-02', d: 9007199254740993n },
      ].map((one) => ({ ...one, l: String(one.l) })),
      ['a', 'b', 'c', 'e', 'f'].map((_id) => ({ _id, o: { x: 1 }, l: [1], j: 'x', t: '2024-01-01T00:00:00Z', d: 1.5 })),
    );
  });

  test('have names that differ only in case, or are reserved, in _extra', async () => {
    await expectAlike(
      lines('_id,Name,NAME,"",_extra', 'x,a,b,1,2', 'y,,,,'),
      [{ _id: 'x', Name: 'a', NAME: 'b', '': 1, _extra: 2 }, { _id: 'y' }],
      [{ _id: 'a', name: 'x' }],
    );
  });

  test('replace documents with their ids, keep their event times, and the last of an id wins', async () => {
    const docs = await loads.create('docs');
    await loads.add(docs, [
      { _id: 'a', v: 1, _event_time: '2020-01-01T00:00:00Z' },
      { _id: 'b', v: 1, _event_time: '2020-01-01T00:00:00Z' },
    ]);
    const outcome = await loads.load(
      docs,
      lines('_id,v,_event_time', 'a,2,', 'c,3,2021-01-01', 'a,4,', 'c,5,', 'd,6,1600000000000000', ',7,'),
    );
    expect(outcome).toMatchObject({ entries: 6, added: 3, replaced: 3, withoutId: 1, refusedCount: 0 });
    const rows = await rowsOf(loads.engine, 'SELECT _id, v, _event_time FROM docs WHERE v < 7 ORDER BY _id');
    expect(rows).toEqual([
      ['a', 4, '2020-01-01T00:00:00.000000Z'],
      ['b', 1, '2020-01-01T00:00:00.000000Z'],
      ['c', 5, '2021-01-01T00:00:00.000000Z'],
      ['d', 6, '2020-09-13T12:26:40.000000Z'],
    ]);
    await loads.add(docs, [{ _id: 'a', v: 8 }]);
    expect(await rowsOf(loads.engine, 'SELECT count(*), sum(v) FROM docs')).toEqual([[5, 27]]);
  });
});

describe('ids', () => {
  test('are made in the order of the rows, and sort after earlier ones', async () => {
    const docs = await loads.create('docs');
    await loads.add(docs, [{ v: -1 }]);
    await loads.load(docs, lines('v', ...Array.from({ length: 10_000 }, (_, n) => String(n))));
    await loads.add(docs, [{ v: 10_000 }]);
    const found = (await rowsOf(loads.engine, 'SELECT v, _id FROM docs ORDER BY _id')).map(([v, id]) => [
      v,
      String(id),
    ]);
    expect(found.map(([v]) => v)).toEqual(Array.from({ length: 10_002 }, (_, n) => n - 1));
    for (const [, id] of found)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test('come from a field, which stays; rows without are refused', async () => {
    const docs = await loads.create('docs');
    const long = 'x'.repeat(1_025);
    const outcome = await loads.load(docs, lines('code,v', '007,1', '8,2', ',3', '"",4', `${long},5`), {
      idField: 'code',
    });
    expect((await loads.seen('docs')).rows).toEqual([
      ['007', '007', 1],
      ['8', '8', 2],
    ]);
    expect(outcome.refused.map(({ at }) => at)).toEqual([4, 5, 6]);
    expect(outcome).toMatchObject({ added: 2, refusedCount: 3, withoutId: 0 });
  });

  test('are found by the filter of known ids after a load', async () => {
    const docs = await loads.create('docs');
    for (const _id of ['a', 'b', 'c', 'd']) await loads.add(docs, [{ _id, v: 1 }]);
    await loads.load(docs, lines('_id,v', 'e,2', 'f,2'));
    await loads.add(docs, [{ _id: 'e', v: 3 }]);
    expect(await rowsOf(loads.engine, 'SELECT v FROM docs WHERE _id = $$e$$')).toEqual([[3]]);
  });
});

describe('refused rows', () => {
  const text = lines(
    '_id,v,_event_time',
    'a,1,',
    '"",2,',
    'c,3,yesterday',
    'd,4,2024-01-01 10:00',
    'e,1,2,3',
    'f,"x"y,',
  );

  test('are left out and named with their lines', async () => {
    const docs = await loads.create('docs');
    const { refused, refusedCount, added, entries } = await loads.load(docs, text);
    expect([entries, added, refusedCount]).toEqual([6, 2, 4]);
    expect(refused.map(({ at, id }) => [at, id])).toEqual([
      [3, ''],
      [4, 'c'],
      [6, null],
      [7, null],
    ]);
    expect(refused.map(({ why }) => why).join()).toMatch(
      /"_id" must not be empty.*"_event_time" must be.*4 values for 3 columns.*text after the quote/,
    );
    expect((await rowsOf(loads.engine, 'SELECT _id FROM docs ORDER BY _id')).flat()).toEqual(['a', 'd']);
  });

  test.each([lines('_id,v', 'a,1', 'b,1,2'), lines('_id,v', 'a,1', '"",2')])(
    'with "stop" let nothing in: %j',
    async (some) => {
      const docs = await loads.create('docs');
      const outcome = await loads.load(docs, some, { onError: 'stop' });
      expect(outcome.stopped).toMatch(/^1 row cannot be stored, so nothing is stored: 3 /);
      expect(outcome).toMatchObject({ added: 0, replaced: 0, refusedCount: 1 });
      expect(await rowsOf(loads.engine, 'SELECT count(*) FROM docs')).toEqual([[0]]);
    },
  );

  test('do not take the place of an earlier row with the same id', async () => {
    const docs = await loads.create('docs');
    await loads.load(docs, lines('_id,v,_event_time', 'a,1,', 'a,2,never'));
    expect(await rowsOf(loads.engine, 'SELECT _id, v FROM docs')).toEqual([['a', 1]]);
  });
});
