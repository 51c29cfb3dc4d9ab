import { isSlipWithin } from '../../../../contract/nearest.ts';
import { between } from '../../../../contract/text.ts';
import { isArrow, operandStart } from '../forms/arrows.ts';
import type { Edit } from '../forms/edit.ts';
import { isMark, wordOf } from '../forms/edit.ts';
import { quoteText } from '../names.ts';
import { objectValue } from '../object-values.ts';
import { pathStart } from '../paths.ts';
import { OBJECT_NO_MAP, typeAsMap } from '../text-arguments.ts';
import type { TokenList } from '../token-list.ts';
import type { Range } from '../token-ranges.ts';
import { tokens } from '../tokens.ts';
import { isNumberType } from '../type-kinds.ts';
import { castAt } from './casts.ts';
import { epochCall, unitOf } from './epochs.ts';
import { type Correct, type Faulty, instead, textOf } from './faulty.ts';

/** Calls of functions that are called otherwise here, and casts that are missing. */

/** The texts of the arguments of a call. */
function argumentsOf(faulty: Pick<Faulty, 'sql' | 'list'>, call: number): string[] {
  const { list } = faulty;
  const ends = list.endsOf(call + 1);
  if (ends.length === 1 && ends[0] === call + 2) return [];
  return ends.map((end, index) => textOf(faulty, index === 0 ? call + 2 : (ends[index - 1] ?? 0) + 1, end));
}

const isCall = (list: TokenList, at: number) => wordOf(list[at]) !== '' && isMark(list[at + 1], '(');

/** Functions of other dialects that are one letter from another one here. */
const ELSEWHERE: ReadonlySet<string> = new Set(['array_avg', 'make_timestamp_ntz']);

/** A misspelt function. The nearest one to a function of another dialect means something else. */
const functionName: Correct = (faulty) => {
  const { said, list, at } = faulty;
  const meant = between(said.slice(said.indexOf('Did you mean "')), 'Did you mean "', '"');
  if (!said.startsWith('Function "') || meant === undefined || !isCall(list, at)) return [];
  const name = wordOf(list[at]);
  if (ELSEWHERE.has(name) || !isSlipWithin(name, meant)) return [];
  return [[instead(faulty, at, at + 1, meant)]];
};

