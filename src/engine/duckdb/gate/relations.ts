import { createHash } from 'node:crypto';
import { isNode, listOf, type Node } from '../sql/tree.ts';

/** The shape of what queries and tables return, and of their combinations: see `widths.ts`. */

/** The shape of a query's or table's result. Widths are upper bounds, but those of documents' fields are not known. */
export interface Relation {
  columns: number;
  /** Sum over all columns. */
  width: number;
  /** Widths of columns by name. */
  names: ReadonlyMap<string, number>;
  /** Width of the widest column whose name is not known; 0 if all names are known. */
  rest: number;
}

export const NO_COLUMNS: Relation = { columns: 0, width: 0, names: new Map(), rest: 0 };

export function widest({ names, rest }: Relation): number {
  let all = rest;
  for (const width of names.values()) all = Math.max(all, width);
  return all;
}

export function unnamed(columns: number, width: number): Relation {
  return { columns, width: Math.max(columns, width), names: new Map(), rest: columns === 0 ? 0 : Math.max(1, width) };
}

/** Like Math.max, but for lists of any length. */
export function greatest(widths: readonly number[], least = 0): number {
  return widths.reduce((one, other) => Math.max(one, other), least);
}

/** The columns of all relations side by side, as in a join. */
export function beside(relations: readonly Relation[]): Relation {
  if (relations.length === 1 && relations[0] !== undefined) return relations[0];
  const names = new Map<string, number>();
  for (const relation of relations) {
    for (const [name, width] of relation.names) names.set(name, Math.max(width, names.get(name) ?? 0));
  }
  return {
    columns: relations.reduce((sum, { columns }) => sum + columns, 0),
    width: relations.reduce((sum, { width }) => sum + width, 0),
    names,
    rest: greatest(relations.map(({ rest }) => rest)),
  };
}

/** The rows of one relation below the other's, as in a UNION: two structs become one with the fields of both. */
export function below(left: Relation, right: Relation, isByName: boolean): Relation {
  const both = beside([left, right]);
  if (isByName) {
    const others = left.columns - left.names.size + right.columns - right.names.size;
    // Columns with the same name count once; structs count with the fields of both.
    const again = [...right.names].filter(([name, width]) => width === 1 && left.names.has(name)).length;
    return { ...both, columns: both.names.size + Math.max(0, others), width: both.width - again };
  }
  const nested = left.width > left.columns && right.width > right.columns;
  const width = nested ? left.width + right.width : Math.max(left.width, right.width);
  const widestOfAll = nested ? widest(left) + widest(right) : Math.max(widest(left), widest(right));
  return nested || right.width > right.columns
    ? { columns: left.columns, width, names: new Map(), rest: widestOfAll }
    : { ...left, width };
}

/** The relation with other names for its first columns. */
export function renamed(relation: Relation, names: unknown): Relation {
  return listOf(names).length === 0 ? relation : { ...relation, names: new Map(), rest: widest(relation) };
}

/**
 * The width of a value that may be any of several: structs with different names become one with the fields of all.
 * `values` are the expressions with these widths, if known.
 */
export function eitherOf(widths: readonly number[], values: readonly unknown[] = []): number {
  const shapes = new Set<string>();
  const nested = widths.filter((width, index) => {
    const shape = width > 1 ? shapeOf(values[index]) : undefined;
    const isNew = shape === undefined || !shapes.has(shape);
    if (shape !== undefined) shapes.add(shape);
    return width > 1 && isNew;
  });
  return nested.reduce((sum, width) => sum + width, nested.length === 0 ? 1 : 0);
}

/** By node, since literals stand in each other: null if it has none. */
const shapes = new WeakMap<Node, string | null>();
/** Longer shapes are told apart by a hash, or those of nested structs would double in length with each level. */
const SHAPE_CHARS_MAX = 64;

function short(shape: string): string {
  return shape.length <= SHAPE_CHARS_MAX ? shape : createHash('sha256').update(shape).digest('base64');
}

/** The names in a literal struct of plain values; undefined for anything else. */
function shapeOf(value: unknown): string | undefined {
  if (!isNode(value)) return undefined;
  const known = shapes.get(value);
  if (known !== undefined) return known ?? undefined;
  const shape = readShape(value);
  shapes.set(value, shape === undefined ? null : short(shape));
  return shape === undefined ? undefined : short(shape);
}

function readShape(value: Node): string | undefined {
  if (value['class'] === 'CONSTANT') return '';
  if (value['class'] === 'CAST') return JSON.stringify(value['cast_type']);
  const name = value['function_name'];
  if (name !== 'struct_pack' && name !== 'list_value') return undefined;
  const fields = listOf(value['children']).map((child) => [isNode(child) ? child['alias'] : null, shapeOf(child)]);
  if (fields.some(([, shape]) => shape === undefined)) return undefined;
  return name === 'struct_pack' ? JSON.stringify(fields) : [...new Set(fields.map(([, shape]) => shape))].join();
}
