/*
 * Many columns beside one another whose names differ in a number only, as of surveys and sensors (`Q1 … Q200`), are one thing
 * to know about: the first and the last name say all others.
 */

/** Fewer are shown one by one. */
const RUN_MIN = 8;
const NAME_CHARS_MAX = 300;
const DIGITS = /\d{1,9}/g;

/** Items that are neighbours, in runs whose names count up by one and that are otherwise alike; others by themselves. */
export function runsOf<T>(items: readonly T[], of: (item: T) => { name: string; like: string | undefined }): T[][] {
  const runs: { items: T[]; last: Counted | undefined }[] = [];
  for (const item of items) {
    const { name, like } = of(item);
    const counted = like === undefined ? undefined : countedName(name, like);
    const run = runs.at(-1);
    if (run !== undefined && counted !== undefined && isNext(run.last, counted)) {
      run.items.push(item);
      run.last = counted;
    } else runs.push({ items: [item], last: counted });
  }
  return runs.flatMap((run) => (run.items.length >= RUN_MIN ? [run.items] : run.items.map((item) => [item])));
}

/** A name without its numbers, and these. */
interface Counted {
  pattern: string;
  numbers: readonly string[];
}

function countedName(name: string, like: string): Counted | undefined {
  if (name.length > NAME_CHARS_MAX) return undefined;
  const numbers = name.match(DIGITS) ?? [];
  return numbers.length === 0 ? undefined : { pattern: `${like}\n${name.replace(DIGITS, '#')}`, numbers };
}

/** Whether each number is the same or one more, and one is. */
function isNext(last: Counted | undefined, next: Counted): boolean {
  if (last?.pattern !== next.pattern || last.numbers.length !== next.numbers.length) return false;
  let isMore = false;
  for (const [at, number] of next.numbers.entries()) {
    const before = last.numbers[at] ?? '';
    if (number === before) continue;
    if (Number(number) !== Number(before) + 1 || number.length < before.length) return false;
    isMore = true;
  }
  return isMore;
}
