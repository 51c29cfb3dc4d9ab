/**
 * What a write turned into JSON (fields whose earlier values had a type, and whose values now have no common one), and
 * objects that it turned into maps, since their keys are data.
 */
export interface NewJson {
  count: number;
  /** At most the first five. */
  fields: NewJsonField[];
  /** New fields whose names differ from an existing field's only in case; at most the first five. */
  spellings?: NewSpelling[];
}

export interface NewSpelling {
  field: string;
  /** The field that SQL reads under either spelling. */
  column: string;
  /** SQL that reads both fields. */
  sql: string;
}

export interface NewJsonField {
  /** As written in SQL, each name quoted, with `[]` for the items of a list and `<key>` for those of a map: `"price"`, `"user"."name"`, `"tags"[]`. */
  path: string;
  /** Its SQL type before the write, and after it. */
  before: string;
  after: string;
  /** For JSON: the first document of the write with a value that the type before cannot hold, and its kind in words. */
  cause: { id: string; value: string } | null;
}

/** Called once a write is durable, with what it turned into JSON; not called if there is nothing. */
export type OnNewJson = (turned: NewJson) => void;
