import { WRITE_BYTES_MAX } from '../../contract/documents.ts';
import { ApiError } from '../../contract/errors.ts';
import { stringifyJson } from '../../contract/json/json.ts';
import type { CsvRows, FileRequest } from '../../mcp/tools/file.ts';
import { csvDocument, csvParser } from '../../service/ingest/csv.ts';
import { type EntryReader, type Found, NOT_UTF8, type SizedEntry } from './json-entries.ts';
import { SEPARATORS } from './separator.ts';

const SHORT_SHOWN = 5;
/** How much of the first line is kept, for hints. */
const LINE_CHARS_MAX = 4_096;

/** CSV by the service's rules for the text of uploaded files. Without `columns`, the first line names the columns. */
export function csvReader({ separator = ',', columns, types = [] }: NonNullable<FileRequest['csv']>): EntryReader {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let names = columns;
  let count = 0;
  let entries: SizedEntry[] = [];
  let failure: ApiError | undefined;
  let firstLine = '';
  const rows: CsvRows & { shortLines: number[] } = { short: 0, shortLines: [], separator: undefined };
  const take = (record: readonly string[], at: number) => {
    if (names === undefined) {
      names = record;
      failure = problemOfNames(record);
      rows.separator = separatorIn(record);
      return;
    }
    if (record.length < names.length) {
      rows.short += 1;
      if (rows.shortLines.length < SHORT_SHOWN) rows.shortLines.push(at);
    }
    const parsed = csvDocument(record, names, types, count++);
    const bytes = 'document' in parsed ? stringifyJson(parsed.document).length : 0;
    entries.push({ bytes, entry: { at, ...parsed } });
  };
  const parser = csvParser(
    { separator, quoteChar: '"', escapeChar: '"' },
    (record, line) => {
      if (failure === undefined) take(record, line);
    },
    WRITE_BYTES_MAX,
  );
  parser.on('error', (error) => {
    const message = `The file is no CSV: ${error.message}${separatorHint(firstLine, separator)}`;
    failure ??= new ApiError('invalid_input', message, { cause: error });
  });
  let lines = 1;
  const found = async (piece: Buffer | undefined): Promise<Found> => {
    const isEnd = piece === undefined;
    try {
      const decoded = isEnd ? decoder.decode() : decoder.decode(piece, { stream: true });
      lines += lineFeedsIn(decoded);
      if (firstLine.length < LINE_CHARS_MAX && !firstLine.includes('\n')) firstLine += decoded.slice(0, LINE_CHARS_MAX);
      await new Promise<void>((done) => {
        if (!isEnd) parser.write(decoded, () => done());
        else parser.once('close', done).end(decoded);
      });
    } catch (error) {
      const line = lines + lineFeedsIn(piece?.toString().split('\ufffd', 1).join('') ?? '');
      const message = `The file is not valid UTF-8 at line ${line.toLocaleString('en-US')}, ${NOT_UTF8}.`;
      failure ??= new ApiError('invalid_input', message, { cause: error });
    }
    const taken = entries;
    entries = [];
    return { entries: taken, failure };
  };
  return {
    rows: () => rows,
    read: (piece) => found(piece),
    end: () => found(undefined),
  };
}

function lineFeedsIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

function problemOfNames(names: readonly string[]): ApiError | undefined {
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice === undefined) return undefined;
  return new ApiError(
    'invalid_input',
    `The first line of the file names the column ${JSON.stringify(twice)} twice, so that values of one would get lost. Correct that line.`,
  );
}

/** The probable separator in a first line that was read as one field. */
function separatorIn(names: readonly string[]): string | undefined {
  const [only = ''] = names.length === 1 ? names : [];
  return SEPARATORS.find((separator) => only.includes(separator));
}

/** A wrong separator makes quotes look misplaced, so this hints at one that is more frequent at the beginning. */
function separatorHint(beginning: string, separator: string): string {
  const line = beginning
    .split('\n', 1)
    .join('')
    .replace(/"[^"]*"/g, '');
  const timesOf = (one: string) => line.split(one).length - 1;
  const [best] = SEPARATORS.filter((one) => timesOf(one) > timesOf(separator)).sort((a, b) => timesOf(b) - timesOf(a));
  if (best === undefined) return '';
  return `. If ${JSON.stringify(best)} separates the columns, give it as "csv_separator"; this was read with ${JSON.stringify(separator)}.`;
}
