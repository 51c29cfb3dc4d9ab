import { HASH_NAMES } from '../compat/hashes.ts';
import { EXTREMES_MAX, EXTREMES_OF } from '../compat/numbers.ts';
import { DATE_OF, TIME_OF } from '../compat/times.ts';
import type { TokenList } from '../token-list.ts';
import { closing, type Edit, isMark, replacing, wordOf } from './edit.ts';

/** `COUNT_IF(x)` counts true values: the engine's own gives null if there are no rows. */
export function countIfEdits(list: TokenList, index: number): Edit[] {
  const [call, open, close] = [list[index], list[index + 1], list[list.closeOf(index + 1)]];
  if (call === undefined || open === undefined || close === undefined || !isMark(open, '(')) return [];
  if (isMark(list[index - 1], '.') || wordOf(list[index + 2]) === 'distinct' || isMark(list[index + 2], ')')) return [];
  return [
    { start: call.start, end: call.end, text: 'count' },
    { start: open.end, end: open.end, text: '(' },
    closing(close.start, ') OR NULL'),
  ];
}

/**
 * `APPROX_DISTINCT(x)` counts exactly: the engine's estimate is off by a fourth at times. A second argument, how far an
 * estimate may be off, is left out.
 */
export function distinctEdits(list: TokenList, index: number): Edit[] {
  const [call, open, first] = list.slice(index, index + 3);
  const [end, last = end] = list.endsOf(index + 1);
  if (!isMark(open, '(') || open === undefined || isMark(list[index - 1], '.') || isMark(first, ')')) return [];
  return [
    ...replacing(call, call, 'count'),
    { start: open.end, end: open.end, text: wordOf(first) === 'distinct' ? '' : 'DISTINCT ' },
    ...(end === last ? [] : replacing(list[end ?? -1], list[(last ?? 0) - 1], '')),
  ];
}

/** Translates the letters of a time format that is a literal. */
export function formatEdits(list: TokenList, index: number, translated: (literal: string) => string): Edit[] {
  const format = list[index + 2];
  if (!isMark(list[index + 1], '(') || format?.kind !== 'string' || !format.text.startsWith("'")) return [];
  const text = translated(format.text);
  return text === format.text ? [] : [{ start: format.start, end: format.end, text }];
}

/** `OBJECT(keys, [1, 'x'])`: items of an engine list have one type, those of a JSON array any. */
export function objectEdits(list: TokenList, index: number): Edit[] {
  if (!isMark(list[index + 1], '(') || isMark(list[index - 1], '.')) return [];
  const [first, second] = list.endsOf(index + 1);
  if (first === undefined || second === undefined) return [];
  if (wordOf(list[first + 1]) === 'array_create' && list.closeOf(first + 2) === second - 1)
    return replacing(list[first + 1], list[first + 1], 'json_array');
  const [open, close] = [list[first + 1], list[second - 1]];
  if (open === undefined || close === undefined || !isMark(open, '[') || list.closeOf(first + 1) !== second - 1)
    return [];
  return [
    { start: open.start, end: open.end, text: 'json_array(' },
    { start: close.start, end: close.end, text: ')' },
  ];
}

/** `ARRAY_CREATE('a', 1)` becomes an array of JSON if its items are literals, and arrays, of different types. */
export function arrayEdits(list: TokenList, index: number): Edit[] {
  const call = list[index];
  if (!isMark(list[index + 1], '(') || isMark(list[index - 1], '.')) return [];
  const kinds = new Set<string>();
  let first = index + 2;
  for (const end of list.endsOf(index + 1)) {
    const token = list[first];
    const isArray = isMark(token, '[') || (wordOf(token) === 'array_create' && list.closeOf(first + 1) === end - 1);
    const word = /^(?:null|true|false)$/.exec(wordOf(token))?.[0];
    const kind = isArray ? 'array' : (word ?? token?.kind ?? '');
    if (!isArray && (end !== first + 1 || !/^(?:string|number|null|true|false)$/.test(kind))) return [];
    if (kind !== 'null') kinds.add(kind.replace('false', 'true'));
    first = end + 1;
  }
  return kinds.size > 1 ? replacing(call, call, 'json_array') : [];
}

