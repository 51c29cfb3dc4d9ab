const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** How a moment is written, for people. */
export const MOMENT_SHOWN = '30m, 12h, 7d, or a date and time';

/** The moment that a text names, `30m` ago or a date and time, in milliseconds since 1970; undefined if it names none. */
export function momentIn(text: string, nowMs: number = Date.now()): number | undefined {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const ms = count === undefined ? Date.parse(text) : nowMs - Number(count) * (UNITS_MS[unit] ?? 0);
  return Number.isNaN(ms) ? undefined : ms;
}

/** A moment, in milliseconds since 1970, as ISO-8601 in UTC. */
export function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
