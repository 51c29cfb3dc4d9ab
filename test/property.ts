import { isLong, isMore } from './long.ts';

const FEWEST = 20;
const SEED = 20_261_121;

/**
 * How many cases of a property are tried, and from which seed: always the same cases, so that a failing run says
 * something about the latest change, and a tenth of the usual number in `npm test`; with `TESTS=more` twice as many others.
 * `COLLOQUY_PROPERTY_RUNS` sets another number of cases, from a random seed. `fewest`: of cases that take long, `npm test`
 * tries fewer than 20.
 */
export function propertyRuns(usual: number, fewest = FEWEST): { numRuns: number; seed?: number } {
  const runs = process.env['COLLOQUY_PROPERTY_RUNS'];
  if (runs !== undefined) return { numRuns: Number(runs) };
  const part = Math.min(usual, Math.max(fewest, Math.ceil(usual / 10)));
  if (isMore) return { numRuns: Math.max(1, Math.min(usual - part, 2 * part)), seed: SEED + 1 };
  return { numRuns: isLong ? usual : part, seed: SEED };
}
