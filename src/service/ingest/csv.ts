import { type CsvError, type Parser, parse } from 'csv-parse';
import { type ColumnType, typedCell } from '../../contract/column-types.ts';
import type { JsonObject, JsonValue } from '../../contract/json/json.ts';
import { KEYS_MAX } from '../../contract/json/json-reader.ts';
import { createPace, mapInTurns } from '../../contract/turns/turns.ts';
import type { FileFormat } from '../catalog/records.ts';

export type CsvFormat = Extract<FileFormat, { kind: 'csv' }>;

/** A line of CSV as a document, or why it is not one. */
export type Parsed = { document: JsonObject } | { problem: string };

/** Reads the pieces of one CSV file, in order. */
export interface CsvReader {
  /** The documents of a piece, which consists of whole lines; stops after `max` + 1. */
  read(text: string, max: number): Promise<Parsed[]>;
}

/** How much text the parser is given at once. */
const STEP_CHARS = 16 * 1024;

/**
 * A reader for the pieces of one request. With `firstLineAsColumnNames`, the first line of the first piece names the
 * columns for all pieces; later pieces may repeat that line. `columnNames` take precedence over these names.
 */
export function csvReader(format: CsvFormat): CsvReader {
  let header: string[] | undefined;
  return {
    async read(text, max) {
      let records: string[][];
      try {
        records = await parseCsv(text, format, max + 2);
      } catch (error) {
        return [{ problem: `is no CSV: ${(error as CsvError).message}` }];
      }
      if (format.firstLineAsColumnNames && isHeader(records[0], header)) header = records.shift();
      const names = format.columnNames.length > 0 ? format.columnNames : (header ?? []);
      if (names.length > KEYS_MAX) {
        return [{ problem: `has ${names.length} columns, and at most ${KEYS_MAX.toLocaleString('en-US')} are read` }];
      }
      return mapInTurns(records, (record, index) => csvDocument(record, names, format.columnTypes, index));
    },
  };
}

/** The first `max` records of a text. Throws `CsvError`. */
async function parseCsv(text: string, format: CsvFormat, max: number): Promise<string[][]> {
  const records: string[][] = [];
  const parser = csvParser(format, (record) => records.push(record));
  let failure: unknown;
  parser.on('error', (error) => {
    failure = error;
  });
  const pace = createPace();
  for (let from = 0; from < text.length && failure === undefined && records.length < max; from += STEP_CHARS) {
    await new Promise((resolve) => parser.write(text.slice(from, from + STEP_CHARS), resolve));
    const turn = pace();
    if (turn !== undefined) await turn;
  }
  if (failure === undefined && records.length < max) {
    await new Promise((resolve) => parser.once('close', resolve).end());
  } else parser.destroy();
  if (failure !== undefined) throw failure;
  return records.slice(0, max);
}

/** A parser that passes each record to `take`, with the number of its last line, and none to its output. */
export function csvParser(
  format: Pick<CsvFormat, 'separator' | 'quoteChar' | 'escapeChar'>,
  take: (record: string[], line: number) => void,
  recordBytesMax = 0,
): Parser {
  const parser = parse({
    delimiter: format.separator,
    quote: format.quoteChar,
    escape: format.escapeChar,
    bom: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: recordBytesMax,
    on_record: (record: string[], { lines }) => {
      take(record, lines);
      // Each record counts as the first: for every other that is not as long as the first, the parser makes an error
      // with a copy of it, only to throw that away.
      (parser.info as { records: number }).records = 0;
      return null;
    },
  });
  return parser.resume();
}

function isHeader(first: string[] | undefined, header: string[] | undefined): boolean {
  if (first === undefined) return false;
  return header === undefined || (first.length === header.length && first.every((name, at) => name === header[at]));
}

/** The document for the record at `index` of its file or piece. */
export function csvDocument(
  record: readonly string[],
  names: readonly string[],
  types: readonly ColumnType[],
  index: number,
): Parsed {
  if (record.length > names.length) {
    return { problem: `row ${index + 1} has ${record.length} values for ${names.length} columns` };
  }
  const fields: [string, JsonValue][] = [];
  for (const [at, text] of record.entries()) {
    const name = names[at] ?? '';
    const type = types[at] ?? 'STRING';
    const value = typedCell(text, type);
    if (value === undefined) {
      return {
        problem: `row ${index + 1} has ${JSON.stringify(text.slice(0, 80))} in column "${name}", which is no ${type}`,
      };
    }
    if (value !== null) fields.push([name, value]);
  }
  return { document: Object.fromEntries(fields) };
}
