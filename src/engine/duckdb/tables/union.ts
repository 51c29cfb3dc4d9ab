import { foldName } from '../sql/names.ts';
import { joinShapes, type Shape } from '../values/shape.ts';
import { hasOwnStrays, TABLE_FORM, type TableShape } from './columns.ts';

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
  const strays = new Set(hasOwnStrays(columns) ? [] : tables.flatMap((table) => [...table.strays]));
  return { columns, extra: tables.some(({ extra }) => extra), times: false, strays, form: TABLE_FORM };
}
