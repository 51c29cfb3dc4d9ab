/** Separators of CSV that are recognized by themselves. */
const SEPARATORS = [',', ';', '\t', '|'];
const RECORDS_MAX = 20;

/** How often each separator is in the first records of a text, outside of quotes. */
interface SeparatorCounts {
  records: number[][];
  /** The same of what comes after the last line break, if there is something, and whether it ends within quotes. */
  rest: { counts: number[]; isQuoted: boolean } | undefined;
}

function separatorCounts(text: string): SeparatorCounts {
  const records: number[][] = [];
  let counts = SEPARATORS.map(() => 0);
  let isQuoted = false;
  let isEmpty = true;
  for (const character of text) {
    if (character === '"') isQuoted = !isQuoted;
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

/**
 * The separator of a CSV file by its first records: the one that is in all of them equally often, outside of quotes, and
 * more often than any other such; or else the one that the first record has most often. `isWhole`: the text is not cut,
 * so its last line is one.
 */
export function separatorOf(text: string, isWhole: boolean): string {
  const { records, rest } = separatorCounts(text);
  const [first, ...others] =
    rest !== undefined && (isWhole || records.length === 0) ? [...records, rest.counts] : records;
  if (first === undefined) return ',';
  const all = SEPARATORS.map((separator, index) => ({ separator, times: first[index] ?? 0, index }));
  const used = all.filter(({ times }) => times > 0).sort((a, b) => b.times - a.times);
  const equal = used.filter(({ times, index }) => others.every((other) => other[index] === times));
  return (equal[0] ?? used[0])?.separator ?? ',';
}

/** Whether lines end with a carriage return alone, by the first line break outside of quotes. */
export function endsWithCarriageReturn(text: string): boolean {
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '"') isQuoted = !isQuoted;
    else if (!isQuoted && text[at] === '\n') return false;
    else if (!isQuoted && text[at] === '\r') return at + 1 < text.length && text[at + 1] !== '\n';
  }
  return false;
}
