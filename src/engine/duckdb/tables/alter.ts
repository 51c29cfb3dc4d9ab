import { STRAYS_COLUMN } from '../../../contract/strays.ts';
import type { ColumnStep } from '../connections/store.ts';
import { EXTRA_COLUMN, ID_COLUMN, quoteName, quoteText, TIME_COLUMN } from '../sql/names.ts';
import { declaredJson, isDeclaredShape, isTypedShape } from '../values/declared.ts';
import { isListShape, isMapShape, isObjectShape, kindOf, type ObjectShape, type Shape } from '../values/shape.ts';
import { isTimeShape, spelledSql } from '../values/time-text.ts';
import { structureOf, typeOf } from '../values/types.ts';
import type { TableShape } from './columns.ts';

/**
 * The steps that turn a table of one shape into a wider one, keeping every value. They must come before the
 * transaction's first DELETE or INSERT on the table: DuckDB refuses to commit the other order.
 *
 * A new field of a struct is a type change, too: `ADD COLUMN list.element.field` of DuckDB 1.5 corrupts the heap.
 */
export function alterSteps(from: TableShape, to: TableShape): ColumnStep[] {
  const steps: ColumnStep[] = [];
  for (const [key, shape] of to.columns) {
    const before = from.columns.get(key);
    const column = quoteName(key);
    if (before === undefined) {
      steps.push({ do: 'add', column, type: typeOf(shape) });
    } else if (typeOf(before) !== typeOf(shape)) {
      const using = convert(before, shape, column);
      steps.push({ do: 'set', column, type: typeOf(shape), using, onlyAddsFields: onlyAddsFields(before, shape) });
    }
  }
  if (to.extra && !from.extra) steps.push({ do: 'add', column: quoteName(EXTRA_COLUMN), type: 'JSON' });
  if (to.strays.size > 0 && from.strays.size === 0)
    steps.push({ do: 'add', column: quoteName(STRAYS_COLUMN), type: 'JSON' });
  return steps;
}

/** Whether the types differ only in fields that objects, at any depth, have besides. */
function onlyAddsFields(from: Shape, to: Shape): boolean {
  if (typeOf(from) === typeOf(to)) return true;
  if (isListShape(from) && isListShape(to)) return onlyAddsFields(from.element, to.element);
  if (isMapShape(from) && isMapShape(to)) return onlyAddsFields(from.values, to.values);
  // An object without fields is JSON.
  if (!isObjectShape(from) || !isObjectShape(to) || from.fields.size === 0) return false;
  return [...from.fields].every(([key, one]) => {
    const other = to.fields.get(key);
    return other !== undefined && onlyAddsFields(one, other);
  });
}

/** The columns whose values are of another kind in `to`, if some may have strays, which may be of that kind. */
export function convertedColumns(from: TableShape, to: TableShape): string[] {
  if (from.strays.size === 0) return [];
  const names = [...from.columns.keys()];
  return names.filter(
    (name) => from.strays.has(name) && !canCast(from.columns.get(name) ?? 'null', to.columns.get(name) ?? 'null'),
  );
}

/** SQL that converts `sql` from one shape to a wider one. */
export function convert(from: Shape, to: Shape, sql: string, level = 0): string {
  if (typeOf(from) === typeOf(to)) return sql;
  if (typeOf(to) === 'JSON') return toJson(from, sql, level);
  if (typeOf(from) === 'JSON') return fromJson(sql, to);
  if (canCast(from, to)) return `CAST(${sql} AS ${typeOf(to)})`;
  if (isMapShape(to)) return toSortedMap(fromJson(toJson(from, sql, level), to));
  if (isListShape(from) && isListShape(to)) {
    const item = lambdaName(level);
    return `list_transform(${sql}, lambda ${item}: ${convert(from.element, to.element, item, level + 1)})`;
  }
  if (isObjectShape(from) && isObjectShape(to)) return convertStruct(from, to, sql, level);
  throw new TypeError(`a ${typeOf(from)} cannot become a ${typeOf(to)}`);
}

function fromJson(sql: string, to: Shape): string {
  return `from_json(${sql}, ${quoteText(structureOf(to))})`;
}

