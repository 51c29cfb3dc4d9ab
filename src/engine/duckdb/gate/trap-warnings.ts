import { conditionIn } from '../sql/conditions.ts';
import { foldName, type NamedTable, quoteText } from '../sql/names.ts';
import { fieldName } from '../sql/syntax-hints.ts';
import {
  constantNumber,
  constantOf,
  constantText,
  isNode,
  type Node,
  nodesOf,
  offsetOf,
  subqueryOf,
  textOf,
  textsOf,
} from '../sql/tree.ts';
import { A_DAY } from './day-uses.ts';
import { comparedWithNull, isNull } from './nulls.ts';
import { type Relations, relationsIn } from './query-columns.ts';
import { ofTimeParts } from './time-parts.ts';
import { castType } from './time-types.ts';
import { ofWholeRows, type WholeRows } from './whole-rows.ts';

/*
 * What is allowed and cannot be meant: it gives no error, and an answer that is empty or null, or that of another question.
 */

const WARNINGS_MAX = 3;
/** The engine's names of types, as its own TYPEOF gives them. */
const ENGINE_TYPE =
  /^(?:VARCHAR|U?(?:BIG|SMALL|TINY|HUGE)INT|U?INTEGER|DOUBLE|FLOAT|DECIMAL|BOOLEAN|JSON|STRUCT|MAP|LIST|BLOB|DATE|TIMESTAMP|TIME|UUID)\b|\[\]$/;

/** What is to be said of the nodes of a statement, whatever its answer is. */
export interface Traps {
  relations: Relations;
  /** Those of the statement's text. */
  bytes: Buffer;
  wholeRows: WholeRows;
  /** What each of `KINDS` has said. */
  said: readonly Set<string>[];
}

type Rule = (traps: Traps, node: Node) => string | undefined;

/** Of each kind a few are said. */
const KINDS: readonly Rule[] = [
  ({ wholeRows }, node) => ofWholeRows(wholeRows, node),
  ({ relations }, node) => ofOuter(node, relations) ?? countOfCondition(node) ?? ofTimeParts(node),
  ({ relations, bytes }, node) => {
    const tables = () => [...new Set(relations.tables.values())];
    return (
      firstOfNone(node, tables) ??
      engineType(node) ??
      wholeText(node, bytes) ??
      zonedTwice(node, tables) ??
      swappedBounds(node) ??
      comparedWithNull(node)
    );
  },
];

export function createTraps(relations: Relations, bytes: Buffer): Traps {
  const wholeRows = { relations, found: new Map(), depth: 0 };
  return { relations, bytes, wholeRows, said: KINDS.map(() => new Set<string>()) };
}

export function noteTrap(traps: Traps, node: Node): void {
  for (const [at, rule] of KINDS.entries()) {
    const said = traps.said[at];
    const warning = said === undefined || said.size >= WARNINGS_MAX ? undefined : rule(traps, node);
    if (warning !== undefined) said?.add(warning);
  }
}

/** Functions that give lists. */
const LISTS =
  /^(?:split|str_split|string_split|string_split_regex|str_split_regex|regexp_split_to_array|regexp_extract_all|string_to_array|list|array_agg|list_value|map_keys|map_values|json_keys|(?:list|array)_(?:sort|reverse_sort|reverse|distinct|filter|transform|concat|slice|intersect))$/;

/** `l[0]` of a list, which counts from 1. */
function firstOfNone(node: Node, tables: () => readonly NamedTable[]): string | undefined {
  if (node['type'] !== 'ARRAY_EXTRACT') return undefined;
  const [list, index] = nodesOf(node['children']);
  if (list === undefined || Number(constantOf(index) ?? Number.NaN) !== 0) return undefined;
  const call = foldName(textOf(list['function_name']));
  if (LISTS.test(call)) {
    return `${call}(…)[0] is always null: the items of a list count from 1, so ${call}(…)[1] is the first.`;
  }
  if (list['class'] !== 'COLUMN_REF') return undefined;
  const path = textsOf(list['column_names']);
  const isList = typesOf(path, tables).some((type) => type.endsWith('[]'));
  const shown = path.join('.');
  return isList
    ? `${shown}[0] is always null: the items of a list count from 1, so ${shown}[1] is the first.`
    : undefined;
}

