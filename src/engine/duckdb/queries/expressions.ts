import { type DuckDBConnection, DuckDBStructType, type DuckDBType, DuckDBTypeId } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import type { JsonValue } from '../../../contract/json/json.ts';
import { cut } from '../../../contract/text.ts';
import { createPace } from '../../../contract/turns/turns.ts';
import type { Computed, ComputedAll, DeclaredType, EngineLimits, Expression, Expressions } from '../../engine.ts';
import { resume } from '../connections/sessions.ts';
import { toQueryError } from '../gate/sql-errors.ts';
import { timeWays } from '../sql/corrections/times.ts';
import { isNode } from '../sql/tree.ts';
import { declaredBy, isDecimal, unsureIn } from '../values/declared.ts';
import { readTimes } from '../values/times.ts';
import { AS_NUMBERS, estimateBytes, readerOf } from '../values/values.ts';
import {
  type Compiled,
  checkBinding,
  compile,
  DECIMAL_NAMED,
  failureOf,
  inStruct,
  memberName,
  parametersIn,
  SELECT,
} from './compiled.ts';
import { type Batch, batchesOf, evaluateStatement } from './parameter-rows.ts';
import { checkCondition } from './parts.ts';
import type { Queries } from './queries.ts';
import { isUnfit, spelledTwice } from './spellings.ts';
import { readTransform } from './transforms.ts';

/** How many of a batch's failing rows are computed individually to learn why. */
const REASONS_MAX = 50;
const REASON_LENGTH_MAX = 500;

/** Errors that hold for all rows of a batch, since their values have the same types. */
const FOR_ALL_ROWS = /"exception_type":"(?:Binder|Parser|Catalog)"|^(?:Binder|Parser|Catalog) Error/;

/** Why there is no answer for a row. */
type Failed = { error: string; at?: number };

/** Makes the answer for a row of its value, given the type of all values of a statement. */
type Reading<T> = (type: DuckDBType, compiled: Compiled) => (value: JsonValue, row: readonly JsonValue[]) => T | Failed;

/** One call of `evaluate`. */
interface Run<T> {
  connection: DuckDBConnection;
  signal: AbortSignal;
  compiled: Compiled;
  rows: readonly (readonly JsonValue[])[];
  reading: Reading<T>;
  /** Bytes that further values may take. */
  bytesLeft: number;
  answers: (T | Failed | undefined)[];
}

