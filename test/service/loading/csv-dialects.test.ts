import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { separatorOf } from '../../../src/service/ingest/csv-dialect.ts';
import { rowsOf } from '../../engine/harness.ts';
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

/** The columns and rows of a file in a collection of its own, without `_id`. */
async function loaded(text: string | Buffer, options: Parameters<Loads['load']>[2] = {}) {
  const docs = await loads.create('docs');
  const outcome = await loads.load(docs, text, options);
  const { columns } = await loads.seen('docs');
  const rows = await rowsOf(loads.engine, 'SELECT * EXCLUDE (_id, _event_time) FROM docs ORDER BY _id');
  return { outcome, columns: columns.slice(1), rows };
}

describe('the separator', () => {
  test.each([
    ['a;b;c\n1;2;3\n', ';'],
    ['a;b\n1,5;2,5\n3,5;4\n', ';'],
    ['a\tb\n1\t2\n', '\t'],
    ['a|b\r\n1|2\r\n', '|'],
    ['a,b\n1,x;y\n', ','],
    ['"a,b";c;d\n"x\ny, z";1;2\n', ';'],
    ['id,tags\n1,a;b\n2,c;d\n', ','],
    ['a;b\n1;2\n3;4;5\n', ';'],
    ['a;b,c\n1;2,3\n', ','],
    ['name\nx\n', ','],
    ['', ','],
  ])('of %j is %j', (text, separator) => {
    expect(separatorOf(text, true)).toBe(separator);
  });

  test('is told in the outcome', async () => {
    expect((await loaded(lines('a;b', '1,5;x'))).outcome.separator).toBe(';');
    expect((await loads.load(await loads.create('given'), 'a;b\n', { csv: { separator: ',' } })).separator).toBe(',');
  });
});

describe('dialects', () => {
  test.each([',', ';', '\t', '|'])('separated by %j are recognized', async (separator) => {
    const { columns, rows } = await loaded(lines('a,b', '1,"x,y"', '2,z').replaceAll(/,(?!y)/g, separator));
    expect(columns).toEqual(['a BIGINT', 'b VARCHAR']);
    expect(rows).toEqual([
      [1, 'x,y'],
      [2, 'z'],
    ]);
  });

  test.each([
    ['with a byte order mark and CRLF', '\ufeffa,b\r\n1,"x\r\ny"\r\n\r\n2,z'],
    ['with carriage returns alone', 'a,b\r1,"x\r\ny"\r2,z\r'],
    ['with a last line that does not end', 'a,b\n1,"x\r\ny"\n2,z'],
  ])('%s are read', async (_, text) => {
    const { rows } = await loaded(text);
    expect(rows).toEqual([
      [1, 'x\r\ny'],
      [2, 'z'],
    ]);
  });

  test('keep quotes and carriage returns within cells', async () => {
    const { rows } = await loaded(lines('a,b', '5" pipe, "x" ', 'x\ry,"a""b"', '"",'));
    expect(rows).toEqual([
      ['5" pipe', ' "x" '],
      ['x\ry', 'a"b'],
      ['', null],
    ]);
  });

  test('can have other quotes, escapes, separators and names', async () => {
    const { columns, rows } = await loaded(lines("1::'x\\'y::z'", "2::'\\\\'"), {
      csv: {
        separator: '::',
        quoteChar: "'",
        escapeChar: '\\',
        columnNames: ['a', 'b'],
        firstLineAsColumnNames: false,
      },
    });
    expect(columns).toEqual(['a BIGINT', 'b VARCHAR']);
    expect(rows).toEqual([
      [1, "x'y::z"],
      [2, '\\'],
    ]);
  });

  test.each([
    ['utf-16le', Buffer.from('a\nß\n', 'utf16le')],
    ['latin1', Buffer.from('a\nß\n', 'latin1')],
    [undefined, Buffer.from('\ufeffa\nß\n', 'utf16le')],
  ])('in %s are read', async (encoding, bytes) => {
    const { rows } = await loaded(bytes, { csv: encoding === undefined ? {} : { encoding } });
    expect(rows).toEqual([['ß']]);
  });

  test('lack the last fields where rows are shorter, which is told', async () => {
    const { rows, outcome } = await loaded(lines('a,b,c', '1', '2,x', '3,y,z'));
    expect(rows).toEqual([
      [1, null, null],
      [2, 'x', null],
      [3, 'y', 'z'],
    ]);
    expect(outcome.warnings).toEqual([expect.stringMatching(/^2 rows have fewer values .*lines 2, 3/)]);
  });

  test('are cut at the end of records, wherever the pieces of the body end', async () => {
    const text = lines(
      'a,b',
      ...Array.from({ length: 300 }, (_, n) => (n % 3 === 0 ? `${n},"x\r\n""y"",${n}"` : `${n},é${n}`)),
    );
    for (const size of [1, 2, 7]) {
      const docs = await loads.create(`docs${size}`);
      const bytes = Buffer.from(text);
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
        bytes.subarray(n * size, (n + 1) * size),
      );
      await loads.load(docs, pieces);
      const rows = await rowsOf(loads.engine, `SELECT a, b FROM docs${size} ORDER BY _id LIMIT 1000`);
      expect(rows).toEqual(Array.from({ length: 300 }, (_, n) => [n, n % 3 === 0 ? `x\r\n"y",${n}` : `é${n}`]));
    }
  });
});

