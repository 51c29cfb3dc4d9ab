import { type DuckDBConnection, DuckDBStructType, type DuckDBType } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import type { JsonValue } from '../../../contract/json/json.ts';
import { cut } from '../../../contract/text.ts';
import { createPace } from '../../../contract/turns/turns.ts';
import type { Computed, DeclaredType, Engine, EngineLimits, Expression } from '../../engine.ts';
import { resume } from '../connections/sessions.ts';
import { admit, parse } from '../gate/parse.ts';
import type { Passed } from '../gate/passed.ts';
import { toQueryError } from '../gate/sql-errors.ts';
import { createNames } from '../sql/names.ts';
import { readStatement, type Statement } from '../sql/statement.ts';
import { type Token, tokens } from '../sql/tokens.ts';
import { clausesOf, isNode, isSameTree, nodesIn } from '../sql/tree.ts';
import { declaredBy, isDecimal, unsureIn } from '../values/declared.ts';
import { readTimes } from '../values/times.ts';
import { AS_NUMBERS, estimateBytes, readerOf } from '../values/values.ts';
import { type Batch, batchesOf, evaluateStatement, type ParameterUse } from './parameter-rows.ts';
import type { Queries } from './queries.ts';
import { isUnfit, spelledTwice } from './spellings.ts';

/** The part of the engine that computes without reading a collection. */
export type Expressions = Pick<Engine, 'checkExpression' | 'evaluate' | 'readTimes'>;

const SELECT = 'SELECT ';
const REFUSED: Readonly<Record<string, string>> = {
  SUBQUERY: 'a subquery',
  WINDOW: 'a window function',
  STAR: '"*"',
  POSITIONAL_REFERENCE: 'a column by its position',
};
/** How many of a batch's failing rows are computed individually to learn why. */
const REASONS_MAX = 50;
const REASON_LENGTH_MAX = 500;

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
interface Compiled {
  statement: Statement;
  /** Place in a row of values, by parameter in lower case. */
  places: ReadonlyMap<string, number>;
  /** Its text with each parameter replaced; the parameter is given in lower case. */
  text(replacement: (name: string, use: ParameterUse) => string): string;
  /** The parameters in lower case whose every use is a cast to a decimal. */
  onlyDecimals: ReadonlySet<string>;
}

