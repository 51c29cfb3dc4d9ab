import type { Cell } from '../../contract/json/csv-cells.ts';
import type { EntryUnit } from '../../contract/load.ts';

/* What is looked at of a table to tell what a person would see at once: its first rows, in order, and its last ones. */

/** A row of a table: where it is, its cells by place, and what each is by its form. */
export interface SeenRow {
  at: number;
  cells: readonly Cell[];
  forms: readonly (Form | undefined)[];
}

/** What a cell is by its form; undefined: it has nothing in it. */
export type Form = 'text' | 'number' | 'time' | 'boolean' | 'e-mail address' | 'UUID' | 'URL';

export function seenRow(at: number, cells: readonly Cell[]): SeenRow {
  return { at, cells, forms: cells.map(formOf) };
}

export interface SeenRows {
  names: readonly string[];
  /** The line that names the columns, as the file has it; undefined: it has none. */
  header: readonly Cell[] | undefined;
  first: readonly SeenRow[];
  /** Where the line of names is again among all rows, as far as `AGAIN_MAX`; undefined: only the first rows tell. */
  again?: readonly number[];
  /** The last rows, of which some may be among the first; undefined: the end was not read. */
  last: readonly SeenRow[] | undefined;
  /** How many rows there are, or were read. */
  rows: number;
  /** What a row is called by its place. */
  place: Place;
  /** Whether rows may lack what others have, as documents do: that says nothing of them then. */
  isLoose?: boolean;
}

/** What the places of rows count. */
export type Place = EntryUnit | 'document';

/** What is told of the rows of a table. */
export interface TableNote {
  text: string;
  /** SQL that is true of the rows that it does not mean, if it is sure of them. */
  where?: string | undefined;
  /** How many rows it means, if all were looked at. */
  count?: number | undefined;
}

/** Places at which the line of names is again. */
export const AGAIN_MAX = 1_000;
/** Rows at the end that are looked at. */
export const LAST_ROWS = 6;
const ROWS_MAX = 1_000;
const CELLS_MAX = 20_000;
const CHARS_MAX = 500_000;

/** Whether so much of a table is enough. */
export function isEnough({ rows, cells, chars }: { rows: number; cells: number; chars: number }): boolean {
  return rows >= ROWS_MAX || cells >= CELLS_MAX || chars >= CHARS_MAX;
}

const CHARS_LOOKED_AT = 100;
const NUMBER = /^[+-]?(?:\d{1,15}|\d{1,3}(?:[.,' ]\d{3}){1,4})?(?:[.,]\d{1,15})?(?:[eE][+-]?\d{1,3})?$/;
const DAY = /^(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})(?:[T ]\d{1,2}:\d{2}[^a-z]{0,24})?$/;
const MAIL = /^[^\s@,;]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}$/;
const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const UUID_CHARS = 36;
const URL_TEXT = /^https?:\/\/\S+$/i;
const BOOLEAN = /^(?:true|false)$/i;
const NUMERIC = /^[\d+.,-]/;

export function formOf(cell: Cell | undefined): Form | undefined {
  const text = (cell ?? '').trim();
  if (text === '') return undefined;
  if (text.length > CHARS_LOOKED_AT) return 'text';
  if (text.length === UUID_CHARS && UUID.test(text)) return 'UUID';
  if (NUMERIC.test(text)) {
    if (NUMBER.test(text) && /\d/.test(text)) return 'number';
    if (DAY.test(text)) return 'time';
  }
  if (BOOLEAN.test(text)) return 'boolean';
  if (text.includes('@') && MAIL.test(text)) return 'e-mail address';
  return text.includes('://') && URL_TEXT.test(text) ? 'URL' : 'text';
}
