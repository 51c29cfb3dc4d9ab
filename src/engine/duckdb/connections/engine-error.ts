import { ApiError, isOutOfSpace } from '../../../contract/errors.ts';
import { withoutTrailing } from '../../../contract/text.ts';

/** The parts of an engine error. */
export interface EngineError {
  /** Its class: `Binder`, `Out of Memory`, `FATAL`; empty if the engine gives none. */
  kind: string;
  message: string;
  /** Byte offset in the text that the engine got; undefined if it gives none. */
  offset: number | undefined;
}

const CLASS = /^(?:Error: )?(?:([A-Za-z ]+?) Error: )?/;

/** The fields of an error that the engine wrote as JSON; undefined for text. */
function fieldsOf(text: string): { [key: string]: unknown } | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const fields: unknown = JSON.parse(text);
    return typeof fields === 'object' && fields !== null && 'exception_message' in fields ? { ...fields } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Parses an error of the engine: JSON if `errors_as_json` is on (see `instance.ts`), since only then are positions
 * given as numbers; text otherwise, for example while a file is opened.
 */
export function readEngineError(error: unknown): EngineError {
  const text = error instanceof Error ? error.message : String(error);
  const [prefix = '', kind = ''] = CLASS.exec(text) ?? [];
  const rest = text.slice(prefix.length);
  const fields = fieldsOf(rest);
  if (fields === undefined) return { kind, message: rest, offset: undefined };
  const offset = Number(fields['position'] ?? Number.NaN);
  // A text that a query passes to error() may look like an engine error; a class precedes it.
  if (kind !== '' && kind !== fields['exception_type']) return { kind, message: rest, offset: undefined };
  return {
    kind: String(fields['exception_type']),
    message: String(fields['exception_message']),
    offset: Number.isSafeInteger(offset) ? offset : undefined,
  };
}

/** The error in one line of text, as the engine writes it when `errors_as_json` is off. */
export function engineErrorText(error: unknown): string {
  const { kind, message } = readEngineError(error);
  return kind === '' ? message : `${kind} Error: ${message}`;
}

/** Whether an error means that the database is unusable until it is reopened, whatever the next statement is. */
export function isFatal(error: unknown): boolean {
  const { kind, message } = readEngineError(error);
  if (/^(?:FATAL|INTERNAL)$/i.test(kind)) return true;
  // A COMMIT that is durable may say so of the checkpoint behind it.
  return message.includes('has been invalidated') && !isOfStatement(error);
}

/** Kinds of errors about the text or the values of a statement, which they quote. */
const OF_STATEMENTS: ReadonlySet<string> = new Set(
  ['Binder', 'Catalog', 'Conversion', 'Invalid Input', 'Mismatch Type', 'Out of Range', 'Parser', 'Syntax'].map(
    (kind) => kind.toLowerCase(),
  ),
);

/** Whether an error is about the text or a value of a statement: whatever it says may be what a caller wrote. */
export function isOfStatement(error: unknown): boolean {
  return OF_STATEMENTS.has(readEngineError(error).kind.toLowerCase());
}

const DISK_FULL = /No space left|disk full|not enough space on the disk|Disk quota exceeded|File too large/i;

/** Whether an error of the engine or the system means that the disk, or this user's quota, is full. */
export function isDiskFull(error: unknown): boolean {
  return isOutOfSpace(error) || DISK_FULL.test(engineErrorText(error));
}

/** Whether what was read of the file is not what was written. */
export function isDamage(error: unknown): boolean {
  const message = engineErrorText(error).toLowerCase();
  const checksum = message.indexOf('checksum ');
  return (
    message.includes('corrupt database file') ||
    (checksum !== -1 && message.includes(' does not match', checksum)) ||
    // A truncated file; the engine's files for large queries, which may be full, have other names.
    (message.includes('could not read enough bytes from file "') && message.includes('.duckdb"'))
  );
}

/** Its first line as part of a sentence, cut if it is long. */
export function firstLine(message: string): string {
  return withoutTrailing((message.split('\n', 1)[0] ?? message).slice(0, 300), '.');
}

/** The contract's error for a write that met the memory limit; undefined: `error` is another. */
export function memoryError(what: string, error: unknown): ApiError | undefined {
  if (!/Out of Memory|failed to pin block/i.test(engineErrorText(error))) return undefined;
  return new ApiError(
    'resource_exceeded',
    `Cannot ${what}: the engine's memory limit is reached. Write fewer or smaller documents at once; thousands of different fields, those in objects included, need more memory.`,
    { cause: error },
  );
}
