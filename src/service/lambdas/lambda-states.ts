import type { Logger } from 'pino';
import { ApiError } from '../../contract/errors.ts';
import type { Engine, Unbound } from '../../engine/engine.ts';
import type { LambdaVersionRecord } from '../records.ts';

/** Whether the SQL of versions binds. The answer is not stored: it depends on what exists at the time. */
export interface LambdaStates {
  /** Why the version's SQL does not bind now; null if it does. Never rejects. */
  unboundOf(version: LambdaVersionRecord): Promise<string | null>;
}

/** What binding a version said, and the last change of the names in its SQL at that time. */
interface Known {
  changed: number;
  unbound: string | null;
}

/**
 * Binds a version again when it is asked about and a collection or alias that it names, or its columns, have changed
 * since last time: whether SQL binds depends on nothing else. If the engine has no free place for that, the last answer
 * counts.
 */
export function createLambdaStates(engine: Pick<Engine, 'inspect' | 'lastChangeOf'>, log: Logger): LambdaStates {
  const known = new WeakMap<LambdaVersionRecord, Known>();
  /** Those that are being bound: whoever asks meanwhile waits for the same. */
  const binding = new WeakMap<LambdaVersionRecord, { changed: number; unbound: Promise<string | null> }>();

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

  async function bindAgain(version: LambdaVersionRecord, changed: number, last: Known | undefined) {
    try {
      const unbound = await bind(version);
      known.set(version, { changed, unbound });
      return unbound;
    } catch (error) {
      log.warn({ err: error, version: version.version }, 'cannot tell whether a Query Lambda binds');
      return last === undefined ? version.unbound : last.unbound;
    } finally {
      if (binding.get(version)?.changed === changed) binding.delete(version);
    }
  }

  return {
    async unboundOf(version) {
      // Read beforehand, so that names which change during the binding cause another one.
      const changed = engine.lastChangeOf(version.names);
      const last = known.get(version);
      if (last?.changed === changed) return last.unbound;
      const current = binding.get(version);
      if (current?.changed === changed) return current.unbound;
      const unbound = bindAgain(version, changed, last);
      binding.set(version, { changed, unbound });
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
