import { describe, expect, it } from 'vitest';
import { type Condition, faultOf, holds, orderByOf, sorted, whereOf } from '../../src/view/condition.ts';
import type { Column } from '../../src/view/result.ts';

const COLUMNS: Column[] = [
  { name: 'n', type: 'BIGINT', kind: 'number' },
  { name: 'it"s', type: 'VARCHAR', kind: 'text' },
  { name: 'at', type: 'TIMESTAMP WITH TIME ZONE', kind: 'time' },
  { name: 'doc', type: 'JSON', kind: 'nested' },
];

const condition = (column: number | undefined, operator: Condition['operator'], value = ''): Condition => {
  return { column, operator, value };
};

describe('sorted()', () => {
  it('orders digits as numbers, keeps equal rows in place, and puts NULL last both ways', () => {
    const rows = [
      ['10', 'a'],
      [null, 'b'],
      ['9007199254740993', 'c'],
      [9, 'd'],
      ['9007199254740992', 'e'],
      ['10', 'f'],
    ];
    const names = (isDescending: boolean) => {
      return sorted(rows, { column: 0, isDescending }, 'number')
        .map(([, name]) => name)
        .join('');
    };
    expect(names(false)).toBe('dafecb');
    expect(names(true)).toBe('ceafdb');
  });
});

describe('holds()', () => {
  const row = [5, "O'Brien", '2026-01-31T00:00:00Z', { a: ['x'] }];
  it.each([
    [condition(0, '>=', '5'), true],
    [condition(0, '<', ' 5.0 '), false],
    [condition(1, 'contains', "o'b"), true],
    [condition(1, '=', "o'brien"), false],
    [condition(2, '<', '2026-02-01'), true],
    [condition(3, 'contains', '"x"'), true],
    [condition(undefined, 'contains', '2026'), true],
    [condition(undefined, 'contains', 'nowhere'), false],
    [condition(0, 'null'), false],
  ])('%j: %s', (wanted, expected) => {
    expect(holds(wanted, COLUMNS, row)).toBe(expected);
  });

  it('tells NULL from an empty text', () => {
    expect(holds(condition(1, 'null'), COLUMNS, [1, null])).toBe(true);
    expect(holds(condition(1, 'null'), COLUMNS, [1, ''])).toBe(false);
    expect(holds(condition(1, '=', ''), COLUMNS, [1, null])).toBe(false);
  });
});

describe('whereOf() and orderByOf()', () => {
  it('quote names and texts', () => {
    expect(whereOf(condition(1, '=', "'); DROP"), COLUMNS)).toBe(`"it""s" = '''); DROP'`);
    expect(whereOf(condition(1, 'contains', "'"), COLUMNS)).toBe(
      `contains(lower(CAST("it""s" AS VARCHAR)), lower(''''))`,
    );
    expect(whereOf(condition(0, '<', '+5'), COLUMNS)).toBe('"n" < 5');
    expect(whereOf(condition(2, '>', '2026-01-31'), COLUMNS)).toBe(`"at" > CAST('2026-01-31' AS TIMESTAMPTZ)`);
    expect(orderByOf({ column: 0, isDescending: true }, COLUMNS)).toBe('"n" DESC NULLS LAST');
  });

  it('are asked only for what can be a value of the column', () => {
    expect(faultOf(condition(0, '>', '1; x'), COLUMNS)).toMatch(/Type a number/);
    expect(faultOf(condition(2, '>', "'"), COLUMNS)).toMatch(/Type a time/);
    expect(faultOf(condition(1, '=', "'"), COLUMNS)).toBeUndefined();
  });
});