/** A time that is read as text. */
const readTime: Correct = (faulty) => {
  const { said, list, at } = faulty;
  const isRead = said.startsWith('No function matches ') && /strptime\((?:DATE|TIMESTAMP)/.test(said);
  if (!isRead || !isCall(list, at) || !/strptime|parse|to_/.test(wordOf(list[at]))) return [];
  return [[instead(faulty, at, list.closeOf(at + 1) + 1, argumentsOf(faulty, at)[0] ?? '')]];
};

/** A number that is cast to a time: how large it is tells what it counts. */
const castEpoch: Correct = (faulty) => {
  const cast = castAt(faulty, faulty.at) ?? castAt(faulty, faulty.at + 1);
  const unit = unitOf(Number(cast?.operand));
  if (!faulty.said.startsWith('Unimplemented type for cast (') || cast === undefined || unit === undefined) return [];
  return [[instead(faulty, ...cast.range, epochCall(unit, cast.operand, false))]];
};

const IS_OF_TYPE = / is (?:text|an object|[A-Z ]+): /;

/** Text where another type is needed, or the other way round: the error has the cast. */
const castText: Correct = (faulty) => {
  const { message, list, at } = faulty;
  const line = message.split('\n').find((one) => IS_OF_TYPE.test(one));
  if (line === undefined || line.includes('; for a time') || at === -1) return [];
  const [text = '', cast = ''] = line.split(IS_OF_TYPE);
  const wanted = [...tokens(text)].map((token) => token.text);
  const [from, to] = isCall(list, at) ? [at + 2, list.closeOf(at + 1)] : [at - wanted.length, at + 2 + wanted.length];
  for (let index = Math.max(0, from); index + wanted.length <= to; index++) {
    if (wanted.every((one, place) => list[index + place]?.text === one))
      return [[instead(faulty, index, index + wanted.length, cast)]];
  }
  return [];
};

/** A list that is compared as one value: `l LIKE 'a%'`, `l = 'a'`. */
const listCompared: Correct = (faulty) => {
  const { said, list, at } = faulty;
  const isLike =
    /^No function matches the given name and argument types '!?~~\*?\(/.test(said) &&
    said.includes("[], STRING_LITERAL)'");
  const isNot = wordOf(list[at]) === 'not';
  const like = isNot ? at + 1 : at;
  const start = pathStart(list, at);
  if (!isLike || start >= at || list[like + 1]?.kind !== 'string') return [];
  const items = `list_filter(${textOf(faulty, start, at)}, lambda x: x ${textOf(faulty, like, like + 2)})`;
  return [[instead(faulty, start, like + 2, `len(${items}) ${isNot ? '=' : '>'} 0`)]];
};

/** `l = 'a'` of a list. */
const listEqual: Correct = (faulty) => {
  const { said, list, at } = faulty;
  if (
    !said.startsWith('Type VARCHAR with value ') ||
    !/ destination type \S+\[\]/.test(said) ||
    list[at]?.kind !== 'string'
  )
    return [];
  let mark = at;
  while (/^[=<>!]$/.test(list[mark - 1]?.text ?? '')) mark -= 1;
  const operator = textOf(faulty, mark, at);
  const start = pathStart(list, mark);
  if (!/^(?:=|==|!=|<>)$/.test(operator) || start >= mark) return [];
  const has = `list_contains(${textOf(faulty, start, mark)}, ${list[at]?.text})`;
  return [[instead(faulty, start, at + 1, /^==?$/.test(operator) ? has : `NOT ${has}`)]];
};

/** `t - 7`: days. */
const days: Correct = (faulty) => {
  const { said, list, at } = faulty;
  const isTime = /^No function matches .*'[+-]\(TIMESTAMP[A-Z ]*, INTEGER_LITERAL\)/.test(said);
  if (!isTime || list[at + 1]?.kind !== 'number') return [];
  return [[instead(faulty, at + 1, at + 2, `INTERVAL ${list[at + 1]?.text} DAY`)]];
};

/** Texts joined by `+`. */
const joinedTexts: Correct = (faulty) => {
  const { message, list, at } = faulty;
  if (!message.includes('\nTexts are joined by ||') || !isMark(list[at], '+')) return [];
  return [[instead(faulty, at, at + 1, '||')]];
};

/** COUNT(DISTINCT a, b). */
const countDistinct: Correct = (faulty) => {
  const { said, list, at } = faulty;
  if (!/^No function matches .*'count\(/.test(said) || !isCall(list, at) || wordOf(list[at + 2]) !== 'distinct')
    return [];
  const end = list.closeOf(at + 1);
  return [[instead(faulty, at + 3, end, `(${textOf(faulty, at + 3, end)})`)]];
};

const PART = /^(?:year|quarter|month|week|day|hour|minute|second|millisecond|microsecond)s?$/i;

/** A part of a time as a word: `date_trunc(month, t)`. */
const datePart: Correct = (faulty) => {
  const { said, list, at } = faulty;
  const name = between(said, 'Referenced column "', '"');
  if (name === undefined || !PART.test(name) || wordOf(list[at]) !== name.toLowerCase()) return [];
  let open = at - 1;
  while (open >= 0 && !isMark(list[open], '(')) open = list.openOf(open) - 1;
  if (open < 1 || !isCall(list, open - 1)) return [];
  return [[instead(faulty, at, at + 1, quoteText(name.toLowerCase()))]];
};

/**
 * A function of maps, of an object. The type of its values is that which the engine has bound: that of a field of this name
 * may be another, as a text may have several. Only of a path, since `COLUMNS` are several objects.
 */
export const mapOfObject = (faulty: Omit<Faulty, 'tables' | 'names'>): Edit[][] => {
  const { said, message, list, at } = faulty;
  // The place may be one within a macro: then it says nothing of this text.
  const isOfThis = message.includes(OBJECT_NO_MAP) && said.includes(`'${wordOf(list[at])}(STRUCT(`);
  if (!isOfThis || !isCall(list, at)) return [];
  const [text = ''] = argumentsOf(faulty, at);
  const [end = at] = list.endsOf(at + 1);
  if (wordOf(list[at]) === 'map_keys') return [[instead(faulty, at, end + 1, `json_keys(${text})`)]];
  const values = (pathStart(list, end) === at + 2 ? typeAsMap(message) : undefined) ?? 'JSON';
  return [[instead(faulty, at + 2, end, `to_json(${text})::MAP(VARCHAR, ${values})`)]];
};

const isNumeric = (type: string) => type === 'INTEGER_LITERAL' || isNumberType(type);

/** Text that is compared with a number. */
const comparedNumber: Correct = (faulty) => {
  const { said, list, at } = faulty;
  const [, left = '', right = ''] =
    /^Cannot (?:compare|mix) values of type (\S+) and (?:type )?(\S+) /.exec(said) ?? [];
  if (said.includes(' in BETWEEN') && left === 'VARCHAR' && isNumeric(right)) {
    // NOT BETWEEN has no place.
    const all = list.flatMap((token, index) => (wordOf(token) === 'between' ? [index] : []));
    const between = all.length === 1 ? (all[0] ?? 0) : at;
    const end = wordOf(list[between - 1]) === 'not' ? between - 1 : between;
    const start = textStart(list, end);
    return start < end ? [[castOf(faulty, [start, end], 'DOUBLE')]] : [];
  }
  const isLeft = left === 'VARCHAR' && isNumeric(right);
  if ((!isLeft && !(right === 'VARCHAR' && isNumeric(left))) || at === -1 || !'=<>!'.includes(list[at]?.text ?? ' '))
    return [];
  let end = at;
  while (/^[=<>!]$/.test(list[end + 1]?.text ?? '')) end += 1;
  const before: Range = [textStart(list, at), at];
  const after: Range = [end + 1, pathEnd(list, end + 1)];
  const [text, number] = isLeft ? [before, after] : [after, before];
  const literal = isLeft ? end + 1 : at - 1;
  const isEqual = !/^[<>]=?$/.test(textOf(faulty, at, end + 1));
  if (isEqual && list[literal]?.kind === 'number')
    return [[instead(faulty, literal, literal + 1, quoteText(list[literal]?.text ?? ''))]];
  return text[1] <= text[0] || number === undefined ? [] : [[castOf(faulty, text, 'DOUBLE')]];
};

/** Where a path, a call or the text of a step into JSON, `p->>'k'`, begins that ends before an index; that index: it is something else. */
function textStart(list: TokenList, end: number): number {
  let start = operandStart(list, end) ?? end;
  while (list[start]?.kind === 'string') {
    const arrow = [start - 3, start - 2].find((at) => isArrow(list, at));
    // A text that no arrow comes before is one of SQL.
    if (arrow === undefined) return start === end - 1 ? end : start;
    start = operandStart(list, arrow) ?? end;
  }
  return start;
}

/** An object that is compared with a number. */
const comparedObject: Correct = (faulty) => {
  const { said, list, at } = faulty;
  const [, types = '', other = ''] = /^Cannot compare values of type (STRUCT\(.*) and type (\S+) - /.exec(said) ?? [];
  const value = objectValue(types)?.number;
  const start = at === -1 ? at : pathStart(list, at);
  if (value === undefined || !isNumeric(other) || start === at) return [];
  return [[instead(faulty, start, at, `${textOf(faulty, start, at)}.${value}`)]];
};

function pathEnd(list: TokenList, start: number): number {
  if (list[start]?.kind !== 'word' && list[start]?.kind !== 'quoted') return start;
  let end = start + 1;
  while (isMark(list[end], '.')) end += 2;
  return end;
}

/** A text that is no number makes it fail, and is then named: NULL in its place would be a wrong answer without a word. */
function castOf(faulty: Faulty, [start, end]: Range, type: string): Edit {
  return instead(faulty, start, end, `CAST(${textOf(faulty, start, end)} AS ${type})`);
}

export const CORRECT: readonly Correct[] = [
  functionName,
  readTime,
  castEpoch,
  castText,
  listCompared,
  listEqual,
  days,
  joinedTexts,
  countDistinct,
  datePart,
  mapOfObject,
  comparedNumber,
  comparedObject,
];
