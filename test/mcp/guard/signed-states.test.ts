import { describe, expect, it } from 'vitest';
import { digest } from '../../../src/mcp/guard/signed-states.ts';

describe('digest()', () => {
  it('is the same whatever the order of keys', () => {
    expect(digest({ a: 1, b: { c: [2n], d: null } })).toBe(digest({ b: { d: null, c: [2n] }, a: 1 }));
  });

  it('tells all values apart', () => {
    const values = [
      { a: 1 },
      [['a', 1]],
      [{ a: 1 }],
      ['a', 1],
      { array: [] },
      [],
      {},
      { object: [] },
      5,
      5n,
      '5',
      '5n',
      { bigint: '5' },
      null,
      'null',
      '',
      undefined,
      true,
      'true',
      { a: null },
      { a: [] },
      { a: {} },
    ];
    expect(new Set(values.map(digest)).size).toBe(values.length);
  });
});
