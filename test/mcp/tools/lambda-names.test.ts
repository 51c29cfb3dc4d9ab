import { describe, expect, it } from 'vitest';
import { argumentNames, lambdaToolNames } from '../../../src/mcp/tools/lambda-names.ts';

const of = (...places: [string, string][]) => places.map(([workspace, name]) => ({ workspace, name }));

describe('lambdaToolNames()', () => {
  it('joins workspace and lambda, with _ for what is neither letter nor digit', () => {
    expect(lambdaToolNames(of(['shop', 'sales_by_city'], ['a.b', 'top-10']), [])).toEqual([
      'shop_sales_by_city',
      'a_b_top_10',
    ]);
    expect(lambdaToolNames(of(['2024', 'x'], ['-x', 'y']), [])).toEqual(['lambda_2024_x', 'lambda_x_y']);
  });

  it('cuts what is longer than 40 characters, and ends it with a hash of the whole', () => {
    const [one, other, just] = lambdaToolNames(
      of(['w', 'x'.repeat(60)], ['w', 'x'.repeat(61)], ['w', 'x'.repeat(38)]),
      [],
    );
    expect(one).toMatch(/^w_x{29}_[0-9a-f]{8}$/);
    expect(other).toMatch(/^w_x{29}_[0-9a-f]{8}$/);
    expect(one).not.toBe(other);
    expect(just).toBe(`w_${'x'.repeat(38)}`);
  });

  it('gives both of two that come out alike a hash, whatever their order and case, and no other', () => {
    const places = of(['a_b', 'c'], ['a', 'b_c'], ['A', 'b-c'], ['a', 'd']);
    const names = lambdaToolNames(places, []);
    for (const name of names.slice(0, 3)) expect(name).toMatch(/^[aA]_b_c_[0-9a-f]{8}$/);
    expect(new Set(names.map((name) => name?.toLowerCase())).size).toBe(4);
    expect(names[3]).toBe('a_d');
    expect(lambdaToolNames(places.toReversed(), [])).toEqual(names.toReversed());
    expect(lambdaToolNames(places.slice(0, 1), [])).toEqual(['a_b_c']);
  });

  it('gives one that is like a tool of the server a hash', () => {
    expect(lambdaToolNames(of(['run', 'query']), ['run_query'])).toEqual([
      expect.stringMatching(/^run_query_[0-9a-f]{8}$/),
    ]);
  });

  it('leaves a name to the lambda that has it by itself', () => {
    const [hashed] = lambdaToolNames(of(['run', 'query']), ['run_query']);
    const own = hashed?.slice('run_'.length) ?? '';
    expect(lambdaToolNames(of(['run', 'query'], ['run', own]), ['run_query'])).toEqual([undefined, hashed]);
  });
});

describe('argumentNames()', () => {
  it('are those of the parameters where these fit', () => {
    expect(argumentNames(['min', 'City', 'a1_b'])).toEqual(['min', 'City', 'a1_b']);
  });

  it('begin with a letter, have no other signs, and are none that a library or JavaScript keeps for itself', () => {
    expect(argumentNames(['1', '2'])).toEqual(['p_1', 'p_2']);
    expect(argumentNames(['_a', 'größe', 'config', 'model_x', 'constructor', '__proto__'])).toEqual([
      'p_a',
      'gr__e',
      'p_config',
      'p_model_x',
      'p_constructor',
      'p__proto__',
    ]);
  });

  it('that come out alike, or are too long, end in a hash', () => {
    const [one, other] = argumentNames(['grüße', 'größe']);
    expect([one, other]).toEqual([expect.stringMatching(/^gr__e_\w{8}$/), expect.stringMatching(/^gr__e_\w{8}$/)]);
    expect(one).not.toBe(other);
    expect(argumentNames(['x'.repeat(90)])).toEqual([expect.stringMatching(/^x{55}_[0-9a-f]{8}$/)]);
  });
});
