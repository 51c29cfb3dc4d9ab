import { type JsonObject, type JsonValue, stringifyJson } from '../../../contract/json/json.ts';
import { placeOf } from '../../../contract/strays.ts';
import { createPace } from '../../../contract/turns/turns.ts';
import { type FieldsThere, foldName, ID_COLUMN, ITEM, quoteName, TIME_COLUMN } from '../sql/names.ts';
import { asWritten, holdsTyped } from '../values/as-written.ts';
import { isTypedShape, typedIn } from '../values/declared.ts';
import { ITEMS, inside, type Path, partsOf, shapeAt, VALUES } from '../values/paths.ts';
import { isListShape, isMapShape, isObjectShape, type Shape } from '../values/shape.ts';
import { pathOf, split } from '../values/strays.ts';
import { typeOf } from '../values/types.ts';

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

/** The SQL type of what SQL names so; `ITEM` steps into a list. */
export function typeIn(columns: ReadonlyMap<string, Shape>, path: readonly string[]): string | undefined {
  const name = foldName(path[0] ?? '');
  if (path.length === 1 && name === ID_COLUMN) return 'VARCHAR';
  if (path.length === 1 && name === TIME_COLUMN) return 'TIMESTAMP WITH TIME ZONE';
  const shape = shapeOf(columns, path);
  return shape === undefined ? undefined : typeOf(shape);
}

function shapeOf(columns: ReadonlyMap<string, Shape>, path: readonly string[]): Shape | undefined {
  let shape: Shape | undefined = { fields: columns };
  for (const name of path) {
    if (shape === undefined) return undefined;
    if (isMapShape(shape)) shape = shape.values;
    else if (isListShape(shape)) shape = name === ITEM ? shape.element : undefined;
    else if (isObjectShape(shape)) shape = fieldOfObject(shape.fields, name);
    else return undefined;
  }
  return shape;
}

/** What SQL names so: `ITEM` steps into a list. */
export function fieldsIn(columns: ReadonlyMap<string, Shape>, path: readonly string[]): FieldsThere | undefined {
  const shape = shapeOf(columns, path);
  if (shape === undefined) return undefined;
  const kind = formOf(shape);
  const within = isListShape(shape) ? shape.element : isMapShape(shape) ? shape.values : shape;
  const fields = isObjectShape(within) ? [...within.fields].map(([name, one]) => ({ name, type: briefly(one) })) : [];
  return { kind, fields };
}

function fieldOfObject(fields: ReadonlyMap<string, Shape>, name: string): Shape | undefined {
  const known = fields.has(name) ? name : [...fields.keys()].find((key) => foldName(key) === foldName(name));
  return known === undefined ? undefined : fields.get(known);
}

function formOf(shape: Shape): FieldsThere['kind'] {
  if (isListShape(shape)) return 'list';
  if (isMapShape(shape)) return 'map';
  return isObjectShape(shape) ? 'object' : 'value';
}

/** A type in few words, without what is within. */
function briefly(shape: Shape): string {
  if (isListShape(shape)) return `list of ${briefly(shape.element)}`;
  const kind = formOf(shape);
  return kind === 'value' ? typeOf(shape) : kind;
}

/** Parts of a shape that are looked through for a name, which takes about a millisecond. */
const PARTS_MAX = 10_000;

/** The paths of the fields within columns whose last name is this one; `ITEM` and `<key>` stand for items and keys. */
export function pathsTo(columns: ReadonlyMap<string, Shape>, name: string): string[][] {
  const found: string[][] = [];
  let left = PARTS_MAX;
  const visit = (shape: Shape, path: readonly string[]) => {
    for (const [step, part] of partsOf(shape)) {
      left -= 1;
      if (left < 0) return;
      const own = [...path, step === ITEMS ? ITEM : step === VALUES ? '<key>' : step];
      if (typeof step === 'string' && path.length > 0 && foldName(step) === foldName(name)) found.push(own);
      visit(part, own);
    }
  };
  visit({ fields: columns }, []);
  return found;
}

