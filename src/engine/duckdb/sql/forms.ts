import { restFor } from '../../../contract/turns/turns.ts';
import { parseFormat, writtenFormat } from './compat/formats.ts';
import { RENAMED_FUNCTIONS, VALUES_OF } from './compat.ts';
import { SCALAR_FUNCTIONS } from './functions.ts';
import { type TokenList, tokenList } from './token-list.ts';
import { type Token, tokens } from './tokens.ts';

/**
 * Rewrites spellings of other SQL services into the engine's own before it parses: `names` in backticks, `* EXCEPT(a)`,
 * `UNNEST(list AS x) u`, `VALUES(object)` and others. Positions in the new text map back to the caller's.
 */

/** Words that cannot be the alias after a table function. */
const NO_ALIAS = new Set(
  `anti asof cross except full group having inner intersect join lateral left limit natural offset on order positional
  qualify right sample select semi tablesample union using where window with`.split(/\s+/),
);
/** Words that expressions follow. */
const BEFORE_EXPRESSIONS = new Set('select where having on by qualify returning'.split(' '));
/** Words that relations or whole queries follow. */
const BEFORE_RELATIONS = new Set('from join into as union intersect except in with'.split(' '));
/** Other words before parentheses that contain a query. */
const BEFORE_QUERIES = new Set('all any array exists lateral materialized some'.split(' '));

/** Words directly followed by an expression, and never by a query. */
const BEFORE_ONE_EXPRESSION = new Set(
  'and between by case else having ilike in like not on or qualify select then when where'.split(' '),
);
/** Written like function calls, but not functions to the engine. */
const CALLED = new Set('coalesce if ifnull try'.split(' '));
/** Words that may follow the rows of VALUES. */
const AFTER_ROWS = new Set('except intersect limit offset order union'.split(' '));

interface Edit {
  start: number;
  end: number;
  text: string;
}

const wordOf = (token: Token | undefined) => (token?.kind === 'word' ? token.text.toLowerCase() : '');
const isMark = (token: Token | undefined, text: string) => token?.kind === 'punctuation' && token.text === text;

/** Replaces backticks by double quotes. The name between them could confuse the lexer, so lexing resumes after it. */
function withoutBackticks(sql: string): string {
  if (!sql.includes('`')) return sql;
  const parts: string[] = [];
  let at = 0;
  let from = 0;
  for (let pair = nextPair(sql, from); pair !== null; pair = nextPair(sql, from)) {
    const name = sql.slice(pair.start + 1, pair.end);
    parts.push(sql.slice(at, pair.start), name.includes('"') ? `\`${name}\`` : `"${name}"`);
    at = pair.end + 1;
    from = at;
  }
  return parts.join('') + sql.slice(at);
}

function nextPair(sql: string, from: number): { start: number; end: number } | null {
  for (const token of tokens(sql, from)) {
    if (!isMark(token, '`')) continue;
    const end = sql.indexOf('`', token.end);
    return end === -1 ? null : { start: token.start, end };
  }
  return null;
}

/** `* EXCEPT (` of columns becomes `* EXCLUDE (`, whose extra letter replaces a space. */
function exceptEdit(sql: string, list: TokenList, index: number): Edit | null {
  const [star, word, open, first] = [list[index - 1], list[index], list[index + 1], list[index + 2]];
  if (word === undefined || !isMark(star, '*') || !isMark(open, '(') || open === undefined) return null;
  if (/^(select|from|values|with|table)$/.test(wordOf(first)) || isMark(first, '(')) return null;
  if (sql[word.start - 1] === ' ') return { start: word.start - 1, end: word.end, text: 'EXCLUDE' };
  if (sql[word.end] === ' ') return { start: word.start, end: word.end + 1, text: 'EXCLUDE' };
  return null;
}

const isName = (token: Token | undefined) =>
  token !== undefined && (token.kind === 'quoted' || (token.kind === 'word' && !NO_ALIAS.has(wordOf(token))));

/**
 * In FROM, `UNNEST(list AS x) u` becomes `UNNEST(list) u(x)`, `UNNEST(list) x` becomes `UNNEST(list) x(x)`, so that `x`
 * is the item, and `UNNEST(a AS x, b AS y) u` becomes a query of both side by side.
 */