/** Computes the batch in one statement. A failing row makes the statement fail, or under TRY has no answer. */
async function compute<T>(run: Run<T>, batch: Batch, isTried: boolean): Promise<void> {
  const sql = evaluateStatement(batch, run.compiled.text, isTried);
  const result = await run.connection.stream(sql, [batch.lines.join('\n')]);
  const [, type] = result.columnTypes();
  if (type === undefined) throw new Error('the statement has no value');
  const read = readerOf(type, AS_NUMBERS);
  const own = (isTried && type instanceof DuckDBStructType ? type.entryTypes[0] : undefined) ?? type;
  const answerOf = run.reading(own, run.compiled);
  const pace = createPace();
  for (let chunk = await result.fetchChunk(); chunk !== null && chunk.rowCount > 0; chunk = await result.fetchChunk()) {
    if (run.signal.aborted) throw run.signal.reason;
    const [indexes, values] = [chunk.getColumnVector(0), chunk.getColumnVector(1)];
    for (let row = 0; row < chunk.rowCount; row++) {
      const value = read(values, row);
      run.bytesLeft -= estimateBytes(value);
      if (run.bytesLeft < 0) throw tooLarge();
      const index = Number(indexes.getItem(row));
      const given = run.rows[index] ?? [];
      if (!isTried) run.answers[index] = answerOf(value, given);
      else if (isNode(value)) run.answers[index] = answerOf((value['v'] ?? null) as JsonValue, given);
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

/** The types of times that do not lack a zone: a day has none to lack. */
const TIMES: ReadonlySet<DuckDBTypeId> = new Set([DuckDBTypeId.DATE, DuckDBTypeId.TIMESTAMP_TZ]);

/** One expression of those that are computed together. */
interface Part {
  sql: string;
  /** The places of its parameters in a row, by name. */
  places: ReadonlyMap<string, number>;
  onlyDecimals: ReadonlySet<string>;
}

/** A decimal counts as declared only if the expression names the type: numbers with a fraction are decimals in SQL. */
function declaredOf(type: DuckDBType, sql: string): DeclaredType | undefined {
  const declared = declaredBy(type);
  if (declared === 'time') return TIMES.has(type.typeId) ? declared : 'datetime';
  return isDecimal(declared) && !DECIMAL_NAMED.test(sql) ? undefined : declared;
}

function checked(
  value: JsonValue,
  declared: DeclaredType | undefined,
  { places, onlyDecimals }: Omit<Part, 'sql'>,
  row: readonly JsonValue[],
): Computed {
  if (!hasOnlyFinite(value)) return { error: 'it gives NaN or an infinity, which JSON does not have' };
  if (isDecimal(declared)) {
    const number = [...places]
      .map(([name, place]) => unsureIn(row[place] ?? null, value, onlyDecimals.has(name)))
      .find((one) => one !== undefined);
    if (number !== undefined)
      return { error: `the number ${number} has fewer digits than this decimal, as JSON has it: give it as text` };
  }
  return { value, ...(declared === undefined ? {} : { declared }) };
}

/** The value of an expression. */
const readOne: Reading<Computed> = (type, compiled) => {
  const declared = declaredOf(type, compiled.statement.body);
  return (value, row) => checked(value, declared, compiled, row);
};

/** The values of expressions, which are members of a struct. */
function readAll(sql: readonly string[]): Reading<ComputedAll> {
  return (type, compiled) => {
    const types = type instanceof DuckDBStructType ? type.entryTypes : [];
    const parts = sql.map((one, index) => {
      const { names, onlyDecimals } = parametersIn(one);
      const places = new Map([...compiled.places].filter(([name]) => names.has(name)));
      const own = types[index];
      return { places, onlyDecimals, declared: own && declaredOf(own, one) };
    });
    return (struct, row) => {
      const values = [];
      for (const [at, part] of parts.entries()) {
        const value = (isNode(struct) ? (struct[memberName(at)] ?? null) : null) as JsonValue;
        const computed = checked(value, part.declared, part, row);
        if ('error' in computed) return { ...computed, at };
        values.push(computed);
      }
      return { values };
    };
  };
}

function hasOnlyFinite(value: JsonValue): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value !== 'object' || value === null || Object.values(value).every(hasOnlyFinite);
}

/** Why the batch failed, as an answer, leaving the connection usable; throws what is not the rows' fault. */
async function reasonOf(run: Run<unknown>, error: unknown): Promise<Failed> {
  if (run.signal.aborted) throw run.signal.reason;
  const known = toQueryError(error, failureOf(run.compiled.statement));
  if (known.code !== 'query_error') throw known;
  await resume(run.connection);
  // Without the list of candidates: the message may be repeated for each row.
  const message = (known.message.split('\n\tCandidate functions:', 1)[0] ?? '').trimEnd();
  return { error: cut(message, REASON_LENGTH_MAX) };
}

async function answerBatch<T>(run: Run<T>, batch: Batch): Promise<void> {
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
async function answerRows<T>(run: Run<T>, batch: Batch, reason: Failed): Promise<void> {
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

const isOfSpelling = (answer: object) => 'error' in answer && isUnfit(String(answer.error));

/** Runs expressions as queries run: in turn, on connections that cannot write, within the limits. */
export function createExpressions(queries: Pick<Queries, 'inPlace'>, limits: EngineLimits): Expressions {
  async function computed<T extends object>(
    expression: Expression,
    rows: readonly (readonly JsonValue[])[],
    reading: Reading<T>,
    caller: AbortSignal | undefined,
  ): Promise<(T | Failed)[]> {
    if (rows.length === 0) return [];
    return queries.inPlace({ signal: caller }, async (connection, signal) => {
      const answer = async (second?: ReadonlySet<number>) => {
        const compiled = await compile(connection, expression, signal, second);
        const answers: (T | Failed | undefined)[] = new Array(rows.length).fill(undefined);
        const bytesLeft = limits.resultBytesMax;
        const run: Run<T> = { connection, signal, compiled, rows, reading, bytesLeft, answers };
        for await (const batch of batchesOf(rows, compiled.places)) await answerBatch(run, batch);
        return answers.map((one) => one ?? { error: 'it gives no value' });
      };
      const answers = await answer();
      const second = answers.some(isOfSpelling) ? spelledTwice(SELECT + expression.sql) : new Set<number>();
      if (second.size === 0) return answers;
      const others = await answer(second);
      return answers.map((one, index) => (isOfSpelling(one) ? (others[index] ?? one) : one));
    });
  }

  return {
    checkExpression: (expression) =>
      queries.inPlace({}, async (connection, signal) => {
        await checkBinding(connection, await compile(connection, expression, signal));
      }),
    checkCondition: (sql, caller) =>
      queries.inPlace({ signal: caller }, (connection, signal) => checkCondition(connection, sql, signal)),
    evaluate: (expression, rows, caller) => computed(expression, rows, readOne, caller),
    evaluateAll: (sql, parameters, rows, caller) =>
      computed({ sql: inStruct(sql), parameters }, rows, readAll(sql), caller),
    readTransform: (sql) => queries.inPlace({}, (connection, signal) => readTransform(connection, sql, signal)),
    timeFormats: (texts) => timeWays(texts).flatMap(({ formats }) => (formats.length === 1 ? formats : [])),
    readTimes: (texts, format) => queries.inPlace({}, (connection) => readTimes(connection, texts, format)),
  };
}
