/** What a write turned into JSON: fields that had another type, for the values they had, and whose documents disagree now. */
export interface NewJson {
  count: number;
  /** The first of them, five at most. */
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
  /** As SQL spells it, each name quoted, with `[]` for the items of a list: `"price"`, `"user"."name"`, `"tags"[]`. */
  path: string;
  /** SQL type that it had. */
  before: string;
  /** The first document of the write with a value that this cannot hold, and in words what kind of value. */
  cause: { id: string; value: string } | null;
}

/** Hears, once a write is durable, what that turned into JSON; not called where it was nothing. */
export type OnNewJson = (turned: NewJson) => void;
