import { conditionIn, conjuncts } from '../sql/conditions.ts';
import { foldName, type NamedTable } from '../sql/names.ts';
import { constantOf, isNode, type Node, nodesIn, nodesOf, textOf, textsOf } from '../sql/tree.ts';
import { isField, leavesOf, type Origin, type Origins } from './field-origins.ts';
import type { Scope } from './node-scopes.ts';
import { fieldText } from './nulls.ts';
import { isUnnest, relationsIn } from './query-columns.ts';
import { castIn } from './text-casts.ts';

/*
 * Aggregates over one side of a join, which count a row of it once for each row of the other side that it meets.
 */

/** What a FROM joins. */
export interface JoinedSource {
  /** As the statement calls it. */
  name: string;
  /** A collection; undefined: a query, or a list's items. */
  table: NamedTable | undefined;
  /** The list whose items it has, and the place of the source that has the list. */
  list: { field: Origin; of: number } | undefined;
}

/** Fields of one source that are the same for all rows which are put together, or are told apart by their values. */
export interface JoinLink {
  /** The place of the source. */
  of: number;
  paths: readonly (readonly string[])[];
  /** The places of those that it is joined with; none: its values decide by themselves, as in GROUP BY. */
  with: readonly number[];
  /** The one field that its one field is the same as; undefined: there is more to it. */
  same: readonly string[] | undefined;
}

/** A condition on one source alone. */
export interface JoinFilter {
  /** The place of the source. */
  of: number;
  /** The engine's tree of it, as JSON, where a list's item is called `v`; undefined: it says nothing by itself. */
  tree: string | undefined;
}

/** An aggregate over one source of a join. */
export interface FanOut {
  call: string;
  /** What it is over, as SQL; undefined: it is no field. */
  written: string | undefined;
  /** The place of its source. */
  of: number;
  sources: readonly JoinedSource[];
  links: readonly JoinLink[];
  filters: readonly JoinFilter[];
  /** The places of those that WHERE asks to be missing, or to miss a field. */
  absent: readonly number[];
}

/** What of these is found in a statement. */
export interface FanOutUses {
  origins: Origins;
  fanOuts: FanOut[];
  joins: Map<Node, Join | undefined>;
}

/** The FROM of a SELECT, with what its conditions and GROUP BY say. */
interface Join {
  sources: (JoinedSource & { columns: readonly string[] })[];
  links: JoinLink[];
  filters: JoinFilter[];
  absent: readonly number[];
  grouped: readonly FieldAt[];
}

interface FieldAt {
  of: number;
  path: readonly string[];
}

const FOUND_MAX = 3;
const SOURCES_MAX = 8;
/** Longer conditions are not looked at. */
const FILTER_NODES_MAX = 500;
/** Those of which a row that comes twice makes another value. */
const COUNTS =
  /^(?:sum|avg|mean|count|fsum|favg|kahan_sum|median|product|stddev(?:_pop|_samp)?|var(?:_pop|_samp)|variance)$/;
/** Those that stay the same where all rows of a group are there equally often. */
const AVERAGES = /^(?:avg|mean|favg|median)$/;
const AGGREGATES =
  /^(?:count_star|min|max|any_value|first|last|list|array_agg|string_agg|group_concat|arg_(?:min|max)|(?:min|max)_by|mode|quantile.*|approx_.*|bool_.*)$/;

export function noteFanOut(walk: FanOutUses, node: Node, scope: Scope | undefined): void {
  const call = node['class'] === 'FUNCTION' ? foldName(textOf(node['function_name'])) : '';
  const select = scope?.select;
  if (select === undefined || !COUNTS.test(call) || node['distinct'] === true || walk.fanOuts.length >= FOUND_MAX)
    return;
  if (!isNode(select['from_table']) || select['from_table']['type'] !== 'JOIN') return;
  if (!walk.joins.has(select)) walk.joins.set(select, joinOf(walk.origins, select, scope));
  const join = walk.joins.get(select);
  const [value, ...more] = nodesOf(node['children']);
  if (join === undefined || value === undefined || more.length > 0) return;
  const fields = fieldsIn(value, join);
  const [first] = fields ?? [];
  if (fields === undefined || first === undefined || fields.some(({ of }) => of !== first.of)) return;
  // A value that is the same for all of a group is counted as often as it is met on purpose.
  const isGrouped = fields.every((field) => join.grouped.some((one) => isSame(one, field)));
  // What a statement begins with is meant to be there once; what it looks up is not.
  if (isGrouped || first.of === join.sources.length - 1) return;
  // An average within what is grouped by its own source weighs its rows on purpose, or has one.
  if (AVERAGES.test(call) && join.grouped.some(({ of }) => of === first.of)) return;
  const chosen = conjuncts(node['filter']);
  // Whoever chooses among the matches knows of them.
  if (chosen.some((condition) => knownIn(condition, join).some(({ of }) => of !== first.of))) return;
  const { sources, links, absent } = join;
  const filters = [...join.filters, ...chosen.map((one) => ({ of: first.of, tree: treeOf(one, join) }))];
  walk.fanOuts.push({ call, written: fieldText(value), of: first.of, sources, links, filters, absent });
}

