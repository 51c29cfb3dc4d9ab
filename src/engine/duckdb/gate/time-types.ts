import { foldName, type NamedTable } from '../sql/names.ts';
import { constantOf, isNode, type Node, nodesOf, textOf, textsOf } from '../sql/tree.ts';
import type { Scope } from './node-scopes.ts';

/*
 * Which parts of a statement are times, and which are text, as far as its tree and the names of columns tell. Nothing is
 * said of a name that may stand for columns of several types.
 */

/** `clock` is a time of day; in a list with `[]` behind it, as SQL types have. */
export type TimeType = `${'time' | 'clock' | 'text' | 'json'}${'' | `[]${string}`}`;
/** A parameter, whose type its value decides. */
export interface OfParameter {
  parameter: string;
}
/** Undefined: of another type, or not known; constants take that of what they are compared with. */
export type Known = TimeType | OfParameter | undefined;

/** The time type of a type as SQL writes it. */
export function timeTypeOf(type: string | undefined): TimeType | undefined {
  const [, base = '', lists = ''] = /^([A-Z ]+)((?:\[\])*)$/.exec(type?.replace(/_(?:S|MS|NS)\b/, '') ?? '') ?? [];
  const of = base === 'VARCHAR' ? 'text' : base === 'JSON' ? 'json' : base === 'TIME' ? 'clock' : undefined;
  const found = of ?? (base === 'DATE' || base.startsWith('TIMESTAMP') ? 'time' : undefined);
  return found && (`${found}${lists}` as TimeType);
}

const TIMES =
  /^(?:now|today|get_current_timestamp|transaction_timestamp|current_(?:date|timestamp|localtimestamp)|make_date|to_timestamp|(?:try_)?strptime|date_trunc|datetrunc|last_day|time_bucket)$|^make_timestamp/;
const TEXTS =
  /^(?:->>|\|\||json_extract_string|lower|lcase|upper|ucase|l?r?trim|concat|concat_ws|substr|substring|left|right|replace|regexp_(?:replace|extract)|strftime|string_agg|group_concat|split_part|[lr]pad|reverse|array_to_string)$/;
/** Functions that give what their first argument is, and those that give an item of it, or a list. */
const PASSING =
  /^(?:min|max|any_value|arbitrary|first|last|mode|median|arg_(?:min|max)|(?:min|max)_by|greatest|least|ifnull|nullif|lag|lead|(?:first|last|nth)_value|\+|-|date_add)$/;
const ITEMS = /^(?:unnest|list_(?:extract|element|min|max|any_value|first|last)|array_extract)$/;
const LISTS = /^(?:list|array_agg|list_value|array_value)$/;
const PASSING_OPERATORS: ReadonlySet<string> = new Set(['OPERATOR_COALESCE', 'OPERATOR_TRY', 'OPERATOR_NULLIF']);

/** How often tables and subqueries are looked into, and how deeply. */
const LOOKS_MAX = 50_000;
const DEPTH_MAX = 20;

/** Where a name is looked for. */
interface Place {
  /** With the name of a table before it. */
  isQualified: boolean;
  /** What the arguments of table functions can name. */
  scope: Scope | undefined;
}

export interface TimeTypes {
  readonly tables: ReadonlyMap<Node, NamedTable>;
  /** What names of WITH stand for. */
  readonly queries: ReadonlyMap<Node, Node>;
  readonly found: Map<Node, Known>;
  /** The columns of tables, folded, and the types that have been asked for. */
  readonly columns: Map<NamedTable, ReadonlyMap<string, Map<string, Found>>>;
  looksLeft: number;
}

export function createTimeTypes(tables: TimeTypes['tables'], queries: TimeTypes['queries']): TimeTypes {
  return { tables, queries, found: new Map(), columns: new Map(), looksLeft: LOOKS_MAX };
}

/** What a name is in a place; `none`: there is no such name. */
type Found = TimeType | 'none' | undefined;

/** That of all that may have the name: text if one has it, as in a UNION. */
function either(found: readonly Found[]): Found {
  const own = new Set(found.filter((one) => one !== 'none'));
  const [only] = own;
  if (own.size === 0) return 'none';
  return own.size === 1 ? only : undefined;
}

