/**
 * How many cases of a property are tried, and from which seed: by default always the same cases, so that a failing run
 * says something about the latest change. `COLLOQUY_PROPERTY_RUNS` sets another number of cases, from a random seed.
 */
export function propertyRuns(usual: number): { numRuns: number; seed?: number } {
  const runs = process.env['COLLOQUY_PROPERTY_RUNS'];
  return runs === undefined ? { numRuns: usual, seed: 20_261_121 } : { numRuns: Number(runs) };
}