/** What documents have at a place, given what an answer has; undefined: the same. */
export function writtenAt(columns: ReadonlyMap<string, Shape>, place: string) {
  const shape = shapeAt(columns, pathOf(place, columns));
  if (shape === undefined || !holdsTyped(shape)) return undefined;
  return (value: JsonValue) => asWritten(value, shape);
}

/** The places of a list's items, and of a map's values, in a column: as of the first, and the outer ones first. */
export function itemPlaces(columns: ReadonlyMap<string, Shape>, column: string): string[] {
  const places: string[] = [];
  const visit = (shape: Shape, at: string) => {
    for (const [step, part] of partsOf(shape)) {
      const place = `${at}/${typeof step === 'string' ? placeOf([step]) : '0'}`;
      if (typeof step !== 'string') places.push(place);
      visit(part, place);
    }
  };
  visit(columns.get(column) ?? 'null', placeOf([column]));
  return places;
}

/** The field at a place of strays. */
export function fieldAt(columns: ReadonlyMap<string, Shape>, place: string): { path: string; type: string | null } {
  return fieldOf(columns, pathOf(place, columns));
}

/** The same for a path. */
export function fieldOf(columns: ReadonlyMap<string, Shape>, path: Path): { path: string; type: string | null } {
  const shape = shapeAt(columns, path);
  return { path: pathText(path), type: shape === undefined ? null : typeOf(shape) };
}

/** As the SQL of a path is written, with `[]` for the items of a list and `<key>` for the values of a map. */
export function pathText([column, ...path]: Path): string {
  const parts = path.map((step) => (step === ITEMS ? '[]' : `.${step === VALUES ? '<key>' : quoteName(step)}`));
  return [quoteName(String(column)), ...parts].join('');
}

/** A document of a write; `hasStrays` as in `Fitting`. */
export interface Written {
  id: string;
  fields: JsonObject;
  hasStrays: boolean;
}

/** The strays that a write has at one path. */
export interface StraysAt {
  path: Path;
  count: number;
  first: { id: string; value: JsonValue };
}

/** Documents that were stored with strays before a write, as they were, by id; and the columns that they were in. */
export interface Earlier {
  columns: ReadonlyMap<string, Shape>;
  documents: ReadonlyMap<string, () => JsonObject>;
}

/**
 * The strays of a write by their paths, those with the most first; without those that are only spelled otherwise, and those
 * that were strays in `earlier` already.
 */
export async function straysIn(
  columns: ReadonlyMap<string, Shape>,
  documents: readonly Written[],
  earlier?: Earlier,
): Promise<StraysAt[]> {
  const pace = createPace();
  const found = new Map<string, StraysAt>();
  for (const { id, fields, hasStrays } of documents) {
    if (!hasStrays) continue;
    const known = earlier && knownStrays(earlier, id);
    for (const [place, value] of split(fields, columns, Number.POSITIVE_INFINITY).strays) {
      const path = pathOf(place, columns);
      const shape = shapeAt(columns, path);
      if (isTypedShape(shape) && typedIn(value, shape) !== undefined) continue;
      const text = pathText(path);
      if (known?.has(text + stringifyJson(value))) continue;
      const at = found.get(text) ?? { path, count: 0, first: { id, value } };
      at.count += 1;
      found.set(text, at);
    }
    const turn = pace();
    if (turn !== undefined) await turn;
  }
  return [...found.values()].sort((a, b) => b.count - a.count);
}

/** The paths and values of the strays that a document had. */
function knownStrays({ columns, documents }: Earlier, id: string): Set<string> {
  const { strays } = split(documents.get(id)?.() ?? {}, columns, Number.POSITIVE_INFINITY);
  return new Set([...strays].map(([place, value]) => pathText(pathOf(place, columns)) + stringifyJson(value)));
}
