import { ApiError } from '../../../contract/errors.ts';
import { COLLATED, computedMacro, MATCHING_MACROS, WILDCARDS_MAX } from '../sql/matching.ts';
import { quoteText } from '../sql/names.ts';
import type { Splice } from '../sql/splices.ts';
import { tokens } from '../sql/tokens.ts';
import { constantText, isNode, isOfNames, listOf, type Node, nodesIn, offsetOf, textOf } from '../sql/tree.ts';
import type { Typed } from '../values/typed-json.ts';

/*
 * For each `%` with something after it, the engine tries a LIKE pattern at every position of the text, nested in the
 * tries for the `%` before: `'%_a%_a%_a%_b'` over 2 kB of text takes hours, uninterruptible within one text. Only for
 * constant LIKE patterns without `_` it has a faster algorithm. Regular expressions take time linear in the text's
 * length.
 */

interface Matching {
  /** The wildcard for any text. */
  any: '%' | '*';
  isNot?: boolean;
  ignoresCase?: boolean;
}

const MATCHINGS: ReadonlyMap<string, Matching> = new Map([
  ['~~', { any: '%' }],
  ['!~~', { any: '%', isNot: true }],
  ['like_escape', { any: '%' }],
  ['not_like_escape', { any: '%', isNot: true }],
  ['~~*', { any: '%', ignoresCase: true }],
  ['!~~*', { any: '%', ignoresCase: true, isNot: true }],
  ['ilike_escape', { any: '%', ignoresCase: true }],
  ['not_ilike_escape', { any: '%', ignoresCase: true, isNot: true }],
  ['~~~', { any: '*' }],
]);

const INSTEAD =
  `At most ${WILDCARDS_MAX} "%" or "*" in a pattern may have something after them here. ` +
  "Use regexp_matches(text, 'one.*two'), which finds it anywhere in the text.";

/** The operators for which the engine has a fast algorithm. */
const LIKE = /^!?~~$/;

/** A part of a pattern: any text, any one character, or this character. */
type Part = { kind: 'any' | 'one' } | { kind: 'text'; text: string };

function partsOf(pattern: string, any: Matching['any'], escaping: string): Part[] {
  const parts: Part[] = [];
  const characters = [...pattern];
  for (let index = 0; index < characters.length; index++) {
    const character = characters[index] ?? '';
    if (character === escaping) parts.push({ kind: 'text', text: characters[++index] ?? '' });
    else if (character === any && parts.at(-1)?.kind !== 'any') parts.push({ kind: 'any' });
    else if (character === '_') parts.push({ kind: 'one' });
    else if (character !== any) parts.push({ kind: 'text', text: character });
  }
  return parts;
}

function wildcardsIn(parts: readonly Part[]): number {
  return parts.filter(({ kind }, index) => kind === 'any' && index < parts.length - 1).length;
}

/** The lower case of a letter as the engine makes it: always a single letter. */
function lower(letter: string): string {
  if (letter === '\u0130') return 'i';
  const small = letter.toLowerCase();
  return [...small].length === 1 ? small : letter;
}

let capitals: Map<string, string> | undefined;

/** The other letters that equal this lower-case letter if case is ignored. */
function capitalsOf(small: string): string {
  if (capitals === undefined) {
    capitals = new Map();
    // No letter above has two cases.
    for (let code = 0x41; code < 0x1f000; code++) {
      const letter = String.fromCodePoint(code);
      const own = lower(letter);
      if (own !== letter) capitals.set(own, (capitals.get(own) ?? '') + letter);
    }
  }
  return capitals.get(small) ?? '';
}

function expressionOf(parts: readonly Part[], ignoresCase: boolean): string {
  const ofText = (text: string) => {
    const small = ignoresCase ? lower(text) : text;
    const others = ignoresCase ? capitalsOf(small) : '';
    return others === '' ? small.replace(/[\\.+*?()|[\]{}^$]/, '\\$&') : `[${small}${others}]`;
  };
  const ofPart = (part: Part) => (part.kind === 'text' ? ofText(part.text) : part.kind === 'any' ? '.*' : '.');
  return `(?s)${parts.map(ofPart).join('')}`;
}

