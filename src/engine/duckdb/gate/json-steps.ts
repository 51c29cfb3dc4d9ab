import { foldName, ITEM, type NamedTable, quoteName, quoteText } from '../sql/names.ts';
import { fieldName } from '../sql/syntax-hints.ts';
import { constantText, isNode, type Node, nodesOf, textOf } from '../sql/tree.ts';
import { isNumberType } from '../sql/type-kinds.ts';
import { type Computed, isField, leavesOf, type Origins, pathText } from './field-origins.ts';
import { isAccess } from './query-columns.ts';
import { castType } from './time-types.ts';

/*
 * The way from a field into the JSON that it holds.
 */

/** The field that JSON is read of, and the path into its text. */
export interface JsonSource {
  table: NamedTable;
  path: readonly string[];
  /** `$."k"`. */
  within: string;
}

/** Functions that give JSON; the first argument of those that step into it is what they read. */
export const STEPS = /^(?:->|json_extract|json_extract_path)$/;
export const READS = /^(?:json_parse|json)$/;
/** And those that give the text of a step. */
export const TEXT_STEPS = /^(?:->>|json_extract_string|json_extract_path_text)$/;

/** To the parser `j->'k'` is the same as a lambda. */
export const callOf = (node: Node) =>
  node['class'] === 'LAMBDA' ? '->' : node['class'] === 'FUNCTION' ? foldName(textOf(node['function_name'])) : '';
export function argumentsOf(node: Node): Node[] {
  if (node['class'] === 'CAST') return [node['child']].filter(isNode);
  return node['class'] === 'LAMBDA' ? [node['lhs'], node['expr']].filter(isNode) : nodesOf(node['children']);
}

const isStep = (call: string) => STEPS.test(call) || TEXT_STEPS.test(call);

/** The field that JSON is read of, which may be an object if it `mayBeObject`; `within` are the steps behind those of the leaf. */
export function sourceOf(
  origins: Origins,
  { node, scope, rest }: Computed,
  within: string,
  mayBeObject: boolean,
): JsonSource | undefined {
  if (rest.includes(ITEM)) return undefined;
  const call = callOf(node);
  const [of, key] = argumentsOf(node);
  const own = isStep(call) ? stepOf(constantText(key)) : READS.test(call) || node['class'] === 'CAST' ? '' : undefined;
  const steps = `${own ?? ''}${rest.map((step) => `.${quoteName(step)}`).join('')}${within}`;
  const leaves = own === undefined ? [] : leavesOf(origins, of, scope);
  const [leaf] = leaves;
  if (leaf === undefined || leaves.length > 1) return undefined;
  if (!isField(leaf)) return sourceOf(origins, leaf, steps, mayBeObject);
  const isRead = leaf.type === 'VARCHAR' || leaf.type === 'JSON' || (mayBeObject && leaf.type.startsWith('STRUCT('));
  return isRead ? { table: leaf.table, path: leaf.path, within: `$${steps}` } : undefined;
}

const A_KEY = /^\$\.(\w+)$/;

/** The field of an object, as SQL, whose text a step is, if that is a number. */
export function numberOf(origins: Origins, { node, scope, rest }: Computed): string | undefined {
  const [of, key] = argumentsOf(node);
  const text = constantText(key) ?? '';
  const name = A_KEY.exec(text)?.[1] ?? text;
  const [leaf, ...more] = rest.length === 0 && of !== undefined ? leavesOf(origins, of, scope) : [];
  if (leaf === undefined || more.length > 0 || !isField(leaf)) return undefined;
  const type = leaf.table.typeAt?.([...leaf.path, name]) ?? '';
  return leaf.type.startsWith('STRUCT(') && isNumberType(type) ? `${leaf.written}.${fieldName(name)}` : undefined;
}

/** A key, or a path, as a step of a path; undefined: that is not clear. */
function stepOf(key: string | undefined): string | undefined {
  if (key === undefined || key.startsWith('/')) return undefined;
  return key.startsWith('$') ? key.slice(1) : `.${quoteName(key)}`;
}

const WRITTEN_MAX = 60;
const ACCESSES = /^(?:struct|array)_extract$/;

/** An expression as SQL, as far as it is a path into a column or into what a call reads. */
export function writtenOf(node: unknown): string | undefined {
  const text = isNode(node) ? pathOf(node) : undefined;
  return text !== undefined && text.length <= WRITTEN_MAX ? text : undefined;
}

function pathOf(node: Node): string | undefined {
  const call = callOf(node);
  if (node['class'] === 'COLUMN_REF' || isAccess(node) || ACCESSES.test(call)) return pathText(node, pathOf);
  const [of, key] = argumentsOf(node);
  const inner = of && pathOf(of);
  if (inner === undefined) return undefined;
  if (node['class'] === 'CAST') return `CAST(${inner} AS ${castType(node['cast_type'])})`;
  if (READS.test(call) || call === 'to_json') return `${call}(${inner})`;
  const step = isStep(call) ? constantText(key) : undefined;
  if (step === undefined) return undefined;
  return call.startsWith('->') ? `(${inner}${call}${quoteText(step)})` : `${call}(${inner}, ${quoteText(step)})`;
}