function unnestEdits(list: TokenList, index: number, isRelation: boolean): Edit[] {
  const [call, open] = [list[index], list[index + 1]];
  if (call === undefined || !isMark(open, '(')) return [];
  const close = list.closeOf(index + 1);
  const bracket = list[close];
  if (bracket === undefined) return [];
  const ends = list.endsOf(index + 1);
  const names = ends.map((end) =>
    wordOf(list[end - 2]) === 'as' && isName(list[end - 1]) ? list[end - 1] : undefined,
  );
  const hasOrdinality = wordOf(list[close + 1]) === 'with' && wordOf(list[close + 2]) === 'ordinality';
  const after = close + (hasOrdinality ? 3 : 1);
  const isAs = wordOf(list[after]) === 'as';
  const nameAt = isAs ? after + 1 : after;
  const alias = isName(list[nameAt]) ? list[nameAt] : undefined;
  if (alias === undefined && isAs) return [];
  const hasColumns = alias !== undefined && isMark(list[nameAt + 1], '(');
  if (names.every((name) => name === undefined)) {
    const plain = isRelation && alias !== undefined && !hasColumns && ends.length === 1 && !list.namesUnnest;
    const columns = hasOrdinality ? `(${alias?.text}, ordinality)` : `(${alias?.text})`;
    return plain ? [{ start: alias.end, end: alias.end, text: columns }] : [];
  }
  if (names.includes(undefined) || hasColumns) return [];
  const removed = ends.map((end) => {
    const [as, name] = [list[end - 2], list[end - 1]];
    return { start: as?.start ?? 0, end: name?.end ?? 0, text: '' };
  });
  if (ends.length === 1) {
    const columns = `(${names[0]?.text}${hasOrdinality ? ', ordinality' : ''})`;
    const at = alias ?? list[after - 1] ?? bracket;
    return [...removed, { start: at.end, end: at.end, text: `${alias === undefined ? ' AS _' : ''}${columns}` }];
  }
  if (hasOrdinality) return [];
  const asName = (at: number) => ` AS ${names[at]?.text}`;
  const separated = ends.slice(0, -1).map((end, at) => {
    const { start = 0, end: stop = 0 } = list[end] ?? {};
    return { start, end: stop, text: `)${asName(at)}, UNNEST(` };
  });
  const last = {
    start: bracket.end,
    end: bracket.end,
    text: `${asName(ends.length - 1)})${alias === undefined ? ' AS _' : ''}`,
  };
  const edits = [{ start: call.start, end: call.start, text: '(SELECT ' }, ...removed, ...separated, last];
  return edits.toSorted((a, b) => a.start - b.start);
}

/** `VALUES(object)` is a call, not a list of rows, wherever one value but no query can stand. */
function valuesEdits(list: TokenList, index: number, areExpressions: boolean): Edit[] {
  const [before, call, open, first] = [list[index - 1], list[index], list[index + 1], list[index + 2]];
  if (index === 0 || call === undefined || !isMark(open, '(') || isMark(first, ')')) return [];
  const close = list.closeOf(index + 1);
  const isOne = list.endsOf(index + 1).length === 1;
  if (!isOne || !isBeforeValue(list, index - 1, before, areExpressions)) return [];
  if (isMark(before, '(') && !isCalled(list[index - 2]) && mayFollowRows(list, close + 1)) return [];
  return [{ start: call.start, end: call.end, text: VALUES_OF }];
}

function isBeforeValue(list: TokenList, index: number, token: Token | undefined, areExpressions: boolean): boolean {
  const word = wordOf(token);
  if (word === 'from') return wordOf(list[index - 1]) === 'distinct';
  if (word === 'distinct') return !BEFORE_RELATIONS.has(wordOf(list[index - 1]));
  if (token?.kind !== 'punctuation') return BEFORE_ONE_EXPRESSION.has(word);
  return token.text === ',' ? areExpressions : !')]};.'.includes(token.text);
}

function isCalled(token: Token | undefined): boolean {
  const word = wordOf(token);
  return token?.kind === 'quoted' || SCALAR_FUNCTIONS.has(word) || RENAMED_FUNCTIONS.has(word) || CALLED.has(word);
}

/** Whether the token may follow the first row of VALUES in parentheses. */
function mayFollowRows(list: TokenList, index: number): boolean {
  const token = list[index];
  if (isMark(token, ',')) return isMark(list[index + 1], '(');
  return isMark(token, ')') || AFTER_ROWS.has(wordOf(token));
}

