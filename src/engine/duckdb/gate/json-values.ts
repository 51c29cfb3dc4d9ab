import { VALUES_OF } from '../sql/compat.ts';
import { conditionsIn, isOrder } from '../sql/conditions.ts';
import { foldName, quoteText } from '../sql/names.ts';
import type { Splice } from '../sql/splices.ts';
import { constantOf, constantText, isNode, type Node, nodesOf, offsetOf, textOf } from '../sql/tree.ts';
import { isNumberType } from '../sql/type-kinds.ts';
import { type Computed, createOrigins, isField, type Leaf, leavesOf, type Origins } from './field-origins.ts';
import {
  argumentsOf,
  callOf,
  type JsonSource,
  numberOf,
  READS,
  STEPS,
  sourceOf,
  TEXT_STEPS,
  writtenOf,
} from './json-steps.ts';
import type { Scope } from './node-scopes.ts';
import { isNull } from './nulls.ts';
import type { Relations } from './query-columns.ts';
import { type Other, otherOf } from './text-alike.ts';
import { castType } from './time-types.ts';

/*
 * JSON that a statement computes, and what it does with it as if it were a number or a text: to the engine JSON is its own
 * text, in which 9 comes behind 10 and a text has quotes.
 */

/** What JSON is compared with for being the same: text, which has no quotes, or an integer, to which it is rounded. */
export type JsonBeside = { text: string | undefined } | 'integer' | { parameter: string };

/** JSON whose text is put in order, is given to a function of text, or is compared. */
export interface JsonUse {
  /** As SQL, if that is short. */
  written: string | undefined;
  /** The function of text; undefined: its values are put in order, or compared. */
  call: string | undefined;
  beside: JsonBeside | undefined;
  /** Undefined: it is made of something else than one field. */
  source: JsonSource | undefined;
  /** Set if it is the text of a step, as `->>` gives it, and put in order; `other`: beside a text. */
  text?: { other: Other | undefined };
  /** The number whose text that is, as SQL, if it is a field. */
  number?: string | undefined;
}

/** Functions that give JSON of another value. */
const MAKES = /^(?:to_json|json_quote)$/;
/** Those that give an object or a list, which is no number and has no quotes around it. */
const WHOLES =
  /^(?:json_object|json_array|json_merge_patch|json_group_(?:array|object)|object|merge|erase|row_to_json|array_to_json)$/;
