import type { Size } from '../sql/expansion.ts';
import { foldName } from '../sql/names.ts';
import type { Node } from '../sql/tree.ts';

/** Names in layers, of which an inner one hides those further out: nothing is copied for each layer. */
export interface Layered<T> {
  own: Map<string, T>;
  outer: Layered<T> | null;
}

export function layerOn<T>(outer: Layered<T> | null): Layered<T> {
  return { own: new Map(), outer: outer !== null && outer.own.size === 0 ? outer.outer : outer };
}

export function lookUp<T>(layers: Layered<T>, name: string): T | undefined {
  for (let layer: Layered<T> | null = layers; layer !== null; layer = layer.outer) {
    const value = layer.own.get(name);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** What a name of WITH stands for. */
export interface With {
  /** The entry of the WITH; for a recursive name within its own query, that query. */
  node: Node;
  /** What each reference to it adds. */
  size: Size;
}

/** An earlier column of a SELECT; each use is a copy, of this size. */
export type Alias = Size & { node: Node };

/** What is visible at a node of the tree. */
export interface Scope {
  /** Names of WITH. */
  names: ReadonlyMap<string, With>;
  parent: Scope | null;
  /** Earlier columns of the same SELECT and of those around it, which later ones may name: each use is a copy. */
  aliases: Layered<Alias>;
  lambdas: number;
  /** How often the engine binds this place: four times for each enclosing subquery except the outermost. */
  times: number;
}

/** What a name of WITH stands for; undefined if `name` is not one. */
export function visible(scope: Scope | null, name: string): With | undefined {
  const folded = foldName(name);
  for (let at = scope; at !== null; at = at.parent) {
    const found = at.names.get(folded);
    if (found !== undefined) return found;
  }
  return undefined;
}

export function within(scope: Scope, found: With, ...names: string[]): Scope {
  return { ...scope, names: new Map(names.map((name) => [foldName(name), found])), parent: scope };
}

/** The column of a SELECT that the name of a column may stand for: `q`, or `alias.q`. */
export function aliasFor(aliases: Scope['aliases'], path: readonly string[]): Alias | undefined {
  const [first = '', second = ''] = path.map(foldName);
  return lookUp(aliases, first) ?? (first === 'alias' ? lookUp(aliases, second) : undefined);
}

export const NO_ALIASES: Scope['aliases'] = layerOn(null);
export const OUTERMOST: Scope = { names: new Map(), parent: null, aliases: NO_ALIASES, lambdas: 0, times: 0 };
