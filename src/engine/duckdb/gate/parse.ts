import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api';
import type { ApiError } from '../../../contract/errors.ts';
import { restFor } from '../../../contract/turns/turns.ts';
import { makeMacros } from '../connections/macros.ts';
import { createNames, type Names } from '../sql/names.ts';
import { errorAt, type Statement, tooManyParts } from '../sql/statement.ts';
import { PIVOT_UNLISTED, SCRIPT_INSTEAD, syntaxHint, unreadableHint } from '../sql/syntax-hints.ts';
import { tokens } from '../sql/tokens.ts';
import { isNode, isSameTree } from '../sql/tree.ts';
import { readWarnings } from './field-reads.ts';
import { passGate } from './gate.ts';
import type { Passed } from './passed.ts';
import { toParseError, toQueryError } from './sql-errors.ts';

/** A statement that went through the gate. */
export interface Opened {
  statement: Statement;
  passed: Passed;
  /** What the author of the SQL should know. */
  warnings: readonly string[];
  /** Version of the names that the gate saw. */
  namesVersion: number;
}

const PARSE = 'SELECT json_serialize_sql($1::VARCHAR, skip_null := true, skip_empty := true, skip_default := true)';

/** `PARSE`, prepared on each connection. */
const parsers = new WeakMap<DuckDBConnection, DuckDBPreparedStatement>();

async function parserOf(connection: DuckDBConnection): Promise<DuckDBPreparedStatement> {
  const made = parsers.get(connection) ?? (await connection.prepare(PARSE));
  parsers.set(connection, made);
  return made;
}

function firstWord(sql: string): string {
  return (tokens(sql).next().value?.text ?? '').toUpperCase();
}

function notReadingMessage(body: string): string {
  const word = firstWord(body);
  if (word === 'SCRIPT') return `Scripts are not available. ${SCRIPT_INSTEAD}`;
  if (word === 'PIVOT' || /\bpivot\b/i.test(body)) {
    return `${PIVOT_UNLISTED}: PIVOT t ON x IN ('a', 'b') USING sum(y).`;
  }
  return (
    `${word} is not allowed: SQL here only reads. ` +
    'Use SELECT, WITH, FROM, VALUES, DESCRIBE, SUMMARIZE, SHOW or EXPLAIN.'
  );
}

/** Where the second statement begins, in UTF-16 units. */
function secondStatement(sql: string): number | undefined {
  let isAfter = false;
  for (const token of tokens(sql)) {
    if (isAfter && token.text !== ';') return token.start;
    isAfter ||= token.kind === 'punctuation' && token.text === ';';
  }
  return undefined;
}

interface ParsedText {
  error: boolean;
  error_type?: string;
  error_message?: string;
  position?: string;
  statements?: unknown[];
}

function parseError(statement: Statement, parsed: ParsedText): ApiError {
  if (parsed.error_type === 'not implemented') {
    const start = tokens(statement.body).next().value?.start ?? 0;
    const message = unreadableHint(statement.body) ?? notReadingMessage(statement.body);
    return errorAt(statement, statement.offsetOf(start), message);
  }
  const message = parsed.error_message ?? 'The SQL cannot be parsed.';
  const offset = Number.parseInt(parsed.position ?? '', 10);
  const at = Number.isNaN(offset) ? undefined : Buffer.from(statement.body).subarray(0, offset).toString().length;
  return toParseError(syntaxHint(statement.body, message, at) ?? message, offset, statement);
}

/** Longer trees are not read: reading one holds the only thread, and so does all that is done with it. */
const TREE_CHARS_MAX = 4 * 1024 * 1024;

/** The engine writes a number beyond the largest double as a word that is not valid JSON. */
function readTree(statement: Statement, text: string): ParsedText {
  try {
    return JSON.parse(text) as ParsedText;
  } catch {
    throw errorAt(statement, undefined, 'A number in the SQL is too large: numbers go up to 1.79e308.');
  }
}

/** The engine's parse result for `sql`, which is the statement's body or was derived from it. */
export async function serialize(
  connection: DuckDBConnection,
  statement: Statement,
  sql: string,
  signal: AbortSignal,
): Promise<ParsedText> {
  try {
    const parser = await parserOf(connection);
    parser.bindVarchar(1, sql);
    const result = await parser.runAndReadAll();
    await restFor(statement.body);
    const text = String(result.getRows()[0]?.[0]);
    if (text.length > TREE_CHARS_MAX) throw tooManyParts();
    const tree = readTree(statement, text);
    await restFor(statement.body);
    return tree;
  } catch (error) {
    // Positions would refer to the text of PARSE.
    throw signal.aborted ? error : toQueryError(error, { statement, tables: [], originOf: () => undefined });
  }
}

/** The engine's own tree of the statement; throws `query_error` unless it is a single reading statement. */
export async function parse(connection: DuckDBConnection, statement: Statement, signal: AbortSignal): Promise<unknown> {
  const parsed = await serialize(connection, statement, statement.body, signal);
  if (parsed.error) throw parseError(statement, parsed);
  if (parsed.statements?.length === 1) return parsed.statements[0];
  const second = secondStatement(statement.body);
  const offset = second === undefined ? undefined : statement.offsetOf(second);
  throw errorAt(statement, offset, 'Only one statement per request is allowed. Send them one by one.');
}

/** Throws `query_error` for what the gate refuses of a SELECT without its FROM. This is no way through: nothing may be run. */
export async function checkExpressions(
  connection: DuckDBConnection,
  statement: Statement,
  signal: AbortSignal,
): Promise<void> {
  // A tree of its own, since the gate changes it.
  const tree = await parse(connection, statement, signal);
  if (isNode(tree) && isNode(tree['node'])) tree['node']['from_table'] = { type: 'EMPTY' };
  await passGate(statement, tree, createNames());
}

/**
 * Takes a statement through the parser and the gate. Throws `query_error` for what is not allowed and, unless
 * `mayMiss`, for a collection that does not exist.
 */
export async function open(
  connection: DuckDBConnection,
  statement: Statement,
  names: Names,
  signal: AbortSignal,
  mayMiss = false,
): Promise<Opened> {
  return admit(connection, statement, await parse(connection, statement, signal), names, signal, mayMiss);
}

/**
 * Like `open`, for a statement whose tree is known; the tree is changed into that of the text to run. This is the only
 * way through the gate, and only the text in its result may be run: functions are renamed in it, and the macros that it
 * needs are created on the connection.
 */
export async function admit(
  connection: DuckDBConnection,
  statement: Statement,
  tree: unknown,
  names: Names,
  signal: AbortSignal,
  mayMiss = false,
): Promise<Opened> {
  const namesVersion = names.version;
  const passed = await passGate(statement, tree, names);
  const [missing] = passed.missing;
  if (missing !== undefined && !mayMiss) throw missing.error();
  await restFor(statement.body);
  if (passed.sql !== statement.body) {
    const { statements } = await serialize(connection, statement, passed.sql, signal);
    if (!isSameTree([passed.tree], statements)) {
      throw errorAt(statement, undefined, 'The SQL is spelled in a way that is not supported. Write it more plainly.');
    }
  }
  await makeMacros(connection, passed.macros);
  await restFor(statement.body);
  const warnings = [...readWarnings(passed.reads, passed.tables), ...passed.setOperations.warnings, ...passed.told];
  return { statement, passed, warnings, namesVersion };
}
