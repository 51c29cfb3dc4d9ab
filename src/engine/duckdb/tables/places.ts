import { foldName } from '../sql/names.ts';
import { inside, shapeAt, VALUES } from '../values/paths.ts';
import { isMapShape, isObjectShape, type Shape } from '../values/shape.ts';
import { pathOf, placeOf } from '../values/strays.ts';
import { typeOf } from '../values/types.ts';
import { pathText } from './field-news.ts';

/** The place of a field that SQL names so: without regard to letter case, except in a map. */
export function placeIn(columns: ReadonlyMap<string, Shape>, path: readonly string[]): string | undefined {
  const steps: string[] = [];
  let shape: Shape | undefined = { fields: columns };
  for (const name of path) {
    if (shape === undefined) return undefined;
    if (isMapShape(shape)) {
      steps.push(name);
      shape = inside(shape, VALUES);
      continue;
    }
    if (!isObjectShape(shape)) return undefined;
    const known: string | undefined = [...shape.fields.keys()].find((key) => foldName(key) === foldName(name));
    if (known === undefined) return undefined;
    steps.push(known);
    shape = inside(shape, known);
  }
  return placeOf(steps);
}

/** The field at a place of strays. */
export function fieldAt(columns: ReadonlyMap<string, Shape>, place: string): { path: string; type: string | null } {
  const path = pathOf(place, columns);
  const shape = shapeAt(columns, path);
  return { path: pathText(path), type: shape === undefined ? null : typeOf(shape) };
}
