import { OFFSET, STOPPABLE } from '../sql/guards.ts';
import type { Splice } from '../sql/splices.ts';
import { constantOf, isNode, isOfNames, listOf, type Node, nodesIn, offsetOf, textOf } from '../sql/tree.ts';
import { endOfExpression, type TextIndex } from './text-index.ts';

/*
 * Flaws of the engine that are fenced by changing the statement: the tree, and with splices the text. If these did not
 * fit each other, the text would have another tree than the one expected, and the statement would be refused.
 */

/** Functions whose last argument is a lambda. */
const WITH_LAMBDAS = new Set(
  'apply array_apply array_filter array_transform filter list_apply list_filter list_transform'.split(' '),
);
const NO_WORDS: ReadonlySet<string> = new Set();
const FOR: ReadonlySet<string> = new Set(['for']);

/** Where the body of the lambda at `offset` stands: the first and last token of what opens it, and what ends it. */
function bodyAt(text: TextIndex, offset: number): readonly [number, number, number] | undefined {
  const list = text.tokens;
  // The parser places a lambda at its parameters, at its arrow, or at the comprehension's bracket.
  const at = text.indexAt(offset);
  if (at === undefined) return undefined;
  let [first, last] = [at, at];
  if (list[at]?.text === '-') last = at + 1;
  else if (list[at]?.text !== '[') {
    while (first < list.length && list[first]?.text !== ':') first++;
    last = first;
  }
  const end = endOfExpression(list, last + 1, list[at]?.text === '[' ? FOR : NO_WORDS);
  return end === undefined ? undefined : [first, last, end];
}

/** Whether a lambda's body was made by the parser: a comprehension with IF becomes three calls. */
function isOfParser(body: Node, lambda: Node, name: string): boolean {
  const isSame = body['class'] === 'FUNCTION' && body['schema'] === 'main' && body['function_name'] === name;
  return isSame && offsetOf(body) === offsetOf(lambda);
}

/** The lambda that is an argument of this call, or of COLUMNS(). */
export function lambdaOf(node: Node): Node | undefined {
  const isTaking = WITH_LAMBDAS.has(textOf(node['function_name']).toLowerCase());
  const lambda = node['class'] === 'STAR' ? node['expr'] : isTaking ? listOf(node['children']).at(-1) : undefined;
  return isNode(lambda) && lambda['class'] === 'LAMBDA' ? lambda : undefined;
}

function callOf(macro: string, { alias, ...body }: Node): Node {
  const call = { class: 'FUNCTION', type: 'FUNCTION', function_name: macro, children: [body] };
  return { ...call, ...(alias !== undefined && { alias }), order_bys: { type: 'ORDER_MODIFIER' } };
}

/** The most work of such a lambda: about how many letters it reads, which takes some milliseconds. */
const WORK_MAX = 1_000_000;
/** Functions in its body that take no longer than their arguments are long. Those of the parser are among them. */
const PLAIN = new Set(
  '+ - * / // % || abs ceil ceiling floor round sqrt lower upper trim struct_pack struct_extract'.split(' '),
);
/** What a written list is made of; a number below zero is the operator for one above. */
const WRITTEN = new Set(['CONSTANT', 'CAST', 'TYPE']);

const isCallOf = (node: Node, name: string) => node['class'] === 'FUNCTION' && node['function_name'] === name;

function isWritten(node: Node): boolean {
  if (WRITTEN.has(textOf(node['class'])) || isCallOf(node, 'list_value')) return true;
  return isCallOf(node, '-') && listOf(node['children']).length === 1;
}

const expressionsIn = (part: unknown) => [...nodesIn(part)].filter((node) => node['class'] !== undefined);
const lettersIn = (nodes: readonly Node[]) =>
  nodes.reduce((sum, node) => sum + String(constantOf(node) ?? '').length + 1, 0);

/**
 * Whether the call works on a list that is written out, and on nothing else, and is little work: it stays constant, as
 * the engine wants some arguments, such as those of quantile_cont(). It is not stopped, not even between many of them.
 */
