export interface Token {
  /** A quoted token that is not closed extends to the end of the text; `punctuation` includes operators, one character each, except `::`. */
  kind: 'word' | 'quoted' | 'string' | 'number' | 'parameter' | 'punctuation';
  /** As written in the SQL text. */
  text: string;
  /** Positions in the SQL text, in UTF-16 units. */
  start: number;
  end: number;
}

/** Characters outside ASCII that the engine treats as spaces. All others are letters to it. */
export const WIDE_SPACE = /[\u00a0\u2000-\u200b\u202f\u205f\u2060\u3000\ufeff]/g;

const SPACE = 1;
const LETTER = 2;
const DIGIT = 4;
/** What each character of ASCII is to the engine's lexer; 0 for marks and control characters. */
const KINDS = Array.from({ length: 0x80 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (' \t\n\f\r'.includes(character)) return SPACE;
  return /[A-Za-z_]/.test(character) ? LETTER : /\d/.test(character) ? DIGIT : 0;
});

/** The kind of the character at a position; 0 behind the end. */
function kindAt(sql: string, at: number): number {
  const code = sql.charCodeAt(at);
  if (Number.isNaN(code)) return 0;
  return KINDS[code] ?? (sql[at]?.search(WIDE_SPACE) === 0 ? SPACE : LETTER);
}

/** The end of the characters of these kinds from a position on. */
function endOfRun(sql: string, at: number, kinds: number, also = ''): number {
  let end = at;
  while ((kindAt(sql, end) & kinds) !== 0 || (also !== '' && sql[end] === also)) end += 1;
  return end;
}

const isLineBreak = (character: string | undefined) => character === '\n' || character === '\r';

function endOfLine(sql: string, at: number): number {
  let end = at;
  while (end < sql.length && !isLineBreak(sql[end])) end += 1;
  return end;
}

/** The end of space and `--` comments. */
function endOfSpace(sql: string, at: number): number {
  let end = endOfRun(sql, at, SPACE);
  while (sql.startsWith('--', end)) end = endOfRun(sql, endOfLine(sql, end), SPACE);
  return end;
}

/** The end of a text between marks, in which two of them are one; that of the SQL if it is not closed. */
function endOfQuoted(sql: string, start: number, mark: string): number {
  for (let at = sql.indexOf(mark, start + 1); at !== -1; at = sql.indexOf(mark, at + 2)) {
    if (sql[at + 1] !== mark) return at + 1;
  }
  return sql.length;
}

/** The same for a piece of an `e'…'` string, from its quote on: backslashes escape. */
function endOfEscaped(sql: string, start: number): number {
  for (let at = start + 1; at < sql.length; at++) {
    if (sql[at] === '\\') at += 1;
    else if (sql[at] === "'" && sql[++at] !== "'") return at;
  }
  return sql.length;
}

const NUMBER = /0[xX][0-9A-Fa-f_]+|0[bB][01_]+|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?/y;

function endOfNumber(sql: string, at: number): number {
  NUMBER.lastIndex = at;
  return NUMBER.test(sql) ? NUMBER.lastIndex : at;
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

/** Undefined if none begins there. */
function endOfDollarString(sql: string, at: number): number | undefined {
  const isTagged = kindAt(sql, at + 1) === LETTER;
  const tagEnd = isTagged ? endOfRun(sql, at + 1, LETTER | DIGIT) : at + 1;
  if (sql[tagEnd] !== '$') return undefined;
  const tag = sql.slice(at, tagEnd + 1);
  const close = sql.indexOf(tag, tagEnd + 1);
  return close === -1 ? sql.length : close + tag.length;
}

/**
 * Where the next piece of a string begins, if there are only space and `--` comments before it, with a line break;
 * undefined if it has no further piece.
 */
function nextPiece(sql: string, at: number): number | undefined {
  let end = at;
  while (kindAt(sql, end) === SPACE && !isLineBreak(sql[end])) end += 1;
  if (sql.startsWith('--', end)) end = endOfLine(sql, end);
  if (!isLineBreak(sql[end])) return undefined;
  end = endOfSpace(sql, end);
  return sql[end] === "'" ? end : undefined;
}

/** The end of a string with the pieces that continue it on later lines. A later piece of `e'…'` has no `e`. */
function endOfString(sql: string, start: number, endOfPiece: (sql: string, start: number) => number): number {
  let end = endOfPiece(sql, start);
  for (let next = nextPiece(sql, end); next !== undefined; next = nextPiece(sql, end)) end = endOfPiece(sql, next);
  return end;
}

function endOfPlain(sql: string, start: number): number {
  return endOfQuoted(sql, start, "'");
}

function readToken(sql: string, start: number): Token {
  const token = (kind: Token['kind'], end: number): Token => ({ kind, text: sql.slice(start, end), start, end });
  const character = sql[start] ?? '';
  if (character === "'") return token('string', endOfString(sql, start, endOfPlain));
  if (character === '"') return token('quoted', endOfQuoted(sql, start, '"'));
  if (character === '$') {
    const string = endOfDollarString(sql, start);
    if (string !== undefined) return token('string', string);
    const end = endOfRun(sql, start + 1, LETTER | DIGIT);
    return token(end === start + 1 ? 'punctuation' : 'parameter', end);
  }
  if ((character === 'e' || character === 'E') && sql[start + 1] === "'") {
    return token('string', endOfString(sql, start + 1, endOfEscaped));
  }
  const kind = kindAt(sql, start);
  if (kind === LETTER) return token('word', endOfRun(sql, start, LETTER | DIGIT, '$'));
  const number = kind === DIGIT || character === '.' ? endOfNumber(sql, start) : start;
  if (number > start) return token('number', number);
  return token('punctuation', sql.startsWith('::', start) ? start + 2 : start + 1);
}

/**
 * The tokens of SQL text as the engine's lexer sees them, starting at a position between two of them, without space and
 * comments; never throws.
 */
export function* tokens(sql: string, from = 0): Generator<Token, void, void> {
  let at = from;
  while (at < sql.length) {
    const space = endOfSpace(sql, at);
    if (space > at) at = space;
    else if (sql.startsWith('/*', at)) at = endOfComment(sql, at);
    else {
      const token = readToken(sql, at);
      at = token.end;
      yield token;
    }
  }
}
