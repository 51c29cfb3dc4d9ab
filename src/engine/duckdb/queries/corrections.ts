import type { DuckDBConnection } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import type { Parameter } from '../../engine.ts';
import { resume } from '../connections/sessions.ts';
import { open } from '../gate/parse.ts';
import * as calls from '../sql/corrections/calls.ts';
import * as clauses from '../sql/corrections/clauses.ts';
import { type Correct, edited } from '../sql/corrections/faulty.ts';
import * as groups from '../sql/corrections/group-by-all.ts';
import * as names from '../sql/corrections/names.ts';
import * as spelling from '../sql/corrections/spelling.ts';
import type { Names } from '../sql/names.ts';
import { tokenList } from '../sql/token-list.ts';
import { attemptAgain, isOfSql } from './again.ts';
import { objectsAsMaps } from './object-maps.ts';
import { bindParameters } from './parameters.ts';
import { check } from './run-statement.ts';
import { secondSpellings, tokenAt } from './spellings.ts';
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

const ALL: readonly Correct[] = [spelling, calls, clauses, groups, names].flatMap(({ CORRECT }) => CORRECT);

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
  const correctedSql = await meant(error, sql, meaning, { left: TRIES_MAX }, MISTAKES_MAX);
  if (correctedSql === undefined || meaning.signal.aborted) return error;
  return new ApiError(error.code, error.message, { ...error.details, correctedSql, cause: error });
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
