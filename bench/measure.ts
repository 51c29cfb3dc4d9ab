/** The median of some measurements. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Nearest-rank quantile; `share` from 0 to 1. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** Milliseconds that `run` takes. */
export async function timeMs(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

/**
 * Times several things in turn, round by round, so that noise of the machine affects all of them. The first round is a
 * warm-up and does not count. Returns the measurements in milliseconds by name.
 */
export async function interleaved<Name extends string>(
  rounds: number,
  runs: Record<Name, () => Promise<unknown>>,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(runs) as Name[];
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of names) {
      const elapsed = await timeMs(runs[name]);
      if (round > 0) times[name].push(elapsed);
    }
  }
  return times;
}

/** Prints one row of a report: description, our figure, the baseline's, and their ratio. */
export function printRow(what: string, ours: string, baseline: string, ratio: number): void {
  console.log(`  ${what.padEnd(44)} ${ours.padStart(16)} ${baseline.padStart(16)} ${ratio.toFixed(2).padStart(8)} x`);
}

export function printHeading(title: string, ours: string, baseline: string): void {
  console.log(`\n${title}`);
  console.log(`  ${''.padEnd(44)} ${ours.padStart(16)} ${baseline.padStart(16)} ${'ratio'.padStart(10)}`);
}

export const ms = (value: number): string => `${value < 10 ? value.toFixed(2) : value.toFixed(0)} ms`;
