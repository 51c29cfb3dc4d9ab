import { nearest } from '../../../contract/nearest.ts';
import { STRAYS_COLUMN, stepsOf } from '../../../contract/strays.ts';
import { foldName, ITEM, isMapField, type JsonField, type NamedTable, quoteName } from '../sql/names.ts';
import { constantOf, constantText, isNode, type Node, nodesIn, nodesOf, textOf, textsOf } from '../sql/tree.ts';
import type { PlainRead } from './plain-read.ts';

/**
 * The fields that a statement computes with, by their names alone: whichever table of the statement has a field of a name
 * counts as read, so that none is missed.
 */
export interface FieldReads {
  /** As the SQL writes them: names, and keys in brackets; and the same without the name of a table before them. */
  paths: readonly (readonly string[])[];
  /** Something may read any field: `*`, a table as a whole, PIVOT. */
  all: boolean;
  /** Of the paths those whose values are compared, sorted or given to a function that knows no JSON. */
  compared: readonly (readonly string[])[];
  /** All paths, also of what is only shown, as far as some field has a second spelling. */
  named: readonly (readonly string[])[];
  /** The columns, folded, whose values that do not fit it reads, or all: whoever wrote it knows of those. */
  readStrays: ReadonlySet<string> | 'all';
}

interface Walk {
  /** By path, joined. */
  paths: Map<string, readonly string[]>;
  compared: Map<string, readonly string[]>;
  all: boolean;
  /** Names of the statement's tables, folded: each alone means all of its columns. */
  tables: ReadonlySet<string>;
  /** Those of their columns, folded. */
  columns: ReadonlySet<string>;
  /** The columns of each, folded, by what it is called in the statement. */
  columnsOf: ReadonlyMap<string, ReadonlySet<string>>;
  /** Stars that only pass columns on, to a query that names those that it reads. */
  passing: ReadonlySet<Node>;
}

/** Kinds of FROM, and of columns, that read columns without naming them. */
const WHOLE: ReadonlySet<string> = new Set(['PIVOT', 'SHOW_REF', 'POSITIONAL_REFERENCE', 'STAR']);
/** Functions that take JSON as what it is, or only pass it on. */
const KNOWING = /^json|to_json$|^from_json|^count/;
const KNOWING_NAMES: ReadonlySet<string> = new Set(
  '-> ->> typeof pg_typeof any_value arbitrary first last lag lead first_value last_value nth_value list array_agg list_value struct_pack row map unnest hash'.split(
    ' ',
  ),
);
const PASSING: ReadonlySet<string> = new Set(['CASE_EXPR', 'OPERATOR_COALESCE', 'OPERATOR_NULLIF', 'OPERATOR_TRY']);

const NOTHING: FieldReads = { paths: [], all: false, compared: [], named: [], readStrays: new Set() };

const hasSpellings = (table: NamedTable) =>
  (table.behind?.() ?? [table]).some(({ spellings }) => spellings !== undefined && spellings.length > 0);

/** Whether there is anything to say of a table's fields. */
function mayWarn(table: NamedTable): boolean {
  const hasStrays = (table.behind?.() ?? [table]).some(({ strays }) => strays !== undefined && strays.size > 0);
  return hasStrays || hasSpellings(table) || (table.jsonFields?.().size ?? 0) > 0;
}

/**
 * `plain`: the select list shows what the documents have, but for what it computes. Tables of which there is nothing to say
 * are not read.
 */
export function fieldReads(
  tree: unknown,
  tables: ReadonlyMap<Node, NamedTable>,
  plain: Pick<PlainRead, 'computed'> | null,
): FieldReads {
  if (![...tables.values()].some(mayWarn)) return NOTHING;
  const inner = innerQueries(tree);
  const named = [...tables].flatMap(([node, { name }]) => [textOf(node['alias']), name]);
  const passing = new Set(inner.flatMap(({ stars }) => stars));
  if (passing.size > 0) named.push(...inner.map(({ name }) => name));
  const columnsOf = new Map(
    [...tables].map(([node, table]) => [
      foldName(textOf(node['alias']) || table.name),
      new Set(table.columns().map(foldName)),
    ]),
  );
  const columns = new Set([...columnsOf.values()].flatMap((own) => [...own]));
  const newWalk = (): Walk => ({
    paths: new Map(),
    compared: new Map(),
    all: false,
    tables: new Set(named.map(foldName)),
    columns,
    columnsOf,
    passing,
  });
  const walk = newWalk();
  const query = isNode(tree) && isNode(tree['node']) ? tree['node'] : {};
  visit(walk, plain ? { ...query, select_list: [...plain.computed, ...usedAgain(query)] } : query, false);
  for (let level = 0; level < SORTED_LEVELS; level++) visitSorted(walk, query);
  const whole = plain ? newWalk() : walk;
  if (plain && [...tables.values()].some(hasSpellings)) visit(whole, query, false);
  const paths = [...walk.paths.values()];
  return {
    paths,
    all: walk.all,
    compared: [...walk.compared.values()],
    named: [...whole.paths.values()],
    readStrays: straysIn(query),
  };
}

