/** Whether version `a` is older than `b`, by semver's order; unreadable versions are older than none. */
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