function isShortConstant(list: unknown, lambda: Node, body: Node): boolean {
  if (!isNode(list) || !isCallOf(list, 'list_value')) return false;
  const [items, parts] = [expressionsIn(list), expressionsIn(body)];
  const own = new Set([...nodesIn(lambda['lhs'])].flatMap((node) => listOf(node['column_names']).map(textOf)));
  const isPlain = (node: Node) => {
    const kind = textOf(node['class']);
    if (kind === 'COLUMN_REF') return own.has(textOf(listOf(node['column_names'])[0]));
    return (
      kind === 'COMPARISON' || WRITTEN.has(kind) || (kind === 'FUNCTION' && PLAIN.has(textOf(node['function_name'])))
    );
  };
  const work = lettersIn(items) * parts.length + items.length * lettersIn(parts);
  return work <= WORK_MAX && items.every(isWritten) && parts.every(isPlain);
}

/**
 * Passes the value of a lambda's body through `STOPPABLE`.
 *
 * The engine looks whether to stop only between two vectors of rows. For each vector a lambda runs once per item of its
 * lists, and nested ones once per item of theirs, which can take hours. In `STOPPABLE` the engine looks as well.
 */
export function stopLambda(call: Node, text: TextIndex): Splice[] {
  if (isOfNames(call)) return [];
  const lambda = lambdaOf(call);
  const body = lambda?.['expr'];
  if (lambda === undefined || !isNode(body)) return [];
  if (isShortConstant(listOf(call['children'])[0], lambda, body)) return [];
  const offset = offsetOf(lambda);
  const found = offset === undefined ? undefined : bodyAt(text, offset);
  if (found === undefined) return [];
  const [first, last, closing] = found.map((index) => text.tokens[index]);
  if (first === undefined || last === undefined || closing === undefined) return [];
  if (first.text === '[' && isOfParser(body, lambda, 'struct_extract')) return [];
  const fields = first.text === '[' && isOfParser(body, lambda, 'struct_pack') ? listOf(body['children']) : [];
  const [condition, result] = fields;
  if (isNode(result)) body['children'] = [condition, callOf(STOPPABLE, result)];
  else lambda['expr'] = callOf(STOPPABLE, body);
  const at = text.startOf(first);
  const opening = first === last ? first.text : `${first.text}${last.text}`;
  return [
    { at, length: text.endOf(last) - at, text: `${opening} ${STOPPABLE}(` },
    { at: text.startOf(closing), length: 0, text: ') ' },
  ];
}

const WITH_OFFSETS = new Set(['WINDOW_LAG', 'WINDOW_LEAD']);
/** What may follow the arguments of a window function within its brackets. */
const AFTER_ARGUMENTS: ReadonlySet<string> = new Set(['ignore', 'respect', 'order']);
const SMALL = new Set(['TINYINT', 'SMALLINT', 'INTEGER']);

function isSmall(offset: Node): boolean {
  const value = offset['class'] === 'CONSTANT' && isNode(offset['value']) ? offset['value']['type'] : undefined;
  return isNode(value) && SMALL.has(textOf(value['id']));
}

/**
 * Casts the offset of lag() and lead() to INTEGER: added to a row's number, a larger one exceeds 64 bits, and the engine
 * reads memory that is not there.
 */
export function boundOffset(window: Node, text: TextIndex): Splice[] {
  const offset = window['offset_expr'];
  const at = offsetOf(window);
  if (!WITH_OFFSETS.has(textOf(window['type'])) || !isNode(offset) || isSmall(offset) || at === undefined) return [];
  window['offset_expr'] = callOf(OFFSET, offset);
  const list = text.tokens;
  let open = text.indexAt(at) ?? list.length;
  while (open < list.length && list[open]?.text !== '(') open++;
  const comma = endOfExpression(list, open + 1, NO_WORDS);
  const end = comma === undefined ? undefined : endOfExpression(list, comma + 1, AFTER_ARGUMENTS);
  const [before, after] = [list[comma ?? -1], list[end ?? -1]];
  if (before === undefined || after === undefined) return [];
  return [
    { at: text.startOf(before), length: 1, text: `, ${OFFSET}(` },
    { at: text.startOf(after), length: 0, text: ') ' },
  ];
}
