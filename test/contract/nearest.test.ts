import { describe, expect, test } from 'vitest';
import { nearest } from '../../src/contract/nearest.ts';

describe('nearest()', () => {
  test.each([
    ['ordrs', ['orders', 'users'], ['orders']],
    ['ORDERS', ['orders', 'users'], ['orders']],
    ['my_orders', ['my-orders', 'users'], ['my-orders']],
    ['odrers', ['orders'], ['orders']],
    ['order', ['orders', 'order_items'], ['orders', 'order_items']],
    ['customer', ['customers', 'orders'], ['customers']],
    ['zzz', ['orders', 'users'], []],
    ['', ['orders'], []],
    ['a', ['b'], ['b']],
    ['x', ['orders'], []],
  ])('%s among %j gives %j', (name, candidates, expected) => {
    expect(nearest(name, candidates)).toEqual(expected);
  });

  test('gives at most max, best first, none twice', () => {
    expect(nearest('abcd', ['abcx', 'abcd', 'abce', 'abcf', 'abcd'], 2)).toEqual(['abcd', 'abce']);
  });

  test('is quick on long names', () => {
    const started = performance.now();
    nearest(
      'a'.repeat(1_000_000),
      Array.from({ length: 200 }, (_, index) => `b${index}`.repeat(1_000)),
    );
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});