/** `COUNT_IF(x)` counts true values: the engine's own gives null if there are no rows. */
function countIfEdits(list: TokenList, index: number): Edit[] {
  const [call, open, close] = [list[index], list[index + 1], list[list.closeOf(index + 1)]];
  if (call === undefined || open === undefined || close === undefined || !isMark(open, '(')) return [];
  if (isMark(list[index - 1], '.') || wordOf(list[index + 2]) === 'distinct' || isMark(list[index + 2], ')')) return [];
  // A name with its column list, of a table or of WITH.
  const next = list.closeOf(index + 1) + 1;
  const isQuery = isMark(list[next + 1], '(') || /^(?:not|materialized)$/.test(wordOf(list[next + 1]));
  if (wordOf(list[index - 1]) === 'as' || (wordOf(list[next]) === 'as' && isQuery)) return [];
  return [
    { start: call.start, end: call.end, text: 'count' },
    { start: open.end, end: open.end, text: '(' },
    { start: close.start, end: close.start, text: ') OR NULL' },
  ];
}

/** Translates the letters of a time format that is a literal. */
function formatEdits(list: TokenList, index: number, translated: (literal: string) => string): Edit[] {
  const format = list[index + 2];
  if (!isMark(list[index + 1], '(') || format?.kind !== 'string' || !format.text.startsWith("'")) return [];
  const text = translated(format.text);
  return text === format.text ? [] : [{ start: format.start, end: format.end, text }];
}

/** `OBJECT(keys, [1, 'x'])`: items of an engine list have one type, those of a JSON array any. */
function objectEdits(list: TokenList, index: number): Edit[] {
  if (!isMark(list[index + 1], '(') || isMark(list[index - 1], '.')) return [];
  const [first, second] = list.endsOf(index + 1);
  if (first === undefined || second === undefined) return [];
  const [open, close] = [list[first + 1], list[second - 1]];
  if (open === undefined || close === undefined || !isMark(open, '[') || list.closeOf(first + 1) !== second - 1)
    return [];
  return [
    { start: open.start, end: open.end, text: 'json_array(' },
    { start: close.start, end: close.end, text: ')' },
  ];
}

/** `ARRAY_CREATE('a', 1)` becomes an array of JSON if its items are literals of different types. */
function arrayEdits(list: TokenList, index: number): Edit[] {
  const call = list[index];
  if (call === undefined || !isMark(list[index + 1], '(') || isMark(list[index - 1], '.')) return [];
  const kinds = new Set<Token['kind']>();
  for (let at = index + 2, close = list.closeOf(index + 1); at < close; at++) {
    const token = list[at];
    if (token === undefined || isMark(token, ',')) continue;
    if (token.kind !== 'string' && token.kind !== 'number') return [];
    kinds.add(token.kind);
  }
  const isMixed = kinds.size === 2;
  return isMixed ? [{ start: call.start, end: call.end, text: 'json_array' }] : [];
}

/** `x IS UNDEFINED`: null and missing are the same. */
function undefinedEdits(list: TokenList, index: number): Edit[] {
  const [before, word] = [list[index - 1], list[index]];
  const isPredicate = wordOf(before) === 'is' || (wordOf(before) === 'not' && wordOf(list[index - 2]) === 'is');
  return isPredicate && word !== undefined ? [{ start: word.start, end: word.end, text: 'NULL' }] : [];
}

/** The current clause of each open bracket. */
class Clauses {
  /** `condition` is that of a join; after it, a comma introduces the next relation. */
  #open: ('expressions' | 'condition' | 'relations')[] = ['relations'];

  see(token: Token, before: Token | undefined): void {
    if (token.kind === 'word') this.#seeWord(wordOf(token), before);
    else if (token.kind === 'punctuation') this.#seeMark(token.text, before);
  }