describe('files that are none, or strange', () => {
  test.each([
    ['', /The file is empty/],
    ['a\n"x\n', /a quote that opens in the record of line 2 is never closed/],
    ['a\nx\nx\n\xff', /not valid UTF-8 at line 4/],
  ])('%j is refused', async (text, message) => {
    const docs = await loads.create('docs');
    await expect(loads.load(docs, Buffer.from(text, 'latin1'))).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringMatching(message),
    });
  });

  test('columns of one name get numbers, which are told', async () => {
    const docs = await loads.create('docs');
    const outcome = await loads.load(docs, Buffer.from('Q1,q1_2,Q1,Q1\n1,2,3,4\n'));
    expect(await rowsOf(loads.engine, 'SELECT Q1, q1_2, Q1_3, Q1_4 FROM docs')).toEqual([[1, 2, 3, 4]]);
    expect(outcome.warnings).toEqual([
      'The file has columns of one name: another column "Q1" is "Q1_3", another column "Q1" is "Q1_4".',
    ]);
  });

  test('a title of one cell is none of names, and the line that has these is named', async () => {
    const docs = await loads.create('docs');
    const text = 'Sales of 2024\nall shops\n\nname,n,x\na,1,2\nb,2,3\n';
    await expect(loads.load(docs, Buffer.from(text))).rejects.toMatchObject({
      message:
        'The file cannot be read as CSV: its first 3 lines are above the table: give "header_row": 4, which leaves out what is above.',
    });
  });

  test('a NUL character refuses its row', async () => {
    const { rows, outcome } = await loaded(lines('a', 'x\0y', 'z', '"\0"'));
    expect(rows).toEqual([['z']]);
    expect(outcome.refused.map(({ at }) => at)).toEqual([2, 4]);
  });

  test('a file with nothing but names makes columns', async () => {
    const { columns, outcome } = await loaded('a,b\n');
    expect(columns).toEqual(['a JSON', 'b JSON']);
    expect(outcome).toMatchObject({ entries: 0, added: 0 });
  });

  test('2,000 columns keep all their values', async () => {
    const names = Array.from({ length: 2_000 }, (_, n) => `c${n}`);
    const docs = await loads.create('docs');
    await loads.load(docs, lines(['_id', ...names].join(), ['x', ...names.map((_, n) => n)].join()));
    expect(await rowsOf(loads.engine, 'SELECT c0, c499, len(json_keys(_extra)), _extra.c1999 FROM docs')).toEqual([
      [0, 499, 1_500, 1_999],
    ]);
  });

  test('entries at the beginning can be left out', async () => {
    const { rows, outcome } = await loaded(lines('a', '1', '2', '3'), { skip: 2 });
    expect(rows).toEqual([[3]]);
    expect(outcome).toMatchObject({ entries: 3, added: 1 });
  });

  test('all entries can be left out, and more', async () => {
    const { outcome } = await loaded(lines('a', '1', '2'), { skip: 5 });
    expect(outcome).toMatchObject({ entries: 2, added: 0 });
  });

  test('an abort leaves no files', async () => {
    await loads.dispose();
    const abort = new AbortController();
    loads = await openLoads(abort.signal);
    const docs = await loads.create('docs');
    function* pieces() {
      yield Buffer.from('a\n');
      yield Buffer.alloc(200_000, '1\n');
      abort.abort(new Error('enough'));
      yield Buffer.from('2\n');
    }
    await expect(loads.load(docs, pieces())).rejects.toThrow('enough');
  });
});

