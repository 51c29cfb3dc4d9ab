import { COMPAT_MACROS } from './compat.ts';
import { NESTING_FUNCTIONS } from './functions.ts';
import { foldName, type NamedTable } from './names.ts';
import { errorAt, type Statement } from './statement.ts';
import { isNode, type Node } from './tree.ts';

/*
 * How wide what a statement makes becomes: its columns, where a column of a struct counts as many as the struct holds.
 * `SELECT *, * FROM (SELECT *, * FROM …)` and `{'a': x, 'b': x} AS x` double it with each level, and binding, which takes
 * time by it, cannot be interrupted. Measured, 16,000 columns take a second of processor time, structs of as many two.
 */

/** Widest result of any query in a statement. */
const WIDTH_MAX = 20_000;
/** Width of all queries of a statement together. */
const WIDTHS_MAX = 60_000;

/** What a query or a table gives. Widths are upper bounds, but for fields of documents, which are not known here. */
interface Relation {
  columns: number;
  /** Of all columns together. */
  width: number;
  /** Widths of columns by name. */
  names: ReadonlyMap<string, number>;
  /** Of the widest column whose name is not known; 0 where all are known. */
  rest: number;
}

interface Scope {
  with: ReadonlyMap<string, Relation>;
  /** What FROM has, that of queries around it included. */
  from: readonly { alias: string; relation: Relation }[];
  /** Earlier columns of the same SELECT. */
  aliases: ReadonlyMap<string, number>;
  /** Width of what is not known by name: parameters of lambdas. */
  unknown: number;
}

interface Context {
  statement: Statement;
  /** Which collection a node of the tree names. */
  tables: ReadonlyMap<Node, NamedTable>;
  total: number;
}

/** Functions whose result holds all of their arguments. */
const HOLDING = new Set(
  `struct_pack row struct_insert struct_update struct_concat map list_zip array_zip union_value map_concat merge
  histogram histogram_exact`.split(/\s+/),
);
/** Operators whose result may be what they are given, or a part of it. */
const NESTING_OPERATORS = new Set(
  'ARRAY_EXTRACT ARRAY_SLICE STRUCT_EXTRACT ARRAY_CONSTRUCTOR OPERATOR_COALESCE OPERATOR_NULLIF OPERATOR_TRY'.split(
    ' ',
  ),
);
/** Expressions that give a plain value, or one of a type that is written out. */
const PLAIN = new Set(['COMPARISON', 'CONJUNCTION', 'BETWEEN', 'CAST']);
const QUERIES = new Set(['SELECT_NODE', 'SET_OPERATION_NODE', 'RECURSIVE_CTE_NODE']);
/** As many as a table function or a SUMMARIZE has. */
const FUNCTION_COLUMNS = 12;

const NO_COLUMNS: Relation = { columns: 0, width: 0, names: new Map(), rest: 0 };

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function widest({ names, rest }: Relation): number {
  let all = rest;
  for (const width of names.values()) all = Math.max(all, width);
  return all;
}

function unnamed(columns: number, width: number): Relation {
  return { columns, width: Math.max(columns, width), names: new Map(), rest: columns === 0 ? 0 : Math.max(1, width) };
}

/** Of any number of them. */
function greatest(widths: readonly number[], least = 0): number {
  return widths.reduce((one, other) => Math.max(one, other), least);
}

