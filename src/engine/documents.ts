import type { JsonObject, JsonValue } from '../contract/json/json.ts';

export interface NewDocument {
  id: string;
  /** Microseconds since the epoch; null: the replaced document's, or else now. */
  eventTimeMicros: bigint | null;
  /** The document's fields, without `_id`, `_event_time` and `_meta`. */
  fields: JsonObject;
  /** The fields that have another type than JSON gives them, if their values fit it. */
  declared?: ReadonlyMap<string, DeclaredType> | undefined;
}

/**
 * `time`: a date or timestamp; `datetime`: a timestamp without a zone that SQL computed, which is UTC in a column of times that
 * have one; `clock`: a time of day; `decimal`, with its number of digits and of those in fractions.
 */
export type DeclaredType = 'time' | 'datetime' | 'clock' | 'uuid' | 'binary' | `decimal ${number} ${number}`;

/** What is known of a document beside its text. */
export interface KnownDocument {
  /** The text has no `_id`, or this one. */
  id: string;
  /** Offset behind its text, where that of the next one begins. */
  end: number;
  /** The event time if the text gives none. */
  eventTimeMicros?: bigint | null | undefined;
  /** As in `NewDocument`. */
  declared?: NewDocument['declared'];
}

/** Documents without an `_id` of their own that are lines: the id of each is `derivedId`. */
export interface NumberedLines {
  prefix: string;
  /** The number of the first; each one behind it has the next one. */
  first: number;
  /** Offset behind each one's text. */
  ends: readonly number[];
}

/** The `_id` of what has none of its own: that of what it is in, with its number there. */
export function derivedId(prefix: string, number: number): string {
  return `${prefix}/${number}`;
}

/** How many lines there are. */
export function lineCount(lines: readonly NumberedLines[]): number {
  return lines.reduce((sum, { ends }) => sum + ends.length, 0);
}

/** Documents as JSON text. */
export interface DocumentsText {
  /** Valid UTF-8. */
  bytes: Buffer;
  /** Offset of the list's `[`. */
  start: number;
  /** Offset of the byte after its `]`. */
  end: number;
  /** False: they stand one after the other, with white space between them, from the offset `start` to the end of the bytes. */
  isList?: boolean | undefined;
  /** Without a list: whether there is one on each line, and on no other. */
  isLines?: boolean | undefined;
  /** The field whose text or number is the `_id`, too; documents then have no `_id` of their own. */
  idField?: string | undefined;
  /** The field whose value is the event time, too, where a document has it. */
  timeField?: string | undefined;
  /** Maximum number of documents. */
  max: number;
  /** What is known of each, in order. */
  known?: readonly KnownDocument[] | undefined;
  /** The same, said for many at once, where it is no more than the id: all of the text is these lines, with distinct ids. */
  numbered?: readonly NumberedLines[] | undefined;
  /** They are looked at before this has resolved, and stored after; nothing is stored if it rejects (default: at once). */
  after?: Promise<unknown> | undefined;
  /** Generates the id of a document without `_id`: one that no document ever had. */
  makeId(): string;
  /**
   * Reads an event time, that of `timeField` if it `isField`, in microseconds since 1970; undefined if it needs a closer
   * look.
   */
  readTime(value: string | number, isField: boolean): bigint | undefined;
  /** Reads a whole document whose shape is new, by its place among them; undefined if it cannot be stored. */
  read(document: JsonValue, at: number): NewDocument | undefined;
}

/** What became of one document of a text. */
export interface TextOutcome {
  id: string;
  status: 'added' | 'replaced';
  /** Size of its text. */
  bytes: number;
}
