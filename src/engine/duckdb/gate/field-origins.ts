import { STOPPABLE } from '../sql/guards.ts';
import { foldName, ITEM, type NamedTable } from '../sql/names.ts';
import { fieldName } from '../sql/syntax-hints.ts';
import {
  constantOf,
  constantText,
  isNode,
  listOf,
  type Node,
  nodesOf,
  subqueryOf,
  textOf,
  textsOf,
} from '../sql/tree.ts';
import { nameIn, type Scope } from './node-scopes.ts';
import { columnsOf, columnsOfItem, isAccess, isUnnest, nameOf, queryIn, type Relations } from './query-columns.ts';

/*
 * From which stored fields a value of a statement comes unchanged: by a column, a path, an item of a list, an alias, a
 * column of WITH or of a subquery, a branch of CASE and the like. What a cast or a function makes of a field is another
 * value, and has no origin.
 */

/** A stored field that a value is. */
export interface Origin {
  table: NamedTable;
  /** The field in it; `ITEM` steps into a list. */
  path: readonly string[];
  /** Its SQL type. */
  type: string;
  /** As the expression that was asked about names it: SQL for the value in its place. */
  written: string;
}

/** What a value is that is no stored field: an expression in its place. */
export interface Computed {
  node: Node;
  scope: Scope | undefined;
  /** The way into it: names, keys of maps, and `ITEM`. */
  rest: readonly string[];
}

/** Where a value comes from; a constant comes from nowhere. */
export type Leaf = Origin | Computed;

/** What is known of a statement while its expressions are asked about. */
export interface Origins extends Relations {
  /** The columns of tables, folded, and the type of each path in them that was asked for. */
  readonly fields: Map<NamedTable, ReadonlyMap<string, Map<string, string | undefined>>>;
  /** The items of select lists by their names, folded; those with a star are under an empty one. */
  readonly items: Map<Node, ReadonlyMap<string, number[]>>;
  looksLeft: number;
}

/** All that an expression may be. */
export interface Sources {
  fields: readonly Origin[];
  /** Whether it may also be something that was computed, of which nothing is known. */
  isComputed: boolean;
}

/** How deeply expressions, tables and subqueries are looked into. */
const DEPTH_MAX = 30;

/** `looks`: how often expressions, tables and subqueries are looked into. */
export function createOrigins(relations: Relations, looks: number): Origins {
  return { ...relations, fields: new Map(), items: new Map(), looksLeft: looks };
}

/** Where a value is looked for. */
interface Look {
  scope: Scope | undefined;
  depth: number;
  /** The way into what is looked for: names, keys of maps, and `ITEM`. */
  rest: readonly string[];
}

/** `none`: no column has the name. */
type Found = readonly Leaf[] | 'none';

/** A column of a query, by its name or by its place. */
export type Column = { name: string } | { at: number };

