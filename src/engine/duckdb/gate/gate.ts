import { restFor } from '../../../contract/turns/turns.ts';
import {
  COPYING_MACROS,
  EXPRESSIONS_EXPANDED_MAX,
  LARGE_MACROS,
  mayCopyWith,
  NOTHING,
  type Size,
} from '../sql/expansion.ts';
import { SCALAR_FUNCTIONS, TABLE_FUNCTIONS } from '../sql/functions.ts';
import { OFFSET, STOPPABLE } from '../sql/guards.ts';
import { macrosFor } from '../sql/macros.ts';
import { foldName, type NamedTable, type Names } from '../sql/names.ts';
import { findMissing, type Missing, resolveTable } from '../sql/references.ts';
import { applySplices, type Splice } from '../sql/splices.ts';
import { errorAt, type Statement } from '../sql/statement.ts';
import { isNode, isQuery, listOf, modifiersOf, type Node, offsetOf, textOf } from '../sql/tree.ts';
import { EXPRESSIONS, PLAIN } from './allowed-nodes.ts';
import { columnNames } from './column-names.ts';
import { boundOffset, stopLambda } from './fences.ts';
import { fieldReads } from './field-reads.ts';
import { refusalOf, renameFunction } from './function-calls.ts';
import { createJsonPaths, type JsonPaths } from './json-paths.ts';
import { preferOwnColumns } from './own-columns.ts';
import type { Passed } from './passed.ts';
import { boundPattern } from './patterns.ts';
import { readPlain } from './plain-read.ts';
import { isLongIn, joinsCost, joinsIn, joinsRefusal, longInsRefusal, longListRefusal } from './planning-limits.ts';
import { createRelations } from './query-columns.ts';
import { aliasFor, layerOn, NO_ALIASES, OUTERMOST, type Scope, visible, within } from './scope.ts';
import { readDescribed, readShow } from './show.ts';
import { createTextIndex, type TextIndex } from './text-index.ts';
import { usesOf } from './uses.ts';
import { checkWidths } from './widths.ts';

const LIMITS = new Set(['LIMIT_MODIFIER', 'LIMIT_PERCENT_MODIFIER']);

/** Deeper trees are refused, so that this walk cannot overflow the stack. */
const DEPTH_MAX = 1_500;
/**
 * Maximum nesting of expressions (AND and OR count once). Beyond that, binding takes seconds and cannot be interrupted.
 */
const EXPRESSIONS_MAX = 300;
/** Maximum number of queries in one statement, including nested ones and copies, for the same reason. */
const QUERIES_MAX = 500;
/** The time to bind nested lambdas grows steeply, and binding cannot be interrupted. */
const LAMBDAS_MAX = 8;

/** COLUMNS() copies the expression around it for each column; this is a guess of their number. */
const COLUMNS_TYPICAL = 100;

interface Walk {
  statement: Statement;
  bytes: Buffer;
  text: TextIndex;
  names: Names;
  found: { table: NamedTable; at: number }[];
  relations: ReturnType<typeof createRelations>;
  missing: Missing[];
  macros: Set<string>;
  patterns: Map<string, number>;
  jsonPaths: JsonPaths;
  splices: Map<number, Splice>;
  /** Whether a WITH may be copied to each place that names it. */
  copiesWith: boolean;
  /** Including all copies. */
  size: Size;
  /** Uses of COLUMNS(). */
  columns: number;
  /** Whether there is a star of any kind. */
  hasStars: boolean;
  /** IN with long lists in the query that is walked, without its FROM and other queries in it. */
  longIns: number;
  /** How deeply the place that is walked is nested: in all, and in expressions. */
  depth: number;
  expressions: number;
  /** Cost of the joins of all FROMs: see `joinsCost`. */
  joins: number;
}

function refuse(walk: Walk, node: Node, message: string): never {
  throw errorAt(walk.statement, offsetOf(node), message);
}

function grow(walk: Walk, node: Node, by: Size, times = 1): void {
  const { size } = walk;
  size.queries += by.queries * times;
  size.expressions += by.expressions * times;
  if (size.queries > QUERIES_MAX) {
    refuse(
      walk,
      node,
      `The SQL holds more than ${QUERIES_MAX} queries, each use of a WITH ... NOT MATERIALIZED included. Use fewer.`,
    );
  }
  if (size.expressions > EXPRESSIONS_EXPANDED_MAX) {
    refuse(
      walk,
      node,
      'The SQL grows too large when columns and arguments that are used more than once are put in, and subqueries in ' +
        'subqueries are read. Split it with WITH.',
    );
  }
}

/** The size that `work` adds. */
function measure(walk: Walk, work: () => void): Size {
  const before = { ...walk.size };
  work();
  return {
    queries: walk.size.queries - before.queries,
    expressions: walk.size.expressions - before.expressions,
  };
}