/** Side by side. */
function beside(relations: readonly Relation[]): Relation {
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

/** One below the other: structs of both become one with the fields of both. */
function below(left: Relation, right: Relation, isByName: boolean): Relation {
  const both = beside([left, right]);
  if (isByName) {
    const others = left.columns - left.names.size + right.columns - right.names.size;
    return { ...both, columns: both.names.size + Math.max(0, others) };
  }
  const nested = left.width > left.columns && right.width > right.columns;
  const width = nested ? left.width + right.width : Math.max(left.width, right.width);
  const widestOfAll = nested ? widest(left) + widest(right) : Math.max(widest(left), widest(right));
  return nested || right.width > right.columns
    ? { columns: left.columns, width, names: new Map(), rest: widestOfAll }
    : { ...left, width };
}

/** With other names for the first columns. */
function renamed(relation: Relation, names: unknown): Relation {
  return listOf(names).length === 0 ? relation : { ...relation, names: new Map(), rest: widest(relation) };
}

function tooWide(context: Context, node: Node): never {
  const at = Number(node['query_location'] ?? Number.NaN);
  throw errorAt(
    context.statement,
    Number.isSafeInteger(at) ? at : undefined,
    `The SQL makes more than ${WIDTH_MAX} columns in one query, or ${WIDTHS_MAX} in all; fields of structs count. ` +
      'Name the columns that you need instead of *, and put no structs into structs again and again.',
  );
}

/** What a column's name, or the name of a table for its rows, may mean at most. */
function widthOfColumn(path: readonly string[], scope: Scope): number {
  const parts = path.map(foldName);
  let width = Math.max(scope.unknown, scope.aliases.get(parts[0] ?? '') ?? 0);
  for (const { alias, relation } of scope.from) {
    for (const part of parts) width = Math.max(width, relation.names.get(part) ?? 0);
    width = Math.max(width, relation.rest, alias === parts[0] && parts.length === 1 ? relation.width : 0);
  }
  return width > 0 ? width : scope.from.reduce((sum, { relation }) => sum + relation.width, 1);
}

/** Visits all of an expression, or of what holds some, once, and gives the width of its value. */
function widthOf(context: Context, value: unknown, scope: Scope): number {
  if (Array.isArray(value)) return value.reduce((width, item) => Math.max(width, widthOf(context, item, scope)), 1);
  if (!isNode(value)) return 1;
  if (QUERIES.has(textOf(value['type']))) return widest(relationOfQuery(context, value, scope));
  switch (value['class']) {
    case 'CONSTANT':
      return 1;
    case 'COLUMN_REF':
      return widthOfColumn(listOf(value['column_names']).map(textOf), scope);
    case 'POSITIONAL_REFERENCE':
    case 'STAR': {
      const inner = widthOf(context, Object.values(value), scope);
      return greatest(
        scope.from.map(({ relation }) => widest(relation)),
        inner,
      );
    }
    case 'FUNCTION':
    case 'WINDOW':
    case 'OPERATOR':
      return widthOfCall(context, value, scope);
    case 'CASE': {
      const checks = listOf(value['case_checks']).filter(isNode);
      for (const check of checks) widthOf(context, check['when_expr'], scope);
      const results = [...checks.map((check) => check['then_expr']), value['else_expr']];
      return eitherOf(results.map((result) => widthOf(context, result, scope)));
    }
    default: {
      const inner = widthOf(context, Object.values(value), scope);
      return PLAIN.has(textOf(value['class'])) ? 1 : inner;
    }
  }
}

function widthOfCall(context: Context, node: Node, scope: Scope): number {
  const { children, ...rest } = node;
  const isLambda = (child: unknown) => isNode(child) && child['class'] === 'LAMBDA';
  const own = listOf(children).filter((child) => !isLambda(child));
  const widths = own.map((child) => widthOf(context, child, scope));
  const inner = { ...scope, unknown: greatest(widths, scope.unknown) };
  widths.push(
    ...listOf(children)
      .filter(isLambda)
      .map((child) => widthOf(context, child, inner)),
  );
  widthOf(context, Object.values(rest), scope);
  // *COLUMNS(*): all columns, as arguments.
  if (node['type'] === 'OPERATOR_UNPACK') return scope.from.reduce((sum, { relation }) => sum + relation.width, 0);
  const name = textOf(node['function_name']).toLowerCase();
  if (!NESTING_FUNCTIONS.has(name) && !COMPAT_MACROS.has(name) && !NESTING_OPERATORS.has(textOf(node['type'])))
    return 1;
  const width = HOLDING.has(name) ? widths.reduce((sum, one) => sum + one, 1) : eitherOf(widths);
  if (width > WIDTH_MAX) tooWide(context, node);
  return width;
}

/** Of what may be one or the other: structs with other names become one with the fields of all. */
function eitherOf(widths: readonly number[]): number {
  const nested = widths.filter((width) => width > 1);
  return nested.reduce((sum, width) => sum + width, nested.length === 0 ? 1 : 0);
}

/** Whether an expression stands for one of its kind for each column. */
function hasColumns(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasColumns);
  if (!isNode(value) || value['class'] === 'SUBQUERY' || value['type'] === 'OPERATOR_UNPACK') return false;
  return value['class'] === 'STAR' || Object.values(value).some(hasColumns);
}