/** The type of a column of what a FROM has. */
function inFrom(types: TimeTypes, from: unknown, path: readonly string[], place: Place, depth: number): Found {
  const { isQualified, scope } = place;
  types.looksLeft -= 1;
  if (!isNode(from) || types.looksLeft < 0 || depth > DEPTH_MAX) return undefined;
  if (from['type'] === 'JOIN') {
    const sides = [from['left'], from['right']];
    return either(sides.map((side) => inFrom(types, side, path, place, depth)));
  }
  const own = foldName(textOf(from['alias']) || textOf(from['table_name']));
  const at = [1, 2].find((count) => foldName(path[count - 1] ?? '') === own);
  if (isQualified && (at === undefined || at >= path.length)) return 'none';
  const names = isQualified ? path.slice(at) : [...path];
  const table = types.tables.get(from);
  const call = from['function'];
  const given = textsOf(from['column_name_alias']).findIndex((one) => foldName(one) === foldName(names[0] ?? ''));
  if (given >= 0 && table !== undefined) names.splice(0, 1, table.columns()[given] ?? '');
  else if (isNode(call) && (given === 0 || foldName(names[0] ?? '') === own))
    return names.length > 1 ? undefined : fixed(ofCall(types, call, scope, depth + 1));
  else if (given >= 0) return undefined;
  if (table !== undefined) return inTable(types, table, names);
  const query = types.queries.get(from) ?? from['subquery'];
  return isNode(query) ? inQuery(types, queryIn(query), names, depth + 1) : 'none';
}

function inTable(types: TimeTypes, table: NamedTable, path: readonly string[]): Found {
  const columns =
    types.columns.get(table) ?? new Map(table.columns().map((column) => [foldName(column), new Map<string, Found>()]));
  types.columns.set(table, columns);
  const known = columns.get(foldName(path[0] ?? ''));
  if (known === undefined) return 'none';
  const key = JSON.stringify(path);
  if (!known.has(key)) known.set(key, timeTypeOf(table.typeAt?.(path)));
  return known.get(key);
}

/** The query of an entry of WITH, or of a subquery. */
function queryIn(node: Node): unknown {
  const value = isNode(node['value']) ? node['value'] : node;
  const query = isNode(value['query']) ? value['query'] : value;
  return query['node'] ?? query;
}

/** The type of a column of a query's result. */
function inQuery(types: TimeTypes, query: unknown, path: readonly string[], depth: number): Found {
  if (!isNode(query) || depth > DEPTH_MAX) return undefined;
  if (query['type'] !== 'SELECT_NODE') {
    const parts = [query['left'], query['right'], query['child'], ...nodesOf(query['children'])].filter(isNode);
    return either(parts.map((part) => inQuery(types, part, path, depth + 1)));
  }
  const name = foldName(path[0] ?? '');
  const scope = { select: query, outer: undefined };
  for (const item of nodesOf(query['select_list'])) {
    const own = textOf(item['alias']) || (item['class'] === 'COLUMN_REF' ? textsOf(item['column_names']).at(-1) : '');
    if (foldName(own ?? '') === name) return path.length > 1 ? undefined : fixed(typeIn(types, item, scope, depth + 1));
    if (item['class'] !== 'STAR') continue;
    const replaced = nodesOf(item['replace_list']).find(({ key }) => foldName(textOf(key)) === name);
    if (replaced !== undefined) return fixed(typeIn(types, replaced['value'], scope, depth + 1));
    const found = inFrom(types, query['from_table'], path, { isQualified: false, scope }, depth + 1);
    if (found !== 'none') return found;
  }
  return 'none';
}

const fixed = (type: Known): Found => (typeof type === 'string' ? type : undefined);

/** The type of a column by this name of one side of a join. */
export function typeInSide(types: TimeTypes, side: unknown, name: string): TimeType | undefined {
  const type = inFrom(types, side, [name], { isQualified: false, scope: undefined }, 0);
  return type === 'none' ? undefined : type;
}

