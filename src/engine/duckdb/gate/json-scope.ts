import { foldName, type NamedTable } from '../sql/names.ts';
import { isNode, type Node, nodesOf, textsOf } from '../sql/tree.ts';
import { type Found, keyOf, type Relation, type Scope } from './json-lookup.ts';
import { foundIn, functionOf, itemOf } from './json-values.ts';
import type { References } from './passed.ts';

/** The columns that a query returns and the scopes of its names, as far as JSON fields are concerned. */

interface Walk {
  references: References;
  /** Of collections and aliases, and of the entries of WITH. */
  relations: Map<unknown, Pick<Relation, 'columns' | 'isOpen'>>;
  /** Visits anything that is not a query itself. */
  visit(value: unknown, scope: Scope): void;
}

/** The columns of a query in order. */
interface Outputs {
  columns: [name: string, found: Found | null][];
  isOpen: boolean;
}

/** Further columns of a query are ignored; a join of many collections has the columns of all of them. */
const COLUMNS_MAX = 1_024;
const UNKNOWN: Outputs = { columns: [], isOpen: true };
const NOTHING: Pick<Relation, 'columns' | 'isOpen'> = { columns: new Map(), isOpen: true };
export const NO_SCOPE: Scope = { relations: [], outer: null };

export const isColumn = (value: unknown): value is Node => isNode(value) && value['class'] === 'COLUMN_REF';

/** For collections, whose objects never change: other columns mean another object. */
const known = new WeakMap<NamedTable, Relation>();

function tableRelation(table: NamedTable): Relation {
  const before = known.get(table);
  if (before !== undefined) return before;
  const json = table.jsonFields?.();
  const of = table.shownAs ?? `${table.workspace}.${table.name}`;
  const columns = table.columns().map((path): [string, Found | null] => {
    const field = json?.get(foldName(path));
    return [foldName(path), field === undefined ? null : { path, table: of, json: field }];
  });
  const relation = relationOf({ columns, isOpen: false });
  if (table.kind === 'collection') known.set(table, relation);
  return relation;
}

/** What a BASE_TABLE names. */
function relationNamed({ references, relations }: Walk, node: Node): Pick<Relation, 'columns' | 'isOpen'> | undefined {
  const table = references.tables.get(node);
  if (table === undefined) return relations.get(references.queries.get(node));
  const relation = relations.get(table) ?? tableRelation(table);
  relations.set(table, relation);
  return relation;
}

/** The scope inside a lambda, whose parameters hide columns; the first parameter is `item`. */
export function inLambda(parameters: unknown, outer: Scope, item: Found | null): Scope {
  const columns = isColumn(parameters) ? [parameters] : isNode(parameters) ? nodesOf(parameters['children']) : [];
  const names = columns.flatMap((column) => textsOf(column['column_names']));
  const found = names.map((name, at): [string, Found | null] => [foldName(name), at === 0 ? item : null]);
  return { ...outer, relations: [relationOf({ columns: found, isOpen: false })], outer };
}

function relationOf({ columns, isOpen }: Outputs, names: readonly string[] = []): Relation {
  return { names, columns: new Map(columns), isOpen };
}

/** Visits the expressions of a query, each in its scope. */
export function visitQuery(walk: Walk, node: Node, scope: Scope): Outputs {
  for (const entry of nodesOf(isNode(node['cte_map']) ? node['cte_map']['map'] : [])) {
    const value = isNode(entry['value']) ? entry['value'] : {};
    const outputs = visitBody(walk, value['query'], scope);
    walk.relations.set(entry, relationOf(value['aliases'] === undefined ? outputs : UNKNOWN));
  }
  if (node['type'] === 'SELECT_NODE') return visitSelect(walk, node, scope);
  const outputs = visitBody(walk, { node: node['left'] }, scope);
  visitBody(walk, { node: node['right'] }, scope);
  if (node['type'] !== 'SET_OPERATION_NODE') return UNKNOWN;
  const named = { ...scope, relations: [relationOf(outputs)], outer: null };
  visitModifiers(walk, node, { scope: named, named, outputs });
  return outputs;
}

/** Visits a query nested in a statement, under `node`. */
function visitBody(walk: Walk, statement: unknown, scope: Scope): Outputs {
  const node = isNode(statement) ? statement['node'] : undefined;
  return isNode(node) ? visitQuery(walk, node, scope) : UNKNOWN;
}

function visitSelect(walk: Walk, node: Node, outer: Scope): Outputs {
  const expressions: unknown[] = [];
  const scope: Scope = { ...outer, relations: relationsIn(walk, node['from_table'], outer, expressions), outer };
  const list = nodesOf(node['select_list']);
  const outputs = outputsOf(list, scope);
  const aliases = new Set(list.map(({ alias }) => foldName(String(alias ?? ''))));
  const columns = outputs.columns.filter(([name]) => aliases.has(name));
  // For places in which an alias takes precedence over a column with its name.
  const named = { ...scope, relations: [relationOf({ columns, isOpen: false })], outer: scope };
  walk.visit([...expressions, list, node['where_clause'], node['group_expressions']], scope);
  walk.visit([node['having'], node['qualify']], named);
  visitModifiers(walk, node, { scope, named, outputs });
  return outputs;
}

