/** What a write did to the types of fields, and which of its values do not fit them. */
export interface FieldNews {
  /** How many fields changed their type; `changes` has at most the first five. */
  changed: number;
  changes: TypeChange[];
  /** How many places have strays from this write; `strays` has at most five, those with the most strays. */
  strayed: number;
  strays: NewStrays[];
  /** New fields whose names differ from an existing field's only in case; at most the first five. */
  spellings: NewSpelling[];
}

/** A path is as written in SQL, each name quoted, with `[]` for the items of a list and `<key>` for those of a map: `"price"`, `"user"."name"`, `"tags"[]`. */
export interface TypeChange {
  path: string;
  /** Its SQL type before the write, and after it. */
  before: string;
  after: string;
}

/** Values that do not fit the type of their field: they are kept beside it, and SQL sees NULL, or in a column of text their text. */
export interface NewStrays {
  path: string;
  /** The SQL type of the field; null: it has none, as its name cannot be that of a field. */
  type: string | null;
  /** How many the write brought. */
  count: number;
  /** SQL that reads them, as text; null: they have a place each. */
  sql: string | null;
  /** The first of them, in words, and its document, or its line in a file. */
  example: ({ id: string } | { line: number }) & { value: string };
}

export interface NewSpelling {
  field: string;
  /** The field that SQL reads under either spelling. */
  column: string;
  /** SQL that reads both fields. */
  sql: string;
}

/** Called once a write is durable, with its news; not called if there are none. */
export type OnFieldNews = (news: FieldNews) => void;
