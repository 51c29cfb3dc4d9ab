import { nearest } from '../../../contract/nearest.ts';
import { quoteName } from '../sql/names.ts';
import { identifierAt } from '../sql/references.ts';
import { isNode, isQuery, type Node, nodesOf, offsetOf, textsOf } from '../sql/tree.ts';
import type { Matches } from './column-patterns.ts';
import type { Found, Relation, Scope } from './json-lookup.ts';
import { inLambda, isColumn, NO_SCOPE, visitQuery } from './json-scope.ts';
import { foundIn, functionOf, itemOf, passedOn, stepOf, textConstant } from './json-values.ts';
import type { References } from './passed.ts';

/** Ways in which SQL silently treats JSON differently from other types. */
type Use = 'order' | 'compare' | 'index' | 'length' | 'text' | 'logic';

interface Used {
  found: Found;
  /** The field as the caller wrote it. */
  reference: string;
  /** Whether the field is the items of the list in `reference`. */
  isList?: boolean;
  uses: Set<Use>;
}

interface Walk {
  bytes: Buffer;
  references: References;
  relations: Map<unknown, Relation>;
  matches: Matches;
  /** By field. */
  uses: Map<string, Used>;
  /** Keys that no document has had, by map and key. */
  unknown: Map<string, Found>;
  visit(value: unknown, scope: Scope): void;
}

const FIELDS_MAX = 5;
const SILENT_FUNCTIONS: ReadonlySet<string> = new Set(
  `->> typeof pg_typeof any_value arbitrary first last mode lag lead first_value last_value nth_value nvl list array_agg
  list_value struct_pack row map unnest hash approx_count_distinct`.split(/\s+/),
);
const SILENT_FAMILIES = /^(?:json|from_json|count)|to_json$/;
const ORDERING_FUNCTIONS = /^(?:(?:min|max|greatest|least|median)$|quantile)/;
const BY_FUNCTIONS = /^(?:arg_?(?:min|max)|(?:min|max)_by$)/;
const LIST_ORDERING = /^(list|array)_(min|max|sort|reverse_sort|grade_up|median|mode)$/;
const LIST_COMPARING =
  /^(list|array)_(contains|has|has_any|has_all|position|indexof|distinct|unique|intersect|remove|except)$|^array_remove$|^contains$/;
const LENGTH_FUNCTIONS = /^(len|length|strlen|char_length|character_length)$/;
const OPERANDS = new Set(['left', 'right', 'input', 'lower', 'upper', 'child', 'children', 'expression']);

/**
 * Warnings about fields that are JSON because their documents disagree, if a statement that passed the gate uses one as
 * if it were a number, a text or an array, and about keys that a map never had. Uses that are hard to tell are ignored.
 */
export function jsonUses(tree: unknown, sql: string, references: References, matches: Matches): string[] {
  const query = isNode(tree) ? tree['node'] : undefined;
  if (!isNode(query)) return [];
  const walk: Walk = {
    bytes: Buffer.from(sql),
    references,
    relations: new Map(),
    matches,
    uses: new Map(),
    unknown: new Map(),
    visit: (value, scope) => visit(walk, value, scope),
  };
  visitQuery(walk, query, NO_SCOPE);
  const unknown = [...walk.unknown.values()].slice(0, FIELDS_MAX).map(unknownKeyWarning);
  const warnings = [...walk.uses.values()].map(warningFor);
  const more = warnings.length - FIELDS_MAX;
  if (more <= 0) return [...unknown, ...warnings];
  return [...unknown, ...warnings.slice(0, FIELDS_MAX), `${more} more fields used here are JSON as well.`];
}

const KEY_CHARS_MAX = 100;

function unknownKeyWarning({ path, table, unknown }: Found): string {
  const { key = '', keys = [] } = unknown ?? {};
  const near = nearest(key, keys).map((one) => JSON.stringify(one));
  const hint = near.length > 0 ? `Did you mean ${near.join(' or ')}?` : 'map_keys() lists those that a document has.';
  return `"${path}" of ${table} is a map, and no document has had the key ${JSON.stringify(key.slice(0, KEY_CHARS_MAX))} in it: it is NULL. ${hint}`;
}

