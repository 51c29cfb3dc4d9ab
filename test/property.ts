/**
 * How often a property is tried, and from which seed: always the same cases, so that a run which fails says something of
 * the change before it. `COLLOQUY_PROPERTY_RUNS` tries more of them, from a seed of the day.
 */
export function propertyRuns(usual: number): { numRuns: number; seed?: number } {
  const runs = process.env['COLLOQUY_PROPERTY_RUNS'];
  return runs === undefined ? { numRuns: usual, seed: 20_261_121 } : { numRuns: Number(runs) };
}
