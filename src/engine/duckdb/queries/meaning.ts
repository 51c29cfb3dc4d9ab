import type { DuckDBConnection } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import type { Parameter } from '../../engine.ts';
import { resume } from '../connections/sessions.ts';
import { type Opened, open } from '../gate/parse.ts';
import type { Names } from '../sql/names.ts';
import type { Statement } from '../sql/statement.ts';
import { attemptAgain, isOfSql, type Way } from './again.ts';
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

/** What is attempted to have a statement bound that does not as it is written. */
export const waysToBind = (parameters: readonly Parameter[]): Way[] => [
  objectsAsMaps(),
  timeCasts,
  narrowParameters(parameters),
  secondSpellings,
];

export interface Binding {
  ways: readonly Way[];
  /** Whether parameters may have no value; default: they may not. */
  allowsMissing?: boolean;
  /** Whether collections may be missing; default: they may not. */
  mayMiss?: boolean;
  /** Called with each attempt that has passed the gate, before it is bound. */
  passedGate?: (opened: Opened, values: ReturnType<typeof bindParameters>) => void | Promise<void>;
}

/** Takes SQL through the gate and binds it, without running it. Rejects as a query does. */
export function bind(sql: string, { names, parameters, connection, signal }: Meaning, how: Binding): Promise<Opened> {
  const attempt = async (written: Statement) => {
    const values = bindParameters(written.parameters, parameters, how.allowsMissing === true);
    const opened = await open(connection, written, names, signal, how.mayMiss);
    await how.passedGate?.(opened, values);
    requireCasts(opened, values);
    await check(connection, opened, values, signal);
    return opened;
  };
  return attemptAgain(connection, sql, how.ways, attempt, momentsOf(parameters));
}

export async function boundOf(sql: string, meaning: Meaning): Promise<Bound> {
  try {
    await resume(meaning.connection);
    return await bind(sql, meaning, { ways: waysToBind(meaning.parameters), allowsMissing: true });
  } catch (error) {
    return isOfSql(error) ? error : null;
  }
}
