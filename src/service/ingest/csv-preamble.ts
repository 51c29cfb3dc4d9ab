import { SEPARATORS, separatorCounts } from '../../contract/separators.ts';
import { dialectOf } from './csv-dialect.ts';
import { CsvError, CsvRecords, cellsOf, type RawRecord } from './csv-records.ts';
import { formOf } from './seen-rows.ts';

/* Lines above a table, such as banks and devices write them: whose account it is, of which days. */

/** As many of the records from the line of names on have to have as many cells. */
const SHARE_MIN = 0.9;
const RECORDS_MIN = 3;
/** Below comments nothing else can be the table. */
const COMMENTED_MIN = 2;
const ENOUGH_RECORDS = 500;
const COMMENT = '#'.charCodeAt(0);

/** Where a table begins, of which lines above it are none: the line of its names, and what separates them. */
export interface Preamble {
  line: number;
  separator: string;
}

/** What the beginning of a text has above its table; undefined: nothing that could be told. `isWhole`: it is not cut. */
export function preambleOf(text: string, isWhole: boolean, quote: string): Preamble | undefined {
  const [first, ...others] = separatorCounts(text, quote).records;
  if (first === undefined || others.length === 0) return undefined;
  const isLikeMost = (place: number) =>
    (first[place] ?? 0) > 0 && 2 * others.filter((one) => one[place] === first[place]).length >= others.length;
  if (SEPARATORS.some((_, place) => isLikeMost(place))) return undefined;
  const bytes = Buffer.from(text);
  const found = SEPARATORS.flatMap((separator) => tableIn(bytes, isWhole, { separator, quote }) ?? []);
  return found.sort((one, other) => other.cells - one.cells)[0];
}

function tableIn(bytes: Buffer, isWhole: boolean, { separator, quote }: { separator: string; quote: string }) {
  const dialect = dialectOf({ separator, quoteChar: quote }, {});
  const records: Pick<RawRecord, 'line' | 'cells'>[] = [];
  const isComment: boolean[] = [];
  let names: { line: number; cells: ReturnType<typeof cellsOf> } | undefined;
  /** The most cells of those above; the first with more may have the names. */
  let most = 0;
  /** Those of the row below the names. */
  let below: ReturnType<typeof cellsOf> | undefined;
  const reader = new CsvRecords(dialect, (record) => {
    if (records.length >= ENOUGH_RECORDS) return;
    const cells = record.why === undefined ? record.cells : 0;
    records.push({ line: record.line, cells });
    isComment.push(record.bytes[record.start] === COMMENT);
    if (cells <= most) {
      if (cells === most) below ??= cellsOf(record, dialect);
      return;
    }
    below = undefined;
    most = cells;
    names = { line: record.line, cells: cellsOf(record, dialect) };
  });
  try {
    reader.write(bytes);
    if (isWhole) reader.end();
  } catch (error) {
    if (error instanceof CsvError) return undefined;
    throw error;
  }
  const { line = 1, cells = [] } = names ?? {};
  const table = records.filter((one) => one.line >= line);
  const alike = table.filter((one) => one.cells === cells.length).length;
  const isCommented = records.length > table.length && isComment.slice(0, records.length - table.length).every(Boolean);
  const least = Math.max(isCommented ? COMMENTED_MIN : RECORDS_MIN, SHARE_MIN * table.length);
  if (line === 1 || cells.length < 2 || alike < least) return undefined;
  if (cells.some((cell) => formOf(cell) !== 'text') || new Set(cells).size < cells.length) return undefined;
  if (isCommented) return { line, separator, cells: cells.length };
  // Text alone may be rows as well: of one column, with commas in it, or of more columns than are named.
  if (below?.every((cell) => [undefined, 'text'].includes(formOf(cell))) !== false) return undefined;
  return { line, separator, cells: cells.length };
}