interface InnerQuery {
  name: string;
  /** Those that only pass columns on under their own names. */
  stars: Node[];
}

/** The queries of WITH and of FROM, by the names that they have there. */
function innerQueries(tree: unknown): InnerQuery[] {
  const found: InnerQuery[] = [];
  const add = (name: string, query: unknown, aliases: unknown) => {
    const inner = isNode(query) && isNode(query['node']) ? query['node'] : query;
    if (isNode(inner)) found.push({ name, stars: textsOf(aliases).length > 0 ? [] : passingStars(inner) });
  };
  for (const node of nodesIn(tree)) {
    const ctes = isNode(node['cte_map']) ? nodesOf(node['cte_map']['map']) : [];
    for (const { key, value } of ctes) if (isNode(value)) add(textOf(key), value['query'], value['aliases']);
    if (node['type'] === 'SUBQUERY' && node['class'] === undefined)
      add(textOf(node['alias']), node['subquery'], node['column_name_alias']);
  }
  return found;
}

/** The star of `SELECT *`, unless something is done with all columns. */
function passingStars(query: Node): Node[] {
  const isPlain =
    query['type'] === 'SELECT_NODE' &&
    query['aggregate_handling'] !== 'FORCE_AGGREGATES' &&
    !nodesOf(query['modifiers']).some(({ type }) => type === 'DISTINCT_MODIFIER') &&
    !sortedBy(query).some((one) => one['class'] === 'STAR' || constantOf(one) !== undefined);
  return isPlain ? nodesOf(query['select_list']).filter(isPlainStar) : [];
}

const isPlainStar = (item: Node) =>
  item['class'] === 'STAR' &&
  textOf(item['relation_name']) === '' &&
  item['columns'] !== true &&
  !isNode(item['expr']) &&
  nodesOf(item['rename_list']).length === 0;

/** The columns whose values that do not fit are read: of those within a call, which its texts name, and all of those without. */
function straysIn(query: Node): FieldReads['readStrays'] {
  const isStrays = (node: Node) => columnIn(node).some((name) => foldName(name) === STRAYS_COLUMN);
  const within = new Set<Node>();
  const columns = new Set<string>();
  for (const node of nodesIn(query)) {
    const isWithin = node['class'] === 'FUNCTION' || node['type'] === 'OPERATOR_IS_NOT_NULL';
    const children = isWithin ? nodesOf(node['children']) : [];
    if (children.some(isStrays)) {
      for (const child of children) {
        within.add(child);
        const place = placeIn(child);
        if (place !== undefined) columns.add(foldName(stepsOf(place)[0]?.replace(QUOTED, '$1') ?? ''));
      }
    } else if (isStrays(node) && !within.has(node)) return 'all';
  }
  return columns;
}

/** The place that a text names, or the beginning of one that is put together: `'r/' || i || '/v'`. */
function placeIn(node: Node): string | undefined {
  const whole = constantText(node)?.replace(PATH_START, '');
  if (whole !== undefined) return whole;
  let first: Node | undefined = node;
  while (first !== undefined && constantText(first) === undefined) [first] = nodesOf(first['children']);
  const begun = constantText(first)?.replace(PATH_START, '');
  // Without the slash, the name of the column may go on.
  return begun?.includes('/') ? begun : undefined;
}

/** A place may be written as a JSON pointer, and as a path. */
const PATH_START = /^(?:\/|\$\.)/;
const QUOTED = /^"(.*)"$/s;

/** What a plain read computes with though it is in the select list: by its alias, or the number that it is sorted by. */
function usedAgain(query: Node): Node[] {
  const list = nodesOf(query['select_list']);
  const modifiers = nodesOf(query['modifiers']);
  const names = new Set<string>();
  for (const node of nodesIn([modifiers, query['where_clause']])) {
    const [name] = columnIn(node);
    if (name !== undefined) names.add(foldName(name));
  }
  const sorted = sortedBy(query).map(constantOf);
  // A star stands for any number of columns.
  const star = list.findIndex((item) => item['class'] === 'STAR');
  return list.filter((item, at) => {
    const isNumbered =
      sorted.includes(at + 1) || (star >= 0 && star <= at && sorted.some((number) => Number(number) > star));
    return isNumbered || names.has(foldName(textOf(item['alias'])));
  });
}

