/** Separators of CSV that are recognized by themselves. */
export const SEPARATORS = [',', ';', '\t', '|'];
const RECORDS_MAX = 20;

/** How often each separator is in the first records of a text, outside of quotes. */
export interface SeparatorCounts {
  records: number[][];
  /** The same of what comes after the last line break, if there is something, and whether it ends within quotes. */
  rest: { counts: number[]; isQuoted: boolean } | undefined;
}

export function separatorCounts(text: string, quote = '"'): SeparatorCounts {
  const records: number[][] = [];
  let counts = SEPARATORS.map(() => 0);
  let isQuoted = false;
  let isEmpty = true;
  for (const character of text) {
    if (character === quote) isQuoted = !isQuoted;
    if (!isQuoted && (character === '\n' || character === '\r')) {
      if (!isEmpty) records.push(counts);
      if (records.length === RECORDS_MAX) return { records, rest: undefined };
      counts = SEPARATORS.map(() => 0);
      isEmpty = true;
      continue;
    }
    isEmpty = false;
    const index = isQuoted ? -1 : SEPARATORS.indexOf(character);
    if (index >= 0) counts[index] = (counts[index] ?? 0) + 1;
  }
  return { records, rest: isEmpty ? undefined : { counts, isQuoted } };
}