const isSame = (one: FieldAt, other: FieldAt) =>
  one.of === other.of && one.path.map(foldName).join('\n') === other.path.map(foldName).join('\n');

/** Undefined: there is what is not known well enough. */
function joinOf(origins: Origins, select: Node, scope: Scope | undefined): Join | undefined {
  const join: Join = { sources: [], links: [], filters: [], absent: [], grouped: [] };
  const conditions: unknown[] = [select['where_clause']];
  if (!addSources(origins, select['from_table'], join, conditions, scope)) return undefined;
  for (const condition of conditions.flatMap(conjuncts)) addLinks(join, condition);
  join.absent = conjuncts(select['where_clause'])
    .filter(({ type }) => type === 'OPERATOR_IS_NULL')
    .flatMap((condition) => knownIn(condition, join).map(({ of }) => of));
  join.grouped = groupsOf(select, join).flatMap((one) => addTellers(join, one));
  return join;
}

function addSources(
  origins: Origins,
  from: unknown,
  join: Join,
  conditions: unknown[],
  scope: Scope | undefined,
): boolean {
  if (!isNode(from) || join.sources.length >= SOURCES_MAX) return false;
  if (from['type'] !== 'JOIN') return addSource(origins, from, join, scope);
  if (!/^(?:REGULAR|CROSS|)$/.test(textOf(from['ref_type']))) return false;
  if (!addSources(origins, from['left'], join, conditions, scope)) return false;
  // It only chooses rows of the left side.
  if (/^(?:SEMI|ANTI)$/.test(textOf(from['join_type']))) return true;
  const behind = join.sources.length;
  if (!addSources(origins, from['right'], join, conditions, scope)) return false;
  conditions.push(from['condition']);
  for (const name of textsOf(from['using_columns'])) {
    const has = join.sources.flatMap(({ columns }, at) => (columns.includes(foldName(name)) ? [at] : []));
    const [left, right] = [has.filter((at) => at < behind), has.filter((at) => at >= behind)];
    addSides(
      join,
      left.map((of) => ({ of, path: [name] })),
      right.map((of) => ({ of, path: [name] })),
    );
  }
  return true;
}

function addSource(origins: Origins, from: Node, join: Join, scope: Scope | undefined): boolean {
  const call = from['function'];
  const given = textsOf(from['column_name_alias']).map(foldName);
  const [relation] = relationsIn(from, origins);
  if (isNode(call)) {
    const name = textOf(from['alias']) || 'unnest';
    const columns = [given[0] ?? 'unnest'];
    const leaves = isUnnest(call) ? leavesOf(origins, nodesOf(call['children'])[0], scope) : [];
    const [field] = leaves;
    const [owner] = fieldsIn(nodesOf(call['children'])[0] ?? {}, join) ?? [];
    const isList = leaves.length === 1 && field !== undefined && isField(field) && owner !== undefined;
    join.sources.push({ name, columns, table: undefined, list: isList ? { field, of: owner.of } : undefined });
    return true;
  }
  if (relation === undefined) return false;
  const table = given.length > 0 ? undefined : origins.tables.get(from);
  const columns = (relation.columns ?? []).map(foldName);
  join.sources.push({ name: textOf(from['alias']) || textOf(from['table_name']), columns, table, list: undefined });
  return true;
}

function addLinks(join: Join, condition: Node): void {
  const { x, by, others: [other] = [] } = conditionIn(condition) ?? {};
  const [left, right] = by === '=' ? [x, other].map((side) => (isNode(side) ? fieldsIn(side, join) : undefined)) : [];
  if (left?.length && right?.length && !left.some(({ of }) => right.some((one) => one.of === of))) {
    const isPlain = [x, other].every((side) => isNode(side) && isColumn(side));
    addSides(join, left, right, isPlain);
    return;
  }
  const [first, ...more] = knownIn(condition, join);
  if (first !== undefined && more.every(({ of }) => of === first.of))
    join.filters.push({ of: first.of, tree: treeOf(condition, join) });
  // What decides in another way tells rows apart as well as its fields do.
  else addTellers(join, condition);
}