/** The types that a path has, with or without what its collection is called before it. */
function typesOf(path: readonly string[], tables: () => readonly NamedTable[]): string[] {
  return tables().flatMap((table) =>
    [0, 1, 2].flatMap((at) => (at < path.length ? (table.typeAt?.(path.slice(at)) ?? []) : [])),
  );
}

/** `t AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin'` of a time that has a zone. */
function zonedTwice(node: Node, tables: () => readonly NamedTable[]): string | undefined {
  if (!isZoned(node)) return undefined;
  const [zone, inner] = nodesOf(node['children']);
  if (inner === undefined || !isZoned(inner)) return undefined;
  const [first, time] = nodesOf(inner['children']);
  const [from, to] = [constantText(first), constantText(zone)];
  const path = textsOf(time?.['column_names']);
  if (from === undefined || to === undefined || !typesOf(path, tables).includes('TIMESTAMP WITH TIME ZONE'))
    return undefined;
  const shown = path.map(fieldName).join('.');
  return `${shown} has a zone, so AT TIME ZONE twice takes its time in ${from} for one in ${to}, and shifts the wrong way: ${shown} AT TIME ZONE ${quoteText(to)} is its time there.`;
}

const isZoned = (node: Node) => foldName(textOf(node['function_name'])) === 'timezone';

/** `x BETWEEN '2024-03-06' AND '2024-03-01'`. */
function swappedBounds(node: Node): string | undefined {
  const { by, others = [] } = conditionIn(node) ?? {};
  const [low, high] = by === 'BETWEEN' ? others.map(boundOf) : [];
  if (low === undefined || high === undefined || typeof low !== typeof high || low <= high) return undefined;
  const [first, last] = [low, high].map((one) => (typeof one === 'string' ? quoteText(one) : one));
  return `BETWEEN ${first} AND ${last} is true of nothing: the lower bound comes first, BETWEEN ${last} AND ${first}.`;
}

const TIME_TYPES = /^(?:DATE|TIMESTAMP(?:TZ| WITH TIME ZONE)?)$/;

/** A literal of a number, or the text of one of a day; undefined: it is something else. */
export function boundOf(node: unknown): number | string | undefined {
  const isCast = isNode(node) && node['class'] === 'CAST' && TIME_TYPES.test(castType(node['cast_type']));
  const held = isCast ? node['child'] : node;
  const value = constantOf(held);
  if (typeof value === 'string') return A_DAY.test(value) ? value : undefined;
  return constantNumber(held);
}

/** `TYPEOF(x) = 'VARCHAR'`. */
function engineType(node: Node): string | undefined {
  const { x, others = [] } = conditionIn(node) ?? {};
  const sides = nodesOf([x, ...others]);
  const isAsked = sides.some((side) => foldName(textOf(side['function_name'])) === 'typeof');
  const name = isAsked
    ? sides.map(constantText).find((text) => text !== undefined && ENGINE_TYPE.test(text))
    : undefined;
  if (name === undefined) return undefined;
  return `TYPEOF is never '${name}': it gives int, float, string, bool, array, object and the like. The engine's name of a type is upper(pg_typeof(x)).`;
}