function relationOfStar(context: Context, node: Node, scope: Scope, from: Scope['from']): Relation {
  const { replace_list: replaced, rename_list: names, relation_name: of, ...rest } = node;
  widthOf(context, Object.values(rest), scope);
  const alias = foldName(textOf(of));
  const named = scope.from.filter((one) => one.alias === alias);
  const width = widthOfColumn([alias], scope);
  // Of a struct, where no table has the name.
  const isOfStruct = alias !== '' && named.length === 0;
  const all = isOfStruct
    ? unnamed(width, width)
    : beside((alias === '' ? from : named).map(({ relation }) => relation));
  if (replaced === undefined && names === undefined) return all;
  const other = widthOf(context, replaced, scope);
  const isPlain = other === 1 && all.width === all.columns;
  const wide = isPlain ? all.width : all.width + other * all.columns;
  return { columns: all.columns, width: wide, names: new Map(), rest: Math.max(widest(all), other) };
}

/** What an entry of the select list gives. */
function relationOfEntry(context: Context, entry: unknown, scope: Scope, from: Scope['from']): Relation {
  if (!isNode(entry)) return NO_COLUMNS;
  if (entry['class'] === 'STAR' && entry['columns'] !== true) {
    return relationOfStar(context, entry, scope, from);
  }
  const width = widthOf(context, entry, scope);
  const columns = hasColumns(entry) ? from.reduce((sum, { relation }) => sum + relation.columns, 0) : 1;
  if (columns !== 1) return { ...unnamed(columns, columns * width), rest: width };
  if (textOf(entry['function_name']).toLowerCase() === 'unnest') return unnamed(width, width);
  const path = listOf(entry['column_names']);
  const name = foldName(textOf(entry['alias']) || textOf(path.at(-1)));
  if (name === '') return unnamed(1, width);
  return { columns: 1, width, names: new Map([[name, width]]), rest: 0 };
}

function relationOfSelect(context: Context, node: Node, scope: Scope): Relation {
  const from = relationsOf(context, node['from_table'], scope);
  const aliases = new Map(scope.aliases);
  const inner = { ...scope, from: [...from, ...scope.from], aliases };
  const entries: Relation[] = [];
  for (const entry of listOf(node['select_list'])) {
    const relation = relationOfEntry(context, entry, inner, from);
    if (isNode(entry) && textOf(entry['alias']) !== '') {
      for (const [name, width] of relation.names) aliases.set(name, Math.max(width, aliases.get(name) ?? 0));
    }
    entries.push(relation);
  }
  const { select_list, from_table, cte_map, ...rest } = node;
  widthOf(context, Object.values(rest), inner);
  return beside(entries);
}

function withEntries(context: Context, node: Node, outer: Scope): Scope {
  const map = isNode(node['cte_map']) ? listOf(node['cte_map']['map']) : [];
  let scope = outer;
  for (const entry of map) {
    const value = isNode(entry) && isNode(entry['value']) ? entry['value'] : {};
    const query = isNode(value['query']) ? value['query']['node'] : undefined;
    if (!isNode(entry) || !isNode(query)) continue;
    const relation = renamed(relationOfQuery(context, query, scope), value['aliases']);
    scope = { ...scope, with: new Map(scope.with).set(foldName(textOf(entry['key'])), relation) };
  }
  return scope;
}

function relationOfQuery(context: Context, node: Node, outer: Scope): Relation {
  const scope = withEntries(context, node, outer);
  const side = (key: string, within = scope) =>
    isNode(node[key]) ? relationOfQuery(context, node[key], within) : NO_COLUMNS;
  let relation: Relation;
  if (node['type'] === 'SELECT_NODE') relation = relationOfSelect(context, node, scope);
  else {
    relation = side('left');
    const name = foldName(textOf(node['cte_name']));
    const again = renamed(relation, node['aliases']);
    const isRecursive = node['type'] === 'RECURSIVE_CTE_NODE';
    const within = isRecursive ? new Map(scope.with).set(name, again).set(`recurring.${name}`, again) : scope.with;
    const right = side('right', { ...scope, with: within });
    relation = below(relation, right, textOf(node['setop_type']) === 'UNION_BY_NAME');
    widthOf(context, node['modifiers'], { ...scope, from: [{ alias: '', relation }, ...scope.from] });
  }
  context.total += relation.width;
  if (relation.width > WIDTH_MAX || context.total > WIDTHS_MAX) tooWide(context, node);
  return relation;
}

