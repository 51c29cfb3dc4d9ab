import { type ColumnType, type ColumnTypes, typesByPlace } from '../../contract/column-types.ts';
import { WRITE_BYTES_MAX } from '../../contract/documents.ts';
import { ApiError } from '../../contract/errors.ts';
import { typedCell } from '../../contract/json/csv-cells.ts';
import { type JsonObject, type JsonValue, setField, stringifyJson } from '../../contract/json/json.ts';
import { cut, inQuotes } from '../../contract/text.ts';
import { distinctNames } from '../../service/ingest/column-names.ts';
import type { SizedEntry } from './entry-lines.ts';
import { lettersOf } from './xlsx-columns.ts';
import type { MergedCells, SheetRow, Span } from './xlsx-merges.ts';
import { few, SheetRemarks } from './xlsx-remarks.ts';
import { namesOfTwo } from './xlsx-second-header.ts';

const NAME_CHARS_MAX = 100;

/** Rows that are held until it is told whether the row of names is a title. */
const HELD_MAX = 50;
const HELD_CHARS_MAX = 1024 * 1024;

/** The rows of a sheet as documents: the first one, from `headerRow` on, names their fields. */
export class SheetTable {
  /** Why nothing more can be read. */
  failure: ApiError | undefined;
  readonly #types: ColumnTypes;
  readonly #headerRow: number;
  #columnTypes = new Map<number, ColumnType | undefined>();
  #entries: SizedEntry[] = [];
  #names: Map<number, string> | undefined;
  #taken: Set<string> = new Set();
  /** Why the types that were given are not those of the columns. */
  #typesFailure: ApiError | undefined;
  #namesNote: string | undefined;
  /** The row of names. */
  #head: SheetRow = { at: 0, cells: new Map(), chars: 0 };
  #twoRowsNote: string | undefined;
  /** The first rows; undefined: the row of names is none of a title. */
  #held: SheetRow[] | undefined = [];
  #heldChars = 0;
  /** What is filled in of merged cells; undefined: nothing. */
  merged: MergedCells | undefined;
  /** Merged cells within one row. */
  spans: readonly Span[] = [];
  readonly remarks = new SheetRemarks();

  constructor(types: ColumnTypes, headerRow: number) {
    this.#types = types;
    this.#headerRow = headerRow;
  }

  /** The documents since the last call. */
  take(): SizedEntry[] {
    const taken = this.#entries;
    this.#entries = [];
    return taken;
  }