const MEANINGS: readonly [Use, string][] = [
  ['order', 'ORDER BY, min and max go by its text'],
  ['compare', 'it compares by its text, or rounded with an integer'],
  ['index', '[n] counts from 0'],
  ['length', 'its length is that of its text'],
  ['text', 'LIKE and functions see its text, with quotes'],
  ['logic', 'AND and OR take it before an arrow does'],
];

function warningFor({ found: { path, table }, reference: x, isList = false, uses }: Used): string {
  const meanings = MEANINGS.filter(([use]) => uses.has(use)).map(([, meaning]) => meaning);
  const is = (...of: Use[]) => of.some((use) => uses.has(use));
  if (isList) {
    return `"${path}" of ${table} is JSON, since its documents had no type in common: ${meanings.join('; ')}. Use list_transform(${x}, lambda x: TRY_CAST(x->>'$' AS DOUBLE)) for numbers.`;
  }
  const ways = [
    ...(is('order', 'compare') ? [`TRY_CAST(${x}->>'$' AS DOUBLE) for the number`] : []),
    ...(is('order', 'compare', 'text', 'logic') ? [`(${x}->>'$') for the text`] : []),
    ...(is('index') ? [`(${x}->>0) for the first item`] : []),
    ...(is('length') ? [`json_array_length(${x}) for the number of items`] : []),
  ];
  return `"${path}" of ${table} is JSON, since its documents had no type in common: ${meanings.join('; ')}. Use ${ways.join(', ')}.`;
}

/** How a node uses its operands; with `at`, only the one at that index. */
function useOf(node: Node): { use: Use; at?: number } | null {
  const kind = node['class'];
  const type = String(node['type']);
  if (kind === 'COMPARISON' || kind === 'BETWEEN' || kind === 'SUBQUERY') return { use: 'compare' };
  if (kind === 'CONJUNCTION') return { use: 'logic' };
  if (kind === 'OPERATOR' && type.startsWith('COMPARE_')) return { use: 'compare' };
  if (type === 'ARRAY_SLICE') return { use: 'index', at: 0 };
  if (type === 'ARRAY_EXTRACT')
    return textConstant(nodesOf(node['children'])[1]) === undefined ? { use: 'index', at: 0 } : null;
  if (kind === undefined && node['expression'] !== undefined) return { use: 'order' };
  if (kind !== 'FUNCTION' && kind !== 'WINDOW') return null;
  const name = functionOf(node);
  if (SILENT_FUNCTIONS.has(name) || SILENT_FAMILIES.test(name)) return null;
  if (name === 'nullif') return { use: 'compare' };
  if (BY_FUNCTIONS.test(name)) return { use: 'order', at: 1 };
  if (ORDERING_FUNCTIONS.test(name)) return { use: 'order' };
  return { use: LENGTH_FUNCTIONS.test(name) ? 'length' : 'text' };
}

/** How a function uses the items of a list. */
function useOfItems(node: Node): Use | null {
  const name = functionOf(node);
  if (LIST_ORDERING.test(name)) return 'order';
  return LIST_COMPARING.test(name) ? 'compare' : null;
}

type Uses = readonly Use[];

/** `uses`: how the value is used. Each part is visited only once, with all its uses, since statements nest deeply. */
function visit(walk: Walk, value: unknown, scope: Scope, uses: Uses = []): void {
  if (Array.isArray(value)) for (const item of value) visit(walk, item, scope, uses);
  if (!isNode(value)) return;
  if (isQuery(value)) visitQuery(walk, value, scope);
  else if (value['class'] === 'STAR' && uses.length > 0) noteStar(walk, value, scope, uses);
  else {
    const found = isColumn(value) || stepOf(value) !== null ? foundIn(value, scope) : null;
    if (found?.unknown !== undefined) {
      walk.unknown.set(`${found.table}\n${found.path}\n${found.unknown.key}`, found);
    }
    const passed = new Set(passedOn(value));
    if (uses.length > 0 && passed.size === 0) noteValue(walk, value, scope, uses);
    if (isColumn(value)) return;
    if (value['class'] === 'CASE') visitCase(walk, value, scope, uses);
    else visitParts(walk, value, scope, (part, own) => (passed.has(part) ? [...uses, ...own] : own));
  }
}