function walkChildren(walk: Walk, node: Node, scope: Scope, ...without: string[]): void {
  for (const key of Object.keys(node)) {
    const value = node[key];
    if (typeof value === 'object' && value !== null && !without.includes(key)) walkAny(walk, value, scope);
  }
}

function walkAny(walk: Walk, value: unknown, scope: Scope): void {
  walk.depth += 1;
  if (walk.depth > DEPTH_MAX) throw errorAt(walk.statement, undefined, 'The SQL is nested too deeply. Simplify it.');
  if (Array.isArray(value)) for (const item of value) walkAny(walk, item, scope);
  else if (isNode(value)) walkNode(walk, value, scope);
  walk.depth -= 1;
}

function walkNode(walk: Walk, node: Node, scope: Scope): void {
  const { class: expression, type } = node;
  const tooLong = longListRefusal(node);
  if (tooLong !== null) refuse(walk, node, tooLong);
  if (expression !== undefined) walkExpression(walk, node, scope);
  else if (typeof type !== 'string') walkPlain(walk, node, scope);
  else if (isQuery(node)) walkQuery(walk, node, scope);
  else if (type === 'BASE_TABLE') walkTable(walk, node, scope);
  else if (type === 'TABLE_FUNCTION') walkTableFunction(walk, node, scope);
  else if (type === 'SHOW_REF' && node['query'] === undefined) {
    refuse(walk, node, 'SHOW and DESCRIBE without a collection cannot be used inside another statement.');
  } else if (PLAIN.has(type) || type.endsWith('_TYPE_INFO')) walkChildren(walk, node, scope);
  else refuse(walk, node, `This kind of SQL (${type}) is not allowed here.`);
}

/** A node without a class of its own; one with an `id` is a type. */
function walkPlain(walk: Walk, node: Node, scope: Scope): void {
  // Casting deeply nested JSON to VARIANT overflows the stack.
  if (node['id'] === 'VARIANT') refuse(walk, node, 'The type VARIANT is not available in queries. Use JSON.');
  walkChildren(walk, node, scope);
}

const ONE_EXPRESSION: Size = { queries: 0, expressions: 1 };

function walkExpression(walk: Walk, node: Node, scope: Scope): void {
  const kind = textOf(node['class']);
  if (!EXPRESSIONS.has(kind)) refuse(walk, node, `This kind of expression (${kind}) is not allowed here.`);
  if (kind === 'CONSTANT') return;
  walk.expressions += 1;
  if (walk.expressions > EXPRESSIONS_MAX) {
    const message = `Expressions are nested deeper than ${EXPRESSIONS_MAX}. Simplify the SQL, or split it with WITH.`;
    refuse(walk, node, message);
  }
  grow(walk, node, ONE_EXPRESSION, Math.max(1, scope.times));
  if (kind === 'STAR') walk.hasStars = true;
  if (kind === 'STAR' && node['columns'] === true) walk.columns += 1;
  if (kind === 'FUNCTION' || kind === 'WINDOW') checkFunction(walk, node, SCALAR_FUNCTIONS);
  if (kind === 'FUNCTION') checkPattern(walk, node);
  const refusal = walk.jsonPaths.refusalOf(node, scope.aliases);
  if (refusal !== null) refuse(walk, node, refusal);
  if (isLongIn(node)) walk.longIns += 1;
  if (kind === 'COLUMN_REF') checkColumn(walk, node, scope);
  if (kind === 'LAMBDA' && scope.lambdas >= LAMBDAS_MAX) {
    refuse(walk, node, `Lambdas are nested deeper than ${LAMBDAS_MAX}.`);
  }
  const inner =
    kind === 'LAMBDA'
      ? { ...scope, lambdas: scope.lambdas + 1 }
      : kind === 'SUBQUERY'
        ? { ...scope, times: scope.times === 0 ? 1 : scope.times * 4 }
        : scope;
  const copies = kind === 'FUNCTION' ? COPYING_MACROS.get(textOf(node['function_name']).toLowerCase()) : undefined;
  const walkInner = () => walkChildren(walk, node, inner);
  if (copies === undefined) walkInner();
  else grow(walk, node, measure(walk, walkInner), copies - 1);
  // Only now: their own functions are none that the SQL may call.
  if (kind === 'FUNCTION') fence(walk, stopLambda(node, walk.text), STOPPABLE);
  if (kind === 'WINDOW') fence(walk, boundOffset(node, walk.text), OFFSET);
  walk.expressions -= 1;
}

