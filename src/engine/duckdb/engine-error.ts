/** An error of the engine, taken apart. */
export interface EngineError {
  /** Its class: `Binder`, `Out of Memory`, `FATAL`; empty where the engine names none. */
  kind: string;
  message: string;
  /** Byte offset in the text that the engine got; undefined where it tells none. */
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
 * Reads an error of the engine: JSON where `errors_as_json` is on (see `database.ts`), which alone tells positions as
 * numbers, and text where it is not, as while a file is opened.
 */
export function readEngineError(error: unknown): EngineError {
  const text = error instanceof Error ? error.message : String(error);
  const [prefix = '', kind = ''] = CLASS.exec(text) ?? [];
  const rest = text.slice(prefix.length);
  const fields = fieldsOf(rest);
  if (fields === undefined) return { kind, message: rest, offset: undefined };
  const offset = Number(fields['position'] ?? Number.NaN);
  // A text that a query passes to error() may look like an error of the engine; it comes with a class before it.
  if (kind !== '' && kind !== fields['exception_type']) return { kind, message: rest, offset: undefined };
  return {
    kind: String(fields['exception_type']),
    message: String(fields['exception_message']),
    offset: Number.isSafeInteger(offset) ? offset : undefined,
  };
}

/** The error in one line of text, as the engine writes it where `errors_as_json` is off. */
export function engineErrorText(error: unknown): string {
  const { kind, message } = readEngineError(error);
  return kind === '' ? message : `${kind} Error: ${message}`;
}
