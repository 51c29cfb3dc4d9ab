import { foldName, quoteText } from '../sql/names.ts';
import { isNode, type Node, nodesOf, textOf } from '../sql/tree.ts';
import { isNumberType } from '../sql/type-kinds.ts';
import {
  type Computed,
  isField,
  isSameField,
  isText,
  leavesOf,
  type Origin,
  type Origins,
  pathText,
} from './field-origins.ts';
import type { Scope } from './node-scopes.ts';
import { castType } from './time-types.ts';

/*
 * What a statement takes of the text of a field with functions of text and constants, such as the digits of a code.
 */

/** A text that is taken of a field of text; `written` is all of it. */
export interface TextPart extends Origin {
  /** The same of a value that is called `v`, as SQL. */
  of: string;
  /** The field, if nothing but its spelling is changed here; undefined: the text is a piece of it, or has a name. */
  whole: Origin | undefined;
  /** The number whose text it is, as SQL. */
  number?: string;
}

/** Functions of text that give a text for one, each row by itself. */
const CALLS =
  /^(?:split_part|regexp_extract|regexp_replace|replace|translate|substr|substring|left|right|trim|ltrim|rtrim|lower|upper|lcase|ucase|lpad|rpad|concat|\|\|)$/;
/** Those that may take a piece of a text: of others the number or the time is that of the whole text. */
const PIECES = /^(?:split_part|regexp_extract|substr|substring|left|right)$/;
const DEPTH_MAX = 10;
const CHARS_MAX = 300;

/** The text that an expression takes of one field; none: it is something else. */
export function textPartsOf(origins: Origins, node: unknown, scope: Scope | undefined): readonly TextPart[] {
  const [leaf, ...more] = isNode(node) ? leavesOf(origins, node, scope) : [];
  if (!isNode(node) || leaf === undefined || more.length > 0 || isField(leaf) || leaf.rest.length > 0) return [];
  if (leaf.node['class'] === 'CAST') return numberTextOf(origins, node, leaf);
  if (!CALLS.test(callOf(leaf.node))) return [];
  const { inner = [], around, isPiece = false } = callsIn(leaf.node, 0) ?? {};
  const fields = inner.flatMap((one) => leavesOf(origins, one, leaf.scope));
  const [field] = fields;
  if (around === undefined || field === undefined || fields.length !== inner.length) return [];
  if (!isField(field) || !isText(field) || !fields.every((one) => isField(one) && isSameField(one, field))) return [];
  const named = node['class'] === 'COLUMN_REF' ? pathText(node) : undefined;
  const written = named ?? around(field.written);
  const whole = isPiece || named !== undefined ? undefined : field;
  return written.length > CHARS_MAX ? [] : [{ ...field, of: around('v'), written, whole }];
}

/** The text of a field of numbers. */
function numberTextOf(origins: Origins, node: Node, { node: cast, scope }: Computed): TextPart[] {
  const [field, ...more] = castType(cast['cast_type']) === 'VARCHAR' ? leavesOf(origins, cast['child'], scope) : [];
  if (field === undefined || more.length > 0 || !isField(field) || !isNumberType(field.type)) return [];
  const written = `CAST(${field.written} AS VARCHAR)`;
  const named = node['class'] === 'COLUMN_REF' ? pathText(node) : undefined;
  const own = { written: named ?? written, ...(named === undefined && { number: field.written }) };
  return [{ ...field, type: 'VARCHAR', of: 'CAST(v AS VARCHAR)', whole: undefined, ...own }];
}

/** Calls around expressions that are none. */
interface Calls {
  inner: readonly Node[];
  around(x: string): string;
  isPiece: boolean;
}

const callOf = (node: Node) => (node['class'] === 'FUNCTION' ? foldName(textOf(node['function_name'])) : '');

function callsIn(node: Node, depth: number): Calls | undefined {
  const literal = literalOf(node);
  if (literal !== undefined) return { inner: [], around: () => literal, isPiece: false };
  const call = callOf(node);
  if (!CALLS.test(call)) return { inner: [node], around: (x) => x, isPiece: false };
  const parts = depth > DEPTH_MAX ? [undefined] : nodesOf(node['children']).map((one) => callsIn(one, depth + 1));
  const known = parts.filter((one) => one !== undefined);
  if (known.length < parts.length) return undefined;
  return {
    inner: known.flatMap(({ inner }) => inner),
    around: (x) => {
      const args = known.map(({ around }) => around(x));
      return call === '||' ? `(${args.join(' || ')})` : `${call}(${args.join(', ')})`;
    },
    isPiece: PIECES.test(call) || known.some((one) => one.isPiece),
  };
}

/** A text or a whole number as SQL; undefined: an expression is something else. The tree leaves out an empty text. */
function literalOf(node: Node): string | undefined {
  const held = node['class'] === 'CONSTANT' ? node['value'] : undefined;
  if (!isNode(held) || !isNode(held['type'])) return undefined;
  const { value = held['type']['id'] === 'VARCHAR' && held['is_null'] === false ? '' : undefined } = held;
  if (typeof value === 'string') return value.includes('\0') ? undefined : quoteText(value);
  return Number.isInteger(value) ? String(value) : undefined;
}