/** How many more bytes are read to find the end of an operator and its pattern. */
const MARGIN_BYTES = 1_000;

/** Length in bytes of `LIKE 'pattern' ESCAPE 'x'` in the text from `at` on; null if it is written differently. */
function lengthOf(bytes: Buffer, at: number, pattern: string, hasEscape: boolean): number | null {
  const text = bytes.toString('utf8', at, at + 4 * Buffer.byteLength(pattern) + MARGIN_BYTES);
  const read = tokens(text);
  let token = read.next().value;
  if (token?.text.toLowerCase() === 'not') token = read.next().value;
  if (!/^i?like$/i.test(token?.text ?? '')) return null;
  token = read.next().value;
  if (token?.kind === 'string' && hasEscape) {
    if (read.next().value?.text.toLowerCase() !== 'escape') return null;
    token = read.next().value;
  }
  return token?.kind === 'string' ? Buffer.byteLength(text.slice(0, token.end)) : null;
}

/** Turns the call into what the engine's parser makes of `text ~ 'expression'`, or of `!~`. */
function rewrite(node: Node, { isNot = false }: Matching, left: unknown, constant: unknown, expression: string): void {
  const pattern = isNode(constant) && isNode(constant['value']) ? constant['value'] : {};
  const call: Node = {
    class: 'FUNCTION',
    type: 'FUNCTION',
    function_name: 'regexp_full_match',
    children: [left, { class: 'CONSTANT', type: 'VALUE_CONSTANT', value: { ...pattern, value: expression } }],
    order_bys: node['order_bys'],
  };
  for (const key of ['function_name', 'schema', 'is_operator', 'children', 'order_bys']) delete node[key];
  if (isNot) Object.assign(node, { class: 'OPERATOR', type: 'OPERATOR_NOT', children: [call] });
  else Object.assign(node, call);
}

/** Cached for the last text, which may contain LIKE thousands of times. */
let collated: { bytes: Buffer | null; is: boolean } = { bytes: null, is: false };

function hasCollation(bytes: Buffer): boolean {
  if (collated.bytes !== bytes) collated = { bytes, is: /(\b|\d)collate\b/i.test(bytes.toString()) };
  return collated.is;
}

/** What to do about a call: a refusal, or a splice (the tree is then changed accordingly). */
export interface Pattern {
  refusal?: string;
  splice?: Splice;
  /** Parameters that make up the pattern. */
  parameters?: string[];
  /** Most wildcards that each of them may have; infinite: any number, as long as there is no `_`. */
  most?: number;
  /** The macro that has to stand in the operator's place. */
  macro?: string;
}

/** Functions that add no wildcards to those of their arguments. */
const JOINING = new Set('|| concat lower upper trim'.split(' '));
const JOINED = new Set(['CONSTANT', 'PARAMETER', 'CAST', 'TYPE']);

const isJoined = (node: Node) =>
  node['class'] === undefined ||
  JOINED.has(textOf(node['class'])) ||
  (node['class'] === 'FUNCTION' && JOINING.has(textOf(node['function_name']).toLowerCase()));

/** The pattern with a letter in place of each parameter; undefined if it is more than texts that are joined. */
function joinedText(nodes: readonly Node[]): string | undefined {
  if (!nodes.every(isJoined)) return undefined;
  // The last one comes first.
  const texts = nodes.map((node) => (node['class'] === 'PARAMETER' ? 'x' : (constantText(node) ?? '')));
  return texts.reverse().join('');
}

/**
 * A pattern that is no constant. One that is joined of constants and a parameter keeps the engine's own operator if that
 * has a fast algorithm, or the constants bring one wildcard at most; the parameter's value is checked (`checkPatterns`).
 * In place of any other stands a macro.
 */
function ofParts(pattern: unknown, { any }: Matching, operator: string, bytes: Buffer): Pattern {
  const nodes = [...nodesIn(pattern)];
  const parameters = nodes.filter((node) => node['class'] === 'PARAMETER').map((node) => String(node['identifier']));
  const joined = parameters.length <= 1 ? joinedText(nodes) : undefined;
  if (joined !== undefined && !joined.includes('_')) {
    // The engine knows such a pattern when it plans.
    if (LIKE.test(operator) && !hasCollation(bytes)) return { parameters, most: Number.POSITIVE_INFINITY };
    const own = wildcardsIn(partsOf(joined, any, ''));
    if (own <= 1) return { parameters, most: WILDCARDS_MAX - own };
  }
  const isCollated = MATCHING_MACROS.has(operator + COLLATED) && hasCollation(bytes);
  return { parameters, most: WILDCARDS_MAX, macro: isCollated ? operator + COLLATED : operator };
}