const WHOLE_TYPES = /^(?:STRUCT|MAP)\(|\[\]$/;
/** Lists of JSON, by how many steps lead to one. */
const LISTS: ReadonlyMap<string, number> = new Map([
  ['items', 2],
  [VALUES_OF, 1],
]);

function isJsonLeaf(leaf: Leaf): boolean {
  if (isField(leaf)) return leaf.type === 'JSON';
  const { node, rest } = leaf;
  if (node['class'] === 'CAST') return castType(node['cast_type']) === 'JSON';
  const call = callOf(node);
  const steps = LISTS.get(call);
  return steps === undefined ? [STEPS, READS, MAKES, WHOLES].some((calls) => calls.test(call)) : rest.length >= steps;
}

/** What of these is found in a statement. */
export interface JsonUses {
  origins: Origins;
  found: JsonUse[];
  splices: Splice[];
  /** Literals, and what their values become in the tree. */
  respelled: Map<Node, Node>;
  bytes: Buffer;
}

/** Of which steps into JSON an expression is the text; none: it may be something else. */
function textIn(walk: JsonUses, node: unknown, scope: Scope | undefined): readonly Leaf[] {
  const leaves = isNode(node) && node['class'] !== 'CONSTANT' ? leavesOf(walk.origins, node, scope) : [];
  return leaves.every((leaf) => !isField(leaf) && TEXT_STEPS.test(callOf(leaf.node))) ? leaves : [];
}

/** What is put in order, as JSON or as the text of it. */
export function noteJsonOrdered(walk: JsonUses, node: unknown, scope: Scope | undefined): void {
  note(walk, node, jsonIn(walk, node, scope));
  note(walk, node, textIn(walk, node, scope), { text: { other: undefined } });
}

/** What JSON an expression is; none: it may be something else. */
function jsonIn(walk: JsonUses, node: unknown, scope: Scope | undefined): readonly Leaf[] {
  if (!isNode(node) || node['class'] === 'CONSTANT' || node['class'] === 'PARAMETER') return [];
  const leaves = leavesOf(walk.origins, node, scope);
  return leaves.every(isJsonLeaf) ? leaves : [];
}

const LOOKS_MAX = 2_000;
const USES_MAX = 6;
const MAY_BE_JSON = /->|json|\b(?:items|object|merge|erase|values)\b|o_vals/i;

/**
 * What of JSON is found in a statement, of which `bytes` are those of `body`; undefined: it has none. Literals beside JSON get the
 * spelling in which they compare as they are meant: a number as a DOUBLE, to which the engine then casts the JSON, and a text
 * that is no JSON as JSON.
 */
export function createJsonUses(relations: Relations, body: string, bytes: Buffer): JsonUses | undefined {
  const hasField = [...relations.tables.values()].some((table) => (table.jsonFields?.().size ?? 0) > 0);
  if (!hasField && !MAY_BE_JSON.test(body)) return undefined;
  return { origins: createOrigins(relations, LOOKS_MAX), found: [], splices: [], respelled: new Map(), bytes };
}

/** What a node compares, has in the place of JSON, or gives to a function of text. */
export function noteJson(walk: JsonUses, node: Node, scope: Scope | undefined): void {
  if (walk.origins.looksLeft < 0) return;
  noteCompared(walk, node, scope);
  respellInstead(walk, node, scope);
  noteCall(walk, node, scope);
}

function noteCompared(walk: JsonUses, node: Node, scope: Scope | undefined): void {
  for (const { x: side, by, others: all } of conditionsIn(node)) {
    const others = all.filter((one) => !isNull(one));
    const constants = others.filter((one) => one['class'] === 'CONSTANT');
    const json = jsonIn(walk, side, scope);
    if (json.length === 0) {
      for (const one of isOrder(by) ? others : []) noteTextBeside(walk, side, one, scope);
      continue;
    }
    const isNumber = constants.every((one) => isNumberType(typeOfConstant(one)));
    const isText = constants.every((one) => typeOfConstant(one) === 'VARCHAR');
    if (constants.length === others.length && (isNumber || isText))
      for (const one of constants) respell(walk, one, isNumber);
    for (const one of others) {
      const beside = besideOf(walk, one, scope);
      if (beside !== undefined) note(walk, side, json, { beside });
    }
    const beside = others.filter((one) => !constants.includes(one));
    const isOfTexts = constants.length > 0 ? isText : beside.some((one) => jsonIn(walk, one, scope).length > 0);
    if (isOrder(by) && isOfTexts) note(walk, side, json);
  }
}

/** The text of JSON that is put in order beside another text; what is none casts it. */
function noteTextBeside(walk: JsonUses, side: unknown, beside: unknown, scope: Scope | undefined): void {
  const other = otherOf(beside);
  if (other === undefined && textIn(walk, beside, scope).length === 0) return;
  note(walk, side, textIn(walk, side, scope), { text: { other } });
}

const IS_INTEGER = /^U?(?:(?:BIG|HUGE|SMALL|TINY)?INT|INTEGER)$/i;
/** A text that is itself JSON, but none of a text, an object or a list: of those the author knows what they are. */
const OTHER_JSON = /^(?:-?\d|true$|false$)/;

export const besideText = (text: string) => (OTHER_JSON.test(text) && isJson(text) ? { text } : undefined);

/** What JSON is beside that the engine would make JSON, or to which it would round it. */
function besideOf({ origins }: JsonUses, node: unknown, scope: Scope | undefined): JsonBeside | undefined {
  const text = constantText(node);
  if (text !== undefined) return besideText(text);
  if (!isNode(node) || node['class'] === 'CONSTANT') return undefined;
  if (node['class'] === 'PARAMETER') return { parameter: foldName(textOf(node['identifier'])) };
  const leaves = leavesOf(origins, node, scope);
  const types = leaves.map((leaf) => (isField(leaf) ? leaf.type : typeOfComputed(leaf.node)));
  if (types.length === 0) return undefined;
  if (types.every((type) => type === 'VARCHAR')) return { text: undefined };
  return types.every((type) => IS_INTEGER.test(type)) ? 'integer' : undefined;
}

const typeOfComputed = (node: Node) => (node['class'] === 'CAST' ? castType(node['cast_type']) : '');

/** Texts that stand in for JSON, by coalesce(), CASE or nullif(), as JSON. */
function respellInstead(walk: JsonUses, node: Node, scope: Scope | undefined): void {
  const isAny = node['type'] === 'OPERATOR_COALESCE' || foldName(textOf(node['function_name'])) === 'nullif';
  const isCase = node['class'] === 'CASE';
  if (!isAny && !isCase) return;
  const all = isAny
    ? nodesOf(node['children'])
    : nodesOf([...nodesOf(node['case_checks']).map((check) => check['then_expr']), node['else_expr']]);
  const texts = all.filter((one) => one['class'] === 'CONSTANT' && !isNull(one));
  const others = all.filter((one) => one['class'] !== 'CONSTANT');
  if (texts.length === 0 || others.length === 0 || texts.some((one) => typeOfConstant(one) !== 'VARCHAR')) return;
  if (others.every((one) => jsonIn(walk, one, scope).length > 0)) for (const one of texts) respell(walk, one, false);
}

const typeOfConstant = ({ value }: Node) => (isNode(value) && isNode(value['type']) ? textOf(value['type']['id']) : '');

/** A number as SQL, with its sign. */
const A_NUMBER = /^-?(?:\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})(?![\w.])/;
const LITERAL_BYTES = 40;

