import { describe, expect, it } from 'vitest';
import { typePlaces } from '../../../src/mcp/tools/sql-type.ts';

describe('typePlaces()', () => {
  const placesOf = (type: string) => typePlaces('o', type).map(({ path, depth, type: own }) => [path, depth, own]);

  it('finds the fields of objects and the items of lists, parents first', () => {
    const inner = 'STRUCT("price" DOUBLE, at TIMESTAMP WITH TIME ZONE)';
    expect(placesOf(`STRUCT("k" BIGINT, items ${inner}[], n DECIMAL(18,2)[][], last JSON)`)).toEqual([
      ['o', 0, `STRUCT("k" BIGINT, items ${inner}[], n DECIMAL(18,2)[][], last JSON)`],
      ['o.k', 1, 'BIGINT'],
      ['o.items', 1, `${inner}[]`],
      ['o.items[]', 2, inner],
      ['o.items[].price', 3, 'DOUBLE'],
      ['o.items[].at', 3, 'TIMESTAMP WITH TIME ZONE'],
      ['o.n', 1, 'DECIMAL(18,2)[][]'],
      ['o.n[]', 2, 'DECIMAL(18,2)[]'],
      ['o.n[][]', 3, 'DECIMAL(18,2)'],
      ['o.last', 1, 'JSON'],
    ]);
  });

  it('reads quoted names, whatever is in them', () => {
    const paths = typePlaces('odd col', 'STRUCT("a ""b"", (c)" STRUCT("x.y" JSON)[], "[]" BIGINT)').map(
      ({ path }) => path,
    );
    const a = '"odd col"."a ""b"", (c)"';
    expect(paths).toEqual(['"odd col"', a, `${a}[]`, `${a}[]."x.y"`, '"odd col"."[]"']);
  });

  it('takes a type with arguments for one place', () => {
    for (const type of [
      "ENUM('a', 'b)')",
      'MAP(BIGINT, STRUCT("k" BIGINT)[])',
      'UNION("n" BIGINT, s VARCHAR)',
      'JSON',
    ]) {
      expect(placesOf(type)).toEqual([['o', 0, type]]);
    }
    expect(placesOf('STRUCT(m MAP(BIGINT, BIGINT), e VARCHAR)').map(([path]) => path)).toEqual(['o', 'o.m', 'o.e']);
  });

  it('takes many fields of one type for one place', () => {
    const fields = (count: number, type: string) =>
      Array.from({ length: count }, (_, n) => `"${n}" ${type}`).join(', ');
    expect(placesOf(`STRUCT(${fields(16, 'STRUCT(a BIGINT)[]')})[]`).map(([path]) => path)).toEqual([
      'o',
      'o[]',
      'o[].<field>',
      'o[].<field>[]',
      'o[].<field>[].a',
    ]);
    expect(placesOf(`STRUCT(${fields(15, 'BIGINT')})`)).toHaveLength(16);
    expect(placesOf(`STRUCT(${fields(15, 'BIGINT')}, x VARCHAR)`)).toHaveLength(17);
  });

  it('finds the values of a map with text keys', () => {
    expect(placesOf('MAP(VARCHAR, STRUCT("k" BIGINT, m MAP(VARCHAR, DOUBLE[]))[])')).toEqual([
      ['o', 0, 'MAP(VARCHAR, STRUCT("k" BIGINT, m MAP(VARCHAR, DOUBLE[]))[])'],
      ['o.<key>', 1, 'STRUCT("k" BIGINT, m MAP(VARCHAR, DOUBLE[]))[]'],
      ['o.<key>[]', 2, 'STRUCT("k" BIGINT, m MAP(VARCHAR, DOUBLE[]))'],
      ['o.<key>[].k', 3, 'BIGINT'],
      ['o.<key>[].m', 3, 'MAP(VARCHAR, DOUBLE[])'],
      ['o.<key>[].m.<key>', 4, 'DOUBLE[]'],
      ['o.<key>[].m.<key>[]', 5, 'DOUBLE'],
    ]);
  });

  it('returns only the column if the type is spelled in another way', () => {
    const deep = `${'STRUCT(a '.repeat(5_000)}BIGINT${')'.repeat(5_000)}`;
    const others = [
      '',
      'object',
      'array<struct<a:int>>',
      'STRUCT(',
      'STRUCT()',
      'STRUCT(a)',
      'STRUCT(a BIGINT',
      'STRUCT("a BIGINT)',
    ];
    for (const type of [
      ...others,
      'STRUCT(a BIGINT) x',
      'STRUCT(a BIGINT,)',
      'struct(a bigint)',
      'ENUM(',
      '[]',
      deep,
    ]) {
      expect(placesOf(type)).toEqual([['o', 0, type]]);
    }
  });
});