function checkFunction(walk: Walk, node: Node, allowed: ReadonlySet<string>): void {
  splice(walk, renameFunction(node, walk.bytes));
  const refusal = refusalOf(node, allowed);
  if (refusal !== null) refuse(walk, node, refusal);
  const name = foldName(textOf(node['function_name']));
  const large = LARGE_MACROS.get(name);
  if (large !== undefined) grow(walk, node, { queries: 0, expressions: large });
  addMacros(walk, name);
}

function addMacros(walk: Walk, name: string): void {
  for (const macro of macrosFor(name)) walk.macros.add(macro);
}

function fence(walk: Walk, pieces: readonly Splice[], macro: string): void {
  for (const piece of pieces) splice(walk, piece);
  if (pieces.length > 0) addMacros(walk, macro);
}

function checkPattern(walk: Walk, node: Node): void {
  const { refusal, splice: piece = null, parameters = [], most = 0, macro } = boundPattern(node, walk.bytes);
  if (refusal !== undefined) refuse(walk, node, refusal);
  splice(walk, piece);
  if (macro !== undefined) walk.macros.add(macro);
  for (const name of parameters) walk.patterns.set(name, Math.min(most, walk.patterns.get(name) ?? most));
}

/** The engine reads these as functions if no column has the name. */
const COLUMN_FUNCTIONS = new Set(['current_catalog', 'current_database']);

function checkColumn(walk: Walk, node: Node, scope: Scope): void {
  const path = Array.isArray(node['column_names']) ? node['column_names'].map(textOf) : [];
  grow(walk, node, aliasFor(scope.aliases, path) ?? NOTHING);
  if (path.length === 1 && COLUMN_FUNCTIONS.has(foldName(path[0] ?? ''))) {
    refuse(walk, node, `"${path[0]}" is not available in queries.`);
  }
  // workspace.collection.column: the workspace is replaced by the name of its schema.
  const at = offsetOf(node);
  const [workspace, name] = path;
  if (path.length < 3 || at === undefined || workspace === undefined || name === undefined) return;
  const table = walk.names.find(workspace, name);
  if (table === undefined || walk.names.schemaOf(table.workspace) === table.workspace) return;
  splice(walk, resolveTable(walk, { path: [workspace, name], at }).splice);
  node['column_names'] = [walk.names.schemaOf(table.workspace), ...path.slice(1)];
}

function splice(walk: Walk, piece: Splice | null): void {
  if (piece !== null) walk.splices.set(piece.at, piece);
}

function walkTableFunction(walk: Walk, node: Node, scope: Scope): void {
  const call = node['function'];
  if (!isNode(call) || call['class'] !== 'FUNCTION') refuse(walk, node, 'This table function is not allowed here.');
  checkFunction(walk, call, TABLE_FUNCTIONS);
  walkChildren(walk, call, scope);
  walkChildren(walk, node, scope, 'function');
}

function walkTable(walk: Walk, node: Node, scope: Scope): void {
  walkChildren(walk, node, scope);
  const catalog = textOf(node['catalog_name']);
  const schema = textOf(node['schema_name']);
  const name = textOf(node['table_name']);
  // `recurring`: all rows so far in a recursive WITH ... USING KEY.
  const ofWith = schema === '' ? name : foldName(schema) === 'recurring' ? `recurring.${name}` : undefined;
  const found = catalog === '' && ofWith !== undefined ? visible(scope, ofWith) : undefined;
  if (found !== undefined) {
    grow(walk, node, found.size);
    walk.relations.queries.set(node, found.node);
    return;
  }
  const path = [catalog, schema, name].filter((part, index) => part !== '' || index === 2);
  const reference = { path, at: offsetOf(node) };
  // Not reported yet: the rest of the statement may be refused, which takes precedence.
  const missing = findMissing(walk, reference);
  if (missing !== null) {
    walk.missing.push(missing);
    return;
  }
  const resolved = resolveTable(walk, reference);
  walk.found.push({ table: resolved.table, at: resolved.at });
  walk.relations.tables.set(node, resolved.table);
  node['schema_name'] = walk.names.schemaOf(resolved.table.workspace);
  splice(walk, resolved.splice);
}

