/** How many of a caller's queries that ended are remembered. */
const KEPT = 16;
/** Shorter times tell nothing about the pace. */
const MEASURED_MS_MIN = 50;

/** How fast the queries of one caller end, for as long as it always has some: what it is told to wait follows from it. */
export class Drain {
  readonly #since: number;
  readonly #endedAt: number[] = [];

  /** All times are as `performance.now()`. */
  constructor(now: number) {
    this.#since = now;
  }

  ended(now: number): void {
    this.#endedAt.push(now);
    if (this.#endedAt.length > KEPT) this.#endedAt.shift();
  }

  /** How long `count` queries take at this pace. If none has ended, one may do so after as long as has passed. */
  msFor(count: number, now: number): number {
    const [first = this.#since] = this.#endedAt.length === KEPT ? this.#endedAt : [];
    return (count * Math.max(MEASURED_MS_MIN, now - first)) / Math.max(1, this.#endedAt.length);
  }
}
