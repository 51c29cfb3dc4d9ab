import type { CompatFunction } from './entry.ts';

export const AGGREGATES: readonly CompatFunction[] = [
  { name: 'COUNT_IF', example: 'COUNT_IF(n > 1)', gives: 2 },
  {
    name: 'APPROX_DISTINCT',
    example: 'APPROX_DISTINCT(s)',
    gives: 2,
    note: 'Exact, as is APPROX_COUNT_DISTINCT.',
  },
  { name: 'APPROX_PERCENTILE', renamed: 'approx_quantile', example: 'APPROX_PERCENTILE(n, 0.5)', gives: 2 },
  { name: 'ARBITRARY', example: "ARBITRARY(s) FILTER (WHERE s = 'b')", gives: 'b' },
  { name: 'EVERY', renamed: 'bool_and', example: 'EVERY(n > 0)', gives: true },
  { name: 'BITWISE_AND_AGG', renamed: 'bit_and', example: 'BITWISE_AND_AGG(n)', gives: 0 },
  { name: 'BITWISE_OR_AGG', listedWith: 'BITWISE_AND_AGG', renamed: 'bit_or', example: 'BITWISE_OR_AGG(n)', gives: 3 },
  { name: 'MAX_BY', example: 'MAX_BY(s, n)', gives: 'b' },
  { name: 'MIN_BY', listedWith: 'MAX_BY', example: 'MIN_BY(s, n)', gives: 'a' },
  {
    name: 'MAP_AGG',
    renamed: 'json_group_object',
    example: "MAP_AGG(n, s)->>'$.1'",
    gives: 'a',
    note: 'Gives JSON. Group first: of two equal keys a path takes the first, and the answer shows the last.',
  },
  {
    name: 'OBJECT_AGG',
    listedWith: 'MAP_AGG',
    renamed: 'json_group_object',
    example: "OBJECT_AGG(s, n)->>'$.a'",
    gives: '1',
  },
].map((one) => ({ group: 'Aggregates', ...one }));
