/** Identifies a program: its version and, unless it runs from the sources or does not say, when it was built. */
export interface Program {
  version: string;
  /** ISO-8601 in UTC, so that text sorts as time. */
  build?: string | undefined;
}

/**
 * Whether a running program is older than another one: it has an older version, or is an earlier build of the same
 * version. A program without a build time is older than one with. Of two programs at most one is outdated, so they
 * never replace each other in turn.
 */
export function isOutdated(running: Program, own: Program): boolean {
  if (running.version !== own.version) return isOlder(running.version, own.version);
  return own.build !== undefined && (running.build === undefined || running.build < own.build);
}

/** Whether version `a` is older than `b` in semver's order; false if either cannot be parsed. */
export function isOlder(a: string, b: string): boolean {
  const left = parts(a);
  const right = parts(b);
  if (left === undefined || right === undefined) return false;
  for (const index of [0, 1, 2] as const) {
    if (left.numbers[index] !== right.numbers[index]) return (left.numbers[index] ?? 0) < (right.numbers[index] ?? 0);
  }
  // 1.0.0-rc.1 comes before 1.0.0.
  if (left.pre === undefined || right.pre === undefined) return left.pre !== undefined && right.pre === undefined;
  return left.pre.localeCompare(right.pre, 'en', { numeric: true }) < 0;
}

function parts(version: string): { numbers: number[]; pre: string | undefined } | undefined {
  const match = /^v?(\d+)\.(\d+)\.(\d+)(?:-([\w.-]+))?(?:\+.*)?$/.exec(version);
  return match === null ? undefined : { numbers: match.slice(1, 4).map(Number), pre: match[4] };
}