/** A name of WITH is visible to the entries after it, to the query, and to itself only if it is recursive. */
function walkQuery(walk: Walk, node: Node, outer: Scope): void {
  grow(walk, node, { queries: 1, expressions: 0 });
  let scope = outer;
  const map = isNode(node['cte_map']) ? node['cte_map']['map'] : undefined;
  for (const entry of Array.isArray(map) ? map : []) {
    if (!isNode(entry)) continue;
    const body = measure(walk, () => walkAny(walk, entry['value'], { ...scope, aliases: NO_ALIASES }));
    scope = within(scope, { node: entry, size: walk.copiesWith ? body : NOTHING }, textOf(entry['key']));
  }
  const joins = joinsIn(node['from_table']);
  walk.joins += joinsCost(joins);
  const tooMany = joinsRefusal(joins, walk.joins);
  if (tooMany !== null) refuse(walk, node, tooMany);
  const isRecursive = node['type'] === 'RECURSIVE_CTE_NODE';
  const name = textOf(node['cte_name']);
  const { longIns } = walk;
  walk.longIns = 0;
  walkAny(walk, node['from_table'], { ...scope, aliases: NO_ALIASES });
  if (node['type'] === 'SELECT_NODE')
    for (const piece of preferOwnColumns(walk.bytes, node, walk.relations)) splice(walk, piece);
  const aliases = walkColumns(walk, node, scope);
  walkChildren(walk, node, { ...scope, aliases }, 'cte_map', 'select_list', 'from_table', isRecursive ? 'right' : '');
  if (isRecursive) walkAny(walk, node['right'], within(scope, { node, size: NOTHING }, name, `recurring.${name}`));
  const tooManyIns = node['type'] === 'SELECT_NODE' ? longInsRefusal(walk.longIns) : null;
  if (tooManyIns !== null) refuse(walk, node, tooManyIns);
  walk.longIns = longIns;
}

/** Walks the columns of a SELECT in order; returns what each of them adds when a later part names it. */
function walkColumns(walk: Walk, node: Node, scope: Scope): Scope['aliases'] {
  const list = node['select_list'];
  if (!Array.isArray(list)) return scope.aliases;
  const aliases = layerOn(scope.aliases);
  for (const column of list) {
    const columnsBefore = walk.columns;
    const size = measure(walk, () => walkAny(walk, column, { ...scope, aliases }));
    if (!isNode(column)) continue;
    if (walk.columns > columnsBefore) grow(walk, column, size, COLUMNS_TYPICAL - 1);
    const alias = textOf(column['alias']);
    if (alias !== '') aliases.own.set(foldName(alias), { ...size, node: column });
  }
  return aliases;
}

/**
 * Lets a statement through, or rejects `query_error` with the position of what it refuses.
 *
 * `tree` is one statement of the engine's own parser (an entry of json_serialize_sql's `statements`). Every node of it
 * is visited: kinds of nodes, functions and tables must all be known to be harmless, so a new kind is refused. The
 * schemas of collections are filled in, and what every name of a table stands for is decided here, for all who ask later.
 */
export async function passGate(statement: Statement, tree: unknown, names: Names): Promise<Passed> {
  const bytes = Buffer.from(statement.body);
  const walk: Walk = {
    statement,
    bytes,
    text: createTextIndex(statement.body),
    names,
    found: [],
    relations: createRelations(),
    missing: [],
    macros: new Set(),
    patterns: new Map(),
    jsonPaths: createJsonPaths(),
    splices: new Map(),
    copiesWith: mayCopyWith(statement.body),
    size: { ...NOTHING },
    columns: 0,
    hasStars: false,
    longIns: 0,
    depth: 0,
    expressions: 0,
    joins: 0,
  };
  const node = isNode(tree) ? tree['node'] : undefined;
  if (!isNode(node)) throw errorAt(statement, undefined, 'The SQL cannot be read as one query.');
  const show = readShow(statement, node, names);
  if (show !== null && statement.explain !== '') throw errorAt(statement, 0, 'SHOW cannot be explained.');
  if (show === null) {
    walkAny(walk, node, OUTERMOST);
    await restFor(statement.body);
    checkWidths(statement, node, walk.relations, walk.hasStars);
    await restFor(statement.body);
  }
  const plain = show === null ? readPlain(statement, node, walk.relations.tables) : null;
  const reads = fieldReads(tree, walk.relations.tables, plain);
  await restFor(statement.body);
  const isExplained = statement.explain !== '';
  const { splices, ...uses } = await usesOf(node, walk.relations, { body: statement.body, bytes, isExplained });
  for (const piece of splices) splice(walk, piece);
  await restFor(statement.body);
  const ownNames = show === null ? columnNames(statement, node) : [];
  if (plain?.added) {
    splice(walk, plain.added.splice);
    node['select_list'] = [...listOf(node['select_list']), plain.added.node];
  }
  const named = walk.found.toSorted((a, b) => a.at - b.at).map((reference) => reference.table);
  return {
    ...applySplices(bytes, [...walk.splices.values()]),
    tree,
    splices: walk.splices,
    tables: [...new Set(named)],
    missing: walk.missing,
    macros: walk.macros,
    patterns: walk.patterns,
    jsonPaths: walk.jsonPaths.found,
    reads,
    ...uses,
    plain,
    described: readDescribed(statement, node, walk.relations.tables),
    columnNames: ownNames,
    hasLimit: modifiersOf(node).some((modifier) => LIMITS.has(textOf(modifier['type']))),
    show,
  };
}
