import { type DuckDBConnection, VARCHAR } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import { resume } from '../connections/sessions.ts';
import { type Opened, serialize } from '../gate/parse.ts';
import { TABLE_KEYS } from '../gate/plain-read.ts';
import { CATALOG, foldName, ID_COLUMN, type Names, quoteName, quoteText, type ShownColumn } from '../sql/names.ts';
import { identifierAt } from '../sql/references.ts';
import { applySplices } from '../sql/splices.ts';
import { isNode, isSameTree, type Node, nodesIn } from '../sql/tree.ts';
import type { Typed } from '../values/typed-json.ts';

/**
 * A statement that asks one collection for the document with a given id is run with the collection replaced by the rows
 * that have this id (`NamedTable.lookup`). Everything that the caller wrote stays, conditions included; it merely
 * sees fewer rows.
 *
 * Wins: a document by its id 2.5 times in a million, in 200,000 nothing (`BENCH_DOCUMENTS=1000000 npm run bench -- p`).
 */
export interface Lookups {
  /**
   * What to run instead; undefined if it is not such a statement. An error of what is run instead is not in terms of
   * what was written: run that, then.
   */
  try(
    connection: DuckDBConnection,
    opened: Opened,
    values: ReadonlyMap<string, Typed>,
    signal: AbortSignal,
  ): Promise<Opened | undefined>;
}

/** A lookup that has yet to be checked (`isSameButForTable`). */
interface Draft {
  sql: string;
  /** The parameter that gives the id, if one does: it must be a text. */
  parameters: readonly string[];
  /** Counts the collection's rows. */
  size: string;
  /** A statement of our own that selects from the same subquery. */
  template: string;
  /** The collection in the statement's tree. */
  from: Node;
}

/** What is known of a statement. */
interface Known {
  /** Null if it is not a lookup. */
  draft: Draft | null;
  /** Its collection is believed to be too small until then, by `performance.now()`. */
  smallUntil: number;
  /**
   * What to run instead; null if the check said no, undefined before it. Once in a large collection, always: a lookup is
   * right in one of any size.
   */
  checked: Opened | null | undefined;
}

/** How long the size of a collection that is too small is believed. */
const SMALL_MS = 30_000;

/** A collection with at least `rowsMin` rows is large enough. */
export function createLookups(names: Names, rowsMin: number, shown?: ShownColumn): Lookups {
  const statements = new WeakMap<Opened, Known>();

  const knownOf = (opened: Opened) => {
    const found = statements.get(opened);
    if (found !== undefined) return found;
    const draft = opened.namesVersion === names.version ? draftLookup(opened, names, shown) : null;
    const made: Known = { draft, smallUntil: 0, checked: undefined };
    statements.set(opened, made);
    return made;
  };

  return {
    async try(connection, opened, values, signal) {
      const known = knownOf(opened);
      const { draft } = known;
      if (draft === null || !isText(draft.parameters, values)) return undefined;
      if (known.checked === undefined) {
        if (known.smallUntil > performance.now()) return undefined;
        if (rowsMin > 0 && (await sizeOf(connection, draft)) < rowsMin) {
          known.smallUntil = performance.now() + SMALL_MS;
          return undefined;
        }
        known.checked = await checkedLookup(connection, opened, draft, signal);
      }
      return known.checked ?? undefined;
    },
  };
}

async function sizeOf(connection: DuckDBConnection, { size }: Draft): Promise<number> {
  const result = await connection.runAndReadAll(size);
  return Number(result.getRows()[0]?.[0] ?? 0);
}

/** What a query may contain: anything else, such as a sample, could depend on rows that its WHERE leaves out. */
const QUERY_KEYS: ReadonlySet<string> = new Set(
  `type select_list from_table where_clause aggregate_handling group_expressions group_sets having qualify
  modifiers`.split(/\s+/),
);

const PARAMETER_NAME = /^(?:[A-Za-z_][A-Za-z0-9_]*|\d+)$/;

/**
 * Whether the values of these parameters are texts, without U+0000: a number could be the id of several documents, "7" and
 * "007".
 */
