import { describe, expect, it } from 'vitest';
import { fieldsText } from '../../../src/mcp/tools/fields-text.ts';
import { withRuns } from '../../../src/mcp/tools/fold-lines.ts';

const columns = (names: string[], type = 'BIGINT') => names.map((name) => ({ name, type }));
const survey = (count: number, from = 1) =>
  Array.from({ length: count }, (_, at) => `Q${at + from}. Please rate item ${at + from}`);

describe('fields whose names differ in a number only', () => {
  it.each<[string, string[], string]>([
    [
      'are one',
      ['a', ...survey(200), 'b'],
      'a BIGINT, "Q1. Please rate item 1" … "Q200. Please rate item 200" BIGINT ×200, b BIGINT',
    ],
    [
      'with zeros before',
      Array.from({ length: 12 }, (_, at) => `m${String(at + 1).padStart(2, '0')}`),
      'm01 … m12 BIGINT ×12',
    ],
    [
      'are shown each if a number is missing',
      ['x1', 'x2', 'x4', 'x5', 'x7', 'x8', 'x10', 'x11'],
      'x1 BIGINT, x2 BIGINT',
    ],
    ['are shown each if they are few', ['x1', 'x2', 'x3'], 'x1 BIGINT, x2 BIGINT, x3 BIGINT'],
  ])('%s', (_, names, text) => {
    expect(fieldsText(columns(names), 1_500).slice(0, text.length)).toBe(text);
  });

  it('are one only where their types are', () => {
    const mixed = [...columns(survey(10)), ...columns(survey(10, 11), 'VARCHAR')];
    expect(fieldsText(mixed, 1_500)).toBe(
      '"Q1. Please rate item 1" … "Q10. Please rate item 10" BIGINT ×10, "Q11. Please rate item 11" … "Q20. Please rate item 20" ×10',
    );
  });

  it('are one line of a description, with the values of the first and the least and most presence', () => {
    const lines = survey(9).map((name, at) => ({
      path: `"${name}"`,
      depth: 0,
      type: 'BIGINT',
      rest: [at === 3 ? '97%' : '100%', 5, '1 … 5'],
    }));
    expect(withRuns(lines)).toMatchObject([
      {
        path: '"Q1. Please rate item 1" … "Q9. Please rate item 9"',
        type: 'BIGINT ×9',
        rest: ['97% … 100%', null, '1 … 5 (the first)'],
      },
    ]);
  });
});
