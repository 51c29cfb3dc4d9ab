import { ApiError } from '../../../contract/errors.ts';
import { restFor } from '../../../contract/turns/turns.ts';
import { parsedTokens } from './expansion.ts';
import { ownForms, type Spelled } from './forms.ts';
import { checkGroups } from './group-by.ts';
import { replacePlaceholders } from './placeholders.ts';
import { type TokenList, tokenList } from './token-list.ts';
import { type Token, tokens, WIDE_SPACE } from './tokens.ts';

/** Maximum length of SQL text in bytes. The engine's tree of it is up to 64 times as long, and is read in one go. */
const SQL_BYTES_MAX = 256 * 1024;

/** Maximum nesting of brackets; far below what the engine's parser refuses or survives. */
const NESTING_MAX = 250;

/**
 * Maximum number of tokens: with more, nearly every statement has a tree that is too long to be read (`parse.ts`), and
 * each step below takes time for each of them.
 */
const TOKENS_WRITTEN_MAX = 128 * 1024;

/** Maximum number of tokens after the engine's copying: eight times as many as may be written. */
const TOKENS_MAX = 1_000_000;

/** The engine's lexer takes time that grows with the square of the number of comments, and cannot be interrupted. */
const COMMENTS_MAX = 1_000;

/** One statement, prepared for the engine; positions in it are byte offsets. */
export interface Statement {
  /**
   * What the engine parses: the caller's text in the engine's own spelling (`forms.ts`), with `$name` for `:name` and
   * EXPLAIN blanked out. Everything that our own reading of the text changes is changed here, before the engine parses
   * it: the tree that the gate sees must be the tree of what runs.
   */
  body: string;
  /** EXPLAIN with its options, spelled by us, to be put before what runs; empty without EXPLAIN. */
  explain: string;
  /** The caller's text. */
  written: string;
  /** Names of the parameters, in order of first use. */
  parameters: string[];
  /** The names in `body` that have been put into casts to times: see `queries/time-casts.ts`. */
  timeCasts: readonly string[];
  /**
   * The position in the caller's text of a byte offset in `body`, 1-based; a column is one character, emoji included.
   */
  locate(offset: number): Position;
  /** Byte offset of a position in UTF-16 units. */
  offsetOf(index: number): number;
}

export interface Position {
  line: number;
  column: number;
}

/** For a statement that would take too long to be checked. */
export function tooManyParts(): ApiError {
  return new ApiError(
    'query_error',
    'The SQL has too many parts. Pass long lists as a parameter, or ask in several statements.',
  );
}

/** A `query_error` at a byte offset of the caller's text. */
export function errorAt(statement: Statement, offset: number | undefined, message: string): ApiError {
  return new ApiError('query_error', message, offset === undefined ? {} : statement.locate(offset));
}

function positionAt(bytes: Buffer, offset: number): Position {
  const before = bytes.subarray(0, offset).toString();
  const lineStart = before.lastIndexOf('\n') + 1;
  const line = before.slice(0, lineStart).split('\n').length;
  return { line, column: [...before.slice(lineStart)].length + 1 };
}

/** Position of the comment that is one too many, in UTF-16 units. */
function commentTooMany(sql: string): number | undefined {
  let at = sql.indexOf('/*');
  for (let count = 1; at !== -1; count++) {
    if (count > COMMENTS_MAX) return at;
    at = sql.indexOf('/*', at + 2);
  }
  return undefined;
}

function checkCount(sql: string): void {
  // Each token is a character, at least.
  if (sql.length <= TOKENS_WRITTEN_MAX) return;
  const read = tokens(sql);
  for (let count = 0; read.next().done !== true; count++) if (count === TOKENS_WRITTEN_MAX) throw tooManyParts();
}

function checkNesting(list: readonly Token[], fail: (index: number, message: string) => ApiError): void {
  let depth = 0;
  for (const token of list) {
    if (token.kind !== 'punctuation') continue;
    if ('([{'.includes(token.text)) depth += 1;
    else if (')]}'.includes(token.text)) depth -= 1;
    if (depth > NESTING_MAX) {
      throw fail(token.start, `The SQL nests brackets deeper than ${NESTING_MAX}. Split it with WITH, or simplify it.`);
    }
  }
}

/** The engine's parser takes time that grows with the square of their number: longer than a second for more. */
const CONDITIONS_MAX = 10_000;

/** Refuses long chains of AND and OR. */
function checkConditions(list: readonly Token[], fail: (index: number, message: string) => ApiError): void {
  let conditions = 0;
  for (const { kind, text, start } of list) {
    if (kind !== 'word' || !/^(?:and|or)$/i.test(text)) continue;
    conditions += 1;
    if (conditions > CONDITIONS_MAX) {
      const instead = 'Compare with a list, which may be a parameter: x IN (SELECT unnest(:list)).';
      throw fail(start, `The SQL has more than ${CONDITIONS_MAX} AND and OR. ${instead}`);
    }
  }
}

