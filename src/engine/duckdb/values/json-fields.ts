import { type DuckDBType, DuckDBTypeId } from '@duckdb/node-api';
import { foldName, ITEM, isMapField, type JsonField, type JsonFields } from '../sql/names.ts';
import { isListShape, isMapShape, isObjectShape, type Shape } from './shape.ts';
import { typeName } from './values.ts';

/** The columns that are JSON because their documents have no common type, those that are maps, and those that contain either. */
export function jsonFieldsOf(columns: ReadonlyMap<string, Shape>): JsonFields {
  return fieldsWhere(columns, jsonOfShape);
}

/** The same for the columns of a result. */
export function jsonFieldsOfTypes(columns: ReadonlyMap<string, DuckDBType>): JsonFields {
  return fieldsWhere(columns, jsonOfType);
}

type Json = JsonField | null;

function fieldsWhere<T>(columns: ReadonlyMap<string, T>, jsonOf: (of: T) => Json): JsonFields {
  const found = new Map<string, JsonField>();
  for (const [name, of] of columns) {
    const json = jsonOf(of);
    if (json !== null && (json === 'json' || isMapField(json) || json.size > 0)) found.set(foldName(name), json);
  }
  return found;
}

function jsonOfShape(shape: Shape): Json {
  if (shape === 'json') return 'json';
  if (isMapShape(shape)) return { kind: 'map', keys: shape.keys, values: jsonOfShape(shape.values) };
  if (isListShape(shape)) return fieldsWhere(new Map([[ITEM, shape.element]]), jsonOfShape);
  return isObjectShape(shape) ? jsonFieldsOf(shape.fields) : null;
}

function jsonOfType(type: DuckDBType): Json {
  if (type.typeId === DuckDBTypeId.VARCHAR) return typeName(type) === 'JSON' ? 'json' : null;
  if (type.typeId === DuckDBTypeId.LIST) return fieldsWhere(new Map([[ITEM, type.valueType]]), jsonOfType);
  if (type.typeId !== DuckDBTypeId.STRUCT) return null;
  const { entryNames, entryTypes } = type;
  return jsonFieldsOfTypes(new Map(entryNames.flatMap((name, at) => (entryTypes[at] ? [[name, entryTypes[at]]] : []))));
}
