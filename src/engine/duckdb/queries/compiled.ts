import type { DuckDBConnection } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import type { Expression } from '../../engine.ts';
import { admit, parse } from '../gate/parse.ts';
import type { Passed } from '../gate/passed.ts';
import { toQueryError } from '../gate/sql-errors.ts';
import { createNames } from '../sql/names.ts';
import { readStatement, type Statement } from '../sql/statement.ts';
import { type Token, tokens } from '../sql/tokens.ts';
import { clausesOf, isNode, isSameTree, nodesIn } from '../sql/tree.ts';
import type { ParameterUse } from './parameter-rows.ts';

export const SELECT = 'SELECT ';
const REFUSED: Readonly<Record<string, string>> = {
  SUBQUERY: 'a subquery',
  WINDOW: 'a window function',
  STAR: '"*"',
  POSITIONAL_REFERENCE: 'a column by its position',
};
function notScalar(why: string): ApiError {
  return new ApiError('query_error', `The SQL must be one expression such as "upper(:name)": ${why}.`);
}

function requireScalar(tree: unknown): void {
  const node = isNode(tree) ? tree['node'] : undefined;
  if (!isNode(node) || node['type'] !== 'SELECT_NODE') throw notScalar('this is another kind of statement');
  const from = node['from_table'];
  if (clausesOf(node).length > 0 || !isNode(from) || from['type'] !== 'EMPTY') {
    throw notScalar('it has a clause such as FROM, WHERE, ORDER BY or DISTINCT, and computes from parameters alone');
  }
  const items: unknown[] = Array.isArray(node['select_list']) ? node['select_list'] : [];
  const [item] = items;
  if (items.length !== 1 || !isNode(item)) throw notScalar(`it has ${items.length} expressions`);
  if (typeof item['alias'] === 'string' && item['alias'] !== '') {
    throw notScalar(`it names its value "${item['alias']}", and the value has its name already`);
  }
  refuseWithin(item);
}

function refuseWithin(root: unknown): void {
  for (const node of nodesIn(root)) {
    const refused = typeof node['class'] === 'string' ? REFUSED[node['class']] : undefined;
    if (refused !== undefined) throw notScalar(`it holds ${refused}`);
  }
}

/** Places of the parameters that an expression uses, by name in lower case, since the engine ignores case. */
function placesOf({ parameters }: Statement, declared: readonly string[]): Map<string, number> {
  const folded = declared.map((name) => name.toLowerCase());
  return new Map(
    parameters.map((name) => {
      const place = folded.indexOf(name.toLowerCase());
      if (place !== -1) return [name.toLowerCase(), place];
      const names = declared.map((one) => `":${one}"`).join(', ');
      throw new ApiError(
        'query_error',
        `The SQL uses the parameter ":${name}", which is not declared. ${names === '' ? 'No parameter is.' : `Declared are ${names}.`}`,
      );
    }),
  );
}

/** An expression that passed the gate. */
export interface Compiled {
  statement: Statement;
  /** Place in a row of values, by parameter in lower case. */
  places: ReadonlyMap<string, number>;
  /** Its text with each parameter replaced; the parameter is given in lower case. */
  text(replacement: (name: string, use: ParameterUse) => string): string;
  /** The parameters in lower case whose every use is a cast to a decimal. */
  onlyDecimals: ReadonlySet<string>;
}

/** Takes an expression through the gate. Throws `query_error`, at positions in its own text. */
export async function compile(
  connection: DuckDBConnection,
  expression: Expression,
  signal: AbortSignal,
  second?: ReadonlySet<number>,
): Promise<Compiled> {
  try {
    const statement = await readStatement(SELECT + expression.sql, second && { second });
    for (const { text } of tokens(statement.body)) if (text === ';') throw notScalar('it holds ";"');
    const tree = await parse(connection, statement, signal);
    requireScalar(tree);
    // It knows no collections, so none can be named.
    const { passed } = await admit(connection, statement, tree, createNames(), signal);
    // Our own reading of the text finds the parameters: it must agree with the engine's, or something else would run.
    const rewritten = SELECT + withParameters(passed, (_, { written }) => written);
    if (!isSameTree(passed.tree, await parse(connection, { ...statement, body: rewritten }, signal))) {
      throw notScalar('it is spelled in a way that is not supported; write it more plainly');
    }
    const places = placesOf(statement, expression.parameters);
    const onlyDecimals = new Set(places.keys());
    withParameters(passed, (name, { isDecimal }) => {
      if (!isDecimal) onlyDecimals.delete(name);
      return '';
    });
    return { statement, places, text: (replacement) => withParameters(passed, replacement), onlyDecimals };
  } catch (error) {
    throw signal.aborted ? signal.reason : inOwnText(error);
  }
}

