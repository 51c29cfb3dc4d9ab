import type { FileHandle } from 'node:fs/promises';
import { WRITE_BYTES_MAX } from '../../contract/documents.ts';
import { ApiError } from '../../contract/errors.ts';
import { counted } from '../../contract/in-words.ts';
import type { JsonValue } from '../../contract/json/json.ts';
import type { FileRequest } from '../../mcp/tools/file.ts';
import type { SizedEntry } from './entry-lines.ts';
import { COLUMNS_MAX, columnOf, lettersOf } from './xlsx-columns.ts';
import { timeText } from './xlsx-dates.ts';
import { paddedText } from './xlsx-formats.ts';
import { MergedCells, mergesOf } from './xlsx-merges.ts';
import { isTrue, local, openWorkbook, parsedPart, RichText, unescaped, type Workbook } from './xlsx-parts.ts';
import { SheetTable } from './xlsx-table.ts';
import { Zip } from './zip.ts';

/** What workbooks may have. */

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
  const table = new SheetTable(types, headerRow);
  const rows = new Rows(workbook, table);
  async function* entries() {
    const { merges, spans } = await mergesOf(zip, workbook.part);
    table.merged = new MergedCells(merges);
    table.spans = spans;
    const pieces = parsedPart(zip, workbook.part, rows);
    try {
      for await (const { read, all } of pieces) {
        yield { entries: table.take(), bytesRead: Math.floor((bytes * read) / Math.max(1, all)) };
        if (rows.failure !== undefined) throw rows.failure;
      }
    } catch (error) {
      // The rows before the failure are good.
      table.end();
      yield { entries: table.take(), bytesRead: bytes };
      throw error;
    }
    table.end();
    yield { entries: table.take(), bytesRead: bytes };
    if (rows.failure !== undefined) throw rows.failure;
  }
  return {
    entries: entries(),
    sheet: workbook.sheet,
    sheets: workbook.others,
    unwritable: () => rows.errors,
    warnings: () => [...rows.warnings(), ...table.warnings()],
  };
}

/** Turns the elements of a sheet into rows of its table. */
class Rows {
  errors = 0;
  readonly #workbook: Workbook;
  readonly #table: SheetTable;
  #failure: ApiError | undefined;
  #row = 0;
  #column = 0;
  #cells = new Map<number, JsonValue>();
  #chars = 0;
  #isHidden = false;
  #type = '';
  #style = 0;
  #value: string[] = [];
  #isValue = false;
  /** Whether the cell has a formula, and whether it has a value. */
  #isFormula = false;
  #hasValue = false;
  #unvalued = 0;
  #firstUnvalued = '';
  #text = new RichText();
  #isWithin = false;

  constructor(workbook: Workbook, table: SheetTable) {
    this.#workbook = workbook;
    this.#table = table;
  }

  /** Why nothing more can be read. */
  get failure(): ApiError | undefined {
    return this.#failure ?? this.#table.failure;
  }

  warnings(): string[] {
    if (this.#unvalued === 0) return [];
    const some = `${counted(this.#unvalued, 'formulas')} without a stored value (the first in cell ${this.#firstUnvalued})`;
    return [`${some}: left out; save the workbook with a program that computes formulas, and load it again`];
  }

  open = (element: string, attributes: Readonly<Record<string, string>>): void => {
    const name = local(element);
    if (name === 'sheetData') this.#isWithin = true;
    if (name === 'col' && isTrue(attributes['hidden'])) {
      this.#table.remarks.hideColumns(Number(attributes['min']) - 1, Number(attributes['max']) - 1);
    }
    if (!this.#isWithin || this.failure !== undefined) return;
    if (name === 'row') {
      const given = Number(attributes['r'] ?? this.#row + 1);
      this.#row = Number.isSafeInteger(given) && given > this.#row ? given : this.#row + 1;
      this.#column = -1;
      this.#isHidden = isTrue(attributes['hidden']);
      this.#cells = new Map();
      this.#chars = 0;
    } else if (name === 'c') {
      this.#column = columnAt(attributes['r']) ?? this.#column + 1;
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

  #endRow(): void {
    this.#table.put({ at: this.#row, cells: this.#cells, chars: this.#chars, isHidden: this.#isHidden });
  }

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
      this.#failure = new ApiError('invalid_input', message);
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
    this.#failure = new ApiError('invalid_input', message);
    return undefined;
  }

  #number(value: number): JsonValue | undefined {
    if (!Number.isFinite(value)) {
      this.errors += 1;
      return undefined;
    }
    const format = this.#workbook.formats[this.#style];
    const padded = paddedText(value, format);
    this.#table.remarks.noteNumber(this.#column, value, format, padded);
    return padded ?? (format?.time && timeText(value, format.time, this.#workbook.is1904)) ?? value;
  }
}

/** The index of the column in a place such as "AB12". */
function columnAt(place: string | undefined): number | undefined {
  const [letters = ''] = /^[A-Z]{1,4}/.exec(place ?? '') ?? [];
  return letters === '' ? undefined : columnOf(letters);
}