/** `x IS UNDEFINED`: null and missing are the same. */
export function undefinedEdits(list: TokenList, index: number): Edit[] {
  const [before, word] = [list[index - 1], list[index]];
  const isPredicate = wordOf(before) === 'is' || (wordOf(before) === 'not' && wordOf(list[index - 2]) === 'is');
  return isPredicate && word !== undefined ? [{ start: word.start, end: word.end, text: 'NULL' }] : [];
}

/** Brackets of lists become calls that make JSON, whose items may be of different types. */
function asJson(list: TokenList, first: number, last: number): Edit[] {
  const edits: Edit[] = [];
  for (let at = first; at <= last; at++) {
    if (!isMark(list[at], '[')) continue;
    // An item of a list, or a subscript within one.
    if (at > first && !isMark(list[at - 1], ',') && !isMark(list[at - 1], '[')) return [];
    const close = list[list.closeOf(at)];
    edits.push(...replacing(list[at], list[at], 'json_array('), ...replacing(close, close, ')'));
  }
  return edits;
}

/** `ZIP([['a', 1], ['b', 'x']])`: the items of a pair differ in type. */
export function zipEdits(list: TokenList, index: number): Edit[] {
  const close = list.closeOf(index + 1);
  if (wordOf(list[index + 2]) === 'array_create' && list.closeOf(index + 3) === close - 1) {
    const arrays = [
      index + 2,
      ...list
        .endsOf(index + 3)
        .slice(0, -1)
        .map((end) => end + 1),
      index + 4,
    ];
    const calls = [...new Set(arrays)].filter((at) => wordOf(list[at]) === 'array_create').sort((a, b) => a - b);
    return calls.flatMap((at) => replacing(list[at], list[at], 'json_array'));
  }
  if (!isMark(list[index + 1], '(') || list.endsOf(index + 1).length !== 1) return [];
  return isMark(list[index + 2], '[') && list.closeOf(index + 2) === close - 1
    ? asJson(list, index + 2, close - 1)
    : [];
}

/** `IF(a, b)` is null where the condition does not hold. */
export function ifEdits(list: TokenList, index: number): Edit[] {
  const ends = list.endsOf(index + 1);
  const close = list[ends.at(-1) ?? -1];
  if (!isMark(list[index + 1], '(') || isMark(list[index - 1], '.') || ends.length !== 2 || close === undefined)
    return [];
  return [closing(close.start, ', NULL')];
}

/** Functions of which the result is JSON. */
const MAKING_JSON = /^(?:json_parse|array_create|object|merge|erase|zip|map_agg|object_agg|values|items)$/;

/** `LENGTH(ARRAY_CREATE(1, 'a'))` counts items: of JSON the engine counts the letters. */
export function lengthEdits(list: TokenList, index: number): Edit[] {
  const isJson = isMark(list[index + 1], '(') && MAKING_JSON.test(wordOf(list[index + 2]));
  const isAlone = isJson && list.closeOf(index + 3) === list.closeOf(index + 1) - 1;
  return isAlone ? replacing(list[index], list[index], 'cardinality') : [];
}

/** `HASH(x, 'sha1')` is the call of that name; the engine's hash of several values is none of them. */
export function hashEdits(list: TokenList, index: number): Edit[] {
  const [comma, close] = list.endsOf(index + 1);
  if (!isMark(list[index + 1], '(') || comma === undefined || close !== comma + 2) return [];
  const name = /^'(\w+)'$/.exec(list[comma + 1]?.text ?? '')?.[1]?.toLowerCase();
  if (name === undefined || !HASH_NAMES.has(name)) return [];
  return [...replacing(list[index], list[index], name), ...replacing(list[comma], list[comma + 1], '')];
}

/** `TO_HEX(MD5(x))`: hashes are hexadecimal text. */
export function hexEdits(list: TokenList, index: number): Edit[] {
  const isHash = isMark(list[index + 1], '(') && HASH_NAMES.has(wordOf(list[index + 2]));
  const isAlone = isHash && isMark(list[index + 3], '(') && list.closeOf(index + 3) === list.closeOf(index + 1) - 1;
  return isAlone ? replacing(list[index], list[index], 'upper') : [];
}

