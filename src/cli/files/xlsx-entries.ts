import type { FileHandle } from 'node:fs/promises';
import { type ColumnType, type ColumnTypes, typesByPlace } from '../../contract/column-types.ts';
import { WRITE_BYTES_MAX } from '../../contract/documents.ts';
import { ApiError } from '../../contract/errors.ts';
import { counted } from '../../contract/in-words.ts';
import { typedCell } from '../../contract/json/csv-cells.ts';
import { type JsonObject, type JsonValue, setField, stringifyJson } from '../../contract/json/json.ts';
import type { FileRequest } from '../../mcp/tools/file.ts';
import { totalNote } from '../../service/ingest/totals.ts';
import type { SizedEntry } from './entry-lines.ts';
import { timeText } from './xlsx-dates.ts';
import { isTrue, local, openWorkbook, parsedPart, RichText, unescaped, type Workbook } from './xlsx-parts.ts';
import { Zip } from './zip.ts';

/** What workbooks may have. */
const COLUMNS_MAX = 16_384;

export interface XlsxOpened {
  /** `at` is the number of the row in the sheet. */
  entries: AsyncGenerator<{ entries: SizedEntry[]; bytesRead: number }>;
  sheet: string;
  /** The names of the other sheets. */
  sheets: string[];
  /** Cells so far that have an error instead of a value. */
  unwritable(): number;
  warnings(): string[];
}

/**
 * The rows of a sheet of a workbook: that of the name, or the first. Its first row that is not empty, from `headerRow` on, names the fields;
 * columns without a name are called `column_C`. Rejects `invalid_input`.
 */
export async function openXlsx(
  handle: FileHandle,
  bytes: number,
  { sheet: asked, types = 'infer', headerRow = 1 }: Pick<FileRequest, 'sheet' | 'types' | 'headerRow'>,
): Promise<XlsxOpened> {
  const zip = await Zip.open(handle);
  const workbook = await openWorkbook(zip, asked);
  const rows = new Rows(workbook, types, headerRow);
  async function* entries() {
    const pieces = parsedPart(zip, workbook.part, rows);
    try {
      for await (const { read, all } of pieces) {
        yield { entries: rows.take(), bytesRead: Math.floor((bytes * read) / Math.max(1, all)) };
        if (rows.failure !== undefined) throw rows.failure;
      }
    } catch (error) {
      // The rows before the failure are good.
      const left = rows.take();
      if (left.length > 0) yield { entries: left, bytesRead: bytes };
      throw error;
    }
    const left = rows.take();
    if (left.length > 0) yield { entries: left, bytesRead: bytes };
    if (rows.failure !== undefined) throw rows.failure;
  }
  return {
    entries: entries(),
    sheet: workbook.sheet,
    sheets: workbook.others,
    unwritable: () => rows.errors,
    warnings: () => rows.warnings(),
  };
}

/** Turns the elements of a sheet into documents. */
class Rows {
  errors = 0;
  failure: ApiError | undefined;
  readonly #workbook: Workbook;
  readonly #types: ColumnTypes;
  readonly #headerRow: number;
  /** How many columns the row of names has names for. */
  #named = 0;
  #columnTypes = new Map<number, ColumnType | undefined>();
  #entries: SizedEntry[] = [];
  #names: Map<number, string> | undefined;
  #row = 0;
  #column = 0;
  #cells = new Map<number, JsonValue>();
  #chars = 0;
  #type = '';
  #style = 0;
  #value: string[] = [];
  #isValue = false;
  /** Whether the cell has a formula, and whether it has a value. */
  #isFormula = false;
  #hasValue = false;
  #unvalued = 0;
  /** The first cell of the last row. */
  #last = { first: '', row: 0 };
  #firstUnvalued = '';
  #text = new RichText();
  #isWithin = false;

  constructor(workbook: Workbook, types: ColumnTypes, headerRow: number) {
    this.#workbook = workbook;
    this.#types = types;
    this.#headerRow = headerRow;
  }

