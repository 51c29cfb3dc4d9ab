import { VALUES_OF } from './compat.ts';
import { type Token, tokens } from './tokens.ts';

/**
 * Spellings of other SQL services, put into the engine's own before it parses: `names` in backticks, `* EXCEPT(a)`,
 * `UNNEST(list AS x) u` and `VALUES(object)`. The text keeps its length in bytes, so that positions in errors stay true.
 */

/** Words that cannot be the alias after a table function. */
const NO_ALIAS = new Set(
  `anti asof cross except full group having inner intersect join lateral left limit natural offset on order positional
  qualify right sample select semi tablesample union using where window with`.split(/\s+/),
);
/** Words after which expressions come. */
const BEFORE_EXPRESSIONS = new Set('select where having on by qualify returning'.split(' '));
/** Words after which relations or whole queries come. */
const BEFORE_RELATIONS = new Set('from join into as union intersect except in with'.split(' '));

interface Edit {
  start: number;
  end: number;
  /** As long, in bytes, as what it replaces. */
  text: string;
}

const wordOf = (token: Token | undefined) => (token?.kind === 'word' ? token.text.toLowerCase() : '');
const isMark = (token: Token | undefined, text: string) => token?.kind === 'punctuation' && token.text === text;

/** Double quotes for backticks. What is between may look like anything to the lexer, so it goes on behind it. */
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

/** `* EXCEPT (` of columns is `* EXCLUDE (`, whose further letter takes the place of a space. */
function exceptEdit(sql: string, list: readonly Token[], index: number): Edit | null {
  const [star, word, open, first] = [list[index - 1], list[index], list[index + 1], list[index + 2]];
  if (word === undefined || !isMark(star, '*') || !isMark(open, '(') || open === undefined) return null;
  if (/^(select|from|values|with|table)$/.test(wordOf(first)) || isMark(first, '(')) return null;
  if (sql[word.start - 1] === ' ') return { start: word.start - 1, end: word.end, text: 'EXCLUDE' };
  if (sql[word.end] === ' ') return { start: word.start, end: word.end + 1, text: 'EXCLUDE' };
  return null;
}

/** `UNNEST(list AS x) u` is `UNNEST(list) u(x)`. */
function unnestEdit(sql: string, list: readonly Token[], index: number): Edit | null {
  if (!isMark(list[index + 1], '(')) return null;
  let depth = 0;
  let close = index + 1;
  for (; close < list.length; close++) {
    const token = list[close];
    if (token?.kind !== 'punctuation') continue;
    if ('([{'.includes(token.text)) depth += 1;
    else if (')]}'.includes(token.text)) depth -= 1;
    if (depth === 0) break;
  }
  const [before, as, name, bracket] = [list[close - 3], list[close - 2], list[close - 1], list[close]];
  if (before === undefined || wordOf(as) !== 'as' || name === undefined || bracket === undefined) return null;
  if (name.kind !== 'word' && name.kind !== 'quoted') return null;
  const hasAs = wordOf(list[close + 1]) === 'as';
  const next = list[close + (hasAs ? 2 : 1)];
  const isAlias =
    next !== undefined && (next.kind === 'quoted' || (next.kind === 'word' && !NO_ALIAS.has(wordOf(next))));
  if (hasAs && !isAlias) return null;
  const alias = isAlias ? sql.slice(bracket.end, next.end) : '_';
  const end = isAlias ? next.end : bracket.end;
  // A comment in between would be lost, and with it the line break that ends it.
  const text = `)${alias}(${name.text})`;
  const room = Buffer.byteLength(sql.slice(before.end, end)) - Buffer.byteLength(text);
  return room < 0 || alias.includes('--') ? null : { start: before.end, end, text: text + ' '.repeat(room) };
}

/** The clauses that are open, by bracket. */
class Clauses {
  #open: ('expressions' | 'relations')[] = ['relations'];

  see(token: Token, before: Token | undefined): void {
    const word = wordOf(token);
    if (BEFORE_EXPRESSIONS.has(word)) this.#open[this.#open.length - 1] = 'expressions';
    else if (BEFORE_RELATIONS.has(word)) this.#open[this.#open.length - 1] = 'relations';
    else if (token.kind === 'punctuation' && '([{'.includes(token.text)) {
      const called = wordOf(before);
      const isCall = called !== '' && !BEFORE_RELATIONS.has(called) && !BEFORE_EXPRESSIONS.has(called);
      this.#open.push(isCall || token.text !== '(' ? 'expressions' : 'relations');
    } else if (token.kind === 'punctuation' && ')]}'.includes(token.text) && this.#open.length > 1) this.#open.pop();
  }

  get areExpressions(): boolean {
    return this.#open.at(-1) === 'expressions';
  }
}

function editsOf(sql: string): Edit[] {
  const list = [...tokens(sql)];
  const edits: Edit[] = [];
  const clauses = new Clauses();
  for (const [index, token] of list.entries()) {
    const word = wordOf(token);
    let edit: Edit | null = null;
    if (word === 'except') edit = exceptEdit(sql, list, index);
    else if (word === 'unnest') edit = unnestEdit(sql, list, index);
    else if (word === 'values' && clauses.areExpressions && isMark(list[index + 1], '(')) {
      edit = { start: token.start, end: token.end, text: VALUES_OF };
    }
    // A rewritten part is not rewritten again: edits do not overlap.
    if (edit !== null && edit.start >= (edits.at(-1)?.end ?? 0)) edits.push(edit);
    clauses.see(token, list[index - 1]);
  }
  return edits;
}

const MAY_HAVE_FORMS = /\b(?:except|unnest|values)\b/i;

/** The text as the engine spells it, as long in bytes. */
export function ownForms(text: string): string {
  const sql = withoutBackticks(text);
  if (!MAY_HAVE_FORMS.test(sql)) return sql;
  const parts: string[] = [];
  let at = 0;
  for (const edit of editsOf(sql)) {
    parts.push(sql.slice(at, edit.start), edit.text);
    at = edit.end;
  }
  return parts.join('') + sql.slice(at);
}