test('rows go through the field mappings of a collection, and its event time', async () => {
  const docs = await loads.create('docs', {
    eventTimeInfo: { field: 'at', format: 'seconds_since_epoch', timeZone: 'UTC' },
  });
  const outcome = await loads.load(docs, lines('_id,at,v', 'a,1600000000,1', 'b,never,2', 'c,,3'));
  expect(outcome).toMatchObject({ added: 2, refusedCount: 1, entries: 3 });
  expect(outcome.refused[0]).toMatchObject({ at: 3, id: 'b' });
  expect(await rowsOf(loads.engine, 'SELECT _id, v, year(_event_time) = 2020 FROM docs ORDER BY _id')).toEqual([
    ['a', 1, true],
    ['c', 3, false],
  ]);
});

test('no SQL of a caller reaches the spool', async () => {
  for (const sql of [
    `SELECT * FROM read_csv('${loads.engine.spool}/x')`,
    `SELECT * FROM read_parquet('${loads.engine.spool}/x')`,
    `SELECT * FROM '${loads.engine.spool}/x.csv'`,
    `SELECT * FROM read_text('${loads.engine.spool}/x')`,
    `SELECT * FROM glob('${loads.engine.spool}/*')`,
    `COPY (SELECT 1) TO '${loads.engine.spool}/x'`,
    `ATTACH '${loads.engine.spool}/x' AS x`,
  ]) {
    await expect(loads.engine.query({ sql })).rejects.toMatchObject({ code: 'query_error' });
  }
});

test.each<[string, number[] | string, RegExp | undefined]>([
  [
    'German',
    'ort,wert\nMünchen,10 €\nÖhringen,5 m²\nGroß,1\n',
    /^The file is not UTF-8 and was read as windows-1252, such as "München"/,
  ],
  ['French', 'nom\nhôtel\nélève\nl’été\n', /such as "hôtel"/],
  ['Central European', 'jm\nKovaèiæ\n', undefined],
  ['with signs in words', 'n\nPawe³a é\n', undefined],
  ['of DOS', [0x6e, 0x0a, 0x4d, 0x81, 0x6e, 0x0a], undefined],
  ['Cyrillic', 'n\nÌîñêâà\n', undefined],
  ['signs alone', 'n\n10 €\n', undefined],
  ['UTF-8 with a byte that is cut', 'n\npayÃ© livrÃ, hôtel élève\n', undefined],
  ['UTF-8 with a mark', 'ï»¿n\nMünchen\n', undefined],
  ['Baltic', 'n\nRîga\n', undefined],
  ['Romanian', 'n\nBrãila\n', undefined],
])('text that is not UTF-8 is read as that of Windows where it has its letters in words: %s', async (_, text, told) => {
  const euro = (one: string) => (one === '€' ? 0x80 : one === '’' ? 0x92 : one.charCodeAt(0));
  const bytes = Buffer.from(typeof text === 'string' ? Array.from(text, euro) : text);
  const docs = await loads.create('docs');
  if (told === undefined) await expect(loads.load(docs, bytes)).rejects.toThrow('not valid UTF-8 at line 2');
  else expect((await loads.load(docs, bytes)).warnings[0]).toMatch(told);
});
