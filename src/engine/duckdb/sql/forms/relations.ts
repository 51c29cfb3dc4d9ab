import { RENAMED_FUNCTIONS, VALUES_OF } from '../compat.ts';
import { SCALAR_FUNCTIONS } from '../functions.ts';
import type { TokenList } from '../token-list.ts';
import type { Token } from '../tokens.ts';
import { type Edit, isMark, replacing, wordOf } from './edit.ts';

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

/**
 * `* EXCEPT (` of columns becomes `* EXCLUDE (`, whose extra letter replaces a space. No document has a field `_meta`, so it
 * is left out of the columns.
 */
export function exceptEdits(sql: string, list: TokenList, index: number): Edit[] {
  const [star, word, open, first] = [list[index - 1], list[index], list[index + 1], list[index + 2]];
  if (word === undefined || !isMark(star, '*') || !isMark(open, '(') || open === undefined) return [];
  if (/^(select|from|values|with|table)$/.test(wordOf(first)) || isMark(first, '(')) return [];
  const ends = list.endsOf(index + 1);
  const isMeta = (end: number) => /^"?_meta"?$/i.test(list[end - 1]?.text ?? '');
  if (ends.length === 1 && isMeta(ends[0] ?? 0)) return replacing(word, list[ends[0] ?? 0], '');
  const metas = ends.filter(isMeta).flatMap((end) => {
    const isLast = end === ends.at(-1);
    return replacing(list[isLast ? end - 2 : end - 1], list[isLast ? end - 1 : end], '');
  });
  if (sql[word.start - 1] === ' ') return [{ start: word.start - 1, end: word.end, text: 'EXCLUDE' }, ...metas];
  if (sql[word.end] === ' ') return [{ start: word.start, end: word.end + 1, text: 'EXCLUDE' }, ...metas];
  return [];
}

const isName = (token: Token | undefined) =>
  token !== undefined && (token.kind === 'quoted' || (token.kind === 'word' && !NO_ALIAS.has(wordOf(token))));

/**
 * In FROM, `UNNEST(list AS x) u` becomes `UNNEST(list) u(x)`, `UNNEST(list) x` becomes `UNNEST(list) x(x)`, so that `x`
 * is the item, and `UNNEST(a AS x, b AS y) u` becomes a query of both side by side.
 */
export function unnestEdits(list: TokenList, index: number, isRelation: boolean): Edit[] {
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
export function valuesEdits(list: TokenList, index: number, areExpressions: boolean): Edit[] {
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

/** The current clause of each open bracket. */
export class Clauses {
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

/** `TABLESAMPLE BERNOULLI (10)` is a share in percent. */
export function sampleEdits(list: TokenList, index: number): Edit[] {
  const [method, open, size, close] = list.slice(index + 1, index + 5);
  if (!/^(?:bernoulli|system)$/.test(wordOf(method)) || !isMark(open, '(') || !isMark(close, ')')) return [];
  return size?.kind === 'number' ? [{ start: size.end, end: size.end, text: ' PERCENT' }] : [];
}

/** `FROM t HINT(access_path=column_scan)`: how to run a query is the engine's choice. */
export function hintEdits(list: TokenList, index: number): Edit[] {
  const close = list.closeOf(index + 1);
  const isHint = isMark(list[index + 1], '(') && list[index + 2]?.kind === 'word' && isMark(list[index + 3], '=');
  return isHint && index > 0 ? replacing(list[index], list[close], '') : [];
}
