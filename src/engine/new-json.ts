/**
 * What a write turned into JSON: fields that had another type, for their earlier values, and whose documents now
 * disagree.
 */
export interface NewJson {
  count: number;
  /** The first of them, at most five. */
  fields: NewJsonField[];
  /** Fields that it brought and that differ only in case from one that there is; the first five at most. */
  spellings?: NewSpelling[];
}

export interface NewSpelling {
  field: string;
  /** The field that SQL reads by either spelling. */
  column: string;
  /** SQL that reads both. */
  sql: string;
}

export interface NewJsonField {
  /** As written in SQL, each name quoted, with `[]` for the items of a list: `"price"`, `"user"."name"`, `"tags"[]`. */
  path: string;
  /** Its SQL type before. */
  before: string;
  /** The first document of the write with a value that this type cannot hold, and the kind of value in words. */
  cause: { id: string; value: string } | null;
}

/** Called once a write is durable with what it turned into JSON; not called if that is nothing. */
export type OnNewJson = (turned: NewJson) => void;
