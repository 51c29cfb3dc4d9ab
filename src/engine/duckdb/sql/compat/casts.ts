import type { CompatFunction } from './entry.ts';

const ENGINE_TYPE = 'system.main.typeof(v)';
const named = (types: string, name: string) =>
  `WHEN ${ENGINE_TYPE} IN (${types
    .split(' ')
    .map((type) => `'${type.replaceAll('_', ' ')}'`)
    .join(', ')}) THEN '${name}'`;
/** The engine knows the type of an argument when it binds: of these cases only the one that is meant is left. */
const TYPE_NAME = `CASE WHEN v IS NULL THEN 'null'
  ${named('BIGINT INTEGER HUGEINT SMALLINT TINYINT UBIGINT UINTEGER USMALLINT UTINYINT UHUGEINT BIGNUM', 'int')}
  WHEN regexp_matches(${ENGINE_TYPE}, '^(DOUBLE|FLOAT|DECIMAL\\(.*)$') THEN 'float'
  ${named('VARCHAR', 'string')} ${named('BOOLEAN', 'bool')} ${named('BLOB', 'bytes')}
  ${named('TIMESTAMP_WITH_TIME_ZONE', 'timestamp')} WHEN ${ENGINE_TYPE} LIKE 'TIMESTAMP%' THEN 'datetime'
  WHEN ${ENGINE_TYPE} LIKE 'TIME%' THEN 'time' WHEN suffix(${ENGINE_TYPE}, ']') THEN 'array'
  WHEN regexp_matches(${ENGINE_TYPE}, '^(STRUCT|MAP)\\(') THEN 'object'
  WHEN ${ENGINE_TYPE} = 'JSON' THEN CASE system.main.json_type(system.main.to_json(v)) WHEN 'VARCHAR' THEN 'string'
    WHEN 'BIGINT' THEN 'int' WHEN 'UBIGINT' THEN 'int' WHEN 'DOUBLE' THEN 'float' WHEN 'BOOLEAN' THEN 'bool'
    WHEN 'ARRAY' THEN 'array' WHEN 'OBJECT' THEN 'object' ELSE 'null' END
  ELSE lower(${ENGINE_TYPE}) END`;

/** Stands for CAST(x AS INT), which leaves out the fraction, also that of text; the engine's cast to BIGINT rounds. */
export const TO_INT = 'to_int_';
export const TRY_TO_INT = 'try_to_int_';
/** Text without the fraction of a number; `.5` has no digit before it. */
const FRACTION = '^(\\s*[-+]?)([0-9]*)[.][0-9]+\\s*$';
const AS_TEXT = 'CAST(v AS VARCHAR)';
// Most texts have no point: these are cast as they are, and an error names their column.
const HAS_POINT = `contains(${AS_TEXT}, '.')`;
const WHOLE_TEXT = `system.main.regexp_replace(${AS_TEXT}, '${FRACTION}', '\\10\\2')`;
const WHOLE_JSON = `CAST(system.main.regexp_replace(${AS_TEXT}, '^("?[-+]?[0-9]+)[.][0-9]+("?)$', '\\1\\2') AS JSON)`;
const toInt = (
  cast: string,
) => `(v) AS CASE WHEN ${ENGINE_TYPE} IN ('DOUBLE', 'FLOAT') THEN ${cast}(trunc(TRY_CAST(v AS DOUBLE)) AS BIGINT)
  WHEN regexp_matches(${ENGINE_TYPE}, '^DECIMAL\\([0-9,]*\\)$') THEN ${cast}(split_part(${AS_TEXT}, '.', 1) AS BIGINT)
  WHEN ${ENGINE_TYPE} = 'VARCHAR' AND ${HAS_POINT} THEN ${cast}(${WHOLE_TEXT} AS BIGINT)
  WHEN ${ENGINE_TYPE} = 'JSON' AND ${HAS_POINT} THEN ${cast}(${WHOLE_JSON} AS BIGINT)
  ELSE ${cast}(v AS BIGINT) END`;
/** By name: what `forms.ts` writes in the place of casts. */
export const CAST_MACROS: readonly (readonly [string, readonly string[]])[] = [
  [TO_INT, [toInt('CAST')]],
  [TRY_TO_INT, [toInt('TRY_CAST')]],
  // The engine's own calls typeof().
  ['pg_typeof', [`(v) AS lower(${ENGINE_TYPE})`]],
];

export const CASTS: readonly CompatFunction[] = [
  {
    name: 'CAST',
    example: "CAST('9780439023481' AS int) + CAST(1.9 AS int)",
    gives: 9780439023482,
    note: 'INT, INTEGER, FLOAT and REAL have 64 bits; 32 where the engine takes no more. CAST to INT leaves out a fraction; x::INT and BIGINT round.',
  },
  { name: 'TRY_CAST', listedWith: 'CAST', example: "TRY_CAST('x' AS int)", gives: null },
  { name: 'STATIC_CAST', listedWith: 'CAST', example: 'STATIC_CAST(1.7 AS int)', gives: 1 },
  { name: 'TRY_STATIC_CAST', listedWith: 'CAST', example: "TRY_STATIC_CAST('x' AS int)", gives: null },
  {
    name: 'TYPEOF',
    macro: [`(v) AS ${TYPE_NAME}`],
    example: 'TYPEOF(1.5)',
    gives: 'float',
    note: "int, float, bool, string, bytes, null, array, object, date, time, datetime (without a zone), timestamp, interval; of JSON that of each value. DuckDB's name: pg_typeof(x).",
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
