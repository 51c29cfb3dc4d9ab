import { nearest } from '../../contract/nearest.ts';
import { WRITTEN_INSTEAD } from './dialects.ts';
import { SCALAR_FUNCTIONS, TABLE_FUNCTIONS } from './functions.ts';
import { GUARDED_FUNCTIONS } from './guards.ts';
import { isNode, type Node } from './tree.ts';

const FORMATTING = new Set(['format', 'printf']);
/** A width of many digits, or one that an argument gives: it makes a value of any size. */
const WIDE_FORMAT = /\d{5}|\*|\{[^}]*\{/;
/** Functions whose second argument spells types in text. */
const STRUCTURED = new Set(['from_json', 'from_json_strict', 'json_transform', 'json_transform_strict']);

/** The text of an argument that is written out as text; undefined for every other. */
function constantArgument(call: Node, index: number): string | undefined {
  const argument = Array.isArray(call['children']) ? call['children'][index] : undefined;
  if (!isNode(argument) || argument['class'] !== 'CONSTANT' || !isNode(argument['value'])) return undefined;
  const { value } = argument['value'];
  return typeof value === 'string' ? value : undefined;
}

function formatRefusal(call: Node, name: string): string | null {
  const format = constantArgument(call, 0);
  if (format === undefined) return `The format of ${name}() must be written out as text.`;
  return WIDE_FORMAT.test(format) ? `A width in the format of ${name}() must be a number below 10,000.` : null;
}

function structureRefusal(call: Node, name: string): string | null {
  const structure = constantArgument(call, 1);
  if (structure !== undefined && !/variant/i.test(structure)) return null;
  return `The structure of ${name}() must be written out as text, without VARIANT.`;
}

function hintFor(name: string, allowed: ReadonlySet<string>): string {
  const instead = allowed === SCALAR_FUNCTIONS ? WRITTEN_INSTEAD.get(name.toLowerCase()) : undefined;
  if (instead !== undefined) return ` Write ${instead}, for example.`;
  const near = nearest(name, allowed, 1)[0];
  return near === undefined ? '' : ` Did you mean "${near}"?`;
}

/**
 * Why a call is refused, for whoever wrote it; null where it is not.
 *
 * Only the name counts: with a schema it is the same function, or a call chained to a column: `name.upper()`.
 */
export function refusalOf(call: Node, allowed: ReadonlySet<string>): string | null {
  const name = typeof call['function_name'] === 'string' ? call['function_name'] : '';
  const folded = name.toLowerCase();
  if (!allowed.has(folded)) {
    const what = allowed === TABLE_FUNCTIONS ? 'Table function' : 'Function';
    return `${what} "${name}" does not exist or is not available in queries.${hintFor(name, allowed)}`;
  }
  if (allowed !== SCALAR_FUNCTIONS) return null;
  const isQualified = call['schema'] !== undefined || call['catalog'] !== undefined;
  if (isQualified && GUARDED_FUNCTIONS.has(folded)) {
    return `Call ${name}() by its plain name, with all arguments in the brackets.`;
  }
  if (FORMATTING.has(folded)) return formatRefusal(call, name);
  return STRUCTURED.has(folded) ? structureRefusal(call, name) : null;
}
