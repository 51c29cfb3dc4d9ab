import { nearest } from '../../../contract/nearest.ts';
import { RENAMED_FUNCTIONS } from '../sql/compat.ts';
import { EACH_INSTEAD, SEARCH_INSTEAD, UNNEST_INSTEAD, WRITTEN_INSTEAD } from '../sql/dialects.ts';
import { SCALAR_FUNCTIONS, TABLE_FUNCTIONS } from '../sql/functions.ts';
import { GUARDED_FUNCTIONS, GUARDED_TABLE_FUNCTIONS } from '../sql/guards.ts';
import { foldName } from '../sql/names.ts';
import type { Splice } from '../sql/splices.ts';
import { constantOf, constantText, listOf, type Node, offsetOf, textOf } from '../sql/tree.ts';

/** Operators that are written like functions. */
const OPERATORS_CALLED = ['coalesce', 'try_cast'];

const FORMATTING = new Set(['format', 'printf']);
/** A width of many digits, or one given by an argument, which could make a value of any size. */
const WIDE_FORMAT = /\d{5}|\*|\{[^}]*\{/;
/** Functions whose second argument is a text that describes the type of their result. */
export const STRUCTURED: ReadonlySet<string> = new Set([
  'from_json',
  'from_json_strict',
  'json_transform',
  'json_transform_strict',
]);

/** Functions that call the aggregate named by their second argument. */
const AGGREGATING = new Set(['aggregate', 'array_aggr', 'array_aggregate', 'list_aggr', 'list_aggregate']);

/**
 * Aggregates whose memory per group depends on numbers in their arguments, and is not counted by the engine. The limit
 * is on the last number or, if there are two, on the last minus the one before.
 */
const SIZED = new Map([
  ['bitstring_agg', { example: 'bitstring_agg(x, 0, 1000)', numbers: 2, most: 1_000_000 }],
  ['approx_top_k', { example: 'approx_top_k(x, 10)', numbers: 1, most: 1_000 }],
  ['reservoir_quantile', { example: 'reservoir_quantile(x, 0.5, 1000)', numbers: 1, most: 100_000 }],
]);

const literalAt = (call: Node, index: number): unknown => constantOf(listOf(call['children'])[index]);

const constantArgument = (call: Node, index: number) => constantText(listOf(call['children'])[index]);

function sizeRefusal(call: Node, name: string): string | null {
  const sized = SIZED.get(name.toLowerCase());
  const count = listOf(call['children']).length;
  // The default is small.
  if (sized === undefined || (name.toLowerCase() === 'reservoir_quantile' && count < 3)) return null;
  const [last, before = 0] = [count - 1, count - 2].slice(0, sized.numbers).map((index) => literalAt(call, index));
  const isBounded = typeof last === 'number' && typeof before === 'number' && last - before <= sized.most;
  if (isBounded && count > sized.numbers) return null;
  return `${name}() needs whole numbers that are written out, and not more than ${sized.most}: ${sized.example}.`;
}

/** The index of the second argument in the call's list: `column.f(second)` has the first one before its name. */
function secondOf(call: Node): number {
  const isQualified = call['schema'] !== undefined || call['catalog'] !== undefined;
  const [, next] = listOf(call['children']);
  const isLast = next === undefined || (literalAt(call, 1) !== undefined && constantArgument(call, 1) === undefined);
  return isQualified && isLast && constantArgument(call, 0) !== undefined ? 0 : 1;
}

function aggregateRefusal(call: Node, name: string): string | null {
  const aggregate = constantArgument(call, secondOf(call));
  if (aggregate === undefined) return `The aggregate of ${name}() must be written out as text: ${name}(l, 'max').`;
  if (SCALAR_FUNCTIONS.has(aggregate.toLowerCase()) && !SIZED.has(aggregate.toLowerCase())) return null;
  return `${name}() cannot call "${aggregate}".${hintFor(aggregate, SCALAR_FUNCTIONS)}`;
}

function formatRefusal(call: Node, name: string): string | null {
  const format = constantArgument(call, 0);
  if (format === undefined) return `The format of ${name}() must be written out as text.`;
  return WIDE_FORMAT.test(format) ? `A width in the format of ${name}() must be a number below 10,000.` : null;
}

function structureRefusal(call: Node, name: string): string | null {
  const structure = constantArgument(call, secondOf(call));
  const read = structure?.replace(/\\u([\da-f]{4})/gi, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16)));
  if (read !== undefined && !/variant/i.test(read)) return null;
  return `The structure of ${name}() must be written out as text, without VARIANT.`;
}

