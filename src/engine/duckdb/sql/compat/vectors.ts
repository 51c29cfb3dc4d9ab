import { computedOnce } from '../computed-once.ts';
import type { CompatFunction } from './entry.ts';

const ENFORCED = 'CASE WHEN len(p.v) = p.n AND list_count(p.v) = p.n THEN p.v END';

const COMPARED_NOTE = 'COSINE_SIM is null for a vector of zeros. APPROX forms are exact.';
/** A parameter that holds a vector may come as JSON. */
const VECTOR = 'DOUBLE[]';
const SIMILARITY = `(a, b) AS ${computedOnce(
  { a: `a::${VECTOR}`, b: `b::${VECTOR}` },
  'CASE WHEN list_dot_product(p.a, p.a) > 0 AND list_dot_product(p.b, p.b) > 0 THEN list_cosine_similarity(p.a, p.b) END',
)}`;
const DISTANCE = `(a, b) AS list_distance(a::${VECTOR}, b::${VECTOR})`;
const DOT = `(a, b) AS list_dot_product(a::${VECTOR}, b::${VECTOR})`;
const itemwise = (name: string, operator: string) =>
  `(a, b) AS ${computedOnce(
    { a: `a::${VECTOR}`, b: `b::${VECTOR}` },
    `CASE WHEN len(p.a) <> len(p.b) THEN error('${name}: the vectors differ in length.')
      ELSE list_transform(list_zip(p.a, p.b), lambda e: e[1] ${operator} e[2]) END`,
  )}`;

/** The first of each pair is listed; the other is exact as well. */
const COMPARED = [
  { name: 'COSINE_SIM', other: 'APPROX_COSINE_SIM', macro: [SIMILARITY], call: '([1.0, 0.0], [1.0, 0.0])', gives: 1 },
  {
    name: 'EUCLIDEAN_DIST',
    other: 'APPROX_EUCLIDEAN_DIST',
    macro: [DISTANCE],
    call: '([0.0, 0.0], [3.0, 4.0])',
    gives: 5,
  },
  {
    name: 'DOT_PRODUCT',
    other: 'APPROX_DOT_PRODUCT',
    macro: [DOT],
    call: "([1.0, 2.0], JSON_PARSE('[3, 4]'))",
    gives: 11,
  },
].flatMap(({ name, other, macro, call, gives }) => [
  { name, macro, example: name + call, gives, ...(name === 'COSINE_SIM' ? { note: COMPARED_NOTE } : {}) },
  { name: other, listedWith: name, macro, example: other + call, gives },
]);

export const VECTORS: readonly CompatFunction[] = [
  ...COMPARED,
  ...[
    ['VECTOR_ADD', '+', 5],
    ['VECTOR_SUBTRACT', '-', 1],
    ['VECTOR_MULTIPLY', '*', 6],
    ['VECTOR_DIVIDE', '/', 1.5],
  ].map(([name, operator, gives]) => ({
    name: String(name),
    ...(name === 'VECTOR_ADD' ? {} : { listedWith: 'VECTOR_ADD' }),
    macro: [itemwise(String(name), String(operator))],
    example: `${name}([3.0], [2.0])`,
    gives: [gives],
  })),
  {
    name: 'VECTOR_ENFORCE',
    macro: ['(v, n)', '(v, n, t)'].map(
      (names) => `${names} AS ${computedOnce({ v: 'TRY_CAST(v AS DOUBLE[])', n: 'n' }, ENFORCED)}`,
    ),
    example: "VECTOR_ENFORCE([1, 2], 3, 'float')",
    gives: null,
    note: 'The vector as DOUBLE[], or null where its length differs or it holds no numbers; the type is ignored.',
  },
].map((one) => ({ group: 'Vectors', ...one }));
