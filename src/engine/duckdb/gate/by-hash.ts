import { type DuckDBConnection, VARCHAR } from '@duckdb/node-api';
import { foldName, type NamedTable, type Names, quoteName, quoteText } from '../sql/names.ts';
import { identifierAt } from '../sql/references.ts';
import type { Splice } from '../sql/splices.ts';
import { isNode, isSameTree, type Node, nodesIn } from '../sql/tree.ts';
import { CATALOG } from '../storage/database.ts';
import { HASH_COLUMN, hashOf, ID_COLUMN } from '../tables/columns.ts';
import type { Typed } from '../values/typed-json.ts';

/**
 * A second form of a statement: if the statement asks one collection for the document with a given id, the document is
 * looked up by the id's hash (`HASH_COLUMN`). Everything that the caller wrote stays, conditions included; it merely
 * sees fewer rows. The form is optional: if it fails, the statement runs as written.
 */
export interface ByHash {
  sql: string;
  /** The parameter that gives the id, if one does: the form is valid only if its value is a text. */
  parameters: readonly string[];
  /** The collection's physical table. */
  table: string;
}

/** A second form that has yet to be checked (`isByHash`). */
export interface ByHashDraft {
  /** What replaces the collection. */
  splice: Splice;
  parameters: readonly string[];
  table: string;
  /** A statement of our own that selects from the same subquery. */
  template: string;
  /** The collection in the statement's tree. */
  from: Node;
}

interface Context {
  bytes: Buffer;
  names: Names;
  /** Collections that the statement names. */
  tables: readonly NamedTable[];
  /** What the gate inserted, by position; at a collection, in place of the workspace written before the name. */
  splices: ReadonlyMap<number, Splice>;
}

/** What a query may contain: anything else, such as a sample, could depend on rows that its WHERE leaves out. */
const QUERY_KEYS: ReadonlySet<string> = new Set(
  `type select_list from_table where_clause aggregate_handling group_expressions group_sets having qualify
  modifiers`.split(/\s+/),
);
const TABLE_KEYS: ReadonlySet<string> = new Set(['type', 'alias', 'query_location', 'schema_name', 'table_name']);

const PARAMETER_NAME = /^(?:[A-Za-z_][A-Za-z0-9_]*|\d+)$/;

/** Whether the second form is valid for these values of the statement's parameters. */
export function holdsFor({ parameters }: ByHash, values: ReadonlyMap<string, Typed>): boolean {
  return parameters.every((name) => {
    const typed = values.get(name);
    return typeof typed?.value === 'string' && typed.type === VARCHAR;
  });
}

function hasOnly(node: Node, keys: ReadonlySet<string>): boolean {
  return Object.keys(node).every((key) => keys.has(key));
}

/** Whether an expression is the id column; `table` is the name by which the query knows the collection. */
function isId(node: unknown, table: string): boolean {
  if (!isNode(node) || node['class'] !== 'COLUMN_REF' || !Array.isArray(node['column_names'])) return false;
  const path = node['column_names'].map((part) => foldName(String(part)));
  return path.at(-1) === ID_COLUMN && (path.length === 1 || (path.length === 2 && path[0] === foldName(table)));
}

/** An id as SQL, with its parameter if it is one; null for anything but a text or a parameter. */
function idOf(node: unknown): { id: string; parameters: string[] } | null {
  if (!isNode(node)) return null;
  if (node['class'] === 'PARAMETER') {
    const name = node['identifier'];
    return typeof name === 'string' && PARAMETER_NAME.test(name) ? { id: `$${name}`, parameters: [name] } : null;
  }
  const constant = node['class'] === 'CONSTANT' ? node['value'] : null;
  if (!isNode(constant) || constant['is_null'] !== false || !isPlainText(constant['type'])) return null;
  const text = constant['value'];
  return typeof text === 'string' && !text.includes('\0') ? { id: quoteText(text), parameters: [] } : null;
}

function isPlainText(type: unknown): boolean {
  return isNode(type) && type['id'] === 'VARCHAR' && Object.keys(type).length === 1;
}

/** The id in `_id = …`; null for any other condition. */
function wantedBy(condition: unknown, table: string): ReturnType<typeof idOf> {
  if (!isNode(condition) || condition['class'] !== 'COMPARISON' || condition['type'] !== 'COMPARE_EQUAL') return null;
  const { left, right } = condition;
  if (isId(left, table)) return idOf(right);
  return isId(right, table) ? idOf(left) : null;
}

function conjunctsOf(where: unknown): unknown[] {
  const isAnd = isNode(where) && where['class'] === 'CONJUNCTION' && where['type'] === 'CONJUNCTION_AND';
  return isAnd && Array.isArray(where['children']) ? where['children'] : [where];
}

/** Whether a query has no FROM. */
export function isWithoutFrom(query: Node): boolean {
  const from = query['from_table'];
  return query['type'] === 'SELECT_NODE' && isNode(from) && from['type'] === 'EMPTY';
}

/**
 * Whether a query makes at most one row of each row, no larger than the original: it has no functions, which could
 * multiply rows, and no subqueries.
 */
export function isOfFewParts(query: Node): boolean {
  for (const node of nodesIn(query)) {
    if (node['class'] === 'FUNCTION' && node['is_operator'] !== true) return false;
    if (node['class'] === 'SUBQUERY' || node['class'] === 'WINDOW') return false;
  }
  return true;
}

