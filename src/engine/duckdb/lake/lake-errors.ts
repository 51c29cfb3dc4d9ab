import { ApiError } from '../../../contract/errors.ts';
import { withoutTrailing } from '../../../contract/text.ts';
import { engineErrorText } from '../connections/engine-error.ts';
import { LOST } from './fence.ts';
import type { LakePlace } from './lake-database.ts';

/** Whether the catalog's PostgreSQL could not be reached, or ended the connection. */
function isCatalogAway(text: string): boolean {
  return /connection to server|Unable to connect to Postgres|server closed the connection|terminating connection|ECONNREFUSED|ECONNRESET|ENOTFOUND|EHOSTUNREACH|ETIMEDOUT|Connection terminated|Client has encountered a connection error|the database system is|timeout expired|no connection to the server|could not (?:send|receive) data|not queryable|57P0|Failed to execute query \W*(?:BEGIN|COMMIT|ROLLBACK)/i.test(
    text,
  );
}

/** Whether the files could not be reached. */
function isStoreAway(text: string): boolean {
  return /HTTP Error|Could not establish connection|Could not connect to server|Connection error|IO Error.*(?:s3:|http)/i.test(
    text,
  );
}

export function lakeErrorText(error: unknown): string {
  const { code = '' } = (error ?? {}) as { code?: unknown };
  return `${engineErrorText(error)}${typeof code === 'string' && code !== '' ? ` (${code})` : ''}`;
}

/** The contract's error for a failure of a lake; `what` completes "Cannot …". */
export function lakeError(what: string, { catalog, data }: LakePlace, error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const text = lakeErrorText(error);
  const line = withoutTrailing((text.split('\n', 1)[0] ?? text).slice(0, 300), '.');
  const options = { cause: error };
  if (text.includes(LOST)) {
    return new ApiError(
      'not_ready',
      `Cannot ${what}: this node lost its connection to the lake's catalog meanwhile, and another may have gone on. Nothing of it is stored. Try again.`,
      options,
    );
  }
  if (/55P03|lock timeout/i.test(text)) {
    return new ApiError(
      'not_ready',
      `Cannot ${what}: another node has been writing there for a minute. Nothing of it is stored. Try again.`,
      options,
    );
  }
  if (/28P01|28000|password authentication failed|no pg_hba.conf entry/i.test(text)) {
    const message = `Cannot ${what}: PostgreSQL at ${catalog.shown} does not let this node in. Look at its user and password.`;
    return new ApiError('internal', message, options);
  }
  if (isCatalogAway(text)) {
    return new ApiError(
      'not_ready',
      `Cannot ${what}: the lake's catalog, PostgreSQL at ${catalog.shown}, cannot be reached. It goes on by itself once it can.`,
      options,
    );
  }
  if (isStoreAway(text)) {
    return new ApiError(
      'not_ready',
      `Cannot ${what}: the lake's files at ${data} cannot be reached (${line}).`,
      options,
    );
  }
  if (/Out of Memory|failed to pin block/i.test(text)) {
    return new ApiError(
      'resource_exceeded',
      `Cannot ${what}: the engine's memory limit is reached. Write fewer or smaller documents at once; thousands of different fields, those in objects included, need more memory.`,
      options,
    );
  }
  return new ApiError('internal', `Cannot ${what}: ${line}.`, options);
}