/** Where the engine's own functions are. */
const ENGINE_SCHEMAS = new Set(['main', 'system', 'pg_catalog']);

/** A call with a regular expression: one that is joined of constants and parameters is compiled once, any other per row. */
function ofExpression(call: Node, macro: string): Pattern {
  const children = listOf(call['children']);
  const path = [call['catalog'], call['schema']].filter((part) => part !== undefined).map(textOf);
  const isOfEngine = path.some((part) => ENGINE_SCHEMAS.has(part.toLowerCase()));
  // `column.f(second)` has the first one before its name.
  const patterns = path.length > 0 && !isOfEngine ? children.slice(0, 2) : [children[1]];
  if (patterns.every((pattern) => isNode(pattern) && [...nodesIn(pattern)].every(isJoined))) return {};
  if (!isOfEngine) return { macro };
  const name = textOf(call['function_name']);
  return { refusal: `Call ${name}() by its plain name, with all arguments in the brackets.` };
}

/**
 * Makes sure that a LIKE, ILIKE or GLOB takes time linear in the length of its text: a constant pattern that might take
 * longer becomes a regular expression, or is refused. Patterns made at run time are not known here: those of parameters
 * are checked with their values (`checkPatterns`), others by a macro in the operator's place (`matching.ts`); so are
 * regular expressions that are made at run time.
 */
export function boundPattern(node: Node, bytes: Buffer): Pattern {
  const operator = String(node['function_name']).toLowerCase();
  const matching = MATCHINGS.get(operator);
  const [left, constant, third] = Array.isArray(node['children']) ? node['children'] : [];
  if (isOfNames(node)) return {};
  const computed = computedMacro(operator);
  if (computed !== undefined) return ofExpression(node, computed);
  if (matching === undefined) return {};
  const pattern = constantText(constant);
  const isLike = LIKE.test(operator);
  if (pattern === undefined) return ofParts(constant, matching, operator, bytes);
  const escaping = constantText(third) ?? '';
  const parts = partsOf(pattern, matching.any, escaping);
  const wildcards = wildcardsIn(parts);
  if (wildcards < 2 || (isLike && !hasCollation(bytes) && !parts.some(({ kind }) => kind === 'one'))) return {};
  const at = offsetOf(node);
  const isPlain =
    matching.any === '%' &&
    // A collation affects LIKE, but not regular expressions.
    !hasCollation(bytes) &&
    (third === undefined || /^[^\p{L}\p{N}]?$/u.test(escaping)) &&
    !parts.some((part) => part.kind === 'text' && part.text === '');
  const length = isPlain && at !== undefined ? lengthOf(bytes, at, pattern, third !== undefined) : null;
  if (at === undefined || length === null) return wildcards > WILDCARDS_MAX ? { refusal: INSTEAD } : {};
  const expression = expressionOf(parts, matching.ignoresCase ?? false);
  rewrite(node, matching, left, constant, expression);
  return { splice: { at, length, text: ` ${matching.isNot ? '!~' : '~'} ${quoteText(expression)}` } };
}

/** Refuses, with `query_error`, the value of a parameter that is used as a pattern and could take too long. */
export function checkPatterns(parameters: ReadonlyMap<string, number>, values: ReadonlyMap<string, Typed>): void {
  for (const [name, given] of parameters) {
    const value = values.get(name)?.value;
    if (typeof value !== 'string') continue;
    const most = Number.isFinite(given) || !value.includes('_') ? given : WILDCARDS_MAX;
    const found = Math.max(...(['%', '*'] as const).map((any) => wildcardsIn(partsOf(value, any, ''))));
    if (found > most) {
      throw new ApiError('query_error', `Parameter ":${name}" is a pattern that could take very long. ${INSTEAD}`);
    }
  }
}