/** The parameters in a text, in lower case, and those of them whose every use is a cast to a decimal. */
export function parametersIn(sql: string): { names: Set<string>; onlyDecimals: Set<string> } {
  const list = [...tokens(sql)];
  const [names, others] = [new Set<string>(), new Set<string>()];
  for (const [index, { kind, text }] of list.entries()) {
    if (kind !== 'parameter') continue;
    const name = text.slice(1).toLowerCase();
    names.add(name);
    if (!isCastToDecimal(list, index)) others.add(name);
  }
  return { names, onlyDecimals: new Set([...names].filter((name) => !others.has(name))) };
}

/** Makes positions count from the start of the expression. */
function inOwnText(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.code !== 'query_error') return error;
  const { line, column } = error.details;
  if (line !== 1 || column === undefined) return error;
  return new ApiError(error.code, error.message, { line, column: Math.max(1, column - SELECT.length), cause: error });
}

/** The text that passed, with each parameter, given in lower case, replaced. */
function withParameters({ sql }: Passed, replacement: (name: string, use: ParameterUse) => string): string {
  const parts: string[] = [];
  let at = SELECT.length;
  const list = [...tokens(sql)];
  for (const [index, token] of list.entries()) {
    if (token.kind !== 'parameter') continue;
    // In parentheses, so that a path after it applies to its value.
    const use = { written: token.text, isDecimal: isCastToDecimal(list, index) };
    const replaced = replacement(token.text.slice(1).toLowerCase(), use);
    parts.push(sql.slice(at, token.start), '(', replaced, ')');
    at = token.end;
  }
  parts.push(sql.slice(at));
  // A line comment at its end must not reach what follows.
  return `(${parts.join('')}\n)`;
}

export const DECIMAL_NAMED = /\b(?:decimal|numeric|dec)\b/i;

/** Whether the parameter at an index is what is cast to a decimal. */
function isCastToDecimal(list: readonly Token[], index: number): boolean {
  const textAt = (offset: number) => list[index + offset]?.text.toLowerCase() ?? '';
  if (textAt(1) === '::' || (textAt(1) === ':' && textAt(2) === ':'))
    return DECIMAL_NAMED.test(textAt(textAt(1) === '::' ? 2 : 3));
  const isCast = textAt(-1) === '(' && /^(?:try_)?cast$/.test(textAt(-2));
  return isCast && textAt(1) === 'as' && DECIMAL_NAMED.test(textAt(2));
}

/** Positions in the statements that embed an expression mean nothing to its author. */
export function failureOf(statement: Statement) {
  return { statement, tables: [], originOf: () => undefined };
}

/** Why an expression with this error of the binder binds with no values at all; undefined if it may with some. */
function neverBinds(message: string): string | undefined {
  if (message.includes('cannot contain aggregates')) {
    return 'an aggregate needs many rows, and an expression sees the values of one';
  }
  if (/cannot contain window|UNNEST/i.test(message)) return 'it gives several rows, and one value is needed';
  const name = /(?:Referenced column|Referenced table|table named) "([^"]*)"/.exec(message)?.[1];
  return name === undefined ? undefined : `"${name}" is no parameter: write it as ":${name}", and declare it`;
}

const OTHER_FAULT = /"exception_type":"(?:Parser|Catalog)"|^(?:Parser|Catalog) Error/;

/**
 * Binds the expression with NULL for every parameter. Types are known only once there are values, so an error about
 * types means nothing yet; errors about columns, aggregates and the like hold for all values.
 */
export async function checkBinding(connection: DuckDBConnection, { statement, text }: Compiled): Promise<void> {
  const bare = text(() => 'NULL');
  for (const sql of [`SELECT 1 WHERE ${bare} IS NULL`, `SELECT ${bare}`]) {
    try {
      (await connection.prepare(sql)).destroySync();
    } catch (error) {
      const message = error instanceof Error ? error.message.replaceAll('\\"', '"') : String(error);
      const why = neverBinds(message);
      if (why !== undefined) throw notScalar(why);
      if (OTHER_FAULT.test(message)) {
        const { code, message: clean } = toQueryError(error, failureOf(statement));
        throw new ApiError(code, clean, { cause: error });
      }
    }
  }
}

/** One expression whose value is a struct of the values of others. A comment at the end of one must not reach the next. */
export function inStruct(sql: readonly string[]): string {
  return `{${sql.map((one, index) => `'${memberName(index)}': (${one}\n)`).join(', ')}}`;
}

export const memberName = (index: number) => `v${index}`;