function visitCase(walk: Walk, node: Node, scope: Scope, uses: Uses): void {
  for (const { when_expr, then_expr } of nodesOf(node['case_checks'])) {
    visit(walk, when_expr, scope);
    visit(walk, then_expr, scope, uses);
  }
  visit(walk, node['else_expr'], scope, uses);
}

/** `usesOf`: how a part is used, given how the node itself uses it (`own`). */
function visitParts(walk: Walk, node: Node, scope: Scope, usesOf: (part: unknown, own: Uses) => Uses): void {
  const operands = nodesOf(node['children']);
  const itemUse = useOfItems(node);
  if (itemUse !== null) noteItems(walk, operands[0], scope, itemUse);
  const own = useOf(node);
  const hasLambda = operands.some((operand) => operand['class'] === 'LAMBDA');
  for (const [key, child] of Object.entries(node)) {
    const isOperand = own !== null && OPERANDS.has(key);
    for (const [at, part] of (Array.isArray(child) ? child : [child]).entries()) {
      const isUsed = isOperand && (own.at === undefined || own.at === at);
      if (hasLambda && isNode(part) && part['class'] === 'LAMBDA') {
        visitLambda(walk, part, scope, itemOf(operands[0], scope));
      } else visit(walk, part, scope, usesOf(part, isUsed ? [own.use] : []));
    }
  }
}

function visitLambda(walk: Walk, { lhs, ...rest }: Node, outer: Scope, item: Found | null): void {
  const scope = inLambda(lhs, outer, item);
  for (const child of Object.values(rest)) visit(walk, child, scope);
}

/** `COLUMNS(…)`, which stands for each of the columns. */
function noteStar(walk: Walk, star: Node, { relations }: Scope, uses: Uses): void {
  const pattern = textConstant(star['expr']);
  for (const { columns } of relations) {
    for (const [name, found] of columns) {
      if (found?.json !== 'json' || (pattern !== undefined && !walk.matches(pattern, name))) continue;
      note(walk, found, { reference: quoteName(name) }, uses);
    }
  }
}

function noteValue(walk: Walk, value: Node, scope: Scope, uses: Uses): void {
  const found = foundIn(value, scope);
  if (found?.json === 'json') note(walk, found, { reference: referenceOf(walk, value) }, uses);
}

function noteItems(walk: Walk, list: unknown, scope: Scope, use: Use): void {
  const item = itemOf(list, scope);
  if (item?.json === 'json') note(walk, item, { reference: referenceOf(walk, list), isList: true }, [use]);
}

function note(walk: Walk, found: Found, named: Pick<Used, 'reference' | 'isList'>, uses: Uses): void {
  const field = `${found.table}\n${found.path}`;
  const noted = walk.uses.get(field) ?? { ...named, found, uses: new Set() };
  for (const use of uses) noted.uses.add(use);
  walk.uses.set(field, noted);
}

/** The reference as the caller wrote it, quotes included. */
function referenceOf(walk: Walk, value: unknown): string {
  if (isColumn(value)) return nameOf(walk, value);
  const [of, key] = isNode(value) ? nodesOf(value['children']) : [];
  const text = textConstant(key);
  return `${of === undefined ? '…' : referenceOf(walk, of)}${text === undefined ? '[1]' : `.${quoteName(text)}`}`;
}

function nameOf({ bytes }: Walk, column: Node): string {
  const path = textsOf(column['column_names']);
  const at = offsetOf(column);
  if (at === undefined) return path.map(quoteName).join('.');
  let end = at - 1;
  for (const part of path) {
    const written = identifierAt(bytes, end + 1);
    if (written?.name !== part) return path.map(quoteName).join('.');
    end += 1 + written.length;
  }
  return bytes.toString('utf8', at, end);
}
