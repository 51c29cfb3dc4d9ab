import { foldName } from '../sql/names.ts';
import { isListShape, isMapShape, isObjectShape, joinShapes, type Shape } from '../values/shape.ts';
import type { TableShape } from './columns.ts';

/**
 * The combined columns of several tables: columns of the same name (ignoring case) get the type that holds the values
 * of all.
 */
export function unionShape(tables: readonly TableShape[]): TableShape {
  const [only] = tables;
  if (only !== undefined && tables.length === 1) return only;
  const columns = new Map<string, Shape>();
  const spellings = new Map<string, string>();
  for (const table of tables) {
    for (const [name, shape] of table.columns) {
      const spelling = spellings.get(foldName(name)) ?? name;
      spellings.set(foldName(name), spelling);
      columns.set(spelling, joinShapes(columns.get(spelling) ?? 'null', shape));
    }
  }
  const strays = new Set(tables.flatMap((table) => [...table.strays]));
  return { columns, extra: tables.some(({ extra }) => extra), times: false, strays };
}

/** The columns of a union with times only where all tables spell them alike; JSON stands for what is shown as it is. */
export function spelledAlike(union: TableShape, tables: readonly TableShape[]): ReadonlyMap<string, Shape> {
  const found = new Map<string, Shape>();
  for (const [name, shape] of union.columns) {
    const own = tables.flatMap(({ columns }) =>
      [...columns].filter(([column]) => foldName(column) === foldName(name)).map(([, one]) => one),
    );
    found.set(
      name,
      own.reduce((a, b) => alike(shape, a, b), 'null' as Shape),
    );
  }
  return found;
}

function alike(union: Shape, a: Shape, b: Shape): Shape {
  if (union === 'json') return 'json';
  if (a === 'null' || b === 'null') return a === 'null' ? b : a;
  if (isListShape(union) && isListShape(a) && isListShape(b))
    return { element: alike(union.element, a.element, b.element) };
  if (isMapShape(union) && isMapShape(a) && isMapShape(b))
    return { values: alike(union.values, a.values, b.values), keys: undefined };
  if (!isObjectShape(union) || !isObjectShape(a) || !isObjectShape(b)) return a === b ? a : 'json';
  const fields = [...union.fields].map(([key, field]) => {
    return [key, alike(field, a.fields.get(key) ?? 'null', b.fields.get(key) ?? 'null')] as const;
  });
  return { fields: new Map(fields) };
}
