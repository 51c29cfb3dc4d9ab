import { SEPARATORS, separatorCounts } from '../../contract/separators.ts';
import type { CsvSettings } from './csv-format.ts';
import { CsvError, type Dialect } from './csv-records.ts';

/** How much of a text is looked at to find out how it is written. */
export const SAMPLE_BYTES = 64 * 1024;
export const QUOTE = '"';
const MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** How a text is divided, given what was said of it, and what was found in it. Throws a `CsvError`. */
export function dialectOf(
  { separator = ',', quoteChar = QUOTE, escapeChar = quoteChar }: CsvSettings,
  { isCarriageReturn = false, isSpaced = false }: { isCarriageReturn?: boolean | undefined; isSpaced?: boolean },
): Dialect {
  return {
    isSpaced,
    separator: Buffer.from(separator),
    quote: byteOf(quoteChar, 'quoteChar'),
    escaping: byteOf(escapeChar, 'escapeChar'),
    isCarriageReturn,
  };
}

function byteOf(character: string, what: string): number {
  const code = character.charCodeAt(0);
  if (character.length === 1 && code < 128) return code;
  throw new CsvError(`its ${what} ${JSON.stringify(character)} is not one character of ASCII`);
}

export function withoutMark(bytes: Buffer): Buffer {
  return bytes.subarray(0, MARK.length).equals(MARK) ? bytes.subarray(MARK.length) : bytes;
}

/** A first line that says what the separator is, as spreadsheets write it. */
const SEPARATOR_LINE = /^"?sep=([^\w"\r\n])"?\r?(?:\n|$)/i;

/** Whether a first line is one that says that this is the separator. */
export function isSeparatorLine(line: string, separator: string): boolean {
  return SEPARATOR_LINE.exec(line)?.[1] === separator;
}

/**
 * The separator of a CSV file by its first records: the one that is in all of them equally often, outside of quotes, and
 * more often than any other such; or else the one that the first record has most often. `isWhole`: the text is not cut,
 * so its last line is one.
 */
export function separatorOf(text: string, isWhole: boolean, quote = QUOTE): string {
  const [, said] = SEPARATOR_LINE.exec(text) ?? [];
  if (said !== undefined) return said;
  const { records, rest } = separatorCounts(text, quote);
  const [first, ...others] =
    rest !== undefined && (isWhole || records.length === 0) ? [...records, rest.counts] : records;
  if (first === undefined) return ',';
  const all = SEPARATORS.map((separator, index) => ({ separator, times: first[index] ?? 0, index }));
  const used = all.filter(({ times }) => times > 0).sort((a, b) => b.times - a.times);
  const equal = used.filter(({ times, index }) => others.every((other) => other[index] === times));
  return (equal[0] ?? used[0])?.separator ?? ',';
}

/**
 * Whether in each record behind the first every separator has a space beside it, as people write lists and programs align
 * columns: such spaces belong to no cell.
 */
export function hasSpaces(text: string, separator: string, quote = QUOTE): boolean {
  if (separator.trim() === '') return false;
  let [seen, line] = [0, 0];
  let [isQuoted, isCellStart] = [false, true];
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string;
    const isBreak = character === '\n' || character === '\r';
    if (isQuoted) isQuoted = character !== quote;
    else if (character === quote && isCellStart) isQuoted = true;
    else if (isBreak || text.startsWith(separator, at)) {
      const end = isBreak ? at : at + separator.length;
      if (isBreak) line += 1;
      else if (line > 0) {
        if (text[at - 1] !== ' ' && !' \r\n'.includes(text[end] ?? ' ')) return false;
        seen += 1;
      }
      isCellStart = true;
      at = Math.max(at, end - 1);
    } else isCellStart &&= character === ' ';
  }
  return seen > 0;
}

/** Whether lines end with a carriage return alone, by the first line break outside of quotes; undefined: there is none. */
export function endsWithCarriageReturn(text: string, quote = QUOTE): boolean | undefined {
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === quote) isQuoted = !isQuoted;
    else if (!isQuoted && text[at] === '\n') return false;
    else if (!isQuoted && text[at] === '\r' && at + 1 < text.length) return text[at + 1] !== '\n';
  }
  return undefined;
}
