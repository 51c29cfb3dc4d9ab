import {
  type Found,
  find,
  inLambda,
  isColumn,
  isQuery,
  NO_SCOPE,
  nodesOf,
  type Relation,
  relationsBy,
  type Scope,
  textsOf,
  visitQuery,
} from './json-scope.ts';
import { foldName, type NamedTable, quoteName } from './names.ts';
import { identifierAt } from './references.ts';
import { isNode, type Node } from './tree.ts';

/** What SQL does otherwise with JSON than with any other type, without a word. */
type Use = 'order' | 'compare' | 'index' | 'length' | 'text' | 'logic';

interface Used {
  found: Found;
  /** How the caller names it. */
  reference: string;
  uses: Set<Use>;
}

interface Walk {
  bytes: Buffer;
  tables: ReadonlyMap<string, Relation>;
  /** By field. */
  uses: Map<string, Used>;
  visit(value: unknown, scope: Scope): void;
}

const FIELDS_MAX = 5;
const SILENT_FUNCTIONS =
  /^(json.*|to_json|from_json.*|.*_to_json|->>|typeof|pg_typeof|count.*|any_value|arbitrary|first|last|mode|lag|lead|(first|last|nth)_value|list|array_agg|list_value|struct_pack|row|map|unnest|hash|approx_count_distinct)$/;
const ORDERING_FUNCTIONS = /^(min|max|greatest|least|median|quantile.*|arg_?(min|max).*|(min|max)_by)$/;
const BY_FUNCTIONS = /^(arg_?(min|max).*|(min|max)_by)$/;
const LENGTH_FUNCTIONS = /^(len|length|strlen|char_length|character_length)$/;
const OPERANDS = new Set(['left', 'right', 'input', 'lower', 'upper', 'child', 'children', 'expression']);

/**
 * Warnings about fields that are JSON because their documents disagree, where a statement that passed the gate uses one
 * as if it were a number, a text or an array. What cannot be told to be such a field is left alone.
 */
export function jsonUses(tree: unknown, sql: string, tables: readonly NamedTable[]): string[] {
  const query = isNode(tree) ? tree['node'] : undefined;
  const relations = relationsBy(tables);
  if (!isNode(query) || relations === undefined) return [];
  const walk: Walk = {
    bytes: Buffer.from(sql),
    tables: relations,
    uses: new Map(),
    visit: (value, scope) => visit(walk, value, scope),
  };
  visitQuery(walk, query, NO_SCOPE);
  const warnings = [...walk.uses.values()].map(warningFor);
  const more = warnings.length - FIELDS_MAX;
  return more > 0 ? [...warnings.slice(0, FIELDS_MAX), `${more} more fields used here are JSON as well.`] : warnings;
}

const MEANINGS: readonly [Use, string][] = [
  ['order', 'ORDER BY, min and max go by its text'],
  ['compare', 'it compares by its text, or rounded with an integer'],
  ['index', '[n] counts from 0'],
  ['length', 'its length is that of its text'],
  ['text', 'LIKE and functions see its text, with quotes'],
  ['logic', 'AND and OR take it before an arrow does'],
];

function warningFor({ found: { path, table }, reference: x, uses }: Used): string {
  const meanings = MEANINGS.filter(([use]) => uses.has(use)).map(([, meaning]) => meaning);
  const is = (...of: Use[]) => of.some((use) => uses.has(use));
  const ways = [
    ...(is('order', 'compare') ? [`TRY_CAST(${x}->>'$' AS DOUBLE) for the number`] : []),
    ...(is('order', 'compare', 'text', 'logic') ? [`(${x}->>'$') for the text`] : []),
    ...(is('index') ? [`(${x}->>0) for the first item`] : []),
    ...(is('length') ? [`json_array_length(${x}) for the number of items`] : []),
  ];
  return `"${path}" of ${table} is JSON, since its documents had no type in common: ${meanings.join('; ')}. Use ${ways.join(', ')}.`;
}

/** What a node does with its operands, and with which alone of its children. */
function useOf(node: Node): { use: Use; at?: number } | null {
  const kind = node['class'];
  const type = String(node['type']);
  if (kind === 'COMPARISON' || kind === 'BETWEEN' || kind === 'SUBQUERY') return { use: 'compare' };
  if (kind === 'CONJUNCTION') return { use: 'logic' };
  if (kind === 'OPERATOR' && type.startsWith('COMPARE_')) return { use: 'compare' };
  if (type === 'ARRAY_SLICE') return { use: 'index', at: 0 };
  if (type === 'ARRAY_EXTRACT') return isText(nodesOf(node['children'])[1]) ? null : { use: 'index', at: 0 };
  if (kind === undefined && node['expression'] !== undefined) return { use: 'order' };
  if (kind !== 'FUNCTION' && kind !== 'WINDOW') return null;
  const name = foldName(String(node['function_name']));
  if (SILENT_FUNCTIONS.test(name)) return null;
  if (BY_FUNCTIONS.test(name)) return { use: 'order', at: 1 };
  if (ORDERING_FUNCTIONS.test(name)) return { use: 'order' };
  return { use: LENGTH_FUNCTIONS.test(name) ? 'length' : 'text' };
}

function isText(node: Node | undefined): boolean {
  const value = node?.['class'] === 'CONSTANT' ? node['value'] : undefined;
  return isNode(value) && isNode(value['type']) && value['type']['id'] === 'VARCHAR';
}

/** `use`: what is done with it, if it is a field. */
function visit(walk: Walk, value: unknown, scope: Scope, use: Use | null = null): void {
  if (Array.isArray(value)) for (const item of value) visit(walk, item, scope, use);
  if (!isNode(value)) return;
  if (isQuery(value)) visitQuery(walk, value, scope);
  else if (isColumn(value)) {
    const found = use === null ? null : find(scope, textsOf(value['column_names']));
    if (found?.json === 'json' && use !== null) note(walk, found, value, use);
  } else {
    const inner = value['class'] === 'LAMBDA' ? inLambda(value['lhs'], scope) : scope;
    const own = useOf(value);
    for (const [key, child] of Object.entries(value)) {
      const operand = own !== null && OPERANDS.has(key) ? own.use : null;
      if (operand === null || own?.at === undefined) visit(walk, child, key === 'lhs' ? scope : inner, operand);
      else for (const [at, item] of nodesOf(child).entries()) visit(walk, item, inner, at === own.at ? operand : null);
    }
  }
}

function note(walk: Walk, found: Found, column: Node, use: Use): void {
  const field = `${found.table}\n${found.path}`;
  const noted = walk.uses.get(field) ?? { found, reference: referenceOf(walk, column), uses: new Set() };
  noted.uses.add(use);
  walk.uses.set(field, noted);
}

/** As the caller wrote it, quotes included. */
function referenceOf({ bytes }: Walk, column: Node): string {
  const path = textsOf(column['column_names']);
  const at = Number(column['query_location']);
  let end = at - 1;
  for (const part of path) {
    const written = Number.isSafeInteger(at) ? identifierAt(bytes, end + 1) : undefined;
    if (written?.name !== part) return path.map(quoteName).join('.');
    end += 1 + written.length;
  }
  return bytes.toString('utf8', at, end);
}
