import { TO_INT, TRY_TO_INT } from '../sql/compat/casts.ts';
import { TIME_OF, TRY_TIME_OF } from '../sql/compat/times.ts';
import { isNumber, isTime } from '../sql/corrections/casts.ts';
import { foldName, quoteText } from '../sql/names.ts';
import { constantText, isNode, type Node, nodesOf, textOf } from '../sql/tree.ts';
import { isSameField, isText, type Origin, type Origins, originsOf, type Sources, sourcesOf } from './field-origins.ts';
import type { Scope } from './node-scopes.ts';
import { type TextPart, textPartsOf } from './text-parts.ts';
import { castType } from './time-types.ts';

/*
 * Casts of text to numbers and times.
 */

/** A cast of what is text in at least one of the fields that feed it. */
export interface TextCast {
  /** What is cast, as SQL writes it. */
  written: string;
  /** As SQL writes it. */
  type: string;
  /** Whether it is NULL for what it does not read. */
  isTry: boolean;
  /** Whether the author asks what it does not read, or has something else to read it. */
  isAsked: boolean;
  /** Whether all that it does is to order rows, none of which are left out. */
  isSortKey: boolean;
  sources: Sources;
  /** What reads a value that is called `v`, as SQL, where that is no cast: `try_strptime`. */
  tried?: string | undefined;
  /** What is cast of a value of the only field that is called `v`, as SQL; undefined: the value. */
  of?: string;
}

/** What of these is found in a statement. */
export interface CastUses {
  origins: Origins;
  casts: TextCast[];
  /** The operands, as they are written, of which the author asks what no cast reads. */
  known: Set<string>;
  /** The keys by which queries order all their rows. */
  sortKeys: Set<Node>;
}

const CASTS_MAX = 24;

interface CastNode {
  operand: unknown;
  type: string;
  isTry: boolean;
  tried?: string | undefined;
}

/** `try_strptime(x, '%d.%m.%Y')`, which is NULL for what it does not read as a TRY_CAST is. */
function parsedIn(node: Node): CastNode | undefined {
  if (foldName(textOf(node['function_name'])) !== 'try_strptime') return undefined;
  const [operand, format] = nodesOf(node['children']);
  const isList = foldName(textOf(format?.['function_name'])) === 'list_value';
  const texts = (isList ? nodesOf(format?.['children']) : [format]).map(constantText);
  const known = texts.flatMap((text) => (text === undefined || text.includes('\0') ? [] : [quoteText(text)]));
  if (operand === undefined || known.length === 0 || known.length < texts.length) return undefined;
  const given = isList ? `[${known.join(', ')}]` : known.join();
  return { operand, type: 'TIMESTAMP', isTry: true, tried: `try_strptime(v, ${given})` };
}

/** Of times of a day, and lengths of time. */
const OF_CLOCKS = /^(?:time|interval)$/i;

/** What the time of day is taken of, within a cast to it. */
function withoutMacro(operand: unknown): unknown {
  const isMacro = isNode(operand) && [TIME_OF, TRY_TIME_OF].includes(textOf(operand['function_name']));
  return isMacro ? nodesOf(operand['children'])[0] : operand;
}

/** What a cast casts, and to which type. */
export function castIn(node: Node): CastNode | undefined {
  const call = foldName(textOf(node['function_name']));
  if (call === TO_INT || call === TRY_TO_INT)
    return { operand: nodesOf(node['children'])[0], type: 'INT', isTry: call === TRY_TO_INT };
  if (node['class'] !== 'CAST') return undefined;
  return { operand: withoutMacro(node['child']), type: castType(node['cast_type']), isTry: node['try_cast'] === true };
}

function triedIn(node: Node): CastNode | undefined {
  const cast = castIn(node) ?? parsedIn(node);
  return cast?.isTry === true ? cast : undefined;
}

export function noteCast(walk: CastUses, node: Node, scope: Scope | undefined): void {
  const { operand, type = '', isTry = false, tried } = castIn(node) ?? parsedIn(node) ?? {};
  if (!(isNumber(type) || isTime(type) || OF_CLOCKS.test(type)) || walk.casts.length >= CASTS_MAX) return;
  const sources = sourcesOf(walk.origins, operand, scope);
  const isSortKey = walk.sortKeys.has(node);
  const text = sources.fields.find(isText);
  if (text === undefined) {
    if (tried === undefined) notePartCast(walk, textPartsOf(walk.origins, operand, scope), { type, isTry, isSortKey });
    return;
  }
  const { written } = text;
  const same = walk.casts.findIndex((one) => one.written === written && one.type === type && one.isTry === isTry);
  const known = walk.casts[same];
  // Whoever tries several formats has each read its own values.
  if (known !== undefined && known.tried !== tried) walk.known.add(written);
  if (known === undefined) walk.casts.push({ written, type, isTry, isAsked: false, isSortKey, sources, tried });
  // The same words may name other fields elsewhere in the statement.
  else
    walk.casts[same] = {
      ...known,
      isSortKey: known.isSortKey && isSortKey,
      sources: together(known.sources, sources),
    };
}

/** A cast of what functions of text make of a field: its errors name the value, and its NULLs and other numbers do not. */
function notePartCast(
  walk: CastUses,
  [part]: readonly TextPart[],
  { type, isTry, isSortKey }: Pick<TextCast, 'type' | 'isTry' | 'isSortKey'>,
): void {
  if (part === undefined || part.number !== undefined || !(isTry || isNumber(type))) return;
  const { written, of, whole } = part;
  const known = walk.casts.find((one) => one.written === written && one.type === type && one.isTry === isTry);
  if (known !== undefined) known.isSortKey &&= isSortKey;
  if (known !== undefined) return;
  walk.casts.push({
    written,
    type,
    isTry,
    isAsked: false,
    isSortKey,
    of,
    sources: { fields: [whole ?? part], isComputed: false },
  });
}

/** Several of them as one. */
export function together(one: Sources, other: Sources): Sources {
  const isNew = (field: Origin) => !one.fields.some((known) => isSameField(known, field));
  return { fields: [...one.fields, ...other.fields.filter(isNew)], isComputed: one.isComputed || other.isComputed };
}

/** The casts of which a node asks whether they read a value, or has something else to read it where they do not. */
function castsAsked(node: Node) {
  const children = nodesOf(node['children']);
  const type = textOf(node['type']);
  const isAsked =
    /^OPERATOR_IS_(?:NOT_)?NULL$/.test(type) ||
    (type === 'OPERATOR_COALESCE' && children.filter((one) => one['class'] !== 'CONSTANT').length > 1);
  return isAsked ? children.flatMap((one) => triedIn(one) ?? []) : [];
}

export function noteAsked({ origins, known }: CastUses, node: Node, scope: Scope | undefined): void {
  for (const { operand } of castsAsked(node))
    for (const { written } of [...originsOf(origins, operand, scope), ...textPartsOf(origins, operand, scope)])
      known.add(written);
}
