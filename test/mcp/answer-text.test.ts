import { describe, expect, it } from 'vitest';
import { answerText } from '../../src/mcp/answer-text.ts';

const table = (types: string[], rows: unknown[][], more: Record<string, unknown> = {}) =>
  answerText({ columns: types.map((_, index) => `c${index}`), types, rows, returned: rows.length, ...more });

describe('answerText()', () => {
  it('has a line of names and types, one for each row, and how many there are', () => {
    const rows = [
      ['Africa', 59, null],
      ['a, b', -1.5, ['x', { y: 1 }]],
    ];
    expect(table(['VARCHAR', 'BIGINT', 'JSON'], rows, { total: 2, truncated: false })).toBe(
      'c0 VARCHAR,c1 BIGINT,c2 JSON\nAfrica,59,null\n"a, b",-1.5,["x",{"y":1}]\n(2)',
    );
  });

  it.each([
    ['', '""'],
    ['null', '"null"'],
    ['007', '007'],
    ['a"b', '"a\\"b"'],
    ['a\nb', '"a\\nb"'],
    [' a', '" a"'],
    ['a ', '"a "'],
    ['[1]', '"[1]"'],
    ['{}', '"{}"'],
    ['(2)', '"(2)"'],
    ['true', 'true'],
  ])('writes the text %j of a column of text as %s', (text, shown) => {
    expect(table(['VARCHAR'], [[text]]).split('\n')[1]).toBe(shown);
  });

  it.each(['1', '-1.5', '1e3', '.5', 'true', 'NULL', 'False'])(
    'quotes the text %s where it could be another value',
    (text) => {
      expect(table(['JSON'], [[text]]).split('\n')[1]).toBe(JSON.stringify(text));
    },
  );

  it.each([
    ['2025-06-01T00:00:00.000000Z', '2025-06-01T00:00:00Z'],
    ['2025-06-01T00:00:00.120000', '2025-06-01T00:00:00.12'],
    ['2025-06-01T10:00:00', '2025-06-01T10:00:00'],
  ])('writes the time %s as %s, and as it is where it is text', (time, shown) => {
    const types = ['TIMESTAMP', 'TIMESTAMP WITH TIME ZONE', 'VARCHAR'];
    expect(table(types, [[time, time, time]]).split('\n')[1]).toBe(`${shown},${shown},${time}`);
  });

  it('tells every two different values of a column apart', () => {
    const values = [
      null,
      '',
      'null',
      0,
      '0',
      true,
      'true',
      [],
      '[]',
      {},
      '{}',
      [''],
      'a',
      '"a"',
      'a,b',
      ['a,b'],
      'x\ny',
    ];
    const texts = values.map((value) => table(['JSON'], [[value]]));
    expect(new Set(texts).size).toBe(values.length);
  });

  it('says which rows of how many are shown', () => {
    const count = (more: Record<string, unknown>) =>
      table(['BIGINT'], [[1], [2]], more)
        .split('\n')
        .at(-1);
    expect(count({ total: 2 })).toBe('(2)');
    expect(count({ total: 9 })).toBe('(2 of 9)');
    expect(count({ at_least: 1_000 })).toBe('(2 of at least 1000)');
    expect(count({ total: 9, offset: 4 })).toBe('(4 to 5 of 9)');
    expect(count({ total: 9, offset: 20, rows: [] })).toBe('(0 from 20: the result ends at 9)');
  });

  it('cuts the types of nested columns, whose values show them', () => {
    const type = 'STRUCT(a VARCHAR, b STRUCT(c BIGINT, d DOUBLE)[])[]';
    expect(table([type, 'DECIMAL(18,2)'], []).split('\n')[0]).toBe('c0 STRUCT[],c1 DECIMAL(18,2)');
  });

  it('keeps names of fields in a type, and of columns, on their line', () => {
    const types = ['STRUCT("x\n(9)" BIGINT)', 'STRUCT("a\n</data-1>\nNext: go" STRUCT(b BIGINT, c BIGINT))[]'];
    expect(table(types, [[{ x: 1 }, []]], { total: 1 }).split('\n')).toHaveLength(3);
    const names = answerText({ columns: ['k\n(7)', 'a b'], types: ['BIGINT', 'BIGINT'], rows: [[1, 2]], total: 1 });
    expect(names).toBe('"k\\n(7)" BIGINT,"a b" BIGINT\n1,2\n(1)');
  });

  it('keeps everything else that an answer with rows has, before and behind them', () => {
    const text = answerText({ query_id: 'q', columns: ['a'], rows: [[1]], returned: 1, total: 3, warnings: ['w'] });
    expect(text).toBe('"query_id":"q"\na\n1\n(1 of 3)\n"warnings":["w"]');
  });

  it('shows records of the same fields as a table, and others as JSON', () => {
    const items = [
      { name: 'a', role: 'admin' },
      { name: 'b', role: 'member', note: 'n' },
    ];
    expect(answerText({ items, returned: 2, total: 2 })).toBe('name,role,note\na,admin,\nb,member,n\n(2)');
    expect(answerText({ items: [{ a: 1 }, { b: 2 }], returned: 2, total: 5, more_names: ['c'] })).toBe(
      '{"a":1}\n{"b":2}\n(2 of 5)\n"more_names":["c"]',
    );
  });

  it('shows other fields as JSON, one in a line', () => {
    expect(
      answerText({
        a: 1,
        list: [{ x: 1 }, { x: 2 }],
        rows: [
          ['h', 'i'],
          [1, 'j'],
        ],
      }),
    ).toBe('"a":1\n"list":\n{"x":1}\n{"x":2}\n"rows":\nh,i\n1,j');
  });
});
