import { isObject, type JsonValue } from '../../../contract/json/json.ts';
import { isListShape, isMapShape, isObjectShape, type Shape } from './shape.ts';

/** Paths into a shape, and into values of it. */

/** The items of a list, and the values of a map. */
export const ITEMS = Symbol('items');
export const VALUES = Symbol('values');
export type Step = string | typeof ITEMS | typeof VALUES;
export type Path = readonly Step[];

/** What is directly within a shape. */
export function partsOf(shape: Shape): readonly (readonly [Step, Shape])[] {
  if (isListShape(shape)) return [[ITEMS, shape.element]];
  if (isMapShape(shape)) return [[VALUES, shape.values]];
  return isObjectShape(shape) ? [...shape.fields] : [];
}

/** The shape one step further. */
export function inside(shape: Shape | undefined, step: Step): Shape | undefined {
  if (shape === undefined) return undefined;
  if (step === ITEMS) return isListShape(shape) ? shape.element : undefined;
  if (step === VALUES) return isMapShape(shape) ? shape.values : undefined;
  return isObjectShape(shape) ? shape.fields.get(step) : undefined;
}

export function shapeAt(columns: ReadonlyMap<string, Shape>, path: Path): Shape | undefined {
  return path.reduce(inside, { fields: columns } as Shape | undefined);
}

/** The columns with another shape at a path. */
export function withShape(
  columns: ReadonlyMap<string, Shape>,
  [column, ...path]: Path,
  shape: Shape,
): ReadonlyMap<string, Shape> {
  const name = String(column);
  return new Map(columns).set(name, replaced(columns.get(name) ?? 'null', path, shape));
}

function replaced(shape: Shape, [step, ...path]: Path, by: Shape): Shape {
  if (step === undefined) return by;
  if (isListShape(shape)) return { element: replaced(shape.element, path, by) };
  if (isMapShape(shape)) return { ...shape, values: replaced(shape.values, path, by) };
  if (!isObjectShape(shape) || typeof step !== 'string') return shape;
  return { fields: new Map(shape.fields).set(step, replaced(shape.fields.get(step) ?? 'null', path, by)) };
}

/** A part of a shape that another shape has not, or has otherwise. */
export interface Changed {
  path: Path;
  /** Undefined: there was nothing. */
  from: Shape | undefined;
  to: Shape;
}

/** What of a shape is new in a wider one: the parts of each shape before itself. */
export function* changedIn(from: Shape | undefined, to: Shape, path: Path = []): Generator<Changed> {
  for (const [step, part] of partsOf(to)) {
    const before = inside(from, step);
    if (before === part) continue;
    const at: Path = [...path, step];
    yield* changedIn(before, part, at);
    yield { path: at, from: before, to: part };
  }
}

export function valuesAt(value: JsonValue | undefined, path: Path): JsonValue[] {
  const found: JsonValue[] = [];
  const visit = (one: JsonValue | undefined, at: number): void => {
    const step = path[at];
    if (one === undefined) return;
    if (step === undefined) found.push(one);
    else if (step === ITEMS) {
      if (Array.isArray(one)) for (const item of one) visit(item, at + 1);
    } else if (!isObject(one)) return;
    else if (step === VALUES) for (const item of Object.values(one)) visit(item, at + 1);
    else if (Object.hasOwn(one, step)) visit(one[step], at + 1);
  };
  visit(value, 0);
  return found;
}