async function compile(
  connection: DuckDBConnection,
  expression: Expression,
  signal: AbortSignal,
  second?: ReadonlySet<number>,
): Promise<Compiled> {
  try {
    const statement = await readStatement(SELECT + expression.sql, second);
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

const DECIMAL_NAMED = /\b(?:decimal|numeric|dec)\b/i;

/** Whether the parameter at an index is what is cast to a decimal. */
function isCastToDecimal(list: readonly Token[], index: number): boolean {
  const textAt = (offset: number) => list[index + offset]?.text.toLowerCase() ?? '';
  if (textAt(1) === '::' || (textAt(1) === ':' && textAt(2) === ':'))
    return DECIMAL_NAMED.test(textAt(textAt(1) === '::' ? 2 : 3));
  const isCast = textAt(-1) === '(' && /^(?:try_)?cast$/.test(textAt(-2));
  return isCast && textAt(1) === 'as' && DECIMAL_NAMED.test(textAt(2));
}

/** Positions in the statements that embed an expression mean nothing to its author. */
function failureOf(statement: Statement) {
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
async function checkBinding(connection: DuckDBConnection, { statement, text }: Compiled): Promise<void> {
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

/** Errors that hold for all rows of a batch, since their values have the same types. */
const FOR_ALL_ROWS = /"exception_type":"(?:Binder|Parser|Catalog)"|^(?:Binder|Parser|Catalog) Error/;

/** One call of `evaluate`. */
interface Run {
  connection: DuckDBConnection;
  signal: AbortSignal;
  compiled: Compiled;
  rows: readonly (readonly JsonValue[])[];
  /** Bytes that further values may take. */
  bytesLeft: number;
  answers: (Computed | undefined)[];
}

/** Computes the batch in one statement. A failing row makes the statement fail, or under TRY has no answer. */
async function compute(run: Run, batch: Batch, isTried: boolean): Promise<void> {
  const sql = evaluateStatement(batch, run.compiled.text, isTried);
  const result = await run.connection.stream(sql, [batch.lines.join('\n')]);
  const [, type] = result.columnTypes();
  if (type === undefined) throw new Error('the statement has no value');
  const read = readerOf(type, AS_NUMBERS);
  const declared = declaredOf(
    (isTried && type instanceof DuckDBStructType ? type.entryTypes[0] : undefined) ?? type,
    run,
  );
  const pace = createPace();
  for (let chunk = await result.fetchChunk(); chunk !== null && chunk.rowCount > 0; chunk = await result.fetchChunk()) {
    if (run.signal.aborted) throw run.signal.reason;
    const [indexes, values] = [chunk.getColumnVector(0), chunk.getColumnVector(1)];
    for (let row = 0; row < chunk.rowCount; row++) {
      const value = read(values, row);
      run.bytesLeft -= estimateBytes(value);
      if (run.bytesLeft < 0) throw tooLarge();
      const index = Number(indexes.getItem(row));
      if (!isTried) run.answers[index] = checked(value, declared, run, index);
      else if (isNode(value)) run.answers[index] = checked((value['v'] ?? null) as JsonValue, declared, run, index);
      const turn = pace();
      if (turn !== undefined) await turn;
    }
  }
}

function tooLarge(): ApiError {
  return new ApiError(
    'content_too_large',
    'The values that the expression gives are too large together. Send smaller batches.',
  );
}

/** A decimal counts as declared only if the expression names the type: numbers with a fraction are decimals in SQL. */
function declaredOf(type: DuckDBType, { compiled }: Run): DeclaredType | undefined {
  const declared = declaredBy(type);
  return isDecimal(declared) && !DECIMAL_NAMED.test(compiled.statement.body) ? undefined : declared;
}

function checked(value: JsonValue, declared: DeclaredType | undefined, run: Run, index: number): Computed {
  if (!hasOnlyFinite(value)) return { error: 'it gives NaN or an infinity, which JSON does not have' };
  if (isDecimal(declared)) {
    const { compiled, rows } = run;
    const number = [...compiled.places]
      .map(([name, place]) => unsureIn(rows[index]?.[place] ?? null, value, compiled.onlyDecimals.has(name)))
      .find((one) => one !== undefined);
    if (number !== undefined)
      return { error: `the number ${number} has fewer digits than this decimal, as JSON has it: give it as text` };
  }
  return { value, ...(declared === undefined ? {} : { declared }) };
}

function hasOnlyFinite(value: JsonValue): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value !== 'object' || value === null || Object.values(value).every(hasOnlyFinite);
}

/** Why the batch failed, as an answer, leaving the connection usable; throws what is not the rows' fault. */
async function reasonOf(run: Run, error: unknown): Promise<Computed> {
  if (run.signal.aborted) throw run.signal.reason;
  const known = toQueryError(error, failureOf(run.compiled.statement));
  if (known.code !== 'query_error') throw known;
  await resume(run.connection);
  // Without the list of candidates: the message may be repeated for each row.
  const message = (known.message.split('\n\tCandidate functions:', 1)[0] ?? '').trimEnd();
  return { error: cut(message, REASON_LENGTH_MAX) };
}

async function answerBatch(run: Run, batch: Batch): Promise<void> {
  const { bytesLeft } = run;
  try {
    await compute(run, batch, false);
  } catch (error) {
    run.bytesLeft = bytesLeft;
    const reason = await reasonOf(run, error);
    if (batch.indexes.length === 1 || FOR_ALL_ROWS.test(error instanceof Error ? error.message : '')) {
      for (const index of batch.indexes) run.answers[index] = reason;
    } else await answerRows(run, batch, reason);
  }
}

/** Some rows of the batch fail: finds out which. */
async function answerRows(run: Run, batch: Batch, reason: Computed): Promise<void> {
  // Discard what the failed statement returned before it failed.
  for (const index of batch.indexes) run.answers[index] = undefined;
  try {
    await compute(run, batch, true);
  } catch (error) {
    await reasonOf(run, error);
    // TRY does not accept functions that are not deterministic, such as error(): halve until the rows are found.
    const middle = batch.indexes.length >> 1;
    await answerBatch(run, slice(batch, 0, middle));
    await answerBatch(run, slice(batch, middle, batch.indexes.length));
    return;
  }
  let reasons = 0;
  for (const [at, index] of batch.indexes.entries()) {
    if (run.answers[index] !== undefined) continue;
    if (reasons++ < REASONS_MAX) await answerBatch(run, slice(batch, at, at + 1));
    else run.answers[index] = reason;
  }
}

function slice(batch: Batch, from: number, to: number): Batch {
  return { ...batch, indexes: batch.indexes.slice(from, to), lines: batch.lines.slice(from, to) };
}

const isOfSpelling = (answer: Computed) => 'error' in answer && isUnfit(answer.error);

/** Runs expressions as queries run: in turn, on connections that cannot write, within the limits. */
export function createExpressions(queries: Pick<Queries, 'inPlace'>, limits: EngineLimits): Expressions {
  return {
    checkExpression: (expression) =>
      queries.inPlace({}, async (connection, signal) => {
        await checkBinding(connection, await compile(connection, expression, signal));
      }),

    async evaluate(expression, rows, caller) {
      if (rows.length === 0) return [];
      return queries.inPlace({ signal: caller }, async (connection, signal) => {
        const answer = async (second?: ReadonlySet<number>) => {
          const compiled = await compile(connection, expression, signal, second);
          const answers: (Computed | undefined)[] = new Array(rows.length).fill(undefined);
          const run: Run = { connection, signal, compiled, rows, bytesLeft: limits.resultBytesMax, answers };
          for await (const batch of batchesOf(rows, compiled.places)) await answerBatch(run, batch);
          return answers.map((one): Computed => one ?? { error: 'it gives no value' });
        };
        const answers = await answer();
        const second = answers.some(isOfSpelling) ? spelledTwice(SELECT + expression.sql) : new Set<number>();
        if (second.size === 0) return answers;
        const others = await answer(second);
        return answers.map((one, index) => (isOfSpelling(one) ? (others[index] ?? one) : one));
      });
    },

    readTimes: (texts, format) => queries.inPlace({}, (connection) => readTimes(connection, texts, format)),
  };
}
