import type { Logger } from 'pino';
import { ApiError } from '../../contract/errors.ts';
import type { Engine, Unbound } from '../../engine/engine.ts';
import { type Catalog, put } from '../catalog/catalog.ts';
import { createLateRecords } from '../catalog/late-records.ts';
import type { LambdaVersionRecord } from '../catalog/records.ts';
import { versionKey } from './lambda-records.ts';

/** Whether the SQL of versions binds. The answer depends on what exists at the time, and is only kept with that. */
export interface LambdaStates {
  /** Why the version's SQL does not bind now; null if it does. Never rejects. */
  unboundOf(version: LambdaVersionRecord): Promise<string | null>;
  /** What it depends on whether SQL with these names binds, as a text that differs when that does. */
  basisOf(names: readonly string[]): string;
  /** Stores what is not stored yet; nothing is stored after it. */
  close(): Promise<void>;
}

/** What binding a version said, and on what basis. */
type Bound = Required<Pick<LambdaVersionRecord, 'unbound' | 'boundOn'>>;

export interface LambdaStatesOptions {
  engine: Pick<Engine, 'inspect' | 'definitionOf'>;
  catalog: Catalog;
  /** Of the program and the engine: another one may bind otherwise. */
  versions: string;
  log: Logger;
}

const STORE_DELAY_MS = 5_000;

/**
 * Binds a version again when it is asked about and a collection or alias that it names, or its columns, have changed
 * since last time: whether SQL binds depends on nothing else. If the engine has no free place for that, the last answer
 * counts. Answers are stored like `LambdaStats`, so that a start does not bind everything again.
 */
export function createLambdaStates({ engine, catalog, versions, log }: LambdaStatesOptions): LambdaStates {
  const late = createLateRecords<Bound>({
    catalog,
    log,
    what: 'whether Query Lambdas bind',
    delayMs: STORE_DELAY_MS,
    changesOf: (values) =>
      [...values].flatMap(([key, bound]) => {
        // A version deleted in the meantime must not come back.
        const record = catalog.all('lambdaVersion').get(key);
        return record === undefined ? [] : [put('lambdaVersion', key, { ...record, ...bound })];
      }),
  });
  /** Those that are being bound: whoever asks meanwhile waits for the same. */
  const binding = new Map<string, { on: string; unbound: Promise<string | null> }>();

  async function bind(version: LambdaVersionRecord): Promise<string | null> {
    try {
      const { unbound } = await engine.inspect({
        sql: version.query,
        parameters: version.defaultParameters,
        allowMissingParameters: true,
        allowUnbound: true,
      });
      return unboundText(unbound);
    } catch (error) {
      // An earlier release allowed this SQL, and this one refuses it.
      if (error instanceof ApiError && (error.code === 'query_error' || error.code === 'invalid_input')) {
        return unboundText({ ...error.details, message: error.message });
      }
      throw error;
    }
  }

  async function bindAgain(version: LambdaVersionRecord, key: string, boundOn: string, last: Bound) {
    try {
      const unbound = await bind(version);
      late.set(key, { unbound, boundOn });
      return unbound;
    } catch (error) {
      log.warn({ err: error, version: version.version }, 'cannot tell whether a Query Lambda binds');
      return last.unbound;
    } finally {
      if (binding.get(key)?.on === boundOn) binding.delete(key);
    }
  }

  const basisOf = (names: readonly string[]) => `${versions} ${engine.definitionOf(names)}`;
  return {
    basisOf,
    close: late.close,
    async unboundOf(version) {
      const key = versionKey(version);
      // Read beforehand, so that names which change during the binding cause another one.
      const on = basisOf(version.names);
      const last = late.get(key) ?? version;
      if (last.boundOn === on) return last.unbound;
      const current = binding.get(key);
      if (current?.on === on) return current.unbound;
      const unbound = bindAgain(version, key, on, last);
      binding.set(key, { on, unbound });
      return unbound;
    },
  };
}

/** The engine's reason, with its position in the SQL. */
export function unboundText(unbound: Unbound | null): string | null {
  if (unbound === null) return null;
  const { message, line, column } = unbound;
  return line === undefined ? message : `Line ${line}, column ${column ?? 1}: ${message}`;
}
