import type { DuckDBConnection } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import type { Parameter } from '../../engine.ts';
import { resume } from '../connections/sessions.ts';
import { type Opened, open } from '../gate/parse.ts';
import type { Names } from '../sql/names.ts';
import { attemptAgain, isOfSql } from './again.ts';
import { narrowParameters } from './narrow-parameters.ts';
import { objectsAsMaps } from './object-maps.ts';
import { bindParameters, momentsOf } from './parameters.ts';
import { check } from './run-statement.ts';
import { secondSpellings } from './spellings.ts';
import { requireCasts, timeCasts } from './time-casts.ts';

/** What SQL means, and how it is bound. */
export interface Meaning {
  names: Names;
  parameters: readonly Parameter[];
  connection: DuckDBConnection;
  signal: AbortSignal;
}

/** SQL that binds, or why it does not; null: not because of what is written. */
export type Bound = Opened | ApiError | null;

export const isBound = (bound: Bound): bound is Opened => bound !== null && !(bound instanceof ApiError);

export async function boundOf(sql: string, { names, parameters, connection, signal }: Meaning): Promise<Bound> {
  try {
    await resume(connection);
    const ways = [objectsAsMaps(), timeCasts, narrowParameters(parameters), secondSpellings];
    return await attemptAgain(
      connection,
      sql,
      ways,
      async (written) => {
        const values = bindParameters(written.parameters, parameters, true);
        const passed = await open(connection, written, names, signal);
        requireCasts(passed, values);
        await check(connection, passed, values, signal);
        return passed;
      },
      momentsOf(parameters),
    );
  } catch (error) {
    return isOfSql(error) ? error : null;
  }
}
