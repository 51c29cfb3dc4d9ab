import { blockNote } from './block-labels.ts';
import { groupNote } from './group-values.ts';
import { namesAgainNote, otherTableNote } from './header-rows.ts';
import { isEnough, LAST_ROWS, type SeenRow, type SeenRows, type TableNote } from './seen-rows.ts';
import { summingNote } from './summing-rows.ts';

/** A longer row is not looked at: a person would not see all of it either. */
const ROW_CHARS_MAX = 64 * 1024;

/** How rows are looked at: those that are kept for that, and as what they are then seen. */
export interface LookedAt<Row> {
  charsOf(row: Row): number;
  /** The row as it can be kept while the file is read on; default: as it is. */
  kept?(row: Row): Row;
  seen(row: Row): SeenRow;
}

/** Looks at the first and the last rows of a table, as a person would before reading it. */
export class TableLook<Row> {
  readonly #of: LookedAt<Row>;
  readonly #first: SeenRow[] = [];
  /** Undefined: one that is too long. */
  #last: (Row | undefined)[] = [];
  #rows = 0;
  #cells = 0;
  #chars = 0;
  #isEnough = false;

  constructor(of: LookedAt<Row>) {
    this.#of = of;
  }

  /** Takes a row of a table with so many columns. */
  take(row: Row, columns: number): void {
    this.#rows += 1;
    if (this.#last.length >= 2 * LAST_ROWS) this.#last = this.#last.slice(LAST_ROWS);
    const chars = this.#of.charsOf(row);
    const isLong = chars > ROW_CHARS_MAX;
    // A long row is not kept either: some of them together would be much.
    this.#last.push(isLong ? undefined : (this.#of.kept?.(row) ?? row));
    if (this.#isEnough) return;
    if (!isLong) this.#first.push(this.#of.seen(row));
    // What is asked of rows is asked of all columns.
    this.#cells += columns;
    this.#chars += chars;
    this.#isEnough = isEnough({ rows: this.#first.length, cells: this.#cells, chars: this.#chars });
  }

  /** What was seen; `isWhole`: the last row is that of the file. */
  seen({ names, header, place }: Pick<SeenRows, 'names' | 'header' | 'place'>, isWhole: boolean): SeenRows {
    const last = this.#last.slice(-LAST_ROWS).filter((row) => row !== undefined);
    return {
      names,
      header,
      place,
      first: this.#first,
      rows: this.#rows,
      last: isWhole ? last.map((row) => this.#of.seen(row)) : undefined,
    };
  }
}

/** What is to be told of a table of any format. */
export function tableNotes(seen: SeenRows): TableNote[] {
  // What documents lack is no sign of how they stand below each other.
  const labels = seen.isLoose === true ? undefined : (groupNote(seen) ?? blockNote(seen));
  const [other, again] = [otherTableNote(seen), namesAgainNote(seen)];
  const texts = [other, labels].flatMap((text) => (text === undefined ? [] : [{ text }]));
  return [again, summingNote(seen), ...texts].filter((note) => note !== undefined);
}
