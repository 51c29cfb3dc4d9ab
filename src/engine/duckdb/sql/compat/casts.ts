import type { CompatFunction } from './entry.ts';

export const CASTS: readonly CompatFunction[] = [
  { name: 'TRY_CAST', example: "TRY_CAST('x' AS int)", gives: null },
  {
    name: 'TYPEOF',
    example: 'TYPEOF(1.5)',
    gives: 'DECIMAL(2,1)',
    note: "The names are DuckDB's: VARCHAR where others say 'string', BIGINT 'int', DOUBLE 'float', BOOLEAN 'bool', X[] 'array', STRUCT(…) 'object'.",
  },
  {
    name: 'IS_SCALAR',
    macro: ["(v) AS json_type(to_json(v)) NOT IN ('ARRAY', 'OBJECT')"],
    example: 'IS_SCALAR([1])',
    gives: false,
  },
  { name: 'IF', example: "IF(1 > 2, 'a', 'b')", gives: 'b' },
  { name: 'ZEROIFNULL', macro: ['(v) AS coalesce(v, 0)'], example: 'ZEROIFNULL(NULL)', gives: 0 },
].map((one) => ({ group: 'Casts and predicates', ...one }));
