import { type CompatFunction, once } from './entry.ts';

/** Arguments of a call of GREATEST or LEAST; with more of them it is a call of these, with a list. */
export const EXTREMES_MAX = 12;
export const EXTREMES_OF: ReadonlyMap<string, string> = new Map([
  ['greatest', 'greatest_of_'],
  ['least', 'least_of_'],
]);
export const EXTREME_MACROS: readonly (readonly [string, readonly string[]])[] = [
  ['greatest_of_', ["(l) AS list_sort(l, 'DESC', 'NULLS FIRST')[1]"]],
  ['least_of_', ["(l) AS list_sort(l, 'ASC', 'NULLS FIRST')[1]"]],
];

/** The engine's own skips nulls. */
const extreme = (name: string) =>
  Array.from({ length: EXTREMES_MAX }, (_, last) => {
    const names = Array.from({ length: last + 1 }, (_, index) => `a${index}`);
    const areThere = names.map((one) => `${one} IS NOT NULL`).join(' AND ');
    return `(${names.join(', ')}) AS CASE WHEN ${areThere} THEN system.main.${name}(${names.join(', ')}) END`;
  });

export const NUMBERS: readonly CompatFunction[] = [
  {
    name: 'GREATEST',
    macro: extreme('greatest'),
    example: 'GREATEST(1, NULL, 3)',
    gives: null,
    note: 'list_max([a, b]) skips nulls.',
  },
  { name: 'LEAST', listedWith: 'GREATEST', macro: extreme('least'), example: 'LEAST(5, 2)', gives: 2 },
  { name: 'TRUNCATE', renamed: 'trunc', example: 'TRUNCATE(-1.7)', gives: -1 },
  { name: 'POW', example: 'POW(2, 3)', gives: 8 },
  { name: 'HYPOT', macro: ['(a, b) AS sqrt(pow(a, 2) + pow(b, 2))'], example: 'HYPOT(3, 4)', gives: 5 },
  {
    name: 'BIT_COUNT',
    macro: [
      '(n) AS system.main.bit_count(n)',
      once(
        'n b',
        `CASE WHEN p.b < 2 OR p.b > 64 THEN error('BIT_COUNT: from 2 to 64 bits.')
          WHEN p.b = 64 THEN system.main.bit_count(p.n::BIGINT)
          ELSE system.main.bit_count(p.n::BIGINT & ((1::HUGEINT << p.b) - 1)::BIGINT) END::BIGINT`,
      ),
    ],
    example: 'BIT_COUNT(7, 64)',
    gives: 3,
    note: 'With a second argument: of a number of so many bits.',
  },
  { name: 'BITWISE_NOT', macro: ['(n) AS ~n::BIGINT'], example: 'BITWISE_NOT(0)', gives: -1 },
  ...[
    ['AND', '&', 4],
    ['OR', '|', 5],
  ].map(([name, operator, gives]) => ({
    name: `BITWISE_${name}`,
    listedWith: 'BITWISE_NOT',
    macro: [`(a, b) AS a ${operator} b`],
    example: `BITWISE_${name}(5, 4)`,
    gives,
  })),
  { name: 'BITWISE_XOR', listedWith: 'BITWISE_NOT', renamed: 'xor', example: 'BITWISE_XOR(5, 1)', gives: 4 },
  { name: 'RAND', renamed: 'random', example: 'RAND() < 1', gives: true },
  { name: 'E', macro: ['() AS exp(1)'], example: 'round(E(), 1)', gives: 2.7 },
  { name: 'INFINITY', listedWith: 'E', macro: ["() AS 'inf'::DOUBLE"], example: 'INFINITY() > 1', gives: true },
  { name: 'NAN', listedWith: 'E', macro: ["() AS 'nan'::DOUBLE"], example: 'isnan(NAN())', gives: true },
  { name: 'IS_NAN', renamed: 'isnan', example: 'IS_NAN(1.5)', gives: false },
  { name: 'IS_FINITE', listedWith: 'IS_NAN', renamed: 'isfinite', example: 'IS_FINITE(1.5)', gives: true },
  { name: 'IS_INFINITE', listedWith: 'IS_NAN', renamed: 'isinf', example: 'IS_INFINITE(1.5)', gives: false },
  {
    name: 'WIDTH_BUCKET',
    macro: [
      once(
        'x a b n',
        `CASE WHEN p.a > p.b THEN CASE WHEN p.x > p.a THEN 0 WHEN p.x <= p.b THEN p.n + 1
          ELSE floor((p.a - p.x)::DOUBLE * p.n / (p.a - p.b))::BIGINT + 1 END
        WHEN p.a < p.b THEN CASE WHEN p.x < p.a THEN 0 WHEN p.x >= p.b THEN p.n + 1
          ELSE floor((p.x - p.a)::DOUBLE * p.n / (p.b - p.a))::BIGINT + 1 END
        WHEN p.a = p.b THEN error('WIDTH_BUCKET: the two bounds are the same.') END`,
      ),
    ],
    example: 'WIDTH_BUCKET(3, 0, 10, 5)',
    gives: 2,
  },
].map((one) => ({ group: 'Numbers', ...one }));
