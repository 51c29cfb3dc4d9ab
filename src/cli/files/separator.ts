import { SEPARATORS, separatorCounts } from '../../contract/separators.ts';

/**
 * The separator of a CSV file by its first records: the one that is in all of them equally often, outside of quotes, and
 * more often than any other such. Undefined if there is none. `isWhole`: the text is not cut, so its last line is one.
 */
export function separatorOf(text: string, isWhole: boolean): string | undefined {
  const { records, rest } = separatorCounts(text);
  const [first, ...others] = isWhole && rest?.isQuoted === false ? [...records, rest.counts] : records;
  if (first === undefined) return undefined;
  const equal = SEPARATORS.map((separator, index) => ({ separator, times: first[index] ?? 0, index })).filter(
    ({ times, index }) => times > 0 && others.every((counts) => counts[index] === times),
  );
  const [best, next] = equal.sort((a, b) => b.times - a.times);
  return best !== undefined && best.times > (next?.times ?? 0) ? best.separator : undefined;
}
