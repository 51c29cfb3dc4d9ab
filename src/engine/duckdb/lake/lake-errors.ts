import { ApiError } from '../../../contract/errors.ts';
import {
  engineErrorText,
  firstLine,
  isOfStatement,
  memoryError,
  readEngineError,
} from '../connections/engine-error.ts';
import { LOST } from './fence.ts';

/** What the clients and PostgreSQL say where it cannot be reached, or ended the connection. */
const CATALOG_AWAY = [
  'connection to server',
  'unable to connect to postgres',
  'server closed the connection',
  'terminating connection',
  'connection terminated',
  'connection error and is not queryable',
  'the database system is',
  'timeout expired',
  'query read timeout',
  'no connection to the server',
  'could not send data',
  'could not receive data',
  'econnrefused',
  'econnreset',
  'enotfound',
  'ehostunreach',
  'etimedout',
  '(57p0',
  'too many clients already',
  'remaining connection slots are reserved',
  // Said of the extension's own transaction with PostgreSQL, by the threads that did not see how it ended.
  'current transaction is aborted (please rollback)',
  // Of these statements nothing but the connection can fail.
  ...['begin', 'commit', 'rollback'].flatMap((one) => [`execute query "${one}`, `execute query \\"${one}`]),
];
/** What the engine says where files cannot be reached. */
const STORE_AWAY = ['http error', 'could not establish connection', 'could not connect to server', 'for http '];

function says(text: string, some: readonly string[]): boolean {
  const folded = text.toLowerCase();
  return some.some((one) => folded.includes(one));
}

function lakeErrorText(error: unknown): string {
  const { code = '' } = (error ?? {}) as { code?: unknown };
  return `${engineErrorText(error)}${typeof code === 'string' && code !== '' ? ` (${code})` : ''}`;
}

/** Whether a statement failed since something of the lake could not be reached. */
export function isAway(error: unknown): boolean {
  return says(lakeErrorText(error), [...CATALOG_AWAY, ...STORE_AWAY]);
}

/**
 * What is said where the names that the engine's extension (1.5.5) knows are no longer those of the lake: rows that were kept
 * in the catalog were put into files, or memory is not what it was. Opening the lake anew mends it.
 */
const STALE = [
  'schema not found in metadata catalog',
  'could not find schema that corresponds',
  'relation "ducklake_inlined_data_',
];

/** What the extension (1.5.5) makes of any failure to read rows that are kept in the catalog. */
const UNREAD = 'Attempted to access index 0 within vector of size 0';

/** Whether the lake has to be opened anew. */
export function isStale(error: unknown): boolean {
  const { message } = readEngineError(error);
  // A query can say what it likes by error().
  if (!isOfStatement(error)) {
    return message.startsWith('basic_string') || message === UNREAD || says(lakeErrorText(error), STALE);
  }
  // In quotes there may be whatever a caller wrote.
  return says(message.replace(/"[^"]*"|'[^']*'/g, ''), STALE);
}

/** Of a lake what errors name. */
interface LakeNamed {
  catalog: { shown: string };
  data: string;
}

/** The contract's error for a failure of a lake; `what` completes "Cannot …". */
export function lakeError(what: string, { catalog, data }: LakeNamed, error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const text = lakeErrorText(error);
  const line = firstLine(text);
  const options = { cause: error };
  // The lake looks for conflicts before the fence is asked: only who lost a lock can have one.
  if (text.includes(LOST) || text.includes('Transaction conflict')) {
    return new ApiError(
      'not_ready',
      `Cannot ${what}: this node lost its connection to the lake's catalog meanwhile, and another may have gone on. Nothing of it is stored. Try again.`,
      options,
    );
  }
  if (isStale(error)) {
    return new ApiError(
      'not_ready',
      `Cannot ${what}: this node opens the lake anew. Nothing of it is stored. Try again.`,
      options,
    );
  }
  if (/\(55P03\)$|lock timeout/i.test(text)) {
    return new ApiError(
      'not_ready',
      `Cannot ${what}: another node has been writing there for a minute. Nothing of it is stored. Try again.`,
      options,
    );
  }
  if (/\((?:28P01|28000)\)$|password authentication failed|no pg_hba.conf entry/i.test(text)) {
    const message = `Cannot ${what}: PostgreSQL at ${catalog.shown} does not let this node in. Look at its user and password.`;
    return new ApiError('internal', message, options);
  }
  if (says(text, CATALOG_AWAY)) {
    return new ApiError(
      'not_ready',
      `Cannot ${what}: the lake's catalog, PostgreSQL at ${catalog.shown}, cannot be reached. It goes on by itself once it can.`,
      options,
    );
  }
  if (says(text, STORE_AWAY)) {
    return new ApiError(
      'not_ready',
      `Cannot ${what}: the lake's files at ${data} cannot be reached (${line}).`,
      options,
    );
  }
  if (/Could not cast value -?\d{39} to DECIMAL\(38,0\)/.test(text)) {
    return new ApiError(
      'invalid_input',
      `Cannot ${what}: an integer has 39 digits, and a lake has no type for it. Send it as text.`,
      options,
    );
  }
  const full = memoryError(what, error);
  if (full !== undefined) return full;
  return new ApiError('internal', `Cannot ${what}: ${line}.`, options);
}
