export interface Token {
  /** `punctuation` includes operators, one character each, except `::`. */
  kind: 'word' | 'quoted' | 'string' | 'number' | 'parameter' | 'punctuation';
  /** As written in the SQL text. */
  text: string;
  /** Positions in the SQL text, in UTF-16 units. */
  start: number;
  end: number;
}

/**
 * Characters outside ASCII that the engine treats as spaces, as a regular expression class. All others are letters to
 * it.
 */
export const WIDE_SPACES: string = String.raw`\u00a0\u2000-\u200b\u202f\u205f\u2060\u3000\ufeff`;

/** A quoted token that is not closed extends to the end of the text. */
const SPACE = new RegExp(String.raw`(?:[ \t\n\f\r${WIDE_SPACES}]+|--[^\n\r]*)+`, 'y');
const STRING = /'(?:[^']|'')*'?/y;
const ESCAPE_STRING = /[eE]'(?:[^'\\]|''|\\[\s\S])*'?/y;
/** Between two pieces of one string: space and `--` comments, with a line break before the second piece. */
const BREAK = new RegExp(
  String.raw`[ \t\f${WIDE_SPACES}]*(?:--[^\n\r]*)?[\n\r](?:[ \t\n\f\r${WIDE_SPACES}]|--[^\n\r]*[\n\r])*(?=')`,
  'y',
);
/** A later piece of an `e'…'` string: backslashes escape in it too, although it has no `e`. */
const ESCAPE_PIECE = /'(?:[^'\\]|''|\\[\s\S])*'?/y;
const QUOTED = /"(?:[^"]|"")*"?/y;
/** Letters as the engine sees them: everything outside ASCII, except spaces. */
const LETTER = String.raw`(?:[A-Za-z_]|[^\x00-\x7f${WIDE_SPACES}])`;
const DOLLAR_QUOTE = new RegExp(String.raw`\$(?:${LETTER}(?:${LETTER}|[0-9])*)?\$`, 'y');
const PARAMETER = new RegExp(String.raw`\$(?:${LETTER}|[0-9])+`, 'y');
const WORD = new RegExp(`${LETTER}(?:${LETTER}|[0-9$])*`, 'y');
const NUMBER = /0[xX][0-9A-Fa-f_]+|0[bB][01_]+|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?/y;

function endOf(pattern: RegExp, sql: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(sql) ? pattern.lastIndex : undefined;
}

/** Comments nest, as in the engine. */
function endOfComment(sql: string, at: number): number {
  const mark = /\/\*|\*\//g;
  mark.lastIndex = at;
  let depth = 0;
  for (let match = mark.exec(sql); match !== null; match = mark.exec(sql)) {
    depth += match[0] === '/*' ? 1 : -1;
    if (depth === 0) return mark.lastIndex;
  }
  return sql.length;
}

function endOfDollarString(sql: string, at: number): number | undefined {
  const bodyAt = endOf(DOLLAR_QUOTE, sql, at);
  if (bodyAt === undefined) return undefined;
  const tag = sql.slice(at, bodyAt);
  const close = sql.indexOf(tag, bodyAt);
  return close === -1 ? sql.length : close + tag.length;
}

/** The end of a string with the pieces that continue it on later lines. */
function endOfPieces(piece: RegExp, sql: string, first: number): number {
  let end = first;
  for (let next = endOf(BREAK, sql, end); next !== undefined; next = endOf(BREAK, sql, end)) {
    end = endOf(piece, sql, next) ?? sql.length;
  }
  return end;
}

function readToken(sql: string, start: number): Token {
  const token = (kind: Token['kind'], end: number): Token => ({ kind, text: sql.slice(start, end), start, end });
  const character = sql[start] ?? '';
  if (character === "'") return token('string', endOfPieces(STRING, sql, endOf(STRING, sql, start) ?? sql.length));
  if (character === '"') return token('quoted', endOf(QUOTED, sql, start) ?? sql.length);
  if (character === '$') {
    const string = endOfDollarString(sql, start);
    if (string !== undefined) return token('string', string);
    const parameter = endOf(PARAMETER, sql, start);
    return parameter === undefined ? token('punctuation', start + 1) : token('parameter', parameter);
  }
  const escapeString = endOf(ESCAPE_STRING, sql, start);
  if (escapeString !== undefined) return token('string', endOfPieces(ESCAPE_PIECE, sql, escapeString));
  const word = endOf(WORD, sql, start);
  if (word !== undefined) return token('word', word);
  const number = endOf(NUMBER, sql, start);
  if (number !== undefined) return token('number', number);
  return token('punctuation', sql.startsWith('::', start) ? start + 2 : start + 1);
}

/**
 * The tokens of SQL text as the engine's lexer sees them, starting at a position between two of them, without space and
 * comments; never throws.
 */
export function* tokens(sql: string, from = 0): Generator<Token, void, void> {
  let at = from;
  while (at < sql.length) {
    const space = endOf(SPACE, sql, at);
    if (space !== undefined) at = space;
    else if (sql.startsWith('/*', at)) at = endOfComment(sql, at);
    else {
      const token = readToken(sql, at);
      at = token.end;
      yield token;
    }
  }
}
