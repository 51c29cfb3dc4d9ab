import { type Cell, documentOfCells } from '../../contract/json/csv-cells.ts';
import type { JsonObject } from '../../contract/json/json.ts';
import { createPace } from '../../contract/turns/turns.ts';
import { dialectOf, endsWithCarriageReturn, isSeparatorLine, SAMPLE_BYTES, withoutMark } from './csv-dialect.ts';
import type { CsvFormat } from './csv-format.ts';
import { CsvError, CsvRecords, cellsOf, faultOf, namesOf, type RawRecord } from './csv-records.ts';

/** A part of a text as a document, or why it is not one. */
export type Parsed = { document: JsonObject } | { problem: string };

/** Reads the pieces of one CSV file, in order. */
export interface CsvReader {
  /** The documents of a piece, which consists of whole lines; stops soon after `max` + 1. */
  read(text: string, max: number): Promise<Parsed[]>;
}

/** How much text is divided at once. */
const STEP_BYTES = 16 * 1024;

/**
 * A reader for the pieces of one request. With `firstLineAsColumnNames`, the first line of the first piece names the
 * columns for all pieces; later pieces may repeat that line. `columnNames` take precedence over these names. A line before
 * it that says what the separator is, and says the right one, is left out. Columns without a type are STRING: what all
 * cells of a file are is not known here.
 */
export function csvReader(format: CsvFormat): CsvReader {
  let isCarriageReturn: boolean | undefined;
  let header: readonly Cell[] | undefined;
  let isFirstPiece = true;
  let names: readonly string[] | undefined = format.columnNames.length > 0 ? format.columnNames : undefined;
  return {
    async read(text, max) {
      if (!text.isWellFormed()) return [noCsv('it holds half of a surrogate pair, which is not a character')];
      const bytes = withoutMark(Buffer.from(text));
      isCarriageReturn ??= endsWithCarriageReturn(bytes.subarray(0, SAMPLE_BYTES).toString(), format.quoteChar);
      const rows: Parsed[] = [];
      let isFirst = true;
      const take = (record: RawRecord) => {
        if (isFirstPiece && isSeparatorOf(record, format)) return;
        const isHeader = isFirst && format.firstLineAsColumnNames && isHeaderOf(record);
        isFirst = false;
        if (!isHeader) rows.push(rowOf(record));
        else if (header === undefined) {
          names ??= namesOf(record, dialect).names;
          header = cellsOf(record, dialect);
        }
      };
      const isHeaderOf = (record: RawRecord) =>
        header === undefined ||
        (header.length === record.cells &&
          record.why === undefined &&
          cellsOf(record, dialect).every((name, at) => name === header?.[at]));
      const rowOf = (record: RawRecord): Parsed => {
        const columns = names ?? [];
        const fault = faultOf(record, columns.length);
        if (fault !== undefined) return { problem: `line ${record.line} ${fault}` };
        const types = columns.map((_, at) => format.columnTypes[at] ?? 'STRING');
        const { document, why } = documentOfCells(cellsOf(record, dialect), { names: columns, types });
        return why === undefined ? { document } : { problem: `line ${record.line} ${why}` };
      };
      let dialect: ReturnType<typeof dialectOf>;
      try {
        dialect = dialectOf(format, { isCarriageReturn });
        await divide(bytes, new CsvRecords(dialect, take), () => rows.length > max);
      } catch (error) {
        if (error instanceof CsvError) return [noCsv(error.message)];
        throw error;
      }
      isFirstPiece = false;
      return rows;
    },
  };
}

function isSeparatorOf({ line, bytes, start, end }: RawRecord, { separator }: CsvFormat): boolean {
  return line === 1 && isSeparatorLine(bytes.toString('utf8', start, Math.min(end, start + 16)), separator);
}

function noCsv(why: string): Parsed {
  return { problem: `cannot be read as CSV: ${why}` };
}

async function divide(bytes: Buffer, records: CsvRecords, isEnough: () => boolean): Promise<void> {
  const pace = createPace();
  for (let at = 0; at < bytes.length; at += STEP_BYTES) {
    records.write(bytes.subarray(at, at + STEP_BYTES));
    if (isEnough()) return;
    const turn = pace();
    if (turn !== undefined) await turn;
  }
  records.end();
}
