import { test } from 'vitest';

/** Whether tests run at length (`npm run test:long`): `npm test` tries fewer cases and leaves out what takes seconds. */
export const isLong = process.env['TESTS'] === 'long';

/** A test that `npm test` leaves out: it waits for real time to pass, or tries what a quicker test shows as well. */
export const longTest: typeof test = isLong
  ? test
  : (Object.assign(() => undefined, { each: () => () => undefined, runIf: () => () => undefined }) as never);

/** All of the cases, or one in `share`, the first among them. */
export function someOf<T>(cases: readonly T[], share: number): readonly T[] {
  return isLong ? cases : cases.filter((_, index) => index % share === 0);
}