/**
 * Whether nothing in the statement could change its meaning: names that reach the collection through its schema,
 * columns by number, another column named `_id`, parameters whose type is also influenced by another use.
 */
function isUnambiguous(query: Node, schemas: ReadonlySet<string>, parameters: readonly string[]): boolean {
  const uses = new Map<string, number>();
  for (const node of nodesIn(query)) {
    if (node['class'] === 'POSITIONAL_REFERENCE') return false;
    if (typeof node['alias'] === 'string' && foldName(node['alias']) === ID_COLUMN) return false;
    if (node['class'] === 'COLUMN_REF' && Array.isArray(node['column_names'])) {
      const [first, ...more] = node['column_names'].map((part) => foldName(String(part)));
      if (more.length > 0 && schemas.has(first ?? '')) return false;
    }
    if (node['class'] !== 'PARAMETER') continue;
    const name = String(node['identifier']).toLowerCase();
    uses.set(name, (uses.get(name) ?? 0) + 1);
  }
  return parameters.every((name) => uses.get(name.toLowerCase()) === 1);
}

/** Length of the collection's name as written at `at`, including its workspace if `isQualified`. */
function lengthOf(bytes: Buffer, at: number, name: string, isQualified: boolean): number | null {
  const first = identifierAt(bytes, at);
  if (first === undefined) return null;
  if (!isQualified) return foldName(first.name) === foldName(name) ? first.length : null;
  const dot = at + first.length;
  const second = bytes[dot] === '.'.charCodeAt(0) ? identifierAt(bytes, dot + 1) : undefined;
  return second !== undefined && foldName(second.name) === foldName(name) ? first.length + 1 + second.length : null;
}

/**
 * Drafts the second form of a statement that passed the gate, from its tree with schemas filled in; null if it has
 * none.
 */
export function draftByHash({ bytes, names, tables, splices }: Context, query: Node): ByHashDraft | null {
  const from = query['from_table'];
  if (query['type'] !== 'SELECT_NODE' || !hasOnly(query, QUERY_KEYS) || query['where_clause'] === undefined)
    return null;
  if (!isNode(from) || from['type'] !== 'BASE_TABLE' || !hasOnly(from, TABLE_KEYS)) return null;
  const { query_location: at, table_name: name, schema_name: schema, alias } = from;
  if (typeof at !== 'number' || typeof name !== 'string' || typeof schema !== 'string') return null;
  const written = splices.get(at);
  const table = tables.find(
    (one) =>
      foldName(one.name) === foldName(name) && names.schemaOf(one.workspace) === schema && one.kind === 'collection',
  );
  if (written === undefined || table?.rows === undefined || table.storedAs === undefined) return null;
  const known = typeof alias === 'string' && alias !== '' ? alias : name;
  if (table.columns().some((column) => foldName(column) === foldName(known))) return null;
  const found = conjunctsOf(query['where_clause']).flatMap((condition) => wantedBy(condition, known) ?? [])[0];
  if (found === undefined) return null;
  const schemas = new Set([table.workspace, schema, CATALOG].map(foldName));
  if (schemas.has(foldName(known)) || !isUnambiguous(query, schemas, found.parameters)) return null;
  const length = lengthOf(bytes, at, name, written.length > 0);
  if (length === null) return null;
  const rows = `(${table.rows(`${quoteName(HASH_COLUMN)} = ${hashOf(found.id)}`)})`;
  return {
    splice: { at, length, text: known === alias ? rows : `${rows} AS ${quoteName(name)}` },
    parameters: found.parameters,
    table: table.storedAs,
    template: `SELECT 1 FROM ${rows} AS ${quoteName(known)}`,
    from,
  };
}

/** Number of rows in the second form's table, including deleted ones that still take up space. */
export async function rowsOf(connection: DuckDBConnection, { table }: Pick<ByHash, 'table'>): Promise<number> {
  const result = await connection.runAndReadAll(
    `SELECT estimated_size FROM duckdb_tables()
     WHERE database_name = ${quoteText(CATALOG)} AND schema_name = '_data' AND table_name = $1`,
    [table],
  );
  return Number(result.getRows()[0]?.[0] ?? 0);
}

/** Sorted names of a statement's parameters: they are numbered in order of use, which differs in the second form. */
function namesOfParameters(statement: Node): string[] {
  const map = Array.isArray(statement['named_param_map']) ? statement['named_param_map'] : [];
  return map.map((entry) => (isNode(entry) ? String(entry['key']) : '')).toSorted();
}

/**
 * Whether the second form, as the engine's parser reads it, equals the statement that the gate let through except for
 * the collection, and has in the collection's place what the parser makes of our own text.
 *
 * `passed`, `second` and `template` are statements as the parser returns them.
 */
export function isByHash(draft: ByHashDraft, passed: unknown, second: unknown, template: unknown): boolean {
  if (!isNode(passed) || !isNode(second) || !isNode(template)) return false;
  const [query, own] = [second['node'], template['node']];
  if (!isNode(query) || !isNode(own) || !isNode(own['from_table'])) return false;
  const before = { ...second, node: { ...query, from_table: draft.from }, named_param_map: namesOfParameters(second) };
  return (
    isSameTree(query['from_table'], own['from_table']) &&
    isSameTree(before, { ...passed, named_param_map: namesOfParameters(passed) })
  );
}
