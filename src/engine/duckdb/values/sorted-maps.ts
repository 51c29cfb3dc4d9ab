import { quoteName, quoteText } from '../sql/names.ts';
import { isListShape, isMapShape, isObjectShape, type Shape } from './shape.ts';

/** SQL for a value whose maps have their keys in any order, with the keys in order: maps are equal only then. */
export function sortedMaps(sql: string, shape: Shape, level = 0): string {
  if (!holdsMap(shape)) return sql;
  const item = `x${level}`;
  if (isListShape(shape))
    return `list_transform(${sql}, lambda ${item}: ${sortedMaps(item, shape.element, level + 1)})`;
  if (isMapShape(shape)) {
    const value = sortedMaps(`struct_extract(${item}, 'value')`, shape.values, level + 1);
    const entries = holdsMap(shape.values)
      ? `list_transform(map_entries(${sql}), lambda ${item}: {'key': struct_extract(${item}, 'key'), 'value': ${value}})`
      : `map_entries(${sql})`;
    return `map_from_entries(list_sort(${entries}))`;
  }
  if (!isObjectShape(shape)) return sql;
  const fields = [...shape.fields].map(
    ([key, field]) => `${quoteName(key)} := ${sortedMaps(`struct_extract(${sql}, ${quoteText(key)})`, field, level)}`,
  );
  return `CASE WHEN ${sql} IS NULL THEN NULL ELSE struct_pack(${fields.join(', ')}) END`;
}

function holdsMap(shape: Shape): boolean {
  if (isMapShape(shape)) return true;
  if (isListShape(shape)) return holdsMap(shape.element);
  return isObjectShape(shape) && [...shape.fields.values()].some(holdsMap);
}
