import type { DuckDBValue } from '@duckdb/node-api';
import type { ColumnType } from '../../../contract/column-types.ts';
import type { JsonObject } from '../../../contract/json/json.ts';
import type { DeclaredType } from '../../documents.ts';
import type { Shape } from '../values/shape.ts';
import type { ColumnNote } from './column-notes.ts';
import type { CellKind, Mixed } from './csv-cells.ts';

/** Runs a statement that only reads. */
export type Ask = (text: string) => Promise<DuckDBValue[][]>;

/** The text of a cell of CSV. */
export interface CellSource {
  sql: string;
  /** SQL for its value, given SQL for a text. */
  valueFor(text: string): string;
  /** What all cells are, or most. */
  kind: CellKind | undefined;
  mixed?: Mixed | undefined;
  /** The type that they were given. */
  given: ColumnType | undefined;
}

/** A field of the rows of a file. */
export interface RowColumn {
  name: string;
  /** The narrowest shape of all its values. */
  shape: Shape;
  /** SQL for its value, among the columns of a part: of the type of its shape. */
  sql: string;
  cell?: CellSource;
  declared?: DeclaredType | undefined;
  /** Whether each row with a value has to become a document. */
  isUntyped?: boolean;
  /** Whether all its doubles are integers. */
  isWhole?: boolean;
}

/** Some rows of a file: enough that a statement is worth it, and few enough that it is over soon. */
export interface Part {
  /** SQL for its rows: `l` is the number of a row, or of its line; it grows. */
  from: string;
  rows: number;
  first: number;
  last: number;
}

/** How the rows of a file are read. */
export interface RelationOptions {
  idField: string | undefined;
  /** Whether times are recognized. */
  times: boolean;
  /** Whether a field of the collection has integers, which doubles of a file may be, too. */
  hasIntegers(field: string): boolean;
}

/** The rows of a file. */
export interface Relation {
  /** Of all its columns, those that are no fields included. */
  names: readonly string[];
  columns: readonly RowColumn[];
  parts: readonly Part[];
  key: RowKey;
  /** SQL for a figure that takes reading all values of some rows, and fails where the file is broken; undefined: it is not. */
  check?: string | undefined;
  /** SQL condition for rows that are too large to become documents; undefined: there are none. */
  isTooLarge?: string | undefined;
  /** What a document of a row is made of: SQL, and what becomes of that. */
  documentSql(columns: ReadonlyMap<string, Shape>): string;
  document(values: readonly DuckDBValue[], columns: ReadonlyMap<string, Shape>): RowAsDocument;
  notes: string[];
  /** By column: what is to be told where it becomes one of text. */
  textNotes?: ReadonlyMap<string, ColumnNote>;
  /** The same where it becomes one of doubles. */
  numberNotes?: ReadonlyMap<string, ColumnNote>;
}

/** How rows get their ids and event times. */
export interface RowKey {
  /** SQL for the text of the id; undefined: all are made. */
  id: string | undefined;
  /** Whether each row has one that follows from its number `l` alone. */
  isNumbered?: boolean | undefined;
  /** SQL for the event time; undefined: there is none. */
  time: string | undefined;
  /** SQL condition for rows of which only a document can tell whether they are refused, and their event time. */
  isUnsure: string | undefined;
}

/** For a document of a row that goes into no table. */
export const NO_COLUMNS: ReadonlyMap<string, Shape> = new Map();

export interface RowAsDocument {
  at: number;
  id: string | null;
  /** Why it is none; undefined if it is one. */
  why: string | undefined;
  document: JsonObject;
}

/** SQL condition that none of several holds. */
export function noneOf(conditions: readonly (string | undefined)[]): string | undefined {
  const some = conditions.filter((one) => one !== undefined);
  return some.length === 0 ? undefined : `NOT (${some.map((one) => `coalesce(${one}, false)`).join(' OR ')})`;
}
