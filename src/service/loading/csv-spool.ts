import { ApiError } from '../../contract/errors.ts';
import { createPace } from '../../contract/turns/turns.ts';
import {
  dialectOf,
  endsWithCarriageReturn,
  hasSpaces,
  QUOTE,
  SAMPLE_BYTES,
  separatorOf,
  withoutMark,
} from '../ingest/csv-dialect.ts';
import { preambleOf } from '../ingest/csv-preamble.ts';
import { CsvError, CsvRecords, TitleError } from '../ingest/csv-records.ts';
import { decodedAs, GuessedEncoding } from './csv-encoding.ts';
import { PartWriter } from './csv-parts.ts';
import { type CsvOptions, headerAdvice, RecordTaker, type SpooledCsv } from './csv-taker.ts';
import type { Spool } from './spool.ts';

/** How many bytes are read before others get their turn. */
const STEP_BYTES = 128 * 1024;
const LF = 10;

/**
 * Writes a CSV file to the spool as records that the engine reads without having to guess, in parts. `rowsMax`: the rest is
 * not read once there are so many rows.
 */
export async function spoolCsv(
  body: AsyncIterable<Buffer>,
  spool: Spool,
  options: CsvOptions,
  signal: AbortSignal,
  rowsMax = Number.POSITIVE_INFINITY,
): Promise<SpooledCsv> {
  try {
    return await divide(body, spool, options, signal, rowsMax);
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new ApiError('invalid_input', `The file cannot be read as CSV: ${error.message}.`, { cause: error });
  }
}

async function divide(
  body: AsyncIterable<Buffer>,
  spool: Spool,
  options: CsvOptions,
  signal: AbortSignal,
  rowsMax: number,
): Promise<SpooledCsv> {
  const { csv = {} } = options;
  const isFull = () => (reading?.take.rows ?? 0) >= rowsMax;
  const parts = new PartWriter(spool);
  const sample: Buffer[] = [];
  let sampleBytes = 0;
  let bytes = 0;
  let reading: { take: RecordTaker; records: CsvRecords } | undefined;
  const begin = (isWhole: boolean) => {
    const first = withoutMark(Buffer.concat(sample));
    const text = first.subarray(placeOfLine(first, options.headerRow), SAMPLE_BYTES).toString();
    const { quoteChar = QUOTE, separator = separatorOf(text, isWhole, quoteChar) } = csv;
    if (isNamedByFile(options)) requireNoPreamble(text, isWhole && first.length <= SAMPLE_BYTES, quoteChar);
    const dialect = dialectOf(
      { ...csv, separator },
      {
        isCarriageReturn: endsWithCarriageReturn(text, quoteChar),
        // Whoever says what the separator is says what it is not.
        isSpaced: csv.separator === undefined && hasSpaces(text, separator, quoteChar),
      },
    );
    const take = new RecordTaker(dialect, options, parts);
    const records = new CsvRecords(take.dialect, (record) => take.take(record));
    reading = { take, records };
    return { first, ...reading };
  };
  const pace = createPace();
  const read = async (records: CsvRecords, piece: Buffer) => {
    for (let at = 0; at < piece.length; at += STEP_BYTES) {
      signal.throwIfAborted();
      try {
        records.write(piece.subarray(at, at + STEP_BYTES));
      } catch (error) {
        throw error instanceof TitleError && reading !== undefined
          ? new CsvError(`${error.what}; ${headerAdvice(piece, reading.take.dialect)}`)
          : error;
      }
      await parts.flush();
      const turn = pace();
      if (turn !== undefined) await turn;
    }
  };
  // Of what a source reads nobody would be told.
  const guessed = csv.encoding === undefined && options.isByRow !== true ? new GuessedEncoding() : undefined;
  for await (const piece of guessed?.decoded(body) ?? decodedAs(csv.encoding, body)) {
    bytes += piece.length;
    if (isFull()) break;
    if (reading !== undefined) {
      await read(reading.records, piece);
      continue;
    }
    sample.push(piece);
    sampleBytes += piece.length;
    if (sampleBytes < SAMPLE_BYTES) continue;
    const { first, records } = begin(false);
    await read(records, first);
  }
  signal.throwIfAborted();
  if (reading === undefined) {
    const { first, records } = begin(true);
    await read(records, first);
  }
  const { take, records } = reading as unknown as { take: RecordTaker; records: CsvRecords };
  const isWhole = !isFull();
  if (isWhole) records.end();
  await parts.end();
  const spooled = take.result(bytes, isWhole);
  return guessed?.note === undefined ? spooled : { ...spooled, notes: [guessed.note, ...spooled.notes] };
}

/** Whether the first line names the columns, as far as is known: of a file whose separator was said, its lines are rows. */
function isNamedByFile({ csv = {}, headerRow }: CsvOptions): boolean {
  const { columnNames = [], firstLineAsColumnNames = true, separator } = csv;
  return headerRow === undefined && separator === undefined && columnNames.length === 0 && firstLineAsColumnNames;
}

/** Throws a `CsvError` that says all that such a file needs. */
function requireNoPreamble(text: string, isWhole: boolean, quote: string): void {
  const found = preambleOf(text, isWhole, quote);
  if (found === undefined) return;
  const above = found.line === 2 ? 'its first line is' : `its first ${found.line - 1} lines are`;
  throw new CsvError(`${above} above the table: give "header_row": ${found.line}, which leaves out what is above`);
}

/** Where a line of bytes begins: behind the first of them, if they have so many. */
function placeOfLine(bytes: Buffer, line = 1): number {
  let at = 0;
  for (let left = line - 1; left > 0 && at < SAMPLE_BYTES; left--) {
    const end = bytes.indexOf(LF, at);
    if (end < 0) return 0;
    at = end + 1;
  }
  return at;
}
