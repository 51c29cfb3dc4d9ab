import type { DuckDBConnection } from '@duckdb/node-api';
import { ApiError, IN_CORRECTED } from '../../../contract/errors.ts';
import type { Parameter } from '../../engine.ts';
import { resume } from '../connections/sessions.ts';
import { open } from '../gate/parse.ts';
import * as calls from '../sql/corrections/calls.ts';
import * as casts from '../sql/corrections/casts.ts';
import * as clauses from '../sql/corrections/clauses.ts';
import * as dialects from '../sql/corrections/dialect-forms.ts';
import { type Correct, edited, type Faulty, instead, textOf } from '../sql/corrections/faulty.ts';
import * as groups from '../sql/corrections/group-by-all.ts';
import * as hidden from '../sql/corrections/hidden-alias.ts';
import * as names from '../sql/corrections/names.ts';
import type { Reading } from '../sql/corrections/readings.ts';
import * as spelling from '../sql/corrections/spelling.ts';
import { noTimeIn } from '../sql/corrections/time-formats.ts';
import type { Edit } from '../sql/forms/edit.ts';
import type { Names } from '../sql/names.ts';
import { tokenList } from '../sql/token-list.ts';
import { attemptAgain, isOfSql } from './again.ts';
import { objectsAsMaps } from './object-maps.ts';
import { bindParameters } from './parameters.ts';
import { check } from './run-statement.ts';
import { secondSpellings, tokenAt } from './spellings.ts';
import { readingOf } from './text-values.ts';
import { requireCasts, timeCasts } from './time-casts.ts';

/*
 * SQL that fails, as it was probably meant. Only what the engine then accepts is said: it is taken through the gate and
 * bound as any statement, and never run.
 */

/** Longer SQL is not corrected, and no longer one is said. */
const SQL_CHARS_MAX = 1_500;
/** Texts that are tried for one error, and mistakes in one text. */
const TRIES_MAX = 12;
const MISTAKES_MAX = 8;

const ALL: readonly Correct[] = [spelling, dialects, calls, hidden, clauses, groups, names].flatMap(
  ({ CORRECT }) => CORRECT,
);

/** What SQL means, and how it is bound. */
export interface Meaning {
  names: Names;
  parameters: readonly Parameter[];
  connection: DuckDBConnection;
  signal: AbortSignal;
}

/** The error with what was probably meant by the SQL, if that is clear and valid; else the error as it is. */
export async function corrected(error: unknown, sql: string, meaning: Meaning): Promise<unknown> {
  if (!isOfSql(error) || sql.length > SQL_CHARS_MAX || meaning.signal.aborted) return error;
  const found = (await recast(error, sql, meaning)) ?? (await likely(error, sql, meaning));
  if (found === undefined || meaning.signal.aborted) return error;
  const { message, details } = error;
  if (found.sql === undefined)
    return new ApiError(error.code, withoutCasts(message, found.said), { ...details, cause: error });
  const said = found.said === undefined ? message : `${message}\n${IN_CORRECTED}${found.said}.`;
  return new ApiError(error.code, said, { ...details, correctedSql: found.sql, cause: error });
}