  #seeWord(word: string, before: Token | undefined): void {
    const isCondition = word === 'on' && wordOf(before) !== 'distinct';
    if (isCondition) this.#open[this.#open.length - 1] = 'condition';
    else if (BEFORE_EXPRESSIONS.has(word)) this.#open[this.#open.length - 1] = 'expressions';
    // x IS DISTINCT FROM y
    else if (word === 'from' && wordOf(before) === 'distinct') return;
    else if (BEFORE_RELATIONS.has(word) && word !== 'as' && word !== 'in')
      this.#open[this.#open.length - 1] = 'relations';
  }

  #seeMark(mark: string, before: Token | undefined): void {
    if (mark === ',') {
      if (this.#open.at(-1) === 'condition') this.#open[this.#open.length - 1] = 'relations';
    } else if ('([{'.includes(mark)) {
      const called = wordOf(before);
      const isCall =
        called !== '' && ![BEFORE_RELATIONS, BEFORE_EXPRESSIONS, BEFORE_QUERIES].some((words) => words.has(called));
      this.#open.push(isCall || mark !== '(' ? 'expressions' : 'relations');
    } else if (')]}'.includes(mark) && this.#open.length > 1) this.#open.pop();
  }

  get areExpressions(): boolean {
    return this.#open.at(-1) !== 'relations';
  }
}

async function editsOf(sql: string): Promise<Edit[]> {
  const list = tokenList(sql);
  const edits: Edit[] = [];
  const clauses = new Clauses();
  await restFor(sql);
  for (let index = 0; index < list.length; index++) {
    const token = list[index] as Token;
    if (token.kind === 'word') for (const edit of editsAt(sql, list, index, clauses)) edits.push(edit);
    clauses.see(token, list[index - 1]);
  }
  await restFor(sql);
  return edits.sort((a, b) => a.start - b.start);
}

function editsAt(sql: string, list: TokenList, index: number, clauses: Clauses): Edit[] {
  const token = list[index];
  if (token === undefined) return [];
  switch (wordOf(token)) {
    case 'except': {
      const edit = exceptEdit(sql, list, index);
      return edit === null ? [] : [edit];
    }
    case 'unnest':
      return unnestEdits(list, index, !clauses.areExpressions);
    case 'values':
      return valuesEdits(list, index, clauses.areExpressions);
    case 'count_if':
      return countIfEdits(list, index);
    case 'object':
      return objectEdits(list, index);
    case 'array_create':
      return arrayEdits(list, index);
    case 'undefined':
      return undefinedEdits(list, index);
    case 'parse_timestamp':
    case 'parse_datetime':
    case 'parse_date':
      return formatEdits(list, index, parseFormat);
    case 'format_timestamp':
    case 'format_datetime':
    case 'format_date':
      return formatEdits(list, index, writtenFormat);
    default:
      return [];
  }
}

const MAY_HAVE_FORMS =
  /\b(?:except|unnest|values|count_if|undefined|object|array_create|(?:parse|format)_(?:timestamp|datetime|date))\b/i;

/** SQL text in the engine's spelling. */
export interface OwnForms {
  sql: string;
  /** Maps a byte offset in `sql` to one in the caller's text. */
  originOf(offset: number): number;
}

/** The text as the engine spells it. */
export async function ownForms(text: string): Promise<OwnForms> {
  const sql = withoutBackticks(text);
  const edits = MAY_HAVE_FORMS.test(sql) ? await editsOf(sql) : [];
  if (edits.length === 0) return { sql, originOf: (offset) => offset };
  const parts: string[] = [];
  /** New pieces, as byte offsets in the new text, with what they replaced in the original. */
  const pieces: { start: number; end: number; origin: number; originEnd: number }[] = [];
  let at = 0;
  let [bytes, originBytes] = [0, 0];
  for (const edit of edits) {
    // An edit within a part that was already replaced no longer applies.
    if (edit.start < at) continue;
    const kept = sql.slice(at, edit.start);
    const replaced = Buffer.byteLength(sql.slice(edit.start, edit.end));
    parts.push(kept, edit.text);
    bytes += Buffer.byteLength(kept);
    originBytes += Buffer.byteLength(kept);
    const end = bytes + Buffer.byteLength(edit.text);
    pieces.push({ start: bytes, end, origin: originBytes, originEnd: originBytes + replaced });
    [bytes, originBytes, at] = [end, originBytes + replaced, edit.end];
  }
  const originOf = (offset: number) => {
    const piece = pieces.findLast(({ start }) => start <= offset);
    if (piece === undefined) return offset;
    return offset < piece.end ? piece.origin : offset - piece.end + piece.originEnd;
  };
  return { sql: parts.join('') + sql.slice(at), originOf };
}