/** In ORDER BY a name alone is an alias first, and a number stands for a column; neither inside an expression. */
function visitModifiers(
  walk: Walk,
  node: Node,
  { scope, named, outputs: { columns, isOpen } }: { scope: Scope; named: Scope; outputs: Outputs },
): void {
  for (const modifier of nodesOf(node['modifiers'])) {
    if (modifier['type'] !== 'ORDER_MODIFIER') walk.visit(modifier, scope);
    else {
      for (const order of nodesOf(modifier['orders'])) {
        const by = order['expression'];
        const number = isNode(by) && isNode(by['value']) ? Number(by['value']['value']) : 0;
        const column = isOpen ? undefined : columns[number - 1];
        if (column === undefined) walk.visit(order, isColumn(by) ? named : scope);
        else {
          const relations = [relationOf({ columns: [column], isOpen: false })];
          const expression = { class: 'COLUMN_REF', column_names: [column[0]] };
          walk.visit({ ...order, expression }, { ...NO_SCOPE, relations });
        }
      }
    }
  }
}

function outputsOf(list: readonly Node[], scope: Scope): Outputs {
  const outputs: Outputs = { columns: [], isOpen: false };
  for (const column of list) {
    if (column['class'] === 'STAR') addStar(outputs, column, scope);
    else {
      const path = isColumn(column) ? textsOf(column['column_names']) : [];
      const name = String(column['alias'] ?? path.at(-1) ?? '');
      outputs.columns.push([foldName(name), foundIn(column, scope)]);
    }
  }
  return outputs;
}

/** Adds the columns of `*`, of all relations or of one, without those that it excludes or replaces. */
function addStar(outputs: Outputs, star: Node, { relations }: Scope): void {
  const of = foldName(String(star['relation_name'] ?? ''));
  const without = new Set(textsOf(star['exclude_list']).map(foldName));
  const replaced = new Set(nodesOf(star['replace_list']).map(({ key }) => foldName(String(key))));
  // An unknown form of `*` could have any columns.
  const known = ['class', 'type', 'relation_name', 'exclude_list', 'replace_list', 'query_location'];
  if (!Object.keys(star).every((key) => known.includes(key))) outputs.isOpen = true;
  for (const { names, columns, isOpen } of relations) {
    if (of !== '' && !names.includes(of)) continue;
    outputs.isOpen ||= isOpen || outputs.columns.length > COLUMNS_MAX;
    if (outputs.columns.length > COLUMNS_MAX) return;
    for (const [name, found] of columns) {
      if (!without.has(name)) outputs.columns.push([name, replaced.has(name) ? null : found]);
    }
  }
}

/** What FROM names; its expressions are added to `expressions`. */
function relationsIn(walk: Walk, from: unknown, scope: Scope, expressions: unknown[]): Relation[] {
  if (!isNode(from) || from['type'] === 'EMPTY') return [];
  const name = String(from['table_name'] ?? '');
  const alias = String(from['alias'] ?? name);
  const named = (relation: Pick<Relation, 'columns' | 'isOpen'> = NOTHING, ...more: string[]): Relation[] => {
    const known = from['column_name_alias'] === undefined ? relation : NOTHING;
    return [{ ...known, names: [foldName(alias), ...more] }];
  };
  if (from['type'] === 'JOIN') {
    const using = textsOf(from['using_columns']).map((column) => ({ class: 'COLUMN_REF', column_names: [column] }));
    expressions.push(from['condition'], { class: 'COMPARISON', children: using });
    const left = relationsIn(walk, from['left'], scope, expressions);
    // The right side of a join may name what comes before it.
    return [...left, ...relationsIn(walk, from['right'], { ...scope, relations: left, outer: scope }, expressions)];
  }
  if (from['type'] === 'SUBQUERY') return named(relationOf(visitBody(walk, from['subquery'], scope)));
  if (from['type'] === 'BASE_TABLE') {
    const schema = from['schema_name'];
    const isPlain = schema !== undefined && alias === name;
    return named(relationNamed(walk, from), ...(isPlain ? [keyOf(schema, name)] : []));
  }
  expressions.push(from['function'], from['values']);
  const [list, ...more] = isNode(from['function']) ? nodesOf(from['function']['children']) : [];
  if (!isNode(from['function']) || functionOf(from['function']) !== 'unnest' || more.length > 0) return named();
  const [column = 'unnest', ...others] = textsOf(from['column_name_alias']);
  const columns = [column, ...others].map((one, at): [string, Found | null] => {
    return [foldName(one), at === 0 ? itemOf(list, scope) : null];
  });
  return [relationOf({ columns, isOpen: false }, [foldName(alias)])];
}
