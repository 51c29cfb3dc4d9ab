import { describe, expect, it } from 'vitest';
import { compareNumbers, compareValues, kindOf, numberOf, timeOf } from '../../src/view/values.ts';

describe('kindOf()', () => {
  it('knows the types of the engine', () => {
    const kinds = { BIGINT: 'number', 'DECIMAL(38,4)': 'number', HUGEINT: 'number', DATE: 'time', VARCHAR: 'text' };
    for (const [type, kind] of Object.entries(kinds)) expect(kindOf(type, [])).toBe(kind);
    for (const type of ['STRUCT(a BIGINT)', 'BIGINT[]', 'JSON', 'MAP(VARCHAR, BIGINT)']) {
      expect(kindOf(type, [])).toBe('nested');
    }
    expect(kindOf('TIMESTAMP WITH TIME ZONE', [])).toBe('time');
    expect(kindOf('BOOLEAN', [])).toBe('boolean');
    expect(kindOf('TIME', [])).toBe('text');
  });

  it('looks at the values where there is no type', () => {
    expect(kindOf(null, [null, 1, 2.5])).toBe('number');
    expect(kindOf(null, ['2026-01-31', null])).toBe('time');
    expect(kindOf(null, [1, 'a'])).toBe('text');
    expect(kindOf(null, [null])).toBe('text');
  });
});

describe('compareNumbers()', () => {
  it('orders numbers that a double cannot tell apart', () => {
    expect(compareNumbers('9007199254740993', '9007199254740992')).toBe(1);
    expect(compareNumbers(9007199254740992, '9007199254740993')).toBe(-1);
    expect(compareNumbers('0.1000000000000000000001', 0.1)).toBe(1);
    expect(compareNumbers('-123456789012345678901234567890.5', '-123456789012345678901234567890.4')).toBe(-1);
  });

  it('takes numbers by value and not by spelling', () => {
    expect(compareNumbers('10', '9')).toBe(1);
    expect(compareNumbers('1e3', 1000)).toBe(0);
    expect(compareNumbers('12.50', '12.5')).toBe(0);
    expect(compareNumbers('Infinity', '1e300')).toBe(1);
  });

  it('puts what is no number last', () => {
    expect(compareNumbers('NaN', Infinity)).toBe(1);
    expect(compareNumbers('NaN', 'NaN')).toBe(0);
  });
});

describe('compareValues()', () => {
  it('orders times of different zones by when they are', () => {
    expect(compareValues('time', '2026-01-01T00:00:00+02:00', '2026-01-01T00:00:00Z')).toBeLessThan(0);
    expect(compareValues('time', '2026-01-01T00:00:00.000001Z', '2026-01-01T00:00:00.000002Z')).toBeLessThan(0);
  });

  it('orders texts without regard to case first', () => {
    expect(['b', 'A', 'a', 'B'].sort((a, b) => compareValues('text', a, b))).toEqual(['A', 'a', 'B', 'b']);
  });
});

describe('timeOf() and numberOf()', () => {
  it('read what is without a zone as UTC, whatever the zone of the machine', () => {
    expect(timeOf('2026-01-31')).toBe(Date.UTC(2026, 0, 31));
    expect(timeOf('2026-01-31 12:00:00')).toBe(Date.UTC(2026, 0, 31, 12));
    expect(timeOf('2026-01-31T12:00:00.123456+00')).toBe(Date.UTC(2026, 0, 31, 12, 0, 0, 123));
  });

  it('take nothing for a time or a number that is none', () => {
    for (const value of ['', 'soon', '2026-13-45', 5, null, '12']) expect(timeOf(value)).toBeUndefined();
    for (const value of ['', ' ', '0x10', 'NaN', 'Infinity', null, {}, true]) expect(numberOf(value)).toBeUndefined();
  });
});
