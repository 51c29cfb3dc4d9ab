import type * as z from 'zod';
import { COLUMN_TYPES, type ColumnType } from '../../contract/column-types.ts';
import type { CsvParams } from '../../contract/sources.ts';
import type { FileFormat } from '../catalog/records.ts';
import type { Refuse } from './field-mappings.ts';

export type CsvFormat = Extract<FileFormat, { kind: 'csv' }>;
/** How CSV is read, as far as it was said. */
export type CsvSettings = { [Key in Exclude<keyof CsvFormat, 'kind'>]?: CsvFormat[Key] | undefined };

/** Bytes of a separator that the engine's reader takes. */
const SEPARATOR_BYTES_MAX = 4;
const CHARACTER = /^[\x21-\x7e\t ]$/;

/** `format_params.csv`, checked: what every reader of CSV here can do. Throws the error that `refuse` makes of a clause. */
export function readCsvSettings(given: z.infer<typeof CsvParams>, refuse: Refuse): CsvSettings {
  const columnNames = given.columnNames ?? [];
  const twice = columnNames.find((name, index) => name === '' || columnNames.indexOf(name) < index);
  if (twice !== undefined) throw refuse(`csv.columnNames has "${twice}", which is empty or there twice`);
  const columnTypes = (given.columnTypes ?? []).map((type) => readColumnType(type, refuse));
  if (columnNames.length > 0 && columnTypes.length > columnNames.length) {
    throw refuse(`csv has ${columnTypes.length} columnTypes for ${columnNames.length} columnNames`);
  }
  const { separator = null } = given;
  const quoteChar = readCharacter('quoteChar', given.quoteChar, refuse);
  const escapeChar = readCharacter('escapeChar', given.escapeChar, refuse);
  if (separator !== null && !(/^[^\r\n\0]+$/.test(separator) && Buffer.byteLength(separator) <= SEPARATOR_BYTES_MAX)) {
    throw refuse(
      `csv.separator ${JSON.stringify(separator)} is not 1 to ${SEPARATOR_BYTES_MAX} bytes without a line break`,
    );
  }
  const marks = [quoteChar ?? '"', escapeChar ?? quoteChar ?? '"'];
  if (marks.some((mark) => (separator ?? ',').includes(mark))) {
    throw refuse(`csv.separator ${JSON.stringify(separator ?? ',')} holds the quoteChar or the escapeChar`);
  }
  return {
    firstLineAsColumnNames: given.firstLineAsColumnNames ?? undefined,
    separator: separator ?? undefined,
    encoding: readEncoding('csv', given.encoding, refuse),
    columnNames,
    columnTypes,
    quoteChar,
    escapeChar,
  };
}

function readColumnType(given: string, refuse: Refuse): ColumnType {
  const found = COLUMN_TYPES.find((type) => type === given.toUpperCase());
  if (found !== undefined) return found;
  throw refuse(`csv.columnTypes has "${given}"; types are ${COLUMN_TYPES.join(', ')}`);
}

function readCharacter(name: string, given: string | null | undefined, refuse: Refuse): string | undefined {
  if (given === null || given === undefined) return undefined;
  if (CHARACTER.test(given)) return given;
  throw refuse(`csv.${name} is ${JSON.stringify(given)}; it takes one character of ASCII`);
}

/** An encoding that can be read; undefined: none is named. */
export function readEncoding(kind: string, encoding: string | null | undefined, refuse: Refuse): string | undefined {
  if (encoding === null || encoding === undefined) return undefined;
  try {
    new TextDecoder(encoding, { fatal: true });
    return encoding;
  } catch {
    throw refuse(`${kind}.encoding "${encoding}" is not known; UTF-8 is the default`);
  }
}