  warnings(): string[] {
    const merged = [...(this.merged?.counts ?? [])].map(([column, count]) => {
      const cells = count === 1 ? 'cell has' : 'cells have';
      return `${this.#shown(column)}: ${count.toLocaleString('en-US')} ${cells} the value of the merged cell that they belong to.`;
    });
    const full =
      this.merged?.isFull === true ? 'The sheet has more merged cells, which are empty but for the first.' : '';
    const columns = [...(this.#names?.keys() ?? [])];
    const typed = new Set(columns.filter((column) => this.#typeOf(column) !== undefined));
    const remarks = this.remarks.warnings(columns, (column) => this.#shown(column), typed);
    const notes = [this.#namesNote, this.#twoRowsNote, ...few(merged), full, ...remarks];
    return notes.filter((note) => note !== undefined && note !== '') as string[];
  }

  /** The name of a column, as SQL and warnings have it. */
  #shown(column: number): string {
    return inQuotes(cut(this.#nameOf(column), NAME_CHARS_MAX), '"');
  }

  put(row: SheetRow): void {
    const { at, cells } = row;
    if (cells.size === 0 || this.failure !== undefined) return;
    this.merged?.fill(row, at < this.#headerRow || this.#names === undefined);
    if (at < this.#headerRow) return;
    if (this.#names === undefined) {
      this.#head = row;
      this.#names = this.#namesIn(row.cells);
      return;
    }
    if (this.#held === undefined) {
      this.#add(row);
      return;
    }
    this.#held.push(row);
    this.#heldChars += row.chars;
    if (this.#held.length >= HELD_MAX || this.#heldChars > HELD_CHARS_MAX) this.end();
  }

  /** No more rows come, or enough of them have. */
  end(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    if (this.failure !== undefined) return;
    const both = namesOfTwo(this.#head, held, this.spans);
    if (both !== undefined) {
      held.shift();
      this.#names = this.#namesIn(both.names);
      this.#twoRowsNote = twoRowsNote(this.#head.at, both.example);
    }
    this.failure = (both === undefined ? titleError(this.#head, held) : undefined) ?? this.#typesFailure;
    if (this.failure === undefined) for (const row of held) this.#add(row);
  }

  #namesIn(cells: ReadonlyMap<number, JsonValue>): Map<number, string> {
    this.#typesFailure = undefined;
    const given = [...cells]
      .map(([column, value]) => [column, String(value).trim()] as const)
      .filter(([, name]) => name !== '');
    const { names, note } = distinctNames(given.map(([, name]) => name));
    this.#namesNote = note;
    try {
      const types = typesByPlace(this.#types, names);
      this.#columnTypes = new Map(given.map(([column], place) => [column, types[place]]));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#typesFailure = error;
    }
    this.#taken = new Set(names);
    return new Map(given.map(([column, name], place) => [column, names[place] ?? name]));
  }

  /** The name of a column, also of one that the row of names does not name. */
  #nameOf(column: number): string {
    const names = this.#names ?? new Map<number, string>();
    const known = names.get(column);
    if (known !== undefined) return known;
    let name = `column_${lettersOf(column)}`;
    while (this.#taken.has(name)) name += '_';
    this.#taken.add(name);
    names.set(column, name);
    return name;
  }

  #add(row: SheetRow): void {
    const { at, cells, chars } = row;
    if (chars > WRITE_BYTES_MAX) {
      this.#refuse(at, 'has more than 10 MiB, the most that one document may have');
      return;
    }
    this.remarks.noteRow(row);
    const document: JsonObject = {};
    for (const [column, value] of cells) {
      const name = this.#nameOf(column);
      const type = this.#typeOf(column);
      const typed = type === undefined ? value : typedCell(String(value), type);
      if (typed === undefined) {
        const shown = JSON.stringify(String(value).slice(0, 80));
        this.#refuse(at, `has ${shown} in column ${JSON.stringify(name)}, which is no ${type}`);
        return;
      }
      if (typed !== null) setField(document, name, typed);
    }
    this.#entries.push({ bytes: stringifyJson(document).length, entry: { at, document } });
  }

  #typeOf(column: number): ColumnType | undefined {
    return this.#types === 'text' ? 'STRING' : this.#columnTypes.get(column);
  }

  #refuse(at: number, problem: string): void {
    this.#entries.push({ bytes: 0, entry: { at, problem } });
  }
}

/**
 * Why the row that was to name the columns is a title: rows below it have many more cells. The names are in the first of
 * these with about as many as any.
 */
function titleError(head: SheetRow, below: readonly SheetRow[]): ApiError | undefined {
  const { at: row } = head;
  const named = head.cells.size;
  // Of a row that is too large, which is refused, the cells are none of a table.
  const sizes = below.map(({ cells, chars }) => (chars > WRITE_BYTES_MAX ? 0 : cells.size));
  const columns = Math.max(0, ...sizes);
  if (columns <= 2 || (named >= 2 && 2 * named >= columns)) return undefined;
  const names = below[sizes.findIndex((size) => 4 * size >= 3 * columns)]?.at;
  const message = `Row ${row} of the sheet names ${named} of ${columns} columns, and seems to be a title. If row ${names} has the names, give "header_row": ${names}, and what is above it is left out.`;
  return new ApiError('invalid_input', message);
}

function twoRowsNote(row: number, example: string): string {
  return `Rows ${row} and ${row + 1} name the columns together, e.g. ${JSON.stringify(cut(example, NAME_CHARS_MAX))}; "header_row": ${row + 1} in "format_params" takes row ${row + 1} alone.`;
}