function respell(walk: JsonUses, constant: Node, isNumber: boolean): void {
  const at = offsetOf(constant);
  const held = constant['value'];
  if (at === undefined || !isNode(held)) return;
  if (isNumber) {
    const [literal] = A_NUMBER.exec(walk.bytes.toString('utf8', at, at + LITERAL_BYTES)) ?? [];
    if (literal === undefined || typeOfConstant(constant) === 'DOUBLE') return;
    walk.splices.push({ at, length: literal.length, text: `${literal}e0` });
    walk.respelled.set(constant, { ...held, type: { id: 'DOUBLE' }, value: Number(literal) });
    return;
  }
  const text = textOf(held['value']);
  const literal = quoteText(text);
  const length = Buffer.byteLength(literal);
  if (isJson(text) || walk.bytes.toString('utf8', at, at + length) !== literal) return;
  const value = JSON.stringify(text);
  walk.splices.push({ at, length, text: quoteText(value) });
  walk.respelled.set(constant, { ...held, value });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Functions of text, to which JSON is its own. */
const OF_TEXT: ReadonlySet<string> = new Set(
  `~~ !~~ ~~* !~~* || like_escape ilike_escape not_like_escape not_ilike_escape length len strlen char_length concat
  concat_ws upper ucase lower lcase initcap reverse substr substring left right replace contains starts_with ends_with
  prefix suffix strpos instr position split_part string_split string_agg listagg group_concat regexp_matches
  regexp_full_match regexp_like regexp_replace regexp_extract regexp_extract_all regexp_split_to_array md5 sha1 sha256
  trim ltrim rtrim lpad rpad`.split(/\s+/),
);
const OPERATORS: ReadonlyMap<string, string> = new Map([
  ['~~', 'LIKE'],
  ['!~~', 'NOT LIKE'],
  ['~~*', 'ILIKE'],
  ['!~~*', 'NOT ILIKE'],
]);

/** Whether what a pattern looks for is not at either end of a text, where its quotes are, or begins as a number. */
const isWithin = (pattern: string | undefined) => pattern !== undefined && !/^[^%\d]|[^%]$/.test(pattern);

function noteCall(walk: JsonUses, node: Node, scope: Scope | undefined): void {
  if (node['class'] !== 'FUNCTION' && node['class'] !== 'WINDOW') return;
  const name = foldName(textOf(node['function_name']));
  const children = nodesOf(node['children']);
  if (OF_TEXT.has(name) && !(OPERATORS.has(name) && isWithin(constantText(children[1]))))
    for (const one of children) note(walk, one, jsonIn(walk, one, scope), { call: OPERATORS.get(name) ?? name });
}

function note(
  walk: JsonUses,
  node: unknown,
  json: readonly Leaf[],
  { call, beside, text }: Partial<Pick<JsonUse, 'call' | 'beside' | 'text'>> = {},
): void {
  const [leaf] = json;
  // Of a field that is JSON itself, `field-reads.ts` tells.
  if (
    leaf === undefined ||
    isField(leaf) ||
    json.some(isField) ||
    isKeyOfItems(node, leaf) ||
    isWhole(walk.origins, leaf) ||
    walk.found.length >= USES_MAX
  )
    return;
  const written = writtenOf(node);
  const source = json.length > 1 ? undefined : sourceOf(walk.origins, leaf, '', text !== undefined);
  const isKnown = walk.found.some(
    (one) =>
      one.written === written &&
      (one.call === undefined) === (call === undefined) &&
      (one.beside === undefined) === (beside === undefined) &&
      one.text?.other === text?.other,
  );
  if (isKnown || (text !== undefined && (written === undefined || source === undefined))) return;
  const number = text !== undefined && leaf.node === node ? numberOf(walk.origins, leaf) : undefined;
  walk.found.push({ written, call, beside, source, number, ...(text === undefined ? {} : { text }) });
}

/** The key of a pair of ITEMS, which is text; behind another name it is not known. */
function isKeyOfItems(node: unknown, leaf: Computed): boolean {
  if (callOf(leaf.node) !== 'items') return false;
  const key = isNode(node) ? constantOf(nodesOf(node['children'])[1]) : undefined;
  return typeof key !== 'number' || key === 1;
}

/** Whether JSON is made of what is an object or a list. */
function isWhole(origins: Origins, { node, scope, rest }: Computed): boolean {
  if (rest.length > 0) return false;
  const call = callOf(node);
  if (WHOLES.test(call)) return true;
  if (call !== 'to_json' && node['class'] !== 'CAST') return false;
  const made = leavesOf(origins, argumentsOf(node)[0], scope);
  return made.length > 0 && made.every((leaf) => isField(leaf) && WHOLE_TYPES.test(leaf.type));
}
