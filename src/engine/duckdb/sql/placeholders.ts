import type { ApiError } from '../../../contract/errors.ts';
import { isMark } from './forms/edit.ts';
import type { TokenList } from './token-list.ts';
import type { Token } from './tokens.ts';

/** Words followed by an operand, so that a colon there begins a parameter however it is spaced. */
const BEFORE_OPERAND = new Set(
  `all analyze and any as asc between by case cast cross cube desc distinct else escape except exists explain fetch
  filter from full glob group having ilike in inner intersect interval into is join lambda lateral left like
  limit natural not offset on or order outer over partition pivot qualify returning right select set similar
  some symmetric tablesample then to union unpivot using values when where window with zone rows range groups sample
  percent`.split(/\s+/),
);

/** A name; without `$`, since `$a$` would begin a string. */
const NAME = /[\p{L}_][\p{L}\p{N}_]*|\d+/uy;

type Bracket = 'group' | 'subscript' | 'list' | 'braces';

export function endsOperand(token: Token | undefined): boolean {
  if (token === undefined) return false;
  if (token.kind === 'punctuation') return ')]}'.includes(token.text);
  return token.kind !== 'word' || !BEFORE_OPERAND.has(token.text.toLowerCase());
}

/** The name, in lower case, of the parameter that begins at a token, and the index behind it. */
export function parameterAt(list: TokenList, at: number): { name: string; end: number } | undefined {
  const [token, next] = [list[at], list[at + 1]];
  if (token?.kind === 'parameter') return { name: token.text.slice(1).toLowerCase(), end: at + 1 };
  if (!isMark(token, ':') || (next?.kind !== 'word' && next?.kind !== 'number') || endsOperand(list[at - 1]))
    return undefined;
  return { name: next.text.toLowerCase(), end: at + 2 };
}

function bracketOf(token: Token, before: Token | undefined): Bracket {
  if (token.text === '(') return 'group';
  if (token.text === '{') return 'braces';
  return endsOperand(before) && before?.text.toLowerCase() !== 'array' ? 'subscript' : 'list';
}

/**
 * Whether a colon with a name directly after it begins a parameter, rather than separating.
 *
 * After an operand it separates: `a[1:n]`, `{'a':x}`, `total:sum(x)`, `lambda x:x+1`. At the start of a subscript it
 * does too: `a[:n]`. Elsewhere only a parameter makes sense. After a word that the engine does not reserve, either is
 * possible; then the spaces decide: `rows :n` is a parameter and `total:n` is not.
 */
function isParameter(colon: Token, last: Token | undefined, lastButOne: Token | undefined, inside: Bracket): boolean {
  if (inside === 'subscript' && last?.text === '[' && last.kind === 'punctuation') return false;
  if (!endsOperand(last)) return true;
  if (last === undefined || last.kind !== 'word') return false;
  const isSpaced = last.end < colon.start;
  return isSpaced && (inside === 'group' || inside === 'list') && lastButOne?.text.toLowerCase() !== 'lambda';
}

function nameAt(sql: string, at: number): string | undefined {
  NAME.lastIndex = at;
  return NAME.exec(sql)?.[0];
}

/** How many spaces begin at a position. */
function spaceAt(sql: string, at: number): number {
  let end = at;
  while (sql[end] === ' ') end += 1;
  return end - at;
}

interface Found {
  at: number;
  name: string;
  /** Spaces between the mark and the name. */
  gap: number;
}

function findPlaceholders(
  sql: string,
  list: readonly Token[],
  fail: (index: number, message: string) => ApiError,
): Found[] {
  const found: Found[] = [];
  const open: Bracket[] = [];
  let last: Token | undefined;
  let lastButOne: Token | undefined;
  let skipTo = 0;
  for (const token of list) {
    if (token.start < skipTo) continue;
    let seen = token;
    if (token.kind === 'parameter') found.push({ at: token.start, name: token.text.slice(1), gap: 0 });
    else if (token.kind === 'punctuation') {
      if (token.text === '?') {
        throw fail(token.start, 'The placeholder "?" has no name. Write :name, or :1 for the first parameter.');
      }
      if ('([{'.includes(token.text)) open.push(bracketOf(token, last));
      else if (')]}'.includes(token.text)) open.pop();
      const gap = token.text === ':' && !endsOperand(last) && last !== undefined ? spaceAt(sql, token.end) : 0;
      const name = token.text === ':' ? nameAt(sql, token.end + gap) : undefined;
      if (name !== undefined && isParameter(token, last, lastButOne, open.at(-1) ?? 'group')) {
        found.push({ at: token.start, name, gap });
        skipTo = token.end + gap + name.length;
        seen = { kind: 'parameter', text: `:${name}`, start: token.start, end: skipTo };
      }
    }
    lastButOne = last;
    last = seen;
  }
  return found;
}

/**
 * SQL text with `$name` for each parameter `:name` (and `$1` for `:1`), of the same length, and the parameters' names
 * in order of first use. `$name` itself is accepted, and spaces behind a colon that follows an operator (`x = : name`).
 * Strings, quoted names, comments, casts, slices and the like are left alone. Throws the error from `fail`, at a position in UTF-16 units, for `?` and for names mixed with numbers.
 */
export function replacePlaceholders(
  sql: string,
  list: readonly Token[],
  fail: (index: number, message: string) => ApiError,
): { sql: string; parameters: string[] } {
  const found = findPlaceholders(sql, list, fail);
  const parts: string[] = [];
  let at = 0;
  for (const placeholder of found) {
    const { at: mark, gap, name } = placeholder;
    parts.push(sql.slice(at, mark), ' '.repeat(gap), '$', name);
    at = mark + 1 + gap + name.length;
  }
  parts.push(sql.slice(at));
  const isNumber = (placeholder: Found) => /^\d/.test(placeholder.name);
  const odd = found.find((placeholder) => isNumber(placeholder) !== isNumber(found[0] ?? placeholder));
  if (odd !== undefined) {
    throw fail(
      odd.at,
      `The SQL mixes named and numbered parameters (":${found[0]?.name}" and ":${odd.name}"). Use one kind.`,
    );
  }
  return { sql: parts.join(''), parameters: [...new Set(found.map((placeholder) => placeholder.name))] };
}