const EXPLAIN_OPTIONS = new Set(['analyze', 'format', 'text', 'json', 'html', 'graphviz', 'yaml', 'mermaid']);

/** EXPLAIN with known options, and where the statement after it begins, in UTF-16 units; null without EXPLAIN. */
function readExplain(sql: string): { text: string; end: number } | null {
  const read = tokens(sql);
  const next = () => {
    const { value } = read.next();
    return { text: (value?.text ?? '').toLowerCase(), end: value?.end ?? sql.length };
  };
  const first = next();
  if (first.text !== 'explain') return null;
  const plain = { text: 'EXPLAIN ', end: first.end };
  let token = next();
  if (token.text === 'analyze') return { text: 'EXPLAIN ANALYZE ', end: token.end };
  if (token.text !== '(') return plain;
  const options: string[] = [];
  for (token = next(); EXPLAIN_OPTIONS.has(token.text) || token.text === ','; token = next()) options.push(token.text);
  return token.text === ')' && options.length > 0 ? { text: `EXPLAIN (${options.join(' ')}) `, end: token.end } : plain;
}

/** Position of a backtick that is not part of a name, in UTF-16 units. */
function openBacktick(sql: string): number | undefined {
  if (!sql.includes('`')) return undefined;
  for (const { text, kind, start } of tokens(sql)) if (kind === 'punctuation' && text === '`') return start;
  return undefined;
}

/** The engine accepts spaces outside ASCII, but it shifts positions when it replaces them. */
function plainSpaces(sql: string): string {
  if (sql.search(WIDE_SPACE) === -1) return sql;
  const blank = (text: string) => text.replace(WIDE_SPACE, (space) => ' '.repeat(Buffer.byteLength(space)));
  const parts: string[] = [];
  let at = 0;
  for (const token of tokens(sql)) {
    parts.push(blank(sql.slice(at, token.start)), token.text);
    at = token.end;
  }
  return parts.join('') + blank(sql.slice(at));
}

/**
 * Reads the caller's SQL text: finds parameters and EXPLAIN, and refuses text that is empty, too long, nested too
 * deeply or not text. Throws `query_error`.
 */
export async function readStatement(text: string, spelled?: Partial<Spelled>): Promise<Statement> {
  if (text.length > SQL_BYTES_MAX || Buffer.byteLength(text) > SQL_BYTES_MAX) {
    throw new ApiError('query_error', `The SQL is longer than ${SQL_BYTES_MAX} bytes. Pass long lists as a parameter.`);
  }
  await restFor(text);
  // The engine does not accept lone surrogates: encoding the text as UTF-8 turns each into a replacement character.
  const original = Buffer.from(text);
  const spaced = plainSpaces(original.toString());
  checkCount(spaced);
  await restFor(text);
  const { sql: caller, originOf } = await ownForms(spaced, spelled);
  await restFor(text);
  const bytes = Buffer.from(caller);
  const offsetOf = (index: number) => Buffer.byteLength(caller.slice(0, index));
  const locate = (offset: number) => positionAt(original, originOf(Math.max(0, Math.min(offset, bytes.length))));
  const fail = (index: number, message: string) => new ApiError('query_error', message, locate(offsetOf(index)));

  const list = tokensOf(caller, fail);
  await restFor(text);
  checkNesting(list, fail);
  checkConditions(list, fail);
  checkGroups(list, fail);
  if (parsedTokens(list) > TOKENS_MAX) {
    throw fail(0, 'The SQL grows too large: CASE is nested in operands of CASE, or a long WINDOW is used often.');
  }
  await restFor(text);
  const { sql, parameters } = replacePlaceholders(caller, list, fail);
  const { text: explain, end } = readExplain(sql) ?? { text: '', end: 0 };
  const blank = sql.slice(0, end).replace(/[^\n]/g, (character) => ' '.repeat(Buffer.byteLength(character)));
  const body = blank + sql.slice(end);
  if (tokens(body).next().done === true) throw fail(0, 'The SQL is empty. Send one statement, such as SELECT 1.');
  await restFor(text);
  return { body, explain, written: spaced, parameters, timeCasts: [], locate, offsetOf };
}

/** The tokens of a text in the engine's spelling; refuses what the engine's lexer would trip over. */
function tokensOf(sql: string, fail: (index: number, message: string) => ApiError): TokenList {
  const nul = sql.indexOf('\0');
  if (nul !== -1) throw fail(nul, 'The SQL holds a NUL character. Remove it.');
  const tick = openBacktick(sql);
  if (tick !== undefined)
    throw fail(tick, 'A name in backticks is not closed, or holds a double quote. Write it in double quotes.');
  const comment = commentTooMany(sql);
  if (comment !== undefined) throw fail(comment, `The SQL has more than ${COMMENTS_MAX} comments. Leave some out.`);
  return tokenList(sql);
}
