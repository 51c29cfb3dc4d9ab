/** The shortest number that is the same 32-bit float: 0.1, not 0.10000000149011612. */
export function shortestFloat(value: number): number {
  for (const digits of [6, 7, 8]) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return Number(value.toPrecision(9));
}
