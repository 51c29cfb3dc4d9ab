import { between } from '../../../../contract/text.ts';
import type { Edit } from '../forms/edit.ts';
import { isMark, wordOf } from '../forms/edit.ts';
import { quoteText } from '../names.ts';
import { nameOfToken, pathStart } from '../paths.ts';
import { type Correct, instead, textOf } from './faulty.ts';
import { formatHere } from './format-codes.ts';

/** Forms of other SQL dialects that are no calls: operators, joins, quotes, types. */

/** PostgreSQL's `o #>> '{a,b}'`. */
const arrowOfPath: Correct = (faulty) => {
  const { said, list, at } = faulty;
  if (!said.startsWith('syntax error') || !isMark(list[at], '#') || !isMark(list[at + 1], '>')) return [];
  const isText = isMark(list[at + 2], '>');
  const path = list[at + (isText ? 3 : 2)];
  const [, steps] = /^'\{(\w+(?:,\w+)*)\}'$/.exec(path?.text ?? '') ?? [];
  if (steps === undefined) return [];
  const key = steps.split(',').map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${step}`));
  return [[instead(faulty, at, at + (isText ? 4 : 3), `${isText ? '->>' : '->'}'$${key.join('')}'`)]];
};

/** Words that are no name of what is joined. */
const AFTER_JOIN =
  /^(?:on|using|where|group|having|order|limit|qualify|window|left|right|full|inner|cross|join|union)$/;

/** `LEFT JOIN UNNEST(l) AS u(item)` without ON. */
const joinedAlways: Correct = (faulty) => {
  const { said, list } = faulty;
  if (!said.startsWith('syntax error')) return [];
  const edits = list.flatMap((token, index): Edit[] => {
    const outer = wordOf(list[index - 1]) === 'outer' ? index - 2 : index - 1;
    if (wordOf(token) !== 'join' || wordOf(list[outer]) !== 'left') return [];
    let at = wordOf(list[index + 1]) === 'lateral' ? index + 2 : index + 1;
    if (nameOfToken(list[at]) !== undefined) at += 1;
    if (!isMark(list[at], '(')) return [];
    at = list.closeOf(at) + 1;
    if (wordOf(list[at + 1]) === 'ordinality') at += 2;
    if (wordOf(list[at]) === 'as') at += 1;
    if (nameOfToken(list[at]) !== undefined && !AFTER_JOIN.test(wordOf(list[at]))) at += 1;
    if (isMark(list[at], '(')) at = list.closeOf(at) + 1;
    const end = list[at - 1]?.end;
    return end === undefined || /^(?:on|using)$/.test(wordOf(list[at])) ? [] : [{ start: end, end, text: ' ON true' }];
  });
  return edits.length === 0 ? [] : [edits];
};

/** `'O\'Neil'`: a quote within a text is two. */
const escapedQuotes: Correct = ({ said, sql }) => {
  if (!said.startsWith('syntax error') && !/unterminated quoted string/.test(said)) return [];
  const edits: Edit[] = [];
  for (let at = sql.indexOf("\\'"); at !== -1; at = sql.indexOf("\\'", at + 2))
    edits.push({ start: at, end: at + 2, text: "''" });
  return edits.length === 0 ? [] : [edits];
};

/** BigQuery's `x IN UNNEST(l)`. */
const inUnnest: Correct = (faulty) => {
  const { said, list, at } = faulty;
  if (!said.startsWith('UNNEST not supported here') || wordOf(list[at]) !== 'unnest' || wordOf(list[at - 1]) !== 'in')
    return [];
  const isNot = wordOf(list[at - 2]) === 'not';
  const items = textOf(faulty, at + 1, list.closeOf(at + 1) + 1);
  return [[instead(faulty, at - (isNot ? 2 : 1), list.closeOf(at + 1) + 1, `${isNot ? '<> ALL' : '= ANY'}${items}`)]];
};

/** `l IN ('a', 'b')` of a list. */
const listIn: Correct = (faulty) => {
  const { said, list, at } = faulty;
  if (!said.startsWith('Type VARCHAR with value ') || !said.endsWith(' type VARCHAR[]')) return [];
  if (list[at]?.kind !== 'string') return [];
  let open = at - 1;
  while (open > 0 && (list[open]?.kind === 'string' || isMark(list[open], ','))) open -= 1;
  const isNot = wordOf(list[open - 2]) === 'not';
  const end = isNot ? open - 2 : open - 1;
  const start = pathStart(list, end);
  if (!isMark(list[open], '(') || wordOf(list[open - 1]) !== 'in' || start >= end) return [];
  const close = list.closeOf(open);
  const has = `list_has_any(${textOf(faulty, start, end)}, [${textOf(faulty, open + 1, close)}])`;
  return [[instead(faulty, start, close + 1, isNot ? `NOT ${has}` : has)]];
};

/** Functions in FROM that make rows of a list, or of an object. */
const ITEMS_OF = /^jsonb?_array_elements(?:_text)?$/;

/** PostgreSQL's functions in FROM, whose column is called `value`. */
const rowsOf: Correct = (faulty) => {
  const { said, list } = faulty;
  const name = between(said, 'Table function "', '"');
  if (name === undefined) return [];
  const call = list.findIndex((token, index) => wordOf(token) === name && isMark(list[index + 1], '('));
  if (call === -1) return [];
  if (name === 'jsonb_each') return [[instead(faulty, call, call + 1, 'json_each')]];
  if (!ITEMS_OF.test(name)) return [];
  const close = list.closeOf(call + 1);
  const items = textOf(faulty, call + 2, close);
  const as = wordOf(list[close + 1]) === 'as' ? close + 2 : close + 1;
  const alias = AFTER_JOIN.test(wordOf(list[as])) ? undefined : nameOfToken(list[as]);
  const hasColumns = alias !== undefined && isMark(list[as + 1], '(');
  const isValue = list.some((token) => wordOf(token) === 'value');
  const end = alias === undefined ? close + 1 : as + 1;
  const called = hasColumns || !isValue ? (alias ?? 'item') : `${alias ?? 'u'}(value)`;
  return [items, `TRY_CAST(${items} AS JSON[])`].map((one) => [
    instead(faulty, call, end, `unnest(${one}) AS ${called}`),
  ]);
};

/** Types of other dialects that can only be one here. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ['float64', 'DOUBLE'],
  ['binary_double', 'DOUBLE'],
  ['unsigned', 'UBIGINT'],
  ['varchar2', 'VARCHAR'],
  ['clob', 'VARCHAR'],
  ['jsonb', 'JSON'],
  ['bytes', 'BLOB'],
  ['datetime2', 'TIMESTAMP'],
  ['timestamp_ntz', 'TIMESTAMP'],
  ['timestamp_ltz', 'TIMESTAMPTZ'],
  ['timestamp_tz', 'TIMESTAMPTZ'],
]);

const typeName: Correct = (faulty) => {
  const { said, list } = faulty;
  const name = between(said, 'Type with name ', ' does not exist')?.toLowerCase() ?? '';
  const type = TYPES.get(name);
  const edits = list.flatMap((token, index): Edit[] => {
    if (wordOf(token) !== name || !/^(?:::|as)$/i.test(list[index - 1]?.text ?? '')) return [];
    const isSized = isMark(list[index + 1], '(');
    // Alone it is any number in one dialect and an integer in another.
    if (name === 'number') return isSized ? [instead(faulty, index, index + 1, 'DECIMAL')] : [];
    return type === undefined ? [] : [instead(faulty, index, isSized ? list.closeOf(index + 1) + 1 : index + 1, type)];
  });
  return edits.length === 0 ? [] : [edits];
};

const MONTH = /^(?:january|february|march|april|may|june|july|august|september|october|november|december)$/i;
const WEEKDAY = /^(?:mon|tues|wednes|thurs|fri|satur|sun)day$/i;

/** `month(t) = 'June'`. */
const nameOfTime: Correct = (faulty) => {
  const { said, list } = faulty;
  const text = said.startsWith('Could not convert string ') ? (said.split("'")[1] ?? '') : '';
  const called = MONTH.test(text) ? 'monthname' : WEEKDAY.test(text) ? 'dayname' : undefined;
  if (called === undefined) return [];
  const calls = called === 'monthname' ? /^month$/ : /^(?:dayofweek|weekday|isodow)$/;
  const edits = list.flatMap((token, index): Edit[] => {
    if (!calls.test(wordOf(token)) || !isMark(list[index + 1], '(')) return [];
    const equal = list.closeOf(index + 1) + 1;
    if (!isMark(list[equal], '=') || list[equal + 1]?.text !== quoteText(text)) return [];
    const name = `${text[0]?.toUpperCase()}${text.slice(1).toLowerCase()}`;
    return [instead(faulty, index, index + 1, called), instead(faulty, equal + 1, equal + 2, quoteText(name))];
  });
  return edits.length === 0 ? [] : [edits];
};

/** `strptime(x, 'YYYY-MM-DD')`. */
const formatCodes: Correct = (faulty) => {
  const [, written] = /^Could not parse string .* according to format specifier "([^"]*)"$/.exec(faulty.said) ?? [];
  const format = quoteText(written ?? '%');
  const here = format.includes('%') ? undefined : formatHere('', format);
  const edits = faulty.list.flatMap(({ text }, at): Edit[] =>
    here !== undefined && text === format ? [instead(faulty, at, at + 1, here)] : [],
  );
  return edits.length === 0 ? [] : [edits];
};

/** `LISTAGG(x, ',') WITHIN GROUP (ORDER BY x)`. */
const orderedWithin: Correct = (faulty) => {
  const { said, list } = faulty;
  const within = list.findIndex((token) => wordOf(token) === 'within');
  const close = within - 1;
  const open = within + 2;
  if (!/^Unknown ordered aggregate "(?:listagg|string_agg|group_concat|array_agg)"/i.test(said)) return [];
  if (within < 1 || !isMark(list[close], ')') || !isMark(list[open], '(')) return [];
  const order = textOf(faulty, open + 1, list.closeOf(open));
  return [[instead(faulty, close, list.closeOf(open) + 1, ` ${order})`)]];
};

/** BigQuery's `ARRAY_AGG(x ORDER BY y LIMIT 1)`. */
const firstOfList: Correct = (faulty) => {
  const { said, list, at } = faulty;
  if (!said.startsWith('syntax error') || wordOf(list[at]) !== 'limit' || list[at + 1]?.kind !== 'number') return [];
  const close = at + 2;
  const open = list.openOf(close);
  if (!isMark(list[close], ')') || open === close || wordOf(list[open - 1]) !== 'array_agg') return [];
  return [[instead(faulty, open - 1, close + 1, `(${textOf(faulty, open - 1, at)}))[:${list[at + 1]?.text}]`)]];
};

/** `x LIKE ANY ('a%', 'b%')`. */
const likeAny: Correct = (faulty) => {
  const { list } = faulty;
  const any = list.findIndex((token, index) => wordOf(token) === 'any' && /^i?like$/.test(wordOf(list[index - 1])));
  const start = pathStart(list, any - 1);
  if (any === -1 || start >= any - 1 || !isMark(list[any + 1], '(')) return [];
  const close = list.closeOf(any + 1);
  const patterns = list.slice(any + 2, close).filter(({ kind }) => kind === 'string');
  const others = list
    .slice(any + 2, close)
    .filter(({ kind, text }) => kind !== 'string' && !/^(?:,|\[|\]|array)$/i.test(text));
  if (patterns.length === 0 || others.length > 0) return [];
  const like = textOf(faulty, start, any);
  return [[instead(faulty, start, close + 1, `(${patterns.map(({ text }) => `${like} ${text}`).join(' OR ')})`)]];
};

export const CORRECT: readonly Correct[] = [
  arrowOfPath,
  joinedAlways,
  escapedQuotes,
  inUnnest,
  listIn,
  rowsOf,
  typeName,
  nameOfTime,
  formatCodes,
  orderedWithin,
  firstOfList,
  likeAny,
];