/** The tree of a condition on one source, which can be put to its rows; undefined: there is what they do not have. */
function treeOf(condition: Node, join: Join): string | undefined {
  let size = 0;
  for (const node of nodesIn(condition)) {
    size += 1;
    if (size > FILTER_NODES_MAX || node['class'] === 'PARAMETER') return undefined;
  }
  const fields = fieldsIn(condition, join);
  if (fields === undefined || fields.some(({ of, path }) => path.length === 0 && !join.sources[of]?.list))
    return undefined;
  return JSON.stringify(condition, (key, value) => {
    if (key === 'query_location') return undefined;
    if (!isNode(value)) return value;
    // The tree has no value for an empty text.
    if (value['is_null'] === false) return { value: '', ...value };
    const field = value['class'] === 'COLUMN_REF' ? fieldAt(textsOf(value['column_names']), join) : undefined;
    if (field === undefined) return value;
    const names = join.sources[field.of]?.list === undefined ? field.path : ['v', ...field.path];
    return { class: 'COLUMN_REF', type: 'COLUMN_REF', column_names: names };
  });
}

function addTellers(join: Join, expression: Node): FieldAt[] {
  const fields = knownIn(expression, join);
  join.links.push(...fields.map(({ of, path }) => ({ of, paths: [path], with: [], same: undefined })));
  return fields;
}

/** Those fields of an expression that are known. */
const knownIn = (expression: Node, join: Join): FieldAt[] =>
  [...nodesIn(expression)].flatMap((node) =>
    node['class'] === 'COLUMN_REF' ? (fieldAt(textsOf(node['column_names']), join) ?? []) : [],
  );

const isColumn = (node: Node): boolean => {
  const inner = castIn(node)?.operand;
  return isNode(inner) ? isColumn(inner) : node['class'] === 'COLUMN_REF';
};

function addSides(join: Join, left: readonly FieldAt[], right: readonly FieldAt[], isPlain = true): void {
  for (const [own, others] of [
    [left, right],
    [right, left],
  ] as const) {
    const [first] = own;
    if (first === undefined || own.some(({ of }) => of !== first.of)) continue;
    const isOne = isPlain && own.length === 1 && others.length === 1;
    const places = [...new Set(others.map(({ of }) => of))];
    const same = isOne ? others[0]?.path : undefined;
    join.links.push({ of: first.of, paths: own.map(({ path }) => path), with: places, same });
  }
}

/** What rows are grouped by. */
function groupsOf(select: Node, join: Join): Node[] {
  const items = nodesOf(select['select_list']);
  const isOfRows = (item: Node) =>
    ![...nodesIn(item)].some((one) => isAggregate(foldName(textOf(one['function_name']))));
  if (select['aggregate_handling'] === 'FORCE_AGGREGATES') return items.filter(isOfRows);
  return nodesOf(select['group_expressions']).map((one) => {
    const item: Node | undefined = items[Number(constantOf(one)) - 1];
    const [name = '', ...more] = textsOf(one['column_names']);
    const isAlias = more.length === 0 && fieldAt([name], join) === undefined;
    const meant = isAlias ? items.find(({ alias }) => foldName(textOf(alias)) === foldName(name)) : undefined;
    return item ?? meant ?? one;
  });
}

const isAggregate = (call: string) => COUNTS.test(call) || AGGREGATES.test(call);

/** The fields of an expression; undefined: one is not known, or of another query. */
function fieldsIn(expression: Node, join: Join): FieldAt[] | undefined {
  const fields: FieldAt[] = [];
  for (const node of nodesIn(expression)) {
    if (node['class'] === 'SUBQUERY' || node['class'] === 'LAMBDA' || node['class'] === 'STAR') return undefined;
    if (node['class'] !== 'COLUMN_REF') continue;
    const field = fieldAt(textsOf(node['column_names']), join);
    if (field === undefined) return undefined;
    fields.push(field);
  }
  return fields;
}

function fieldAt(names: readonly string[], { sources }: Pick<Join, 'sources'>): FieldAt | undefined {
  const folded = names.map(foldName);
  const own = sources.flatMap(({ name }, of) => (names.length > 1 && foldName(name) === folded[0] ? [of] : []));
  const all =
    own.length > 0 ? own : sources.flatMap(({ columns }, of) => (columns.includes(folded[0] ?? '') ? [of] : []));
  // The items of a list are called as their table is.
  const items = all.length === 0 ? sources.findIndex(({ name, list }) => list && foldName(name) === folded[0]) : -1;
  const [of = items, ...others] = all;
  const source = sources[of];
  if (source === undefined || others.length > 0) return undefined;
  const path = own.length > 0 || items >= 0 ? names.slice(1) : names;
  const isItem = source.list !== undefined && source.columns.includes(foldName(path[0] ?? ''));
  return { of, path: isItem ? path.slice(1) : path };
}