/** `REGEXP_EXTRACT(x, 'a+')` gives null where nothing matches; with names of groups it gives an object. */
export function extractedEdits(list: TokenList, index: number): Edit[] {
  const call = list[index];
  const close = list[list.closeOf(index + 1)];
  const [, second] = list.endsOf(index + 1);
  const isObject = second !== undefined && isMark(list[second + 1], '[');
  if (!isMark(list[index + 1], '(') || isMark(list[index - 1], '.') || isObject) return [];
  if (call === undefined || close === undefined) return [];
  return [{ start: call.start, end: call.start, text: 'nullif(' }, closing(close.end, `, '')`)];
}

/** Parts that are types. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ['date', 'DATE'],
  ['time', 'TIME'],
  ['datetime', 'TIMESTAMP'],
]);

/** `EXTRACT(DATE FROM t)` is a cast; ISOWEEK is the engine's WEEK, and DAYOFWEEK counts from 1 on Sunday, where the engine has 0. */
export function extractEdits(list: TokenList, index: number): Edit[] {
  const [call, open, part, from] = list.slice(index, index + 4);
  const close = list[list.closeOf(index + 1)];
  if (!isMark(open, '(') || wordOf(from) !== 'from' || call === undefined || close === undefined) return [];
  const type = TYPES.get(wordOf(part));
  const [before, after] = type === 'TIME' ? [`${TIME_OF}(`, ')'] : ['', ''];
  if (type !== undefined)
    return [...replacing(call, from, `CAST(${before}`), closing(close.start, `${after} AS ${type}`)];
  if (wordOf(part) === 'isoweek') return replacing(part, part, 'week');
  if (wordOf(part) !== 'dayofweek') return [];
  return [{ start: call.start, end: call.start, text: '(' }, closing(close.end, ' + 1)')];
}

/** `DATE(2024, 3, 1)`, `TIME(12, 30, 0)`: the engine reads these names as types. */
export function dateEdits(list: TokenList, index: number): Edit[] {
  const [before, call] = [list[index - 1], list[index]];
  const isType = isMark(before, '::') || isMark(before, '.') || wordOf(before) === 'as';
  const isAlone = list.endsOf(index + 1).length === 1;
  if (!isMark(list[index + 1], '(') || isType || call === undefined) return [];
  if (wordOf(call) === 'date') return isAlone ? [] : replacing(call, call, DATE_OF);
  // TIME(6) '…' is a text with its type.
  return list[list.closeOf(index + 1) + 1]?.kind === 'string' ? [] : replacing(call, call, TIME_OF);
}

/** `GREATEST(a, b, …)` with more arguments than there are macros for, or as many as `*COLUMNS(…)` gives. */
export function extremeEdits(list: TokenList, index: number): Edit[] {
  const [call, open] = [list[index], list[index + 1]];
  const ends = list.endsOf(index + 1);
  const close = list[ends.at(-1) ?? -1];
  const name = EXTREMES_OF.get(wordOf(call));
  if (!isMark(open, '(') || open === undefined || close === undefined || name === undefined) return [];
  const starts = [index + 2, ...ends.map((end) => end + 1)];
  const isUnpacked = starts.some((at) => isMark(list[at], '*') && wordOf(list[at + 1]) === 'columns');
  if ((ends.length <= EXTREMES_MAX && !isUnpacked) || isMark(list[index - 1], '.')) return [];
  return [...replacing(call, call, name), { start: open.end, end: open.end, text: '[' }, closing(close.start, ']')];
}

const UNIT = /^(?:year|quarter|month|week|day|hour|minute|second|millisecond|microsecond)s?$/;

/** `INTERVAL :d DAY`: the engine wants brackets around a parameter. */
export function intervalEdits(list: TokenList, index: number): Edit[] {
  const first = list[index + 1];
  const last = isMark(first, ':') ? index + 2 : index + 1;
  const end = list[last]?.end;
  const isParameter = first?.kind === 'parameter' || (last > index + 1 && first?.end === list[last]?.start);
  if (!isParameter || first === undefined || end === undefined || !UNIT.test(wordOf(list[last + 1]))) return [];
  return [{ start: first.start, end: first.start, text: '(' }, closing(end, ')')];
}
