import type { ColumnType } from '../column-types.ts';
import { isNumeral } from '../text.ts';
import { type JsonObject, type JsonValue, setField } from './value.ts';

/*
 * What a record of CSV is as a document, wherever it is read.
 */

/** The text of a cell; null: it is empty, and not within quotes. */
export type Cell = string | null;

const SHOWN_MAX = 80;

/**
 * The document of a record, and why it is none, to follow the record's name; undefined if it is one. A cell that is null, or
 * empty in a column of another type than STRING, is a field that is missing. `valueIn` says what a cell of a column without
 * a type is (default: text). `_id` is text and `_event_time` text or a number, whatever their types; `_meta` is nothing.
 */
export function documentOfCells(
  cells: readonly Cell[],
  { names, types }: { names: readonly string[]; types: readonly (ColumnType | undefined)[] },
  valueIn: (cell: string, name: string) => JsonValue = (cell) => cell,
): { document: JsonObject; why: string | undefined } {
  const document: JsonObject = {};
  let why: string | undefined;
  for (const [at, cell] of cells.entries()) {
    const name = names[at] ?? '';
    if (cell === null || name === '_meta') continue;
    const type = types[at];
    let value: JsonValue | undefined;
    if (name === '_id') value = cell;
    else if (name === '_event_time') value = MICROS.test(cell) ? integerOf(cell) : cell;
    else value = type === undefined ? valueIn(cell, name) : typedCell(cell, type);
    if (value === undefined) {
      why ??= `has ${JSON.stringify(cell.slice(0, SHOWN_MAX))} in column ${JSON.stringify(name)}, which is no ${type}`;
    } else if (value !== null) setField(document, name, value);
  }
  return { document, why };
}

const MICROS = /^-?\d{1,18}$/;
const INTEGER = /^[+-]?\d{1,38}$/;

/** What a document has of a cell of a type; null: nothing, and undefined if it is no value of the type. */
export function typedCell(cell: string, type: ColumnType): JsonValue | undefined {
  if (type === 'STRING') return cell;
  const text = cell.trim();
  if (text === '') return null;
  if (type === 'BOOLEAN') {
    const lower = text.toLowerCase();
    return lower === 'true' || (lower === 'false' ? false : undefined);
  }
  if (type === 'INTEGER') return INTEGER.test(text) ? integerOf(text.replace('+', '')) : undefined;
  const number = isNumeral(text) ? Number(text) : Number.NaN;
  return Number.isFinite(number) ? number : undefined;
}

function integerOf(digits: string): number | bigint {
  const exact = BigInt(digits);
  return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact;
}
