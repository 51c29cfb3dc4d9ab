import type { JsonValue } from '../../contract/json/json.ts';
import { COLUMNS_MAX, columnOf } from './xlsx-columns.ts';
import type { Zip } from './zip.ts';

/** Merged cells: a workbook has their value in the first of them alone, and says behind all rows which they are. */

/** More are left as they are. */
const MERGES_MAX = 100_000;
/** Those within one row name columns, and stand above. */
const SPANS_MAX = 10_000;
const TEXT_CHARS_MAX = 8 * 1024 * 1024;
/** What may be filled in, in characters, for each cell as many more as its name may have. */
const FILLED_CHARS_MAX = 64 * 1024 * 1024;
const CELL_CHARS = 16;
const MARK = /<(?:\w{1,20}:)?mergeCells\b/;
/** No less than the mark, which may be in two pieces. */
const MARK_CHARS = 40;
const REFERENCE = /mergeCell\s{1,4}ref\s?=\s?["']([A-Z]{1,3})([0-9]{1,7}):([A-Z]{1,3})([0-9]{1,7})["']/g;

/** A row of a sheet: its cells that are not empty, by the number of their column. */
export interface SheetRow {
  /** Its number in the sheet. */
  at: number;
  cells: Map<number, JsonValue>;
  chars: number;
  /** Whether the sheet does not show it. */
  isHidden?: boolean;
}

/** Cells of a row that are one, with their first column and their last. */
export interface Span {
  row: number;
  left: number;
  right: number;
}

/**
 * Cells of a column that are one, with their first row and their last. Those of its neighbours that are merged with them stay
 * empty: what stands over several columns is a heading, and no value of each.
 */
export interface Merge {
  column: number;
  top: number;
  bottom: number;
}

/**
 * The merged cells of a sheet, by their first row, and those within one row. The part is expanded, and not parsed, up to where it names them; one that
 * is damaged has none here, and is told when it is read.
 */
export async function mergesOf(zip: Zip, part: string): Promise<{ merges: Merge[]; spans: Span[] }> {
  let text = '';
  let isBegun = false;
  try {
    for await (const { piece } of zip.pieces(part)) {
      text = (isBegun ? text : text.slice(-MARK_CHARS)) + piece.toString('latin1');
      isBegun ||= MARK.test(text);
      if (text.length > TEXT_CHARS_MAX) break;
    }
  } catch {
    return { merges: [], spans: [] };
  }
  const merges: Merge[] = [];
  const spans: Span[] = [];
  for (const [, letters = '', top, last = '', bottom] of isBegun ? text.matchAll(REFERENCE) : []) {
    if (merges.length >= MERGES_MAX) break;
    const merge = { column: columnOf(letters), top: Number(top), bottom: Number(bottom) };
    const right = Math.min(columnOf(last), COLUMNS_MAX - 1);
    if (merge.top < merge.bottom && merge.column < COLUMNS_MAX) merges.push(merge);
    else if (merge.column < right && spans.length < SPANS_MAX)
      spans.push({ row: merge.top, left: merge.column, right });
  }
  return { merges: merges.sort((a, b) => a.top - b.top), spans };
}

/** Gives the rows of a sheet, in order, the values of merged cells that they are in. */
export class MergedCells {
  readonly #merges: readonly Merge[];
  #next = 0;
  /** By column: one at a time, as all programs write them. */
  readonly #open = new Map<number, { bottom: number; value: JsonValue }>();
  #filled = 0;
  /** Cells that were filled, by column. */
  readonly counts = new Map<number, number>();

  constructor(merges: readonly Merge[]) {
    this.#merges = merges;
  }

  /** Fills a row of the data; what begins above the data stays. */
  fill(row: SheetRow, isAbove: boolean): void {
    const { at, cells } = row;
    for (; (this.#merges[this.#next]?.top ?? Number.POSITIVE_INFINITY) <= at; this.#next += 1) {
      const { column, top, bottom } = this.#merges[this.#next] as Merge;
      const value = top === at && !isAbove ? cells.get(column) : undefined;
      if (value !== undefined && !this.isFull) this.#open.set(column, { bottom, value });
    }
    for (const [column, { bottom, value }] of this.#open) {
      if (bottom < at) this.#open.delete(column);
      else this.#set(row, column, value);
    }
    if (this.isFull) this.#open.clear();
  }

  /** Whether no more cells are filled. */
  get isFull(): boolean {
    return this.#filled > FILLED_CHARS_MAX;
  }

  #set(row: SheetRow, column: number, value: JsonValue): void {
    if (row.cells.has(column) || this.isFull) return;
    const chars = typeof value === 'string' ? value.length : 1;
    this.#filled += CELL_CHARS + chars;
    row.chars += chars;
    row.cells.set(column, value);
    this.counts.set(column, (this.counts.get(column) ?? 0) + 1);
  }
}
