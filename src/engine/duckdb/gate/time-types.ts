import { foldName, ITEM } from '../sql/names.ts';
import { isNode, type Node, nodesOf, textOf, textsOf } from '../sql/tree.ts';
import {
  type Computed,
  createOrigins,
  isField,
  type Leaf,
  LISTS,
  leavesInSide,
  leavesOf,
  type Origins,
} from './field-origins.ts';
import type { Scope } from './node-scopes.ts';
import type { Relations } from './query-columns.ts';

/*
 * Which parts of a statement are times, and which are text, as far as its tree and the names of columns tell. Nothing is
 * said of a name that may stand for columns of several types.
 */

/** `clock` is a time of day; in a list with `[]` behind it, as SQL types have. */
export type TimeType = `${'time' | 'clock' | 'text' | 'json'}${'' | `[]${string}`}`;
/** A parameter, whose type its value decides. */
export interface OfParameter {
  parameter: string;
}
/** Undefined: of another type, or not known; constants take that of what they are compared with. */
export type Known = TimeType | OfParameter | undefined;

/** The time type of a type as SQL writes it. */
function timeTypeOf(type: string | undefined): TimeType | undefined {
  const [, base = '', lists = ''] = /^([A-Z ]+)((?:\[\])*)$/.exec(type?.replace(/_(?:S|MS|NS)\b/, '') ?? '') ?? [];
  const of = base === 'VARCHAR' ? 'text' : base === 'JSON' ? 'json' : base === 'TIME' ? 'clock' : undefined;
  const found = of ?? (base === 'DATE' || base.startsWith('TIMESTAMP') ? 'time' : undefined);
  return found && (`${found}${lists}` as TimeType);
}

const TIMES =
  /^(?:now|today|get_current_timestamp|transaction_timestamp|current_(?:date|timestamp|localtimestamp)|make_date|to_timestamp|(?:try_)?strptime|date_trunc|datetrunc|last_day|time_bucket)$|^make_timestamp/;
const TEXTS =
  /^(?:->>|\|\||json_extract_string|lower|lcase|upper|ucase|l?r?trim|concat|concat_ws|substr|substring|left|right|replace|regexp_(?:replace|extract)|strftime|string_agg|group_concat|split_part|[lr]pad|reverse|array_to_string)$/;
/** Functions that give a time of one, and those that give a list of what they are given. */
const SHIFTS = /^(?:\+|-|date_add)$/;
/** How often expressions, tables and subqueries are looked into. */
const LOOKS_MAX = 50_000;

export interface TimeTypes {
  readonly origins: Origins;
  readonly found: Map<Node, Known>;
}

export function createTimeTypes(relations: Relations): TimeTypes {
  return { origins: createOrigins(relations, LOOKS_MAX), found: new Map() };
}

/** The type of a column by this name of one side of a join. */
export function typeInSide(types: TimeTypes, side: unknown, name: string): TimeType | undefined {
  const leaves = leavesInSide(types.origins, side, name);
  const type = leaves === 'none' ? undefined : typeOfAll(types, leaves);
  return typeof type === 'string' ? type : undefined;
}

/** The type of an expression in a place. */
export function typeOf(types: TimeTypes, node: Node, scope: Scope | undefined): Known {
  if (types.found.has(node)) return types.found.get(node);
  types.found.set(node, undefined);
  const type = typeOfAll(types, leavesOf(types.origins, node, scope));
  types.found.set(node, type);
  return type;
}

/** That of all that a value may be, as far as it is known; undefined: they differ. */
function typeOfAll(types: TimeTypes, leaves: readonly Leaf[]): Known {
  const known = leaves.flatMap((leaf) => (isField(leaf) ? timeTypeOf(leaf.type) : ofComputed(types, leaf)) ?? []);
  const own = new Set(known.filter((type) => typeof type === 'string'));
  if (own.size > 1) return undefined;
  return own.size === 1 ? [...own][0] : known[0];
}

function ofComputed(types: TimeTypes, { node, scope, rest }: Computed): Known {
  let type = ofNode(types, node, scope);
  for (const step of rest) type = itemOf(type, step);
  return type;
}

function ofNode(types: TimeTypes, node: Node, scope: Scope | undefined): Known {
  switch (node['class']) {
    case 'COLUMN_REF': {
      const [name = '', ...more] = textsOf(node['column_names']);
      return more.length === 0 && TIMES.test(foldName(name)) ? 'time' : undefined;
    }
    case 'CAST':
      return timeTypeOf(castType(node['cast_type']));
    case 'PARAMETER':
      return { parameter: foldName(textOf(node['identifier'])) };
    case 'FUNCTION':
    case 'WINDOW':
      return ofCall(types, node, scope);
    default:
      return undefined;
  }
}

function ofCall(types: TimeTypes, call: Node, scope: Scope | undefined): Known {
  const name = foldName(textOf(call['function_name']));
  const children = nodesOf(call['children']);
  if (TIMES.test(name)) return 'time';
  if (TEXTS.test(name)) return 'text';
  if (name === '->') return 'json';
  const isList = LISTS.test(name);
  if (!isList && !SHIFTS.test(name)) return undefined;
  const [one, other] = children.map((child) => typeOf(types, child, scope));
  if (isList) return listOf(one ?? other);
  // The difference of two times is none.
  return name === '-' && one === 'time' && other === 'time' ? undefined : (one ?? other);
}

/** A type of the tree, as SQL writes it. */
export function castType(type: unknown): string {
  if (!isNode(type)) return '';
  const info = isNode(type['type_info']) ? type['type_info'] : {};
  if (type['id'] === 'LIST') return `${castType(info['child_type'])}[]`;
  return textOf(info['name']) || textOf(info['alias']) || textOf(type['id']);
}

/** That of an item of a list, or of what a key of JSON has. */
function itemOf(type: Known, step: string): Known {
  if (typeof type !== 'string') return undefined;
  if (type === 'json') return 'json';
  return step === ITEM && type.endsWith('[]') ? (type.slice(0, -2) as TimeType) : undefined;
}

function listOf(type: Known): Known {
  return typeof type === 'string' ? (`${type}[]` as TimeType) : undefined;
}
