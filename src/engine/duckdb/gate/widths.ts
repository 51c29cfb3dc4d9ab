import { COMPAT_MACROS } from '../sql/compat.ts';
import { EXPRESSIONS_EXPANDED_MAX } from '../sql/expansion.ts';
import { NESTING_FUNCTIONS } from '../sql/functions.ts';
import { foldName, type NamedTable } from '../sql/names.ts';
import { errorAt, type Statement } from '../sql/statement.ts';
import { constantOf, isNode, listOf, type Node, nodesIn, nodesOf, offsetOf, subqueryOf, textOf } from '../sql/tree.ts';
import { STRUCTURED } from './function-calls.ts';
import { below, beside, eitherOf, greatest, NO_COLUMNS, type Relation, renamed, unnamed, widest } from './relations.ts';
import { type Layered, layerOn, lookUp } from './scope.ts';

/*
 * How wide the results of a statement become: their number of columns, where a struct counts as many as it contains.
 * `SELECT *, * FROM (SELECT *, * FROM …)` and `{'a': x, 'b': x} AS x` double it with each level, and with it the time
 * for binding, which cannot be interrupted. Measured, 16,000 columns take a second of processor time, struct fields
 * two.
 */

/** Widest result of any query in a statement. */
export const WIDTH_MAX = 20_000;
/** What each name of a table in the tree stands for; one that does not exist is in neither. */
export interface References {
  /** Collections and aliases. */
  readonly tables: ReadonlyMap<Node, NamedTable>;
  /** Entries of WITH, and the recursive queries in which their own names stand. */
  readonly queries: ReadonlyMap<Node, Node>;
}

/** Most width of all queries of a statement together. */
const WIDTHS_MAX = 100_000;
/** Most tables searched for the names of columns; each name searches all tables in scope. */
const LOOKED_MAX = 1_000_000;

interface Scope {
  /** The entries of FROM, including those of enclosing queries. */
  from: readonly { alias: string; relation: Relation }[];
  /** Earlier columns of the same SELECT. */
  aliases: Layered<number>;
  /** Width of names that are not known: parameters of lambdas. */
  unknown: number;
}

interface Context {
  statement: Statement;
  references: References;
  /** Of the entries of WITH, and of the recursive queries. */
  relations: Map<unknown, Relation>;
  /** Whether it contains a star of any kind. */
  hasStars: boolean;
  total: number;
  /** Number of expressions that COLUMNS() makes. */
  copies: number;
  /** Number of tables searched for the names of columns. */
  looked: number;
}

/** Functions whose result contains all of their arguments. */
const HOLDING = new Set(
  `struct_pack row struct_insert struct_update struct_concat map list_zip array_zip union_value map_concat merge
  histogram histogram_exact`.split(/\s+/),
);
/** Operators whose result may be their operand, or a part of it. */
const NESTING_OPERATORS = new Set(
  'ARRAY_EXTRACT ARRAY_SLICE STRUCT_EXTRACT ARRAY_CONSTRUCTOR OPERATOR_COALESCE OPERATOR_NULLIF OPERATOR_TRY'.split(
    ' ',
  ),
);
/** Expressions whose value is a plain one. */
const PLAIN = new Set(['COMPARISON', 'CONJUNCTION', 'BETWEEN']);
const QUERIES = new Set(['SELECT_NODE', 'SET_OPERATION_NODE', 'RECURSIVE_CTE_NODE']);
/** The number of columns of a table function or a SUMMARIZE. */
const FUNCTION_COLUMNS = 12;

function tooWide(context: Context, node: Node): never {
  throw errorAt(
    context.statement,
    offsetOf(node),
    `The SQL makes more than ${WIDTH_MAX} columns in one query, or ${WIDTHS_MAX} in all; fields of structs count. ` +
      'Name the columns that you need instead of *, and put no structs into structs again and again.',
  );
}

/** Largest possible width of a column name, or of a table name that stands for its rows. */
function widthOfColumn(context: Context, path: readonly string[], scope: Scope): number {
  context.looked += scope.from.length;
  if (context.looked > LOOKED_MAX) {
    const message = 'The SQL names too many columns in queries within each other. Split it with WITH.';
    throw errorAt(context.statement, undefined, message);
  }
  const parts = path.map(foldName);
  let width = Math.max(scope.unknown, lookUp(scope.aliases, parts[0] ?? '') ?? 0);
  for (const { alias, relation } of scope.from) {
    for (const part of parts) width = Math.max(width, relation.names.get(part) ?? 0);
    width = Math.max(width, relation.rest, alias === parts[0] && parts.length === 1 ? relation.width : 0);
  }
  return width > 0 ? width : scope.from.reduce((sum, { relation }) => sum + relation.width, 1);
}