function ofColumn(types: TimeTypes, path: readonly string[], scope: Scope | undefined, depth: number): Known {
  // The names of a table come first, as the engine reads them.
  for (const isQualified of path.length > 1 ? [true, false] : [false]) {
    for (let at = scope; at !== undefined; at = at.outer) {
      if (at.item?.name === foldName(path[0] ?? ''))
        return path.length > 1 ? undefined : itemOf(typeIn(types, at.item.list, at.outer, depth + 1), undefined);
      if (at.select === undefined) continue;
      const found = inFrom(types, at.select['from_table'], path, { isQualified, scope: at }, depth);
      if (found !== 'none') return found;
      const named = nodesOf(at.select['select_list']).find(
        ({ alias }) => foldName(textOf(alias)) === foldName(path[0] ?? ''),
      );
      if (named !== undefined && path.length === 1) return typeIn(types, named, at, depth + 1);
    }
  }
  return path.length === 1 && TIMES.test(foldName(path[0] ?? '')) ? 'time' : undefined;
}

/** The type of an expression in a place. */
export function typeOf(types: TimeTypes, node: Node, scope: Scope | undefined): Known {
  if (!types.found.has(node)) types.found.set(node, typeIn(types, node, scope, 0));
  return types.found.get(node);
}

function typeIn(types: TimeTypes, node: unknown, scope: Scope | undefined, depth: number): Known {
  if (!isNode(node) || depth > DEPTH_MAX) return undefined;
  const children = nodesOf(node['children']);
  switch (node['class']) {
    case 'COLUMN_REF':
      return ofColumn(types, textsOf(node['column_names']), scope, depth);
    case 'CAST':
      return timeTypeOf(castType(node['cast_type']));
    case 'PARAMETER':
      return { parameter: foldName(textOf(node['identifier'])) };
    case 'OPERATOR':
      if (node['type'] === 'ARRAY_EXTRACT') return itemOf(typeIn(types, children[0], scope, depth + 1), children[1]);
      return PASSING_OPERATORS.has(textOf(node['type'])) ? firstOf(types, children, scope, depth) : undefined;
    case 'CASE': {
      const results = nodesOf(node['case_checks']).map((check) => check['then_expr']);
      return firstOf(types, [...results, node['else_expr']], scope, depth);
    }
    case 'SUBQUERY': {
      const select = isNode(node['subquery']) ? node['subquery']['node'] : undefined;
      if (!isNode(select) || node['subquery_type'] !== 'SCALAR') return undefined;
      return typeIn(types, nodesOf(select['select_list'])[0], { select, outer: scope }, depth + 1);
    }
    case 'FUNCTION':
    case 'WINDOW':
      return ofCall(types, node, scope, depth);
    default:
      return undefined;
  }
}

function ofCall(types: TimeTypes, call: Node, scope: Scope | undefined, depth: number): Known {
  const name = foldName(textOf(call['function_name']));
  const children = nodesOf(call['children']);
  if (TIMES.test(name)) return 'time';
  if (TEXTS.test(name)) return 'text';
  if (name === '->') return 'json';
  if (LISTS.test(name)) return listOf(firstOf(types, children, scope, depth));
  const isItem = ITEMS.test(name);
  if (!isItem && !PASSING.test(name)) return undefined;
  if (isItem) return itemOf(typeIn(types, children[0], scope, depth + 1), children[1]);
  if (name !== '-') return firstOf(types, children, scope, depth);
  const [one, other] = children.map((child) => typeIn(types, child, scope, depth + 1));
  // The difference of two times is none.
  return one === 'time' && other === 'time' ? undefined : (one ?? other);
}

/** That of the first that has one. */
function firstOf(types: TimeTypes, nodes: readonly unknown[], scope: Scope | undefined, depth: number): Known {
  for (const node of nodes) {
    const type = typeIn(types, node, scope, depth + 1);
    if (type !== undefined) return type;
  }
  return undefined;
}

/** A type of the tree, as SQL writes it. */
export function castType(type: unknown): string {
  if (!isNode(type)) return '';
  const info = isNode(type['type_info']) ? type['type_info'] : {};
  if (type['id'] === 'LIST') return `${castType(info['child_type'])}[]`;
  return textOf(info['name']) || textOf(info['alias']) || textOf(type['id']);
}

function itemOf(type: Known, key: unknown): Known {
  if (typeof type !== 'string') return undefined;
  if (type === 'json') return 'json';
  // A key, or a range.
  if (key !== undefined && typeof constantOf(key) === 'string') return undefined;
  return type.endsWith('[]') ? (type.slice(0, -2) as TimeType) : undefined;
}

function listOf(type: Known): Known {
  return typeof type === 'string' ? (`${type}[]` as TimeType) : undefined;
}