/** Functions in FROM of other dialects that make rows of a list, and of an object. */
const LIST_ROWS = /^(?:flatten|jsonb?_array_elements(?:_text)?|explode|posexplode|openjson)$/i;
const OBJECT_ROWS = /^jsonb?_each(?:_text)?$/i;

function hintFor(name: string, allowed: ReadonlySet<string>): string {
  const instead = allowed === SCALAR_FUNCTIONS ? WRITTEN_INSTEAD.get(name.toLowerCase()) : undefined;
  if (instead !== undefined) return ` Write ${instead}, for example.`;
  if (allowed === TABLE_FUNCTIONS && LIST_ROWS.test(name)) return ` ${UNNEST_INSTEAD}`;
  if (allowed === TABLE_FUNCTIONS && OBJECT_ROWS.test(name)) return ` ${EACH_INSTEAD}`;
  if (/setting/i.test(name)) return '';
  // Those of our own making end so.
  const called = allowed === SCALAR_FUNCTIONS ? [...OPERATORS_CALLED, ...allowed] : allowed;
  const near = nearest(name, called, 4).find((one) => !one.endsWith('_'));
  return near === undefined ? '' : ` Did you mean "${near}"?`;
}

/**
 * Why a call is refused, worded for the author of the SQL; null if it is not.
 *
 * Only the name counts: with a schema it is the same function, or a call chained to a column: `name.upper()`.
 */
export function refusalOf(call: Node, allowed: ReadonlySet<string>): string | null {
  const name = typeof call['function_name'] === 'string' ? call['function_name'] : '';
  const folded = name.toLowerCase();
  if (!allowed.has(folded)) {
    const instead = SEARCH_INSTEAD.get(folded);
    if (instead !== undefined) return `Text search is not available: there is no ${name}(). ${instead}.`;
    const what = allowed === TABLE_FUNCTIONS ? 'Table function' : 'Function';
    return `${what} "${name}" does not exist or is not available in queries.${hintFor(name, allowed)}`;
  }
  const isQualified = call['schema'] !== undefined || call['catalog'] !== undefined;
  const guarded = allowed === SCALAR_FUNCTIONS ? GUARDED_FUNCTIONS : GUARDED_TABLE_FUNCTIONS;
  if (isQualified && guarded.has(folded)) {
    return `Call ${name}() by its plain name, with all arguments in the brackets.`;
  }
  if (allowed !== SCALAR_FUNCTIONS) return null;
  if (FORMATTING.has(folded)) return formatRefusal(call, name);
  if (STRUCTURED.has(folded)) return structureRefusal(call, name);
  return AGGREGATING.has(folded) ? aggregateRefusal(call, name) : sizeRefusal(call, name);
}

/** Replaces a function's name in the tree by the engine's name for it. A quoted name stays as it is. */
export function renameFunction(call: Node, bytes: Buffer): Splice | null {
  const name = textOf(call['function_name']);
  const renamed = RENAMED_FUNCTIONS.get(foldName(name));
  const at = offsetOf(call);
  if (renamed === undefined || at === undefined || call['schema'] !== undefined) return null;
  const length = Buffer.byteLength(name);
  if (foldName(bytes.toString('utf8', at, at + length)) !== foldName(name)) return null;
  call['function_name'] = renamed;
  return { at, length, text: renamed };
}