/** The expressions that a query is sorted by. */
function sortedBy(query: Node): Node[] {
  const orders = nodesOf(query['modifiers']).flatMap((one) => nodesOf(one['orders']));
  return orders.flatMap(({ expression }) => (isNode(expression) ? [expression] : []));
}

/** Queries around one another of which the outer ones compare what the inner ones only show, under another name. */
const SORTED_LEVELS = 3;

/** What is compared though it is only shown: by its number or alias in ORDER BY, and by its alias elsewhere. */
function visitSorted(walk: Walk, query: Node): void {
  const names = new Set(
    [...walk.compared.values()].flatMap(([name, ...more]) => (more.length > 0 ? [] : [foldName(name ?? '')])),
  );
  for (const node of nodesIn(query)) {
    const list = nodesOf(node['select_list']);
    const by = sortedBy(node);
    const isAll = by.some((one) => one['class'] === 'STAR');
    const numbers = new Set(by.map((one) => Number(constantOf(one) ?? Number.NaN)));
    for (const [at, item] of list.entries()) {
      if (isAll || numbers.has(at + 1) || names.has(foldName(textOf(item['alias'])))) visit(walk, item, true);
    }
  }
}

function visit(walk: Walk, value: unknown, isCompared: boolean): void {
  if (Array.isArray(value)) for (const item of value) visit(walk, item, isCompared);
  if (!isNode(value)) return;
  const path = pathOf(value);
  if (path !== undefined) {
    note(walk, path, isCompared);
    return;
  }
  // The names of columns may be other ones here.
  const isRenamed = value['type'] === 'BASE_TABLE' && textsOf(value['column_name_alias']).length > 0;
  const isWhole = WHOLE.has(textOf(value['type'])) && !walk.passing.has(value);
  if (isRenamed || isWhole || value['ref_type'] === 'NATURAL') walk.all = true;
  for (const name of textsOf(value['using_columns'])) note(walk, [name], true);
  const inner = comparesIn(value, isCompared);
  const chained = columnIn(value);
  if (chained.length > 0) note(walk, chained, inner);
  for (const child of Object.values(value)) if (typeof child === 'object') visit(walk, child, inner);
}

function note(walk: Walk, path: readonly string[], isCompared: boolean): void {
  const isTable = (name: string | undefined) => walk.tables.has(foldName(name ?? ''));
  // Where a table has a column of its own name, `t.t` is that column and no field within it.
  const [first = '', second = ''] = path.map(foldName);
  const from = walk.columnsOf.get(first)?.has(second) ? 1 : 0;
  for (let at = from; at < Math.min(3, path.length); at++) {
    // A name before it may be that of a join, or of a subquery, if it is no column.
    if (at > 0 && !isTable(path[at - 1]) && walk.columns.has(foldName(path[0] ?? ''))) continue;
    const own = path.slice(at);
    const key = JSON.stringify(own);
    const known = walk.paths.get(key) ?? own;
    walk.paths.set(key, known);
    if (isCompared) walk.compared.set(key, known);
  }
  if (path.length <= 2 && isTable(path.at(-1))) walk.all = true;
}

/**
 * The names of the column that a node is, or that a call is chained to: the parser reads those of `e.n.max()` as a catalog
 * and a schema. Empty if there is none.
 */
function columnIn(node: Node): string[] {
  if (node['class'] === 'COLUMN_REF') return textsOf(node['column_names']);
  if (node['class'] !== 'FUNCTION') return [];
  const names = [node['catalog'], node['schema']].map(textOf).filter((name) => name !== '');
  // The parser's own calls, such as that of a list in brackets.
  return names.join('.') === 'main' ? [] : names;
}

/** The names of a field: those of a column, and then constant keys in brackets. */
function pathOf(node: Node): string[] | undefined {
  if (node['class'] === 'COLUMN_REF') return columnIn(node);
  const type = textOf(node['type']);
  const isAccess = type === 'ARRAY_EXTRACT' || type === 'STRUCT_EXTRACT';
  const call = foldName(textOf(node['function_name']));
  if (!isAccess && call !== 'struct_extract' && call !== 'array_extract') return undefined;
  const [of, key] = nodesOf(node['children']);
  const path = of && pathOf(of);
  const step = constantText(key) ?? (constantOf(key) === undefined ? undefined : ITEM);
  return path === undefined || step === undefined ? undefined : [...path, step];
}