/** The lines of a message that advise a cast. */
const ADVISES = /\bis text: |TRY_CAST|strptime\(|^It has a comma/;

/** A message that says in the place of casts which texts there are. */
function withoutCasts(message: string, said = ''): string {
  const [first = '', ...more] = message.split('\n');
  return [first, ...more.filter((line) => !ADVISES.test(line)), said].join('\n');
}

/** SQL whose cast has failed at a value, with one that reads the values of that field; undefined: that is not clear. */
async function recast(error: ApiError, sql: string, meaning: Meaning): Promise<Reading | undefined> {
  const list = tokenList(sql);
  const at = tokenAt(sql, list, error);
  const [said = ''] = error.message.split('\n', 1);
  const noTime = noTimeIn(said);
  const failing = noTime ?? (said.startsWith('Could not convert string ') ? said.split("'")[1] : undefined);
  if (failing === undefined) return undefined;
  const written = { sql, list };
  const all = casts.castsIn(written);
  const isOnly = new Set(all.map(keyOf)).size === 1;
  const cast = at === -1 ? isOnly && all[0] : castNear(written, at, noTime !== undefined);
  if (!cast) return undefined;
  const reading = await readingOf(cast, { ...meaning, tables: names.tablesNamed(list, meaning.names) }, failing);
  if (reading === undefined || reading === 'right' || reading.sql === undefined)
    return reading === 'right' ? undefined : reading;
  const { sql: read } = reading;
  const same = all.filter((one) => keyOf(one) === keyOf(cast));
  const edits = (same.length > 0 ? same : [cast]).map(({ range }) => instead(written, ...range, read));
  const text = edited(sql, edits);
  return (await errorOf(text, meaning)) === undefined ? { ...reading, sql: text } : undefined;
}

/** The cast at a token; a field there that is compared with a time counts as one without a cast. */
function castNear(written: Pick<Faulty, 'sql' | 'list'>, at: number, isTime: boolean): casts.Cast | undefined {
  const cast = casts.castAt(written, at) ?? casts.castAt(written, at + 1);
  if (cast !== undefined || !isTime) return cast;
  let end = at + 1;
  while (written.list[end]?.text === '.') end += 2;
  return { operand: textOf(written, at, end), type: 'TIMESTAMPTZ', range: [at, end] };
}

const keyOf = ({ operand, type }: casts.Cast) => `${operand} ${type}`;

/** What was probably meant, once the values of the fields that it casts have been looked at. */
async function likely(error: ApiError, sql: string, meaning: Meaning): Promise<Reading | undefined> {
  const text = await meant(error, sql, meaning, { left: TRIES_MAX }, MISTAKES_MAX);
  if (text === undefined) return undefined;
  const own = new Set(casts.castsIn({ sql, list: tokenList(sql) }).map(keyOf));
  const written = { sql: text, list: tokenList(text) };
  const tables = names.tablesNamed(written.list, meaning.names);
  const readings = new Map<string, Reading | 'right' | undefined>();
  const edits: Edit[] = [];
  for (const cast of casts.castsIn(written)) {
    const key = keyOf(cast);
    if (own.has(key)) continue;
    if (!readings.has(key)) readings.set(key, await readingOf(cast, { ...meaning, tables }));
    const reading = readings.get(key);
    if (reading === undefined || reading === 'right') continue;
    if (reading.sql === undefined) return reading;
    edits.push(instead(written, ...cast.range, reading.sql));
  }
  if (edits.length === 0) return { sql: text };
  const read = edited(text, edits);
  if ((await errorOf(read, meaning)) !== undefined) return undefined;
  const said = [...readings.values()].flatMap((one) => (one === undefined || one === 'right' ? [] : (one.said ?? [])));
  return { sql: read, ...(said.length > 0 && { said: said.join('; ') }) };
}

async function meant(
  error: ApiError,
  sql: string,
  meaning: Meaning,
  tries: { left: number },
  mistakes: number,
): Promise<string | undefined> {
  for (const text of textsFor(error, sql, meaning.names)) {
    if (tries.left === 0 || text.length > SQL_CHARS_MAX) return undefined;
    tries.left -= 1;
    const next = await errorOf(text, meaning);
    if (next === undefined) return text;
    if (next === null || mistakes === 1) continue;
    const further = await meant(next, text, meaning, tries, mistakes - 1);
    if (further !== undefined) return further;
  }
  return undefined;
}

function textsFor(error: ApiError, sql: string, known: Names): string[] {
  const list = tokenList(sql);
  const [said = ''] = error.message.split('\n', 1);
  const at = tokenAt(sql, list, error);
  const faulty = { sql, list, at, said, message: error.message, tables: names.tablesNamed(list, known), names: known };
  const texts = ALL.flatMap((correct) => correct(faulty)).map((edits) => edited(sql, edits));
  return [...new Set(texts)].filter((text) => text !== sql);
}

/** Why SQL does not bind; undefined: it does; null: not because of what is written. */
async function errorOf(
  sql: string,
  { names, parameters, connection, signal }: Meaning,
): Promise<ApiError | null | undefined> {
  try {
    await resume(connection);
    await attemptAgain(connection, sql, [objectsAsMaps(), timeCasts, secondSpellings], async (written) => {
      const values = bindParameters(written.parameters, parameters, true);
      const passed = await open(connection, written, names, signal);
      requireCasts(passed, values);
      await check(connection, passed, values, signal);
    });
    return undefined;
  } catch (error) {
    return isOfSql(error) ? error : null;
  }
}
