/** Separators that are recognized by themselves. */
export const SEPARATORS = [',', ';', '\t', '|'];
const RECORDS_MAX = 20;

/**
 * The separator of a CSV file by its first records: the one that is in all of them equally often, outside of quotes, and
 * more often than any other such. Undefined if there is none. `isWhole`: the text is not cut, so its last line is one.
 */
export function separatorOf(text: string, isWhole: boolean): string | undefined {
  const [first, ...others] = countsOf(text, isWhole);
  if (first === undefined) return undefined;
  const equal = SEPARATORS.map((separator, index) => ({ separator, times: first[index] ?? 0, index })).filter(
    ({ times, index }) => times > 0 && others.every((counts) => counts[index] === times),
  );
  const [best, next] = equal.sort((a, b) => b.times - a.times);
  return best !== undefined && best.times > (next?.times ?? 0) ? best.separator : undefined;
}

/** How often each separator is in the first records. */
function countsOf(text: string, isWhole: boolean): number[][] {
  const records: number[][] = [];
  let counts = SEPARATORS.map(() => 0);
  let isQuoted = false;
  let isEmpty = true;
  for (const character of text) {
    if (character === '"') isQuoted = !isQuoted;
    if (!isQuoted && (character === '\n' || character === '\r')) {
      if (!isEmpty) records.push(counts);
      if (records.length === RECORDS_MAX) return records;
      counts = SEPARATORS.map(() => 0);
      isEmpty = true;
      continue;
    }
    isEmpty = false;
    const index = isQuoted ? -1 : SEPARATORS.indexOf(character);
    if (index >= 0) counts[index] = (counts[index] ?? 0) + 1;
  }
  if (isWhole && !isEmpty && !isQuoted) records.push(counts);
  return records;
}