/** Visits every part of an expression (or list of them) once; returns the width of its value. */
function widthOf(context: Context, value: unknown, scope: Scope): number {
  if (Array.isArray(value)) return value.reduce((width, item) => Math.max(width, widthOf(context, item, scope)), 1);
  if (!isNode(value)) return 1;
  if (QUERIES.has(textOf(value['type']))) return widest(relationOfQuery(context, value, scope));
  switch (value['class']) {
    case 'CONSTANT':
      return 1;
    case 'COLUMN_REF':
      return widthOfColumn(context, listOf(value['column_names']).map(textOf), scope);
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
      return eitherOf(
        results.map((result) => widthOf(context, result, scope)),
        results,
      );
    }
    case 'CAST': {
      widthOf(context, value['child'], scope);
      let types = 0;
      for (const type of nodesIn(value['cast_type'])) types += type['id'] === undefined ? 0 : 1;
      return Math.max(1, types);
    }
    default: {
      const inner = widthOf(context, Object.values(value), scope);
      return PLAIN.has(textOf(value['class'])) ? 1 : inner;
    }
  }
}

function quotesIn(constant: unknown): number {
  return textOf(constantOf(constant)).split('"').length - 1;
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
  if (STRUCTURED.has(name)) return own.reduce((sum: number, child) => sum + quotesIn(child) / 2, 1);
  const width = HOLDING.has(name) ? widths.reduce((sum, one) => sum + one, 1) : eitherOf(widths, own);
  if (width > WIDTH_MAX) tooWide(context, node);
  return width;
}

/** Whether an expression stands for a copy of it for each column. */
function hasColumns({ hasStars }: Context, value: unknown): boolean {
  return hasStars && hasStar(value);
}

function hasStar(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasStar);
  if (!isNode(value) || value['class'] === 'SUBQUERY' || value['type'] === 'OPERATOR_UNPACK') return false;
  return value['class'] === 'STAR' || Object.values(value).some(hasStar);
}

function expressionsIn(value: Node): number {
  let count = 0;
  for (const node of nodesIn(value)) if (node['class'] !== undefined) count += 1;
  return count;
}

function relationOfStar(context: Context, node: Node, scope: Scope, from: Scope['from']): Relation {
  const { replace_list: replaced, rename_list: names, relation_name: of, ...rest } = node;
  widthOf(context, Object.values(rest), scope);
  const alias = foldName(textOf(of));
  const named = scope.from.filter((one) => one.alias === alias);
  const width = widthOfColumn(context, [alias], scope);
  // The fields of a struct, if no table has the name.
  const isOfStruct = alias !== '' && named.length === 0;
  const all = isOfStruct
    ? unnamed(width, width)
    : beside((alias === '' ? from : named).map(({ relation }) => relation));
  if (replaced === undefined && names === undefined) return all;
  // Each replaces at most one column of each table.
  const others = listOf(replaced).map((other) => widthOf(context, other, scope));
  const more = others.reduce((sum, other) => sum + other - 1, 0) * Math.max(1, from.length);
  return { columns: all.columns, width: all.width + more, names: new Map(), rest: greatest(others, widest(all)) };
}

function columnsOf(from: Scope['from']): number {
  return from.reduce((sum, { relation }) => sum + relation.columns, 0);
}

/** Counts the expressions that an expression with COLUMNS() becomes; for a list, those of each item. */
function countCopies(context: Context, value: unknown, from: Scope['from'], node: Node): void {
  if (Array.isArray(value)) for (const item of value) countCopies(context, item, from, node);
  else if (isNode(value) && value['class'] !== 'STAR' && hasColumns(context, value)) {
    if (value['class'] === undefined) countCopies(context, Object.values(value), from, node);
    else context.copies += columnsOf(from) * expressionsIn(value);
  }
  if (context.copies <= EXPRESSIONS_EXPANDED_MAX) return;
  const message = 'COLUMNS() makes too many expressions here. Name the columns that you need.';
  throw errorAt(context.statement, offsetOf(node), message);
}

/** The columns of an entry in the select list. */
function relationOfEntry(context: Context, entry: unknown, scope: Scope, from: Scope['from']): Relation {
  if (!isNode(entry)) return NO_COLUMNS;
  if (entry['class'] === 'STAR' && entry['columns'] !== true) {
    return relationOfStar(context, entry, scope, from);
  }
  const width = widthOf(context, entry, scope);
  const columns = hasColumns(context, entry) ? columnsOf(from) : 1;
  if (columns !== 1) return { ...unnamed(columns, columns * width), rest: width };
  if (textOf(entry['function_name']).toLowerCase() === 'unnest') return unnamed(width, width);
  const path = listOf(entry['column_names']);
  const name = foldName(textOf(entry['alias']) || textOf(path.at(-1)));
  if (name === '') return unnamed(1, width);
  return { columns: 1, width, names: new Map([[name, width]]), rest: 0 };
}

