import { ApiError } from '../../../contract/errors.ts';
import { COMPAT_MACROS } from '../sql/compat.ts';
import { constantText, isNode, listOf, type Node, nodesOf, textOf } from '../sql/tree.ts';
import type { Typed } from '../values/typed-json.ts';
import { lambdaOf } from './fences.ts';
import { aliasFor, type Scope } from './scope.ts';

/*
 * Each `..` or `**` in a path of JSON finds what is at any depth, in each of what the one before it found: what
 * `$..a..a..a` finds multiplies with the depth, uninterruptible within one value. The engine takes wildcards only in
 * paths that it knows when it binds: of constants, parameters, and what is computed of these.
 */

/** A path that the engine may know when it binds. */
export interface JsonPath {
  /** Its texts, a parameter by its name. */
  parts: (string | { parameter: string })[];
  /** Whether the path is these texts one after the other; else it may be parts of them, each at most once. */
  isJoined: boolean;
}

const WITH_PATHS = new Set(
  `->> json_extract json_extract_string json_extract_path json_extract_path_text json_exists json_type json_value
  json_array_length json_keys element_at`.split(/\s+/),
);
/** Functions that add nothing to the texts of their arguments, and leave out nothing; and those that may leave out. */
const JOINING = new Set('|| concat lower upper lcase ucase'.split(' '));
const CUTTING = new Set(
  'substr substring left right trim ltrim rtrim nullif greatest least split_part strftime list_value'.split(' '),
);
const CUTTING_CLASSES = new Set(['CASE', 'COMPARISON', 'CONJUNCTION', 'BETWEEN', 'OPERATOR']);
/** Functions whose value is a number or a time, as text without two dots one after the other. */
const NUMERIC = new Set(
  `+ - * / // % abs ceil ceiling floor round len length strlen array_length list_position date_part date_trunc datediff
  date_diff year quarter month week isoweek day dayofweek dayofyear dayname monthname hour minute today current_date now
  get_current_timestamp`.split(/\s+/),
);
const NUMERIC_TYPE =
  /^(?:NULL|BOOLEAN|DATE|TIME|UUID|U?(?:TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DECIMAL|FLOAT|DOUBLE|TIMESTAMP.*|INTEGER_LITERAL)$/;
/** Functions of types and names, which the engine knows when it binds, whatever the column. */
const OF_TYPES =
  /^(?:typeof|pg_typeof|get_type|can_cast_implicitly|cast_to_type|replace_type|alias|enum_.*|current_.*)$/;

/** Most nodes of a path that are looked at. */
const VISITED_MAX = 200;

interface Reading {
  path: JsonPath;
  /** Whether it has something of a row, so that the engine knows it for each row only. */
  isOfRows: boolean;
  /** Whether it has a function that may make any text. */
  isAny: boolean;
  aliases: Scope['aliases'];
  /** Aliases that it is in. */
  within: Set<Node>;
  left: number;
}

function visitAll(reading: Reading, nodes: unknown, isDropped: boolean): void {
  for (const child of Array.isArray(nodes) ? nodes : [nodes]) {
    if (isNode(child)) visit(reading, child, isDropped);
  }
}

function visitColumn(reading: Reading, node: Node, isDropped: boolean): void {
  const alias = aliasFor(reading.aliases, listOf(node['column_names']).map(textOf))?.node;
  if (alias === undefined || reading.within.has(alias)) {
    if (!isDropped) reading.isOfRows = true;
    return;
  }
  reading.within.add(alias);
  visit(reading, alias, isDropped);
  reading.within.delete(alias);
}

function visitFunction(reading: Reading, node: Node, isDropped: boolean): void {
  const name = textOf(node['function_name']).toLowerCase();
  const lambda = lambdaOf(node);
  if (NUMERIC.has(name)) {
    reading.path.parts.push('0');
    return;
  }
  if (CUTTING.has(name)) reading.path.isJoined = false;
  else if (!JOINING.has(name)) reading.isAny = true;
  // What a macro leaves out is none of the row, nor are the parameters of a lambda.
  const isLeftOut = isDropped || COMPAT_MACROS.has(name) || OF_TYPES.test(name);
  for (const child of nodesOf(node['children'])) visit(reading, child, isLeftOut || child === lambda);
}

function visit(reading: Reading, node: Node, isDropped: boolean): void {
  reading.left -= 1;
  if (reading.left < 0) reading.isAny = true;
  if (reading.isOfRows || reading.left < 0) return;
  const kind = textOf(node['class']);
  const { parts } = reading.path;
  if (kind === 'CONSTANT') {
    const type = typeOf(isNode(node['value']) ? node['value']['type'] : undefined);
    if (type !== 'VARCHAR' && !NUMERIC_TYPE.test(type)) reading.isAny = true;
    parts.push(type === 'VARCHAR' ? (constantText(node) ?? '') : '0');
  } else if (kind === 'PARAMETER') parts.push({ parameter: String(node['identifier']) });
  else if (kind === 'CAST') {
    const type = typeOf(node['cast_type']);
    if (NUMERIC_TYPE.test(type)) parts.push('0');
    else {
      if (type !== 'VARCHAR') reading.isAny = true;
      visitAll(reading, node['child'], isDropped);
    }
  } else if (kind === 'COLUMN_REF') visitColumn(reading, node, isDropped);
  else if (kind === 'FUNCTION') visitFunction(reading, node, isDropped);
  else if (kind === 'SUBQUERY' || kind === 'WINDOW' || kind === 'POSITIONAL_REFERENCE') {
    if (isDropped) reading.isAny = true;
    else reading.isOfRows = true;
  } else {
    if (CUTTING_CLASSES.has(kind)) reading.path.isJoined = false;
    else if (kind !== 'COLLATE' && kind !== '') reading.isAny = true;
    for (const value of Object.values(node)) if (typeof value === 'object') visitAll(reading, value, isDropped);
  }
}

const typeOf = (type: unknown) => (isNode(type) ? textOf(type['id']) : '');

/** What may be paths among the arguments of a call or operator. */
function pathsIn(node: Node): unknown[] {
  if (node['class'] === 'LAMBDA') return [node['expr']];
  const children = listOf(node['children']);
  if (node['type'] === 'ARRAY_EXTRACT') return [children[1]];
  if (node['class'] !== 'FUNCTION' || !WITH_PATHS.has(textOf(node['function_name']).toLowerCase())) return [];
  // `column.f(second)` has the first one before its name.
  const isQualified = node['schema'] !== undefined || node['catalog'] !== undefined;
  return isQualified && children.length === 1 ? children : [children[1]];
}

const COMPUTED =
  'A path or key that is computed of constants only is not available here. Write it out, or give it as a parameter.';
const RECURSIVE =
  'At most one ".." or "**" may be in a path of JSON. Go on from what one finds: ' +
  "flatten(list_transform(json_extract(j, '$..a'), lambda x: json_extract(x, '$..b'))).";

const countOf = (text: string, part: string) => text.split(part).length - 1;

function isRecursive({ parts, isJoined }: JsonPath, given: (parameter: string) => string): boolean {
  const text = parts.map((part) => (typeof part === 'string' ? part : given(part.parameter))).join('');
  if (isJoined) return text.startsWith('$') && countOf(text, '..') + countOf(text, '**') > 1;
  return countOf(text, '.') + countOf(text, '*') > 3;
}

/** Paths of a statement, which is walked from the outside in. */
export interface JsonPaths {
  /** Those with parameters: see `checkJsonPaths`. */
  found: JsonPath[];
  /** Why the path in this call or operator is refused, if it is one that the engine may know when it binds; else null. */
  refusalOf(node: Node, aliases: Scope['aliases']): string | null;
}

export function createJsonPaths(): JsonPaths {
  const found: JsonPath[] = [];
  const lambdas = new WeakSet<Node>();
  return {
    found,
    refusalOf(node, aliases) {
      const lambda = lambdaOf(node);
      if (lambda !== undefined) lambdas.add(lambda);
      // Any other is the operator `->`.
      if (lambdas.has(node)) return null;
      for (const argument of pathsIn(node)) {
        // Of several paths the engine takes none with wildcards.
        if (!isNode(argument) || argument['function_name'] === 'list_value') continue;
        const path: JsonPath = { parts: [], isJoined: true };
        const reading = { path, isOfRows: false, isAny: false, aliases, within: new Set<Node>(), left: VISITED_MAX };
        visit(reading, argument, false);
        if (reading.isOfRows) continue;
        if (reading.isAny) return COMPUTED;
        if (path.parts.some((part) => typeof part !== 'string')) found.push(path);
        else if (isRecursive(path, () => '')) return RECURSIVE;
      }
      return null;
    },
  };
}

/** Refuses, with `query_error`, a path of JSON that is too much with these values. */
export function checkJsonPaths(paths: readonly JsonPath[], values: ReadonlyMap<string, Typed>): void {
  const given = (parameter: string) => {
    const value = values.get(parameter)?.value;
    return typeof value === 'string' ? value : '0';
  };
  if (paths.some((path) => isRecursive(path, given))) throw new ApiError('query_error', RECURSIVE);
}
