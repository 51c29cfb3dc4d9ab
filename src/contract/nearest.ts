/** Longer names are compared by their first characters only, so that hostile input costs little. */
const COMPARED_MAX = 128;
/** Further candidates are not looked at. */
const CANDIDATES_MAX = 10_000;
/** Most pairs of characters compared in one search: some milliseconds. A thousand names of 40 letters are 1.6 million. */
const PAIRS_MAX = 2_000_000;

/** The last three rows of a search, used again by the next one. */
const ROWS = [0, 1, 2].map(() => new Uint8Array(COMPARED_MAX + 1)) as [Uint8Array, Uint8Array, Uint8Array];

/** Edit distance with swaps of neighbours counted once (optimal string alignment). */
function distance(a: string, b: string): number {
  let [before, above, row] = ROWS;
  for (let j = 0; j <= b.length; j++) above[j] = j;
  let last = -1;
  for (let i = 1; i <= a.length; i++) {
    const code = a.charCodeAt(i - 1);
    row[0] = i;
    let left = i;
    for (let j = 1; j <= b.length; j++) {
      const other = b.charCodeAt(j - 1);
      const changed = (above[j - 1] as number) + (code === other ? 0 : 1);
      left = Math.min((above[j] as number) + 1, left + 1, changed);
      if (code !== other && j > 1 && last === other && code === b.charCodeAt(j - 2))
        left = Math.min(left, (before[j - 2] as number) + 1);
      row[j] = left;
    }
    last = code;
    [before, above, row] = [above, row, before];
  }
  return above[b.length] as number;
}

/** Letter case and separators are the most common slips, so they do not count as differences. */
function folded(name: string): string {
  return name
    .slice(0, COMPARED_MAX)
    .toLowerCase()
    .replace(/[-_\s.]/g, '');
}

/**
 * The candidates that may have been meant by `name`, best first, at most `max`; empty if none is close.
 *
 * Close means few edits for the length (a third, at least one), or that one begins with or contains the other.
 */
export function nearest(name: string, candidates: Iterable<string>, max = 3): string[] {
  const wanted = folded(name);
  if (wanted === '') return [];
  const scored: { candidate: string; score: number }[] = [];
  const seen = new Set<string>();
  let pairs = 0;
  for (const candidate of candidates) {
    if (seen.size === CANDIDATES_MAX) break;
    const offered = seen.has(candidate) ? '' : folded(candidate);
    seen.add(candidate);
    if (offered === '') continue;
    const allowed = Math.max(1, Math.floor(Math.max(wanted.length, offered.length) / 3));
    const shorter = Math.min(wanted.length, offered.length);
    const contained = shorter >= 3 && (offered.includes(wanted) || wanted.includes(offered));
    // As many edits are needed as the lengths differ by.
    if (!contained && Math.abs(wanted.length - offered.length) > allowed) continue;
    pairs += wanted.length * offered.length;
    if (pairs > PAIRS_MAX) break;
    const edits = distance(wanted, offered);
    if (edits <= allowed) scored.push({ candidate, score: edits });
    else if (contained) scored.push({ candidate, score: allowed + edits / 100 });
  }
  scored.sort((a, b) => a.score - b.score || (a.candidate < b.candidate ? -1 : 1));
  return scored.slice(0, max).map((entry) => entry.candidate);
}

/** Shorter words are others with one letter changed. */
const WORD_MIN = 5;

/**
 * Whether `name` is `meant` with a slip: the same but for letter case and separators, or with one letter wrong within it. With
 * another beginning or end it is a word of its own, such as `stddevp`.
 */
export function isSlipWithin(name: string, meant: string): boolean {
  const [one, other] = [folded(name), folded(meant)];
  if (one === other) return true;
  return one.length >= WORD_MIN && one[0] === other[0] && one.at(-1) === other.at(-1) && distance(one, other) === 1;
}

/**
 * Whether `name` is `meant` with at most one slip: the same but for letter case and separators, or with one letter more, less,
 * changed or swapped with the next. Names that differ in their digits are those of different things (`sales_2023`), as short
 * ones are that differ in a letter.
 */
export function isOneSlip(name: string, meant: string): boolean {
  const [one, other] = [folded(name), folded(meant)];
  if (one === other) return true;
  const digits = (text: string) => text.replace(/\D/g, '');
  return Math.min(one.length, other.length) >= SHORT && digits(one) === digits(other) && distance(one, other) === 1;
}

/** Letters of the shortest names in which one may be wrong. */
const SHORT = 4;

/** Letters of a name for each that may be wrong in it. */
const LETTERS_PER_SLIP = 4;

/**
 * The one candidate that `name` is a slip of: the same but for letter case and separators, or else the only one with at most
 * one letter in four wrong. Undefined if there are several, or none.
 */
export function slipOf(name: string, candidates: Iterable<string>): string | undefined {
  const near = nearest(name, candidates, 5);
  const wanted = folded(name);
  const same = near.filter((candidate) => folded(candidate) === wanted);
  if (same.length > 0) return same.length === 1 ? same[0] : undefined;
  const close = near.filter((candidate) => {
    const offered = folded(candidate);
    return distance(wanted, offered) <= Math.floor(Math.max(wanted.length, offered.length) / LETTERS_PER_SLIP);
  });
  return close.length === 1 ? close[0] : undefined;
}