function relationOfSelect(context: Context, node: Node, scope: Scope): Relation {
  const from = relationsOf(context, node['from_table'], scope);
  const aliases = layerOn(scope.aliases);
  const inner = { ...scope, from: [...from, ...scope.from], aliases };
  const entries: Relation[] = [];
  let made = 0;
  for (const entry of listOf(node['select_list'])) {
    const relation = relationOfEntry(context, entry, inner, from);
    made += relation.width;
    if (made > WIDTH_MAX) tooWide(context, node);
    if (isNode(entry) && textOf(entry['alias']) !== '') {
      for (const [name, width] of relation.names) aliases.own.set(name, Math.max(width, lookUp(aliases, name) ?? 0));
    }
    entries.push(relation);
  }
  const { from_table, cte_map, ...rest } = node;
  countCopies(context, Object.values(rest), from, node);
  const { select_list, ...clauses } = rest;
  widthOf(context, Object.values(clauses), inner);
  return beside(entries);
}

function relationOfQuery(context: Context, node: Node, scope: Scope): Relation {
  for (const entry of isNode(node['cte_map']) ? nodesOf(node['cte_map']['map']) : []) {
    const value = isNode(entry['value']) ? entry['value'] : {};
    const query = isNode(value['query']) ? value['query']['node'] : undefined;
    if (!isNode(query)) continue;
    context.relations.set(entry, renamed(relationOfQuery(context, query, scope), value['aliases']));
  }
  const side = (key: string) => (isNode(node[key]) ? relationOfQuery(context, node[key], scope) : NO_COLUMNS);
  let relation: Relation;
  if (node['type'] === 'SELECT_NODE') relation = relationOfSelect(context, node, scope);
  else {
    relation = side('left');
    context.relations.set(node, renamed(relation, node['aliases']));
    relation = below(relation, side('right'), textOf(node['setop_type']) === 'UNION_BY_NAME');
    widthOf(context, node['modifiers'], { ...scope, from: [{ alias: '', relation }, ...scope.from] });
  }
  context.total += relation.width;
  if (relation.width > WIDTH_MAX || context.total > WIDTHS_MAX) tooWide(context, node);
  return relation;
}

/** The entries of a FROM, by name. */
function relationsOf(context: Context, node: unknown, scope: Scope): { alias: string; relation: Relation }[] {
  if (!isNode(node)) return [];
  if (node['type'] === 'JOIN') {
    const left = relationsOf(context, node['left'], scope);
    // The right side of a join may name what comes before it.
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
      const query = subqueryOf(node);
      return isNode(query) ? relationOfQuery(context, query, scope) : NO_COLUMNS;
    }
    case 'BASE_TABLE': {
      const { tables, queries } = context.references;
      const table = tables.get(node);
      if (table !== undefined) return relationOfCollection(table);
      return context.relations.get(queries.get(node)) ?? NO_COLUMNS;
    }
    case 'PIVOT':
      return relationOfPivot(context, node, scope);
    case 'EXPRESSION_LIST': {
      const rows = listOf(node['values']).map(listOf);
      const widths = rows.map((row) => row.map((item) => widthOf(context, item, scope)));
      const columns =
        rows[0]?.map((_, at) =>
          eitherOf(
            widths.map((row) => row[at] ?? 1),
            rows.map((row) => row[at]),
          ),
        ) ?? [];
      return {
        ...unnamed(
          columns.length,
          columns.reduce((sum, one) => sum + one, 0),
        ),
        rest: greatest(columns),
      };
    }
    case 'TABLE_FUNCTION': {
      const width = widthOf(context, node['function'], scope);
      return { ...unnamed(FUNCTION_COLUMNS, FUNCTION_COLUMNS + width), rest: width };
    }
    default:
      widthOf(context, Object.values(node), scope);
      return node['type'] === 'EMPTY' ? NO_COLUMNS : { ...unnamed(FUNCTION_COLUMNS, FUNCTION_COLUMNS), rest: 1 };
  }
}

/** Each combination of pivoted values is a column for each aggregate. */
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

/** Refuses, with `query_error`, a statement that makes too many columns or types; `node` has passed the gate. */
export function checkWidths(statement: Statement, node: Node, references: References, hasStars: boolean): void {
  const scope: Scope = { from: [], aliases: layerOn(null), unknown: 0 };
  relationOfQuery(
    { statement, references, relations: new Map(), hasStars, total: 0, copies: 0, looked: 0 },
    node,
    scope,
  );
}
