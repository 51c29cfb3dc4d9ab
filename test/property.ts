import { isLong } from './long.ts';

const FEWEST = 20;

/**
 * How many cases of a property are tried, and from which seed: always the same cases, so that a failing run says
 * something about the latest change, and a tenth of the usual number in `npm test`. `COLLOQUY_PROPERTY_RUNS` sets another
 * number of cases, from a random seed. `fewest`: of cases that take long, `npm test` tries fewer than 20.
 */
export function propertyRuns(usual: number, fewest = FEWEST): { numRuns: number; seed?: number } {
  const runs = process.env['COLLOQUY_PROPERTY_RUNS'];
  if (runs !== undefined) return { numRuns: Number(runs) };
  return { numRuns: isLong ? usual : Math.min(usual, Math.max(fewest, Math.ceil(usual / 10))), seed: 20_261_121 };
}