const ASKED_TYPES = /^(?:VARCHAR|TIMESTAMP WITH TIME ZONE)$|^(?:STRUCT|MAP)\(/;

/** Where the value of an expression may come from. */
export function leavesOf(origins: Origins, node: unknown, scope: Scope | undefined): readonly Leaf[] {
  return inExpression(origins, node, { scope, depth: 0, rest: [] });
}

/** Where that of a column may come from which one side of a join has; `none`: it has no such column. */
export function leavesInSide(origins: Origins, side: unknown, name: string): Found {
  return inFrom(origins, side, [name], false, { scope: undefined, depth: 0, rest: [] });
}

export const isField = (leaf: Leaf): leaf is Origin => 'table' in leaf;

/** The stored fields of any type that an expression is, and whether it may be something else. */
export function sourcesOf(origins: Origins, node: unknown, scope: Scope | undefined): Sources {
  const leaves = leavesOf(origins, node, scope);
  const fields = leaves.filter(isField);
  return { fields, isComputed: fields.length < leaves.length };
}

/** The stored fields of such types that an expression is. */
export function originsOf(origins: Origins, node: unknown, scope: Scope | undefined): readonly Origin[] {
  return leavesOf(origins, node, scope).filter(isField).filter(isAsked);
}

/** Those that a column of a query's result is. */
export function originsInQuery(origins: Origins, query: unknown, column: Column): readonly Origin[] {
  const found = inQuery(origins, query, column, { scope: undefined, depth: 0, rest: [] });
  return some(found).filter(isField).filter(isAsked);
}

/** Of text, an object, a map, or a list of these, or a time with a zone. */
export const isAsked = ({ type }: Pick<Origin, 'type'>) => ASKED_TYPES.test(type);

export const isText = ({ type }: Pick<Origin, 'type'>) => type === 'VARCHAR';
/** Where a field is. */
export type Place = Pick<Origin, 'table' | 'path'>;
export const isSameField = (one: Place, other: Place) =>
  one.table === other.table && one.path.join('\n') === other.path.join('\n');
export const isZoned = ({ type }: Pick<Origin, 'type'>) => type.startsWith('TIMESTAMP');

const some = (found: Found): readonly Leaf[] => (found === 'none' ? [] : found);

/** Those of all that may have the name, as in a join or a UNION. */
function either(found: readonly Found[]): Found {
  return found.every((one) => one === 'none') ? 'none' : found.flatMap(some);
}

/** Functions that give one of their arguments, one of the values of their first, or that in another order. */
const FIRST =
  /^(?:min|max|any_value|arbitrary|first|last|mode|median|quantile(?:_disc)?|arg_(?:min|max)(?:_null)?|(?:min|max)_by|nullif|lag|lead|(?:first|last|nth)_value|list_(?:sort|reverse_sort|reverse|distinct|filter|slice)|array_(?:sort|reverse_sort|reverse|distinct|filter|slice)|try|collate)$/;
const ANY = /^(?:greatest|least|coalesce|ifnull|list_concat|list_cat|array_concat)$/;
const ITEMS = /^(?:unnest|(?:list|array)_(?:extract|element|min|max|any_value|first|last))$/;
/** Functions that make a list. */
export const LISTS = /^(?:list|array_agg|list_value|array_value)$/;
const TRANSFORMS = /^(?:list_|array_)?(?:transform|apply)$/;

function inExpression(origins: Origins, node: unknown, look: Look): readonly Leaf[] {
  origins.looksLeft -= 1;
  if (!isNode(node) || look.depth > DEPTH_MAX || origins.looksLeft < 0) return [];
  const inner = { ...look, depth: look.depth + 1 };
  const of = (nodes: readonly unknown[]) => nodes.flatMap((one) => inExpression(origins, one, inner));
  const children = nodesOf(node['children']);
  const computed = { node, scope: look.scope, rest: look.rest };
  switch (node['class']) {
    case 'COLUMN_REF': {
      const found = ofColumn(origins, textsOf(node['column_names']), inner);
      return found === 'none' ? [computed] : named(found, node);
    }
    case 'CONSTANT':
      return [];
    case 'COLLATE':
      return of([node['child']]);
    case 'OPERATOR':
      if (isAccess(node)) return intoPart(origins, node, children, inner);
      if (node['type'] === 'OPERATOR_NULLIF') return of(children.slice(0, 1));
      return /^OPERATOR_(?:COALESCE|TRY)$/.test(textOf(node['type'])) ? of(children) : [computed];
    case 'CASE':
      return of([...nodesOf(node['case_checks']).map((check) => check['then_expr']), node['else_expr']]);
    case 'SUBQUERY': {
      return node['subquery_type'] === 'SCALAR'
        ? some(inQuery(origins, subqueryOf(node), { at: 0 }, inner))
        : [computed];
    }
    case 'FUNCTION':
    case 'WINDOW':
      return inCall(origins, node, children, inner) ?? [computed];
    default:
      return [computed];
  }
}

/** Undefined: the call computes something else. */
function inCall(origins: Origins, call: Node, children: readonly Node[], look: Look): readonly Leaf[] | undefined {
  const name = foldName(textOf(call['function_name']));
  const [step, ...rest] = look.rest;
  const of = (nodes: readonly unknown[], into = look) => nodes.flatMap((one) => inExpression(origins, one, into));
  if (/^(?:struct|array|list)_extract$|^list_element$/.test(name)) return intoPart(origins, call, children, look);
  if (ITEMS.test(name)) return named(of(children.slice(0, 1), { ...look, rest: [ITEM, ...look.rest] }), call);
  if (FIRST.test(name) || name === STOPPABLE) return of(children.slice(0, 1));
  if (ANY.test(name)) return of(children);
  if (LISTS.test(name)) return step === ITEM ? of(children, { ...look, rest }) : undefined;
  if (name === 'struct_pack' || name === 'row') {
    const part = children.find(({ alias }) => foldName(textOf(alias)) === foldName(step ?? ''));
    return part === undefined || step === undefined ? undefined : of([part], { ...look, rest });
  }
  const [list, lambda] = children;
  const item = lambda?.['class'] === 'LAMBDA' && TRANSFORMS.test(name) ? nameIn(lambda) : undefined;
  if (item === undefined || step !== ITEM) return undefined;
  return of([lambda?.['expr']], { ...look, rest, scope: { item: { name: item, list }, outer: look.scope } });
}

/** A field of an object, a key of a map, or an item of a list. */
function intoPart(origins: Origins, node: Node, [of, key]: readonly Node[], look: Look): readonly Leaf[] {
  const step = constantText(key) ?? ITEM;
  return named(inExpression(origins, of, { ...look, rest: [step, ...look.rest] }), node);
}

/** With the names that the expression has for them, if it is a path. */
function named(found: readonly Leaf[], node: Node): readonly Leaf[] {
  const written = found.length === 0 ? undefined : pathText(node);
  return written === undefined ? found : found.map((one) => (isField(one) ? { ...one, written } : one));
}

/** A path as SQL; undefined: it is something else. `inner`: what is before a step. */
export function pathText(node: Node, inner: (of: Node) => string | undefined = pathText): string | undefined {
  if (node['class'] === 'COLUMN_REF') return textsOf(node['column_names']).map(fieldName).join('.');
  const [of, key] = nodesOf(node['children']);
  const path = of && inner(of);
  if (path === undefined) return undefined;
  if (isUnnest(node)) return `unnest(${path})`;
  const step = constantText(key);
  if (step !== undefined) return `${path}.${fieldName(step)}`;
  const index = constantOf(key);
  return index === undefined ? undefined : `${path}[${String(index)}]`;
}

function ofColumn(origins: Origins, names: readonly string[], look: Look): Found {
  const [first = ''] = names;
  // The names of a table come first, as the engine reads them.
  for (const isQualified of names.length > 1 ? [true, false] : [false]) {
    for (let at = look.scope; at !== undefined; at = at.outer) {
      if (at.item?.name === foldName(first)) {
        const rest = [ITEM, ...names.slice(1), ...look.rest];
        return inExpression(origins, at.item.list, { ...look, scope: at.outer, rest });
      }
      if (at.select === undefined) continue;
      const into = { ...look, scope: at };
      const found = inFrom(origins, at.select['from_table'], names, isQualified, into);
      if (found !== 'none') return found;
      const own = isQualified ? undefined : itemCalled(origins, at.select, first);
      if (own !== undefined && textOf(own['alias']) !== '')
        return inExpression(origins, own, { ...into, rest: [...names.slice(1), ...look.rest] });
    }
  }
  return 'none';
}

/** What a name is that a FROM brings, with the name of a table before it or without. */
function inFrom(origins: Origins, from: unknown, path: readonly string[], isQualified: boolean, look: Look): Found {
  origins.looksLeft -= 1;
  if (!isNode(from) || look.depth > DEPTH_MAX || origins.looksLeft < 0) return 'none';
  const inner = { ...look, depth: look.depth + 1 };
  if (from['type'] === 'JOIN')
    return either([from['left'], from['right']].map((side) => inFrom(origins, side, path, isQualified, inner)));
  const own = foldName(textOf(from['alias']) || textOf(from['table_name']));
  const at = [1, 2, 3].find((count) => count < path.length && foldName(path[count - 1] ?? '') === own);
  if (isQualified && at === undefined) return 'none';
  const names = isQualified ? path.slice(at) : path;
  const given = textsOf(from['column_name_alias']).map(foldName);
  const place = given.indexOf(foldName(names[0] ?? ''));
  const table = origins.tables.get(from);
  if (table !== undefined) {
    const [first = '', ...more] = names;
    return inTable(origins, table, [place < 0 ? first : (table.columns()[place] ?? ''), ...more, ...look.rest]);
  }
  const call = from['function'];
  if (isNode(call)) return inUnnest(origins, call, names, { given, own }, inner);
  const query = origins.queries.get(from) ?? from['subquery'];
  if (!isNode(query)) return 'none';
  const column = place < 0 ? { name: names[0] ?? '' } : { at: place };
  return inQuery(origins, query, column, { ...inner, rest: [...names.slice(1), ...look.rest] });
}

/** What a name is of `unnest(…)` in FROM. */
function inUnnest(
  origins: Origins,
  call: Node,
  [first = '', ...more]: readonly string[],
  { given, own }: { given: readonly string[]; own: string },
  look: Look,
): Found {
  const folded = foldName(first);
  const isItem = given.length > 0 ? given[0] === folded : folded === 'unnest' || folded === own;
  if (!isItem || foldName(textOf(call['function_name'])) !== 'unnest') return 'none';
  const names = folded === own && foldName(more[0] ?? '') === 'unnest' ? more.slice(1) : more;
  return inExpression(origins, nodesOf(call['children'])[0], { ...look, rest: [ITEM, ...names, ...look.rest] });
}

const UNKNOWN: Computed = { node: {}, scope: undefined, rest: [] };

function inTable(origins: Origins, table: NamedTable, path: readonly string[]): Found {
  const columns =
    origins.fields.get(table) ??
    new Map(table.columns().map((column) => [foldName(column), new Map<string, string | undefined>()]));
  origins.fields.set(table, columns);
  const known = columns.get(foldName(path[0] ?? ''));
  if (known === undefined) return 'none';
  const key = JSON.stringify(path);
  if (!known.has(key)) known.set(key, table.typeAt?.(path));
  const type = known.get(key);
  return type === undefined ? [UNKNOWN] : [{ table, path, type, written: path.map(fieldName).join('.') }];
}

/** What a column of a query's result is. */
function inQuery(origins: Origins, entry: unknown, asked: Column, look: Look): Found {
  origins.looksLeft -= 1;
  if (!isNode(entry) || look.depth > DEPTH_MAX || origins.looksLeft < 0) return 'none';
  const inner = { ...look, depth: look.depth + 1 };
  const { query, aliases } = queryIn(entry);
  if (!isNode(query)) return 'none';
  const place = 'name' in asked ? aliases.map(foldName).indexOf(foldName(asked.name)) : -1;
  const column = place < 0 ? asked : { at: place };
  if (query['type'] === 'SELECT_NODE') return inSelect(origins, query, column, inner);
  const parts = [query['left'], query['right'], query['child'], ...nodesOf(query['children'])].filter(isNode);
  // The first of them gives the names, and the others have the same places.
  const named = 'name' in column ? foldName(column.name) : undefined;
  const at = columnsOf(parts[0], origins)?.findIndex((name) => foldName(name) === named) ?? -1;
  return either(parts.map((part, index) => inQuery(origins, part, index > 0 && at >= 0 ? { at } : column, inner)));
}

function inSelect(origins: Origins, select: Node, column: Column, look: Look): Found {
  const into = { ...look, scope: { select, outer: look.scope } };
  if ('at' in column) return inPlace(origins, select, column.at, into);
  const item = itemCalled(origins, select, column.name);
  if (item !== undefined) return inExpression(origins, item, into);
  const list = listOf(select['select_list']);
  for (const star of (itemsOf(origins, select).get('') ?? []).map((at) => list[at]).filter(isNode)) {
    const found = inStar(origins, select, star, column.name, into);
    if (found !== 'none') return found;
  }
  return 'none';
}

/** What the column at a place of a SELECT is; something computed if how many a star stands for is not known. */
function inPlace(origins: Origins, select: Node, at: number, look: Look): Found {
  let left = at;
  for (const item of nodesOf(select['select_list'])) {
    const isOne = nameOfItem(item) !== '';
    if (isOne && left === 0) return inExpression(origins, item, look);
    const columns = columnsOfItem(item, select['from_table'], origins);
    if (columns === undefined) return [{ node: item, scope: look.scope, rest: look.rest }];
    const name = columns[left];
    if (name !== undefined) return inStar(origins, select, item, name, look);
    left -= columns.length;
  }
  return 'none';
}

/** What a star brings under a name. */
function inStar(origins: Origins, select: Node, star: Node, name: string, look: Look): Found {
  const folded = foldName(name);
  if (textsOf(star['exclude_list']).some((one) => foldName(one) === folded)) return 'none';
  const replaced = nodesOf(star['replace_list']).find(({ key }) => foldName(textOf(key)) === folded);
  if (replaced !== undefined) return inExpression(origins, replaced['value'], look);
  // unnest(l, recursive := true): the fields of each item are columns.
  if (star['class'] !== 'STAR') return inFields(inExpression(origins, star, { ...look, rest: [name, ...look.rest] }));
  const renamed = nodesOf(star['rename_list']).find(({ value }) => foldName(textOf(value)) === folded)?.['key'];
  const relation = textOf(star['relation_name']);
  const column = isNode(renamed) ? textOf(renamed['column']) : name;
  const names = relation === '' ? [column] : [relation, column];
  const found = inFrom(origins, select['from_table'], names, relation !== '', look);
  // `o.*` of an object has its fields.
  return found === 'none' && relation !== '' ? inFields(some(ofColumn(origins, names, look))) : found;
}

const inFields = (found: readonly Leaf[]): Found => (found.some(isField) ? found : 'none');

/** The item of a SELECT's list that a name alone means by its alias, as in ORDER BY. */
export function itemMeant(origins: Origins, select: Node, expression: unknown): Node | undefined {
  const names = isNode(expression) && expression['class'] === 'COLUMN_REF' ? textsOf(expression['column_names']) : [];
  const item = names.length === 1 ? itemCalled(origins, select, names[0] ?? '') : undefined;
  return item !== undefined && textOf(item['alias']) !== '' ? item : undefined;
}

/** The item of a select list that has a name. */
function itemCalled(origins: Origins, select: Node, name: string): Node | undefined {
  const at = name === '' ? undefined : itemsOf(origins, select).get(foldName(name))?.[0];
  const item = at === undefined ? undefined : listOf(select['select_list'])[at];
  return isNode(item) ? item : undefined;
}

function itemsOf(origins: Origins, select: Node): ReadonlyMap<string, number[]> {
  const known = origins.items.get(select);
  if (known !== undefined) return known;
  const items = new Map<string, number[]>();
  for (const [at, item] of listOf(select['select_list']).entries()) {
    const name = isNode(item) ? nameOfItem(item) : UNNAMED;
    if (name !== UNNAMED) items.set(name, [...(items.get(name) ?? []).slice(0, STARS_MAX), at]);
  }
  origins.items.set(select, items);
  return items;
}

/** Further stars of one SELECT are not looked into. */
const STARS_MAX = 10;

/** The name of an item, folded; empty for several columns. */
function nameOfItem(item: Node): string {
  const call = foldName(textOf(item['function_name']));
  if (item['class'] === 'STAR' || (call === 'unnest' && nodesOf(item['children']).length > 1)) return '';
  return foldName(nameOf(item) || call) || UNNAMED;
}

const UNNAMED = '?';