/** Whether what is directly in a node is compared, sorted or computed with. */
function comparesIn(node: Node, isCompared: boolean): boolean {
  const kind = textOf(node['class']);
  const type = textOf(node['type']);
  if (kind === 'COMPARISON' || kind === 'BETWEEN' || kind === 'CONJUNCTION') return true;
  if (kind === 'OPERATOR' && type.startsWith('COMPARE_')) return true;
  if (kind === '' && node['expression'] !== undefined) return true;
  // The text of JSON has quotes around a text.
  if (kind === 'CAST' && isNode(node['cast_type']) && node['cast_type']['id'] === 'VARCHAR') return isCompared;
  // The branches of CASE are nodes of no kind.
  if (kind === 'CASE' || PASSING.has(type) || (kind === '' && type === '')) return isCompared;
  if (kind !== 'FUNCTION' && kind !== 'WINDOW') return false;
  const name = foldName(textOf(node['function_name']));
  return !KNOWING_NAMES.has(name) && !KNOWING.test(name);
}

/** Whether a statement may read a column, or a part of it. */
export function mayRead({ paths, all }: FieldReads, column: string): boolean {
  return all || paths.some(([first = '']) => foldName(first) === foldName(column));
}

const WARNINGS_MAX = 5;

/** Warnings about JSON that is compared, and about keys that no document has. */
export function readWarnings(reads: FieldReads, tables: readonly NamedTable[]): string[] {
  const warnings = new Set<string>();
  for (const table of tables) {
    const fields = table.jsonFields?.();
    if (fields === undefined || fields.size === 0) continue;
    const of = table.shownAs ?? `${table.workspace}.${table.name}`;
    const compared = new Set(reads.compared);
    for (const path of reads.paths) {
      const found = stepsInto(fields, path);
      if (found === undefined) continue;
      if (found.key !== undefined) warnings.add(unknownKey(found.path, of, found.key, found.keys));
      else if (compared.has(path)) warnings.add(comparedJson(found.path, of));
    }
  }
  const list = [...warnings];
  const rest = list.length - WARNINGS_MAX;
  return rest > 0 ? [...list.slice(0, WARNINGS_MAX), `${rest} more warnings of this kind are left out.`] : list;
}

type Stepped =
  | { path: readonly string[]; key?: undefined }
  | { path: readonly string[]; key: string; keys: ReadonlySet<string> };

/** Goes along a path: to a field that is JSON, or to a key that a map has in no document. */
function stepsInto(fields: ReadonlyMap<string, JsonField>, path: readonly string[]): Stepped | undefined {
  let field = fields.get(foldName(path[0] ?? ''));
  for (let at = 1; field !== undefined; at++) {
    const before = path.slice(0, at);
    if (field === 'json') return { path: before };
    const step = path[at];
    if (step === undefined) return undefined;
    if (isMapField(field)) {
      if (step === ITEM) return undefined;
      if (field.keys !== undefined && !field.keys.has(step)) return { path: before, key: step, keys: field.keys };
      field = field.values ?? undefined;
    } else field = field.get(step === ITEM ? ITEM : foldName(step));
  }
  return undefined;
}

/** Whether the last name of a path is a key of a map, where letter case counts. */
export function isMapKey(fields: ReadonlyMap<string, JsonField>, path: readonly string[]): boolean {
  let field = fields.get(foldName(path[0] ?? ''));
  for (const step of path.slice(1, -1)) {
    if (field === undefined || field === 'json') return false;
    field = isMapField(field) ? (field.values ?? undefined) : field.get(step === ITEM ? ITEM : foldName(step));
  }
  return field !== undefined && field !== 'json' && isMapField(field);
}

const shown = (path: readonly string[]) =>
  path
    .map((step, at) =>
      step === ITEM ? '[1]' : `${at === 0 ? '' : '.'}${/^[A-Za-z_]\w*$/.test(step) ? step : quoteName(step)}`,
    )
    .join('');

function comparedJson(path: readonly string[], of: string): string {
  const x = shown(path);
  return `${x} of ${of} is JSON, since its values have no type in common: it compares and sorts by its text, and functions see that text. TRY_CAST(${x}->>'$' AS DOUBLE) is the number, (${x}->>'$') the text, (${x}->>0) the first item.`;
}

const KEY_CHARS_MAX = 100;

function unknownKey(path: readonly string[], of: string, key: string, keys: ReadonlySet<string>): string {
  const near = nearest(key, keys).map((one) => JSON.stringify(one));
  const hint = near.length > 0 ? `Did you mean ${near.join(' or ')}?` : 'map_keys() lists those that a document has.';
  return `${shown(path)} of ${of} is a map, and no document has had the key ${JSON.stringify(key.slice(0, KEY_CHARS_MAX))} in it: it is NULL. ${hint}`;
}
