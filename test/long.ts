import { type TestOptions, test } from 'vitest';

const { TESTS } = process.env;

/** Whether tests run at length: `npm test` tries fewer cases and leaves out what takes seconds. */
export const isLong = TESTS === 'long' || TESTS === 'more';

/** Whether only that runs which `npm test` has not tried (`TESTS=more`), and less of it than at length (`TESTS=long`). */
export const isMore = TESTS === 'more';

/** For a test of which `npm test` tries only a part: `TESTS=more` goes with `--tags-filter more`. */
export const MORE = { tags: ['more'] };

type Rest = [run: () => unknown] | [options: TestOptions, run: () => unknown];

function moreTest(title: string, ...rest: Rest): void {
  if (rest.length === 1) test(title, MORE, rest[0] as () => void);
  else test(title, { ...rest[0], ...MORE }, rest[1] as () => void);
}

/** A test that `npm test` leaves out: it waits for real time to pass, or tries what a quicker test shows as well. */
export const longTest = isLong ? moreTest : (): void => undefined;

/** All of the cases, or one in `share`, the first among them; with `TESTS=more` the others. */
export function someOf<T>(cases: readonly T[], share: number): readonly T[] {
  if (isMore) return cases.filter((_, index) => index % share !== 0);
  return isLong ? cases : cases.filter((_, index) => index % share === 0);
}