/** Maps are equal if their keys come in the same order, too. */
function toSortedMap(sql: string): string {
  return `map_from_entries(list_sort(map_entries(${sql})))`;
}

function convertStruct(from: ObjectShape, to: ObjectShape, sql: string, level: number): string {
  const fields = [...to.fields].map(([key, shape]) => {
    const before = from.fields.get(key);
    const value = before === undefined ? 'NULL' : convert(before, shape, fieldOf(sql, key), level);
    return `${quoteName(key)} := CAST(${value} AS ${typeOf(shape)})`;
  });
  return `CASE WHEN ${sql} IS NULL THEN NULL ELSE struct_pack(${fields.join(', ')}) END`;
}

/** Whether DuckDB's own cast keeps every value: numbers widen, structs gain fields, nothing turns into JSON or back. */
function canCast(from: Shape, to: Shape): boolean {
  if (typeOf(from) === typeOf(to)) return true;
  if (typeOf(from) === 'JSON' || typeOf(to) === 'JSON') return false;
  if (isListShape(from) && isListShape(to)) return canCast(from.element, to.element);
  if (isObjectShape(from) && isObjectShape(to)) {
    return [...from.fields].every(([key, field]) => canCast(field, to.fields.get(key) ?? field));
  }
  if (isMapShape(from) && isMapShape(to)) return canCast(from.values, to.values);
  return typeof from === 'string' && typeof to === 'string' && kindOf(from) === kindOf(to);
}

/** SQL that converts `sql` to JSON. A struct's NULL fields are missing members of the document, and stay missing. */
export function toJson(shape: Shape, sql: string, level = 0): string {
  if (typeOf(shape) === 'JSON') return sql;
  if (!needsCare(shape)) return `to_json(${sql})`;
  if (isListShape(shape)) {
    const item = lambdaName(level);
    return `to_json(list_transform(${sql}, lambda ${item}: ${toJson(shape.element, item, level + 1)}))`;
  }
  if (isMapShape(shape)) {
    const entry = lambdaName(level);
    const value = toJson(shape.values, `struct_extract(${entry}, 'value')`, level + 1);
    const entries = `list_transform(map_entries(${sql}), lambda ${entry}: {'key': struct_extract(${entry}, 'key'), 'value': ${value}})`;
    return `to_json(map_from_entries(${entries}))`;
  }
  if (isDeclaredShape(shape)) return declaredJson(sql, shape);
  if (isTimeShape(shape)) return `to_json(${spelledSql(sql, shape)})`;
  if (!isObjectShape(shape)) return doubleToJson(sql);
  const members = [...shape.fields].map(
    ([key, field]) => `${quoteText(key)}, ${toJson(field, fieldOf(sql, key), level)}`,
  );
  // A merge patch reads null as "no such member" at every level of objects, but keeps it inside lists. The function's
  // name is qualified because views use it too, and a query's session may have a limited function of that name.
  return `CASE WHEN ${sql} IS NULL THEN NULL ELSE system.main.json_merge_patch('{}', json_object(${members.join(', ')})) END`;
}

function needsCare(shape: Shape): boolean {
  if (isListShape(shape)) return needsCare(shape.element);
  if (isMapShape(shape)) return needsCare(shape.values);
  return isObjectShape(shape) ? shape.fields.size > 0 : shape === 'double' || isTypedShape(shape);
}

/** As a document that arrives now is stored: 3, and not 3.0 (see `exactText`). */
function doubleToJson(sql: string): string {
  return `CASE WHEN ${sql} = trunc(${sql}) AND abs(${sql}) < 1e21 THEN to_json(CAST(${sql} AS HUGEINT)) ELSE to_json(${sql}) END`;
}

function fieldOf(sql: string, key: string): string {
  return `struct_extract(${sql}, ${quoteText(key)})`;
}

/**
 * Names for the parameters of lambdas: `ALTER … USING` refuses every name that is not a column of the table, even a
 * lambda's own parameter. Neither of these columns is ever converted, so hiding them does no harm; an inner lambda uses
 * nothing of the one two levels out.
 */
function lambdaName(level: number): string {
  return quoteName(level % 2 === 0 ? ID_COLUMN : TIME_COLUMN);
}
