import { quoteName } from '../sql/names.ts';
import { declaredSqlType, isDecimal, isDeclaredShape } from './declared.ts';
import { isListShape, isMapShape, isObjectShape, type Shape } from './shape.ts';
import { isTimeShape, timeType } from './time-text.ts';

/** The DuckDB type that holds a shape. What has no type yet (null, an empty object) is JSON until it has one. */
export function typeOf(shape: Shape): string {
  if (isListShape(shape)) return `${typeOf(shape.element)}[]`;
  if (isMapShape(shape)) return `MAP(VARCHAR, ${typeOf(shape.values)})`;
  if (isObjectShape(shape)) {
    if (shape.fields.size === 0) return 'JSON';
    const fields = [...shape.fields].map(([key, field]) => `${quoteName(key)} ${typeOf(field)}`);
    return `STRUCT(${fields.join(', ')})`;
  }
  if (isDeclaredShape(shape)) return declaredSqlType(shape);
  return isTimeShape(shape) ? timeType(shape) : SCALAR_TYPES[shape];
}

const SCALAR_TYPES = {
  null: 'JSON',
  boolean: 'BOOLEAN',
  int53: 'BIGINT',
  int64: 'BIGINT',
  hugeint: 'HUGEINT',
  double: 'DOUBLE',
  string: 'VARCHAR',
  json: 'JSON',
} as const;

/** The second argument of `from_json` that makes it yield `typeOf(shape)`; of bytes their text. */
export function structureOf(shape: Shape): string {
  if (isListShape(shape)) return `[${structureOf(shape.element)}]`;
  if (isObjectShape(shape) && shape.fields.size > 0) return structureOfFields(shape.fields);
  // Text would be taken for its bytes.
  return JSON.stringify(shape === 'binary' ? 'VARCHAR' : typeOf(shape));
}

/** As `structureOf`, for a document with these columns, at least one: what `storedSql` is given. */
export function structureOfColumns(columns: ReadonlyMap<string, Shape>): string {
  // A number would go through a double to become a decimal.
  return structureOfFields(new Map([...columns].map(([name, shape]) => [name, isDecimal(shape) ? 'string' : shape])));
}

/** As `structureOf`, for an object with these fields, at least one. */
function structureOfFields(fields: ReadonlyMap<string, Shape>): string {
  // Built as text: in an object, a field named `__proto__` would be lost, and numeric names would come first.
  return `{${[...fields].map(([key, field]) => `${JSON.stringify(key)}:${structureOf(field)}`).join(',')}}`;
}
