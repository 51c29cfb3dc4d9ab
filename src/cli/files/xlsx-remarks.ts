import { counted } from '../../contract/in-words.ts';
import type { CellFormat } from './xlsx-formats.ts';
import type { SheetRow } from './xlsx-merges.ts';

/** What is told of a sheet: what a person sees there and its values do not have. */

const WARNINGS_SHOWN = 10;
const RANGES_SHOWN = 5;
const CURRENCIES_MAX = 20;
/** Integers from here on have more digits than workbooks keep; those far beyond are measures, and no numbers of things. */
const LONG_MIN = 1e15;
const LONG_MAX = 1e20;

/** The first of some warnings that a column has each. */
export function few(warnings: readonly string[]): string[] {
  const more = warnings.length - WARNINGS_SHOWN;
  return [...warnings.slice(0, WARNINGS_SHOWN), ...(more > 0 ? [`${counted(more, 'more columns')} as well.`] : [])];
}

/** The name of a column, as SQL and warnings have it. */
type Shown = (column: number) => string;

interface OfColumn {
  durations: number;
  long: number;
  padded: { count: number; example: string } | undefined;
  currencies: Map<string, number> | undefined;
}

export class SheetRemarks {
  readonly #columns = new Map<number, OfColumn>();
  readonly #hiddenRows: [from: number, to: number][] = [];
  #hiddenRowCount = 0;
  #hiddenColumns: [from: number, to: number][] = [];

  /** Takes columns that are hidden, before all rows. */
  hideColumns(from: number, to: number): void {
    if (from <= to && this.#hiddenColumns.length < COLUMN_RANGES_MAX) this.#hiddenColumns.push([from, to]);
  }

  /** Takes a number of a cell, with its text if that is its value. */
  noteNumber(column: number, value: number, format: CellFormat | undefined, shown: string | undefined): void {
    if (format?.time === 'duration') this.#of(column).durations += 1;
    if (shown !== undefined) {
      const { padded } = this.#of(column);
      if (padded === undefined) this.#of(column).padded = { count: 1, example: shown };
      else padded.count += 1;
    }
    const size = Math.abs(value);
    if (size >= LONG_MIN && size < LONG_MAX && format?.time === undefined && Number.isInteger(value)) {
      this.#of(column).long += 1;
    }
    if (format?.currency === undefined) return;
    const one = this.#of(column);
    one.currencies ??= new Map();
    const count = one.currencies.get(format.currency);
    if (count !== undefined || one.currencies.size < CURRENCIES_MAX)
      one.currencies.set(format.currency, (count ?? 0) + 1);
  }

  #of(column: number): OfColumn {
    const known = this.#columns.get(column);
    if (known !== undefined) return known;
    const made: OfColumn = { durations: 0, long: 0, padded: undefined, currencies: undefined };
    this.#columns.set(column, made);
    return made;
  }

  /** Takes a row of the data. */
  noteRow({ at, isHidden }: SheetRow): void {
    if (isHidden !== true) return;
    this.#hiddenRowCount += 1;
    const last = this.#hiddenRows.at(-1);
    if (last !== undefined && last[1] === at - 1) last[1] = at;
    else if (this.#hiddenRows.length <= RANGES_SHOWN) this.#hiddenRows.push([at, at]);
  }

  /** `columns` are those of the data, `typed` those whose type is given. */
  warnings(columns: readonly number[], shown: Shown, typed: ReadonlySet<number>): string[] {
    for (const column of typed) {
      const one = this.#columns.get(column);
      if (one !== undefined) one.padded = undefined;
    }
    const all = [...this.#columns].sort(([a], [b]) => a - b);
    const told = (tell: (one: OfColumn, name: string) => string | undefined) =>
      few(all.flatMap(([column, one]) => tell(one, shown(column)) ?? []));
    return [
      ...told(({ padded }, name) => padded && paddedNote(padded, name)),
      ...told(({ long }, name) => (long === 0 ? undefined : longNote(long, name))),
      ...told(({ currencies }, name) => (currencies === undefined ? undefined : currencyNote(currencies, name))),
      ...told(({ durations }, name) => (durations === 0 ? undefined : durationNote(durations, name))),
      ...this.#hiddenNotes(columns, shown),
    ];
  }

  #hiddenNotes(columns: readonly number[], shown: Shown): string[] {
    const notes: string[] = [];
    const count = this.#hiddenRowCount;
    if (count > 0) {
      const ranges = this.#hiddenRows
        .slice(0, RANGES_SHOWN)
        .map(([from, to]) => (from === to ? from : `${from}-${to}`));
      const more = this.#hiddenRows.length > RANGES_SHOWN ? ', …' : '';
      const [are, them] = count === 1 ? ['is', 'it is'] : ['are', 'they are'];
      notes.push(
        `${counted(count, 'rows')} ${are} hidden or filtered out in the sheet (${ranges.join(', ')}${more}): ${them} loaded as well.`,
      );
    }
    const hidden = columns.filter((column) => this.#hiddenColumns.some(([from, to]) => column >= from && column <= to));
    if (hidden.length > 0) {
      const names = hidden.slice(0, RANGES_SHOWN).map(shown).join(', ');
      const more = hidden.length > RANGES_SHOWN ? ', …' : '';
      notes.push(`Hidden in the sheet, and loaded as well: ${counted(hidden.length, 'columns')} (${names}${more}).`);
    }
    return notes;
  }
}

const COLUMN_RANGES_MAX = 1_000;

function paddedNote({ count, example }: { count: number; example: string }, name: string): string {
  const [are, their] = count === 1 ? ['is', 'its'] : ['are', 'their'];
  return `${name}: ${counted(count, 'numbers')} ${are} text with the zeros that ${their} format shows (${JSON.stringify(example)}); "types": {${name}: "INTEGER"} makes them numbers.`;
}

function longNote(count: number, name: string): string {
  const has = count === 1 ? 'has' : 'have';
  return `${name}: ${counted(count, 'numbers')} ${has} more than 15 digits, of which workbooks keep 15: the last ones may be lost. Such numbers have to be text in the workbook.`;
}

function currencyNote(currencies: ReadonlyMap<string, number>, name: string): string | undefined {
  if (currencies.size < 2) return undefined;
  const each = [...currencies].map(([currency, count]) => `${count.toLocaleString('en-US')} in ${currency}`).join(', ');
  return `${name}: the cells are amounts of several currencies by their formats (${each}), which the numbers do not have: give the currency a column in the sheet, or load the sheet saved as CSV, which has it.`;
}

function durationNote(count: number, name: string): string {
  return `${name}: ${counted(count, 'values')} ${count === 1 ? 'is a length' : 'are lengths'} of time, in days: ${name} * 24 is hours.`;
}
