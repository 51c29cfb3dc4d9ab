import { type CompatFunction, once } from './entry.ts';

export const ARRAYS: readonly CompatFunction[] = [
  { name: 'ARRAY_CREATE', renamed: 'list_value', example: 'ARRAY_CREATE(1, 2)', gives: [1, 2] },
  { name: 'ARRAY_CONTAINS', example: 'ARRAY_CONTAINS([1, 2], 2)', gives: true },
  { name: 'ARRAY_POSITION', example: "ARRAY_POSITION(['a', 'b'], 'b')", gives: 2 },
  {
    name: 'ARRAY_REMOVE',
    macro: ['(l, v) AS list_filter(l, lambda x: x IS DISTINCT FROM v)'],
    example: 'ARRAY_REMOVE([1, 2, 1], 1)',
    gives: [2],
  },
  { name: 'ARRAY_DISTINCT', example: 'len(ARRAY_DISTINCT([1, 2, 1]))', gives: 2 },
  {
    name: 'ARRAY_JOIN',
    macro: [
      '(l, d) AS array_to_string(l, d)',
      '(l, d, n) AS array_to_string(list_transform(l, lambda x: coalesce(x::VARCHAR, n)), d)',
    ],
    example: "ARRAY_JOIN(['a', NULL], '-', '?')",
    gives: 'a-?',
  },
  { name: 'ARRAY_MAX', renamed: 'list_max', example: 'ARRAY_MAX([1, 3])', gives: 3 },
  { name: 'ARRAY_MIN', listedWith: 'ARRAY_MAX', renamed: 'list_min', example: 'ARRAY_MIN([1, 3])', gives: 1 },
  { name: 'ARRAY_SUM', listedWith: 'ARRAY_MAX', renamed: 'list_sum', example: 'ARRAY_SUM([1, 3])', gives: 4 },
  { name: 'ARRAY_FLATTEN', renamed: 'flatten', example: 'ARRAY_FLATTEN([[1], [2]])', gives: [1, 2] },
  {
    name: 'ARRAY_UNION',
    macro: ['(a, b) AS list_distinct(list_concat(a, b))'],
    example: 'list_sort(ARRAY_UNION([1, 2], [2, 3]))',
    gives: [1, 2, 3],
  },
  {
    name: 'ARRAY_EXCEPT',
    macro: ['(a, b) AS list_filter(a, lambda x: NOT list_contains(b, x))'],
    example: 'ARRAY_EXCEPT([1, 2], [2])',
    gives: [1],
  },
  { name: 'ARRAYS_OVERLAP', renamed: 'list_has_any', example: 'ARRAYS_OVERLAP([1, 2], [2])', gives: true },
  {
    name: 'SLICE',
    macro: ['(l, s) AS list_slice(l, s, -1)', once('l s n', 'list_slice(p.l, p.s, p.s + p.n - 1)')],
    example: 'SLICE([1, 2, 3, 4], 2, 2)',
    gives: [2, 3],
    note: 'Array, first position (from 1), length.',
  },
  {
    name: 'CARDINALITY',
    renamed: 'len',
    example: 'CARDINALITY([7, 8])',
    gives: 2,
    note: 'Of arrays; of a map: len(map_keys(m)).',
  },
  {
    name: 'SEQUENCE',
    renamed: 'generate_series',
    example: 'SEQUENCE(1, 7, 3)',
    gives: [1, 4, 7],
    note: 'The end is included.',
  },
  { name: 'ZIP', renamed: 'list_zip', example: "len(ZIP([1, 2], ['a', 'b']))", gives: 2 },
  { name: 'TRANSFORM', renamed: 'list_transform', example: 'TRANSFORM([1, 2], x -> x + 1)', gives: [2, 3] },
].map((one) => ({ group: 'Arrays', ...one }));
