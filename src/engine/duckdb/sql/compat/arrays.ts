import { computedOnce } from '../computed-once.ts';
import { STOPPABLE } from '../guards.ts';
import { type CompatFunction, once } from './entry.ts';
import { fieldsOf } from './objects.ts';

/** `count` items from position `p.s` on. */
const sliced = (
  count: string,
) => `CASE WHEN p.s = 0 THEN error('SLICE: positions start at 1, or at -1 from the end; 0 is none.')
  WHEN p.s < 0 AND len(p.l) + p.s < 0 THEN list_slice(p.l, 1, 0)
  WHEN p.s < 0 THEN list_slice(p.l, len(p.l) + p.s + 1, len(p.l) + p.s + ${count})
  ELSE list_slice(p.l, p.s, p.s + ${count} - 1) END`;

/** An object of an array of pairs. */
const OF_PAIRS = `to_json(map_from_entries(list_transform(from_json(to_json(l), '["JSON"]'),
  lambda e: {'key': e->>'$[0]', 'value': e->'$[1]'})))`;
/** One overload for each number of arrays. */
const ZIPPED = ['a, b', 'a, b, c', 'a, b, c, d'].map((lists) => `(${lists}) AS list_zip(${lists})`);

export const ARRAYS: readonly CompatFunction[] = [
  { name: 'ARRAY_CREATE', renamed: 'list_value', example: 'ARRAY_CREATE(1, 2)', gives: [1, 2] },
  { name: 'ARRAY_CONTAINS', example: 'ARRAY_CONTAINS([1, 2], 2)', gives: true },
  {
    name: 'ARRAY_POSITION',
    macro: [once('l v', 'CASE WHEN p.l IS NOT NULL THEN coalesce(list_position(p.l, p.v), 0) END')],
    example: "ARRAY_POSITION(['a', 'b'], 'c')",
    gives: 0,
    note: 'From 1; 0 if it is not there, where list_position gives null.',
  },
  {
    name: 'ARRAY_LAST_POSITION',
    listedWith: 'ARRAY_POSITION',
    macro: [
      once(
        'l v',
        'CASE WHEN p.l IS NOT NULL THEN coalesce(len(p.l) + 1 - list_position(list_reverse(p.l), p.v), 0) END',
      ),
    ],
    example: 'ARRAY_LAST_POSITION([1, 2, 1], 1)',
    gives: 3,
  },
  {
    name: 'ARRAY_REMOVE',
    macro: [once('l v', 'list_filter(p.l, lambda x: x IS DISTINCT FROM p.v)')],
    example: 'ARRAY_REMOVE([1, 2, 1], 1)',
    gives: [2],
  },
  { name: 'ARRAY_DISTINCT', example: 'len(ARRAY_DISTINCT([1, 2, 1]))', gives: 2 },
  {
    name: 'ARRAY_JOIN',
    macro: [
      '(l, d) AS array_to_string(l, d)',
      `(l, d, n) AS array_to_string(${computedOnce(['l', 'n'], 'list_transform(p.l, lambda x: coalesce(x::VARCHAR, p.n))')}, d)`,
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
    listedWith: 'ARRAY_UNION',
    macro: [
      once(
        'a b',
        `CASE WHEN p.b IS NOT NULL THEN
          list_filter(p.a, lambda x: ${STOPPABLE}(NOT CASE WHEN x IS NULL THEN len(p.b) > list_count(p.b) ELSE list_contains(p.b, x) END)) END`,
      ),
    ],
    example: 'ARRAY_EXCEPT([1, 2], [2])',
    gives: [1],
  },
  { name: 'ARRAYS_OVERLAP', renamed: 'list_has_any', example: 'ARRAYS_OVERLAP([1, 2], [2])', gives: true },
  {
    name: 'SLICE',
    macro: [
      once('l s', sliced('len(p.l)')),
      once('l s n', `CASE WHEN p.n < 0 THEN error('SLICE: a length is not negative.') ELSE ${sliced('p.n')} END`),
    ],
    example: 'SLICE([1, 2, 3, 4], 2, 2)',
    gives: [2, 3],
    note: 'Array, first position (from 1, or from -1 at the end), length.',
  },
  {
    name: 'CARDINALITY',
    macro: [
      once(
        'c',
        `CASE coalesce(json_type(to_json(p.c)), 'NULL') WHEN 'ARRAY' THEN json_array_length(to_json(p.c))::BIGINT
          WHEN 'OBJECT' THEN len(map_keys(${fieldsOf('p.c')}))
          WHEN 'NULL' THEN NULL ELSE error('CARDINALITY, and LENGTH of other than text, take an array, a map or an object.') END`,
      ),
    ],
    example: 'CARDINALITY([7, 8])',
    gives: 2,
    note: 'Of arrays, maps and objects; what is null in an object is missing.',
  },
  {
    name: 'SEQUENCE',
    renamed: 'generate_series',
    example: 'SEQUENCE(1, 7, 3)',
    gives: [1, 4, 7],
    note: 'The end is included.',
  },
  {
    name: 'ZIP',
    macro: [`(l) AS ${OF_PAIRS}`, ...ZIPPED],
    example: "ZIP([['a', 1], ['b', 'x']])",
    gives: { a: 1, b: 'x' },
    note: 'Makes a JSON object of an array of pairs, as ITEMS gives them. Of two or more arrays list_zip, which pairs their items.',
  },
  { name: 'TRANSFORM', renamed: 'list_transform', example: 'TRANSFORM([1, 2], x -> x + 1)', gives: [2, 3] },
].map((one) => ({ group: 'Arrays', ...one }));
