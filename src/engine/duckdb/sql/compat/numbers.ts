import { type CompatFunction, once } from './entry.ts';

export const NUMBERS: readonly CompatFunction[] = [
  { name: 'TRUNCATE', renamed: 'trunc', example: 'TRUNCATE(-1.7)', gives: -1 },
  { name: 'POW', example: 'POW(2, 3)', gives: 8 },
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
