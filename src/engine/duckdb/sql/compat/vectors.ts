import { type CompatFunction, once } from './entry.ts';

const ENFORCED =
  'CASE WHEN len(p.v) = p.n AND list_count(TRY_CAST(p.v AS DOUBLE[])) = p.n THEN TRY_CAST(p.v AS DOUBLE[]) END';

export const VECTORS: readonly CompatFunction[] = [
  {
    name: 'COSINE_SIM',
    macro: [
      once(
        'a b',
        'CASE WHEN list_dot_product(p.a, p.a) > 0 AND list_dot_product(p.b, p.b) > 0 THEN list_cosine_similarity(p.a, p.b) END',
      ),
    ],
    example: 'COSINE_SIM([1.0, 0.0], [1.0, 0.0])',
    gives: 1,
    note: 'Null for a vector of zeros.',
  },
  { name: 'EUCLIDEAN_DIST', renamed: 'list_distance', example: 'EUCLIDEAN_DIST([0.0, 0.0], [3.0, 4.0])', gives: 5 },
  { name: 'DOT_PRODUCT', renamed: 'list_dot_product', example: 'DOT_PRODUCT([1.0, 2.0], [3.0, 4.0])', gives: 11 },
  {
    name: 'VECTOR_ENFORCE',
    macro: [once('v n', ENFORCED), once('v n', ENFORCED).replace('(v, n)', '(v, n, t)')],
    example: "VECTOR_ENFORCE([1, 2], 3, 'float')",
    gives: null,
    note: 'The vector as DOUBLE[], or null where its length differs or it holds no numbers; the type is ignored.',
  },
].map((one) => ({ group: 'Vectors', ...one }));