/** `x ~ 'part'`, which in PostgreSQL finds the part, and `x SIMILAR TO 'part%'`, which is standard SQL. */
function wholeText(node: Node, bytes: Buffer): string | undefined {
  if (textOf(node['function_name']) !== 'regexp_full_match') return undefined;
  const [text, pattern] = nodesOf(node['children']);
  // The operator stands behind its text, or has no place; a call before it.
  const isOperator = !(Number(node['query_location']) < Number(text?.['query_location']));
  const part = constantText(pattern);
  if (!isOperator || part === undefined || pattern === undefined) return undefined;
  if (isSimilarTo(pattern, bytes))
    return isLikePattern(part)
      ? `SIMILAR TO takes a regular expression, to which % and _ are themselves: write .* for %, and . for _.`
      : undefined;
  if (/^(?:\^|\.\*|\(\?).*(?:\$|\.\*)$/.test(part)) return undefined;
  return `~ fits only if the whole text does: regexp_matches(x, ${quoteText(part)}) finds ${quoteText(part)} within.`;
}

/** Whether a pattern has the wildcards of LIKE: whoever writes what only regular expressions have means themselves by % and _. */
function isLikePattern(part: string): boolean {
  if (/[.\\]/.test(part)) return false;
  return part.includes('[') ? part.startsWith('%') || part.endsWith(']%') : /[%_]/.test(part);
}

const OPERATOR_BYTES = 200;

function isSimilarTo(pattern: Node, bytes: Buffer): boolean {
  const at = offsetOf(pattern) ?? 0;
  const before = bytes.toString('utf8', Math.max(0, at - OPERATOR_BYTES), at);
  return /\bto$/i.test(before.trimEnd());
}

/** `x IN (SELECT y FROM t)` where t has no y, and the query around it has. */
function ofOuter(node: Node, relations: Relations): string | undefined {
  if (node['class'] !== 'SUBQUERY' || node['subquery_type'] !== 'ANY') return undefined;
  const select = subqueryOf(node) ?? {};
  const [item, ...others] = nodesOf(select['select_list']);
  const [name = '', ...more] = item?.['class'] === 'COLUMN_REF' ? textsOf(item['column_names']) : [];
  if (name === '' || more.length > 0 || others.length > 0) return undefined;
  const there = relationsIn(select['from_table'], relations);
  const isThere = ({ name: of, columns }: (typeof there)[number]) =>
    foldName(name) === of || (columns?.some((one) => one === '' || foldName(one) === foldName(name)) ?? true);
  if (there.length === 0 || there.some(isThere)) return undefined;
  const y = fieldName(name);
  return `${y} in IN (SELECT ${y} …) is a field of the query around it, since what that SELECT reads has none of this name: IN holds for all that have one. Name a field of it.`;
}

const CONDITIONS: ReadonlySet<string> = new Set(['COMPARISON', 'CONJUNCTION', 'BETWEEN']);
const CONDITION_OPERATORS = /^(?:COMPARE_(?:NOT_)?IN|OPERATOR_(?:IS_(?:NOT_)?NULL|NOT))$/;

/** `count(x = 1)` and `count(CASE WHEN x = 1 THEN 1 ELSE 0 END)`. */
function countOfCondition(node: Node): string | undefined {
  const [of, ...more] = foldName(textOf(node['function_name'])) === 'count' ? nodesOf(node['children']) : [];
  if (of === undefined || more.length > 0 || node['distinct'] === true) return undefined;
  // `x = 1 OR NULL` is NULL where it does not hold.
  if (of['type'] === 'CONJUNCTION_OR' && nodesOf(of['children']).some(isNull)) return undefined;
  const isCondition = CONDITIONS.has(textOf(of['class'])) || CONDITION_OPERATORS.test(textOf(of['type']));
  const results = of['class'] === 'CASE' ? nodesOf(of['case_checks']).map((check) => check['then_expr']) : [];
  const isCase = results.length > 0 && [...results, of['else_expr']].every(isValue);
  if (!isCondition && !isCase) return undefined;
  return `count(${isCase ? 'CASE … ELSE …' : 'condition'}) counts the rows where it does not hold, too: count(*) FILTER (WHERE condition) counts those where it does.`;
}

const isValue = (node: unknown) => isNode(node) && node['class'] === 'CONSTANT' && !isNull(node);
