import { describe, expect, it } from 'vitest';
import { differences, type Expected, type Outcome } from '../../../src/cli/demo/check.ts';

const outcome = (rows: Outcome['table']['rows'], more: Partial<Outcome> = {}): Outcome => ({
  table: { columns: ['a', 'b'], rows },
  text: '',
  isError: false,
  ...more,
});
const table = (rows: Outcome['table']['rows']): Expected => ({ columns: ['a', 'b'], rows });

describe('differences()', () => {
  it.each([
    ['equal cells', [[1, 'x']], [[1, 'x']]],
    ['an exact integer as text', [[9800887, 'x']], [['9800887', 'x']]],
    ['the last digits of a double', [[0.1 + 0.2, 'x']], [[0.3, 'x']]],
    ['null', [[null, 'x']], [[null, 'x']]],
    ['one moment written in two ways', [[new Date(0), 'x']], [['1970-01-01T00:00:00.000000Z', 'x']]],
    ['nested values', [[{ k: [1, 2] }, 'x']], [[{ k: [1, 2] }, 'x']]],
  ])('finds none between %s', (_what, expected, actual) => {
    expect(differences(table(expected), outcome(actual))).toEqual([]);
  });

  it.each([
    ['another number', [[1, 'x']], [[2, 'x']], 'row 1, a: expected 1, but got 2'],
    ['null for zero', [[0, 'x']], [[null, 'x']], 'row 1, a: expected 0, but got null'],
    ['empty text for zero', [[0, 'x']], [['', 'x']], 'row 1, a: expected 0, but got ""'],
    ['zero for null', [[null, 'x']], [[0, 'x']], 'row 1, a: expected null, but got 0'],
    ['a number for text', [['1', 'x']], [[1, 'x']], 'row 1, a: expected "1", but got 1'],
    ['not a number', [[1, 'x']], [['one', 'x']], 'row 1, a: expected 1, but got "one"'],
    [
      'another moment',
      [[new Date(0), 'x']],
      [['1970-01-01T00:00:01Z', 'x']],
      'row 1, a: expected 1970-01-01T00:00:00.000Z',
    ],
    [
      'rows in another order',
      [
        [1, 'x'],
        [2, 'y'],
      ],
      [
        [2, 'y'],
        [1, 'x'],
      ],
      'row 2, b: expected "y", but got "x"',
    ],
    [
      'a missing row',
      [
        [1, 'x'],
        [2, 'y'],
      ],
      [[1, 'x']],
      'expected 2 rows, but got 1',
    ],
    ['a row too many', [], [[1, 'x']], 'expected 0 rows, but got 1'],
  ])('tells %s', (_what, expected, actual, said) => {
    expect(differences(table(expected), outcome(actual)).join('\n')).toContain(said);
  });

  it('tells a missing column', () => {
    const found = differences({ columns: ['a', 'c'], rows: [] }, outcome([]));
    expect(found).toEqual(['expected the columns a, c, but got a, b']);
  });

  it('finds columns by name and judges no others', () => {
    expect(differences({ columns: ['b'], rows: [['x']] }, outcome([[1, 'x']]))).toEqual([]);
    expect(differences({ columns: ['b'], rows: [['y']] }, outcome([[1, 'x']]))).toHaveLength(1);
  });

  it('tells an error where a table was expected', () => {
    expect(differences(table([]), outcome([], { isError: true, text: 'no such thing' }))[0]).toContain('no such thing');
  });

  it('wants every pattern and the right kind of answer', () => {
    const expected: Expected = { isError: true, says: [/one/, /two/] };
    expect(differences(expected, outcome([], { isError: true, text: 'one two' }))).toEqual([]);
    expect(differences(expected, outcome([], { isError: true, text: 'one' }))).toHaveLength(1);
    expect(differences(expected, outcome([], { isError: false, text: 'one two' }))).toHaveLength(1);
  });
});