  warnings(): string[] {
    const total = totalNote(this.#last.first, `row ${this.#last.row}`);
    const totals = total === undefined ? [] : [total];
    if (this.#unvalued === 0) return totals;
    const some = `${counted(this.#unvalued, 'formulas')} without a stored value (the first in cell ${this.#firstUnvalued})`;
    return [`${some}: left out; save the workbook with a program that computes formulas, and load it again`, ...totals];
  }

  take(): SizedEntry[] {
    const taken = this.#entries;
    this.#entries = [];
    return taken;
  }

  open = (element: string, attributes: Readonly<Record<string, string>>): void => {
    const name = local(element);
    if (name === 'sheetData') this.#isWithin = true;
    if (!this.#isWithin || this.failure !== undefined) return;
    if (name === 'row') {
      const given = Number(attributes['r'] ?? this.#row + 1);
      this.#row = Number.isSafeInteger(given) && given > this.#row ? given : this.#row + 1;
      this.#column = -1;
      this.#cells = new Map();
      this.#chars = 0;
    } else if (name === 'c') {
      this.#column = columnOf(attributes['r']) ?? this.#column + 1;
      this.#type = attributes['t'] ?? 'n';
      this.#style = Number(attributes['s'] ?? 0);
      this.#value = [];
      this.#isFormula = false;
      this.#hasValue = false;
      this.#text.clear();
    } else if (name === 'v') {
      this.#isValue = true;
      this.#hasValue = true;
    } else if (name === 'f') this.#isFormula = true;
    else this.#text.open(element);
  };

  text = (piece: string): void => {
    if (this.#isValue) this.#value.push(piece);
    else this.#text.add(piece);
  };

  close = (element: string): void => {
    const name = local(element);
    if (name === 'sheetData') this.#isWithin = false;
    if (this.failure !== undefined) return;
    if (name === 'v') this.#isValue = false;
    else if (name === 'c') this.#endCell();
    else if (name === 'row') this.#endRow();
    else this.#text.close(element);
  };

  #endCell(): void {
    // A workbook has a text once, and any number of cells may have it.
    if (this.#chars > WRITE_BYTES_MAX) return;
    // Only a text can be stored and empty: some programs write formulas with values that are.
    const isStored = this.#value.some((piece) => piece !== '') || (this.#type === 'str' && this.#hasValue);
    if (this.#isFormula && !isStored && this.#type !== 'inlineStr') {
      this.#unvalued += 1;
      if (this.#unvalued === 1) this.#firstUnvalued = `${lettersOf(this.#column)}${this.#row}`;
    }
    const value = this.#cellValue();
    if (value === undefined || value === '') return;
    if (this.#column >= COLUMNS_MAX) {
      const message = `The sheet has a cell beyond the ${COLUMNS_MAX.toLocaleString('en-US')} columns that workbooks have, in row ${this.#row}.`;
      this.failure = new ApiError('invalid_input', message);
      return;
    }
    this.#chars += typeof value === 'string' ? value.length : 1;
    // Of a row that is too large only its size matters.
    if (this.#chars <= WRITE_BYTES_MAX) this.#cells.set(this.#column, value);
  }

  /** Undefined for a cell that is empty, or has an error. */
  #cellValue(): JsonValue | undefined {
    const text = this.#value.join('');
    switch (this.#type) {
      case 'inlineStr':
        return this.#text.take();
      case 's':
        return text === '' ? undefined : this.#sharedText(Number(text));
      case 'b':
        return text === '' ? undefined : isTrue(text.trim());
      case 'e':
        this.errors += 1;
        return undefined;
      case 'n':
        return text.trim() === '' ? undefined : this.#number(Number(text));
      default:
        return unescaped(text);
    }
  }

  #sharedText(index: number): string | undefined {
    const text = this.#workbook.texts.at(index);
    if (text !== undefined) return text;
    const message = `The workbook is damaged: a cell of row ${this.#row} has the text number ${index}, which is not there.`;
    this.failure = new ApiError('invalid_input', message);
    return undefined;
  }

  #number(value: number): JsonValue | undefined {
    if (!Number.isFinite(value)) {
      this.errors += 1;
      return undefined;
    }
    const kind = this.#workbook.kinds[this.#style];
    return (kind && timeText(value, kind, this.#workbook.is1904)) ?? value;
  }

  /** The name of a column that the first row does not name. */
  #newName(names: Map<number, string>, column: number): string {
    const taken = new Set(names.values());
    let name = `column_${lettersOf(column)}`;
    while (taken.has(name)) name += '_';
    names.set(column, name);
    return name;
  }

  #endRow(): void {
    if (this.#cells.size === 0 || this.failure !== undefined) return;
    const at = this.#row;
    if (at < this.#headerRow) return;
    if (this.#names === undefined) {
      this.#named = this.#cells.size;
      const names = [...this.#cells].map(([column, value]) => [column, String(value).trim()] as const);
      this.#names = new Map(names.filter(([, name]) => name !== ''));
      this.failure = problemOfNames([...this.#names.values()], at) ?? this.#readTypes([...this.#names]);
      return;
    }
    if (this.#chars > WRITE_BYTES_MAX) {
      this.#entries.push({
        bytes: 0,
        entry: { at, problem: 'has more than 10 MiB, the most that one document may have' },
      });
      return;
    }
    if (this.#cells.size > 2 && (this.#named < 2 || 2 * this.#named < this.#cells.size)) {
      this.failure = titleError(this.#named, at, this.#cells.size);
      return;
    }
    const [first] = this.#cells.values();
    this.#last = { first: typeof first === 'string' ? first : '', row: at };
    const document: JsonObject = {};
    for (const [column, value] of this.#cells) {
      const name = this.#names.get(column) ?? this.#newName(this.#names, column);
      const type = this.#types === 'text' ? 'STRING' : this.#columnTypes.get(column);
      const typed = type === undefined ? value : typedCell(String(value), type);
      if (typed === undefined) {
        const problem = `has ${JSON.stringify(String(value).slice(0, 80))} in column ${JSON.stringify(name)}, which is no ${type}`;
        this.#entries.push({ bytes: 0, entry: { at, problem } });
        return;
      }
      if (typed !== null) setField(document, name, typed);
    }
    this.#entries.push({ bytes: stringifyJson(document).length, entry: { at, document } });
  }

  /** Why the types do not fit the names. */
  #readTypes(names: readonly (readonly [number, string])[]): ApiError | undefined {
    try {
      const types = typesByPlace(
        this.#types,
        names.map(([, name]) => name),
      );
      this.#columnTypes = new Map(names.map(([column], at) => [column, types[at]]));
      return undefined;
    } catch (error) {
      if (error instanceof ApiError) return error;
      throw error;
    }
  }
}

/** The row that was to name the columns is a title. */
function titleError(named: number, row: number, columns: number): ApiError {
  return new ApiError(
    'invalid_input',
    `The first row of the sheet names ${named} of ${columns} columns, and seems to be a title. If row ${row} has the names, give "header_row": ${row}, and what is above it is left out.`,
  );
}

function problemOfNames(names: readonly string[], row: number): ApiError | undefined {
  const unique = new Set<string>();
  const twice = names.find((name) => unique.size === unique.add(name).size);
  if (twice === undefined) return undefined;
  return new ApiError(
    'invalid_input',
    `The first row of the sheet (row ${row}) names the column ${JSON.stringify(twice.slice(0, 100))} twice, so that values of one would get lost. Correct that row.`,
  );
}

/** The index of the column in a place such as "AB12". */
function columnOf(place: string | undefined): number | undefined {
  const [letters = ''] = /^[A-Z]{1,4}/.exec(place ?? '') ?? [];
  if (letters === '') return undefined;
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

function lettersOf(column: number): string {
  const rest = String.fromCharCode(65 + (column % 26));
  return column < 26 ? rest : lettersOf(Math.floor(column / 26) - 1) + rest;
}