function isText(parameters: readonly string[], values: ReadonlyMap<string, Typed>): boolean {
  return parameters.every((name) => {
    const typed = values.get(name);
    return typeof typed?.value === 'string' && typed.type === VARCHAR && !typed.value.includes('\0');
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

/** Drafts the lookup of a statement that passed the gate; null if it is none. */
function draftLookup({ statement, passed }: Opened, names: Names, shown: ShownColumn | undefined): Draft | null {
  const { tree, tables, splices } = passed;
  if (statement.explain !== '' || !isNode(tree) || !isNode(tree['node'])) return null;
  const query = tree['node'];
  const from = query['from_table'];
  if (query['type'] !== 'SELECT_NODE' || !hasOnly(query, QUERY_KEYS) || query['where_clause'] === undefined)
    return null;
  if (!isNode(from) || from['type'] !== 'BASE_TABLE' || !hasOnly(from, TABLE_KEYS)) return null;
  const { query_location: at, table_name: name, schema_name: schema, alias } = from;
  if (typeof at !== 'number' || typeof name !== 'string' || typeof schema !== 'string') return null;
  const written = splices.get(at);
  const table = tables.find((one) => foldName(one.name) === foldName(name) && names.schemaOf(one.workspace) === schema);
  if (written === undefined || table?.lookup === undefined) return null;
  const known = typeof alias === 'string' && alias !== '' ? alias : name;
  if (table.columns().some((column) => foldName(column) === foldName(known))) return null;
  const found = conjunctsOf(query['where_clause']).flatMap((condition) => wantedBy(condition, known) ?? [])[0];
  if (found === undefined) return null;
  const schemas = new Set([table.workspace, schema, CATALOG].map(foldName));
  if (schemas.has(foldName(known)) || !isUnambiguous(query, schemas, found.parameters)) return null;
  const bytes = Buffer.from(statement.body);
  const length = lengthOf(bytes, at, name, written.length > 0);
  if (length === null) return null;
  const rows = `(${table.lookup.rows(found.id, shown)})`;
  const replaced = { at, length, text: known === alias ? rows : `${rows} AS ${quoteName(name)}` };
  return {
    sql: applySplices(bytes, [...new Map(splices).set(at, replaced).values()]).sql,
    parameters: found.parameters,
    size: table.lookup.size,
    template: `SELECT 1 FROM ${rows} AS ${quoteName(known)}`,
    from,
  };
}

/** The lookup of a statement, checked against what the engine's parser reads; null if it is not the same. */
async function checkedLookup(
  connection: DuckDBConnection,
  opened: Opened,
  draft: Draft,
  signal: AbortSignal,
): Promise<Opened | null> {
  try {
    // The tree of a known statement is not kept.
    const { tree, sql } = opened.passed;
    const passed = tree ?? (await serialize(connection, opened.statement, sql, signal)).statements?.[0];
    // Both in one text, since a call costs more than parsing a short text; our own comes first, so nothing can affect it.
    const text = `${draft.template};\n${draft.sql}`;
    const { statements = [] } = await serialize(connection, opened.statement, text, signal);
    const [own, second, ...more] = statements;
    if (more.length > 0 || !isSameButForTable(draft, passed, second, own)) return null;
    return { ...opened, passed: { ...opened.passed, sql: draft.sql } };
  } catch (error) {
    // With our own text, it may have too many parts.
    if (signal.aborted || !(error instanceof ApiError)) throw error;
    await resume(connection);
    return null;
  }
}

/** Sorted names of a statement's parameters: they are numbered in order of use, which differs in a lookup. */
function namesOfParameters(statement: Node): string[] {
  const map = Array.isArray(statement['named_param_map']) ? statement['named_param_map'] : [];
  return map.map((entry) => (isNode(entry) ? String(entry['key']) : '')).toSorted();
}

/**
 * Whether the lookup, as the engine's parser reads it, equals the statement that the gate let through except for the
 * collection, and has in the collection's place what the parser makes of our own text.
 *
 * `passed`, `second` and `template` are statements as the parser returns them.
 */
function isSameButForTable(draft: Draft, passed: unknown, second: unknown, template: unknown): boolean {
  if (!isNode(passed) || !isNode(second) || !isNode(template)) return false;
  const [query, own] = [second['node'], template['node']];
  if (!isNode(query) || !isNode(own) || !isNode(own['from_table'])) return false;
  const before = { ...second, node: { ...query, from_table: draft.from }, named_param_map: namesOfParameters(second) };
  return (
    isSameTree(query['from_table'], own['from_table']) &&
    isSameTree(before, { ...passed, named_param_map: namesOfParameters(passed) })
  );
}
