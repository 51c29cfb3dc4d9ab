import { dirname } from 'node:path';
import { ApiError } from '../../../contract/errors.ts';
import {
  firstLine,
  isDamage,
  isDiskFull,
  isFatal,
  memoryError,
  engineErrorText as messageOf,
} from '../connections/engine-error.ts';
import { heldError, isHeldError } from '../connections/held.ts';
import type { Run, Sql } from '../connections/writer.ts';
import { logDamageError, readLogDamage } from './log-check.ts';

/** Whether a statement failed only because the database did, or was closed to be reopened: a retry may succeed. */
export function isLost(error: unknown): boolean {
  return /has been invalidated|connection disconnected/i.test(
    error instanceof ApiError && error.cause !== undefined ? messageOf(error.cause) : messageOf(error),
  );
}

/** Whether a COMMIT failed only after the transaction was stored, while the log was merged into the main file. */
export function isCommitted(error: unknown): boolean {
  return /COMMIT succeeded and is durable/i.test(messageOf(error));
}

/**
 * Whether the log could not be merged only because of other work: a writing transaction, or a query from before changes
 * that the engine keeps for it.
 */
export function isHeldUp(error: unknown): boolean {
  return /Cannot CHECKPOINT: there are other/i.test(messageOf(error));
}

/** A COMMIT failed, and it is unknown whether the transaction is stored. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';

  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
  }
}

/** Whether a failed COMMIT may have stored its transaction: the database failed while the log was written. */
export function mayBeCommitted(error: unknown): boolean {
  // After an earlier failure the statement was refused before it began.
  return isFatal(error) && !/because of a previous fatal error/i.test(messageOf(error));
}

/**
 * Commits. `onLate` is called with an error that came after the transaction was stored: the work is done, but the database
 * may be unusable.
 */
export async function committed(sql: Sql, onLate: (error: unknown) => void): Promise<void> {
  await committing(sql, onLate).again('COMMIT');
}

/** The same for statements of which each commits; one whose error comes late has no rows. */
export function committing(sql: Sql, onLate: (error: unknown) => void): Sql {
  const late = (error: unknown) => {
    if (!isCommitted(error)) throw mayBeCommitted(error) ? new OutcomeUnknown(error) : error;
    onLate(error);
    return [];
  };
  const once: Run = (text, ...values) => sql(text, ...values).catch(late);
  const again: Run = (text, ...values) => sql.again(text, ...values).catch(late);
  return Object.assign(once, { again });
}

/** The error for a file that opened but turned out to be partly damaged. `what` completes "Cannot …". */
export function damageError(what: string, file: string, cause: unknown): ApiError {
  return new ApiError(
    'internal',
    `Cannot ${what}: the database ${JSON.stringify(file)} is damaged (${firstLine(messageOf(cause))}). ${DAMAGE_REMEDY}`,
    { cause },
  );
}

const DAMAGE_REMEDY =
  'Look after the disk, and restore a backup with "colloquy stop" and "colloquy restore". What is not damaged can still be read.';

function diskFull(what: string, file: string, fate: string): string {
  return `Cannot ${what}: the disk of the data folder ${JSON.stringify(dirname(file))} is full. ${fate}`;
}

/** The contract's error for a failure to open `file`. */
export function openError(file: string, error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const message = messageOf(error);
  const quoted = JSON.stringify(file);
  if (isDiskFull(error)) {
    const message = diskFull(`open the database ${quoted}`, file, 'Free some space there and try again.');
    return new ApiError('storage_full', message, { cause: error });
  }
  if (isHeldError(error)) return heldError(file, error);
  const damage = readLogDamage(message);
  if (damage !== undefined) return logDamageError(file, damage);
  return new ApiError('internal', `Cannot open the database ${quoted}: ${openReason(error, message)}`, {
    cause: error,
  });
}

function isReadOnly(message: string): boolean {
  return message.includes('Cannot open file ') && message.includes(' in read-only');
}

function openReason(error: unknown, message: string): string {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  if (/Permission denied|Read-only file system/i.test(message) || isReadOnly(message) || code === 'EACCES') {
    return 'no permission to read and write it. Make the folder and the file writable for this user.';
  }
  if (code === 'EROFS') return 'the file system is read-only. Use a data folder that can be written.';
  if (
    /not a valid DuckDB database file|corrupt|checksum|read enough bytes|WAL file|Serialization Error/i.test(message)
  ) {
    return `the file is damaged, or is not a database (${firstLine(message)}). Nothing was changed. Restore a backup with "colloquy restore", or move the files away to start empty.`;
  }
  if (/storage version|newer version of DuckDB/i.test(message)) {
    return `it was written by a newer version (${firstLine(message)}). Update this program.`;
  }
  return `${firstLine(message)}.`;
}

/** The contract's error for a failed write to `file`. `what` completes "Cannot …". */
export function writeError(what: string, file: string, error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const message = messageOf(error);
  const isUnknown = error instanceof OutcomeUnknown;
  if (isDiskFull(error)) {
    if (!isUnknown) {
      const message = diskFull(what, file, 'Nothing of it is stored. Free some space there and try again.');
      return new ApiError('storage_full', message, { cause: error });
    }
    const fate = 'It may have been stored all the same: free some space there, and look before repeating it.';
    return new ApiError('internal', diskFull(what, file, fate), { cause: error });
  }
  if (isUnknown) {
    return new ApiError(
      'internal',
      `The attempt to ${what} failed at its end (${firstLine(message)}). It may have been stored all the same: look before repeating it.`,
      { cause: error },
    );
  }
  if (isDamage(error)) return damageError(what, file, error);
  const full = memoryError(what, error);
  if (full !== undefined) return full;
  return new ApiError('internal', `Cannot ${what}: ${firstLine(message)}.`, { cause: error });
}
