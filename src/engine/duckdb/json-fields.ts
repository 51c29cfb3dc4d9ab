import { foldName, type JsonFields } from './names.ts';
import { isObjectShape, type Shape } from './shape.ts';

/** The columns that are JSON because their documents have no common type, and those that contain such a field. */
export function jsonFieldsOf(columns: ReadonlyMap<string, Shape>): JsonFields {
  const found = new Map<string, JsonFields | 'json'>();
  for (const [name, shape] of columns) {
    if (shape === 'json') found.set(foldName(name), 'json');
    else if (isObjectShape(shape)) {
      const within = jsonFieldsOf(shape.fields);
      if (within.size > 0) found.set(foldName(name), within);
    }
  }
  return found;
}
