import { foldName, ID_COLUMN, type NamedTable } from '../sql/names.ts';
import { constantOf, constantText, isNode, type Node, nodesIn, nodesOf, textOf, textsOf } from '../sql/tree.ts';

/** A field of text whose values are put in order as text, which for numbers and for most spellings of days is another one. */
export interface TextOrder {
  table: NamedTable;
  /** The field in it. */
  path: readonly string[];
  /** As the statement has it. */
  written: readonly string[];
  /** What it is compared with; undefined: its values with one another, by ORDER BY, min or max. */
  other: { text: string } | { parameter: string } | undefined;
}

const ORDERS_MAX = 3;
const BY_ORDER = /^(?:min|max|arg_min|arg_max|min_by|max_by|greatest|least)$/;
const IS_ORDER = /^COMPARE_(?:GREATERTHAN|LESSTHAN)/;

/** The fields of text that a statement orders. Whether that is another order than is meant, only their values say. */
export function textOrders(tree: unknown, tables: readonly NamedTable[]): TextOrder[] {
  const found: TextOrder[] = [];
  const aliases = new Set<string>();
  const all = [...nodesIn(tree)];
  for (const { alias } of all) if (typeof alias === 'string') aliases.add(foldName(alias));
  const note = (node: unknown, other: TextOrder['other']) => {
    const written = isNode(node) && node['class'] === 'COLUMN_REF' ? textsOf(node['column_names']) : [];
    // What has the name of a field may be something that is computed.
    const isComputed = written.length === 1 && aliases.has(foldName(written[0] ?? ''));
    const field = isComputed ? undefined : fieldOfText(written, tables);
    // Ids are sorted for some order, whichever.
    const isNew =
      field !== undefined &&
      foldName(field.path[0] ?? '') !== ID_COLUMN &&
      !found.some((one) => one.path.join('.') === field.path.join('.'));
    if (isNew && found.length < ORDERS_MAX) found.push({ ...field, written, other });
  };
  for (const node of all) {
    if (BY_ORDER.test(foldName(textOf(node['function_name'])))) note(nodesOf(node['children']).at(-1), undefined);
    const items = nodesOf(node['select_list']);
    for (const { orders } of nodesOf(node['modifiers'])) {
      for (const { expression } of nodesOf(orders))
        note(items[Number(constantOf(expression)) - 1] ?? expression, undefined);
    }
    for (const [side, others] of comparisonsIn(node)) {
      for (const other of others.map(otherOf)) if (other !== undefined) note(side, other);
    }
  }
  return found;
}

/** What a comparison by order puts beside what. */
function comparisonsIn(node: Node): [unknown, unknown[]][] {
  const { left, right, input, lower, upper } = node;
  if (node['class'] === 'BETWEEN') return [[input, [lower, upper]]];
  if (!IS_ORDER.test(textOf(node['type']))) return [];
  return [
    [left, [right]],
    [right, [left]],
  ];
}

function otherOf(node: unknown): TextOrder['other'] {
  const text = constantText(node);
  if (text !== undefined) return { text };
  const parameter = isNode(node) && node['class'] === 'PARAMETER' ? textOf(node['identifier']) : '';
  return parameter === '' ? undefined : { parameter: foldName(parameter) };
}

/** The field of text that a path names, with or without what its collection is called before it. */
export function fieldOfText(
  written: readonly string[],
  tables: readonly NamedTable[],
): Pick<TextOrder, 'table' | 'path'> | undefined {
  for (const from of [0, 1, 2]) {
    const path = written.slice(from);
    const table = path.length === 0 ? undefined : tables.find((one) => one.typeAt?.(path) === 'VARCHAR');
    if (table !== undefined) return { table, path };
  }
  return undefined;
}