/** What a FROM gives, by name. */
function relationsOf(context: Context, node: unknown, scope: Scope): { alias: string; relation: Relation }[] {
  if (!isNode(node)) return [];
  if (node['type'] === 'JOIN') {
    const left = relationsOf(context, node['left'], scope);
    // What is joined may name what stands before it.
    const right = relationsOf(context, node['right'], { ...scope, from: [...left, ...scope.from] });
    const both = [...left, ...right];
    widthOf(context, node['condition'], { ...scope, from: [...both, ...scope.from] });
    const isLeftOnly = node['join_type'] === 'SEMI' || node['join_type'] === 'ANTI';
    return isLeftOnly ? left : both;
  }
  const alias = foldName(textOf(node['alias']) || textOf(node['table_name']));
  const relation = renamed(relationOfTable(context, node, scope), node['column_name_alias']);
  return [{ alias, relation }];
}

function relationOfTable(context: Context, node: Node, scope: Scope): Relation {
  switch (node['type']) {
    case 'SUBQUERY': {
      const query = isNode(node['subquery']) ? node['subquery']['node'] : undefined;
      return isNode(query) ? relationOfQuery(context, query, scope) : NO_COLUMNS;
    }
    case 'BASE_TABLE': {
      const table = context.tables.get(node);
      if (table !== undefined) return relationOfCollection(table);
      const schema = foldName(textOf(node['schema_name']));
      const name = foldName(textOf(node['table_name']));
      return scope.with.get(schema === '' ? name : `${schema}.${name}`) ?? NO_COLUMNS;
    }
    case 'PIVOT':
      return relationOfPivot(context, node, scope);
    case 'EXPRESSION_LIST': {
      const rows = listOf(node['values']).map((row) => listOf(row).map((item) => widthOf(context, item, scope)));
      const columns = rows[0]?.map((_, index) => eitherOf(rows.map((row) => row[index] ?? 1))) ?? [];
      return {
        ...unnamed(
          columns.length,
          columns.reduce((sum, one) => sum + one, 0),
        ),
        rest: greatest(columns),
      };
    }
    case 'TABLE_FUNCTION':
      return unnamed(FUNCTION_COLUMNS, FUNCTION_COLUMNS + widthOf(context, node['function'], scope));
    default:
      widthOf(context, Object.values(node), scope);
      return node['type'] === 'EMPTY' ? NO_COLUMNS : unnamed(FUNCTION_COLUMNS, FUNCTION_COLUMNS);
  }
}

/** Each combination of its values is a column for each aggregate. */
function relationOfPivot(context: Context, node: Node, scope: Scope): Relation {
  const source = relationsOf(context, node['source'], scope);
  const inner = { ...scope, from: [...source, ...scope.from] };
  const aggregates = listOf(node['aggregates']);
  const width = widthOf(context, aggregates, inner);
  const entries = listOf(node['pivots']).map((pivot) => (isNode(pivot) ? listOf(pivot['entries']).length : 0));
  const combinations = entries.reduce((product, count) => product * Math.max(1, count), 1);
  const columns = listOf(node['unpivot_names']).length > 0 ? 2 : combinations * Math.max(1, aggregates.length);
  widthOf(context, node['pivots'], inner);
  const relation = beside([
    ...source.map((one) => one.relation),
    { ...unnamed(columns, columns * width), rest: eitherOf([width, ...source.map((one) => widest(one.relation))]) },
  ]);
  if (relation.width > WIDTH_MAX) tooWide(context, node);
  return relation;
}

function relationOfCollection(table: NamedTable): Relation {
  const columns = table.columns();
  return {
    columns: columns.length,
    width: columns.length,
    names: new Map(columns.map((name) => [foldName(name), 1])),
    rest: 0,
  };
}

/** Refuses, with `query_error`, a statement that makes too many columns or types; `node` is one that the gate lets through. */
export function checkWidths(statement: Statement, node: Node, tables: ReadonlyMap<Node, NamedTable>): void {
  const scope: Scope = { with: new Map(), from: [], aliases: new Map(), unknown: 0 };
  relationOfQuery({ statement, tables, total: 0 }, node, scope);
}
