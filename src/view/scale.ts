/** Positions and labels for the ticks of an axis. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  ...[1, 5, 15, 30].map((count) => count * 1_000),
  ...[1, 5, 15, 30].map((count) => count * MINUTE),
  ...[1, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 7, 14].map((count) => count * DAY),
];
const MONTH_STEPS = [1, 3, 6, 12, 24, 60, 120, 240, 600, 1_200];

/** The least number not below this that is 1, 2 or 5 times a power of ten. */
export function niceStep(rough: number): number {
  if (!(rough > 0) || !Number.isFinite(rough)) return 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((one) => one * power >= rough * 0.999_999) ?? 10;
  return step * power;
}

/** Round numbers from `min` to `max`, about `count` of them. */
export function ticks(min: number, max: number, count: number): number[] {
  if (!(max > min)) return [min];
  const step = niceStep((max - min) / count);
  const found: number[] = [];
  for (let index = Math.ceil(min / step - 1e-9); index * step <= max + step * 1e-9 && found.length < 100; index++) {
    // Without rounding errors of the multiplication: 0.30000000000000004.
    found.push(Number((index * step).toPrecision(12)));
  }
  return found;
}

/** Starts of seconds, minutes, hours, days, months or years in UTC, about `count` of them. */
export function timeTicks(min: number, max: number, count: number): number[] {
  if (!(max > min)) return [min];
  const rough = (max - min) / count;
  const step = STEPS.find((one) => one >= rough * 0.7);
  const found: number[] = [];
  if (step !== undefined) {
    for (let time = Math.ceil(min / step) * step; time <= max; time += step) found.push(time);
    return found;
  }
  const months = MONTH_STEPS.find((one) => one * 30 * DAY >= rough) ?? 2_400;
  const from = new Date(min);
  const first = Math.ceil((from.getUTCFullYear() * 12 + from.getUTCMonth()) / months) * months;
  for (let month = first; found.length < 100; month += months) {
    const time = new Date(0).setUTCFullYear(Math.floor(month / 12), month % 12, 1);
    if (time > max) return found;
    if (time >= min) found.push(time);
  }
  return found;
}

/** The length of the buckets for times, so that there are about `count` of them. */
export function bucketMs(min: number, max: number, count: number): number {
  const rough = (max - min) / count;
  return STEPS.find((one) => one >= rough) ?? Math.ceil(rough / (30 * DAY)) * 30 * DAY;
}

/** A time in UTC, no finer than the displayed range requires. */
export function timeLabel(time: number, rangeMs: number): string {
  const iso = new Date(time).toISOString();
  if (rangeMs > 730 * DAY) return iso.slice(0, iso.slice(5, 10) === '01-01' ? 4 : 7);
  if (rangeMs > 4 * DAY) return iso.slice(0, 10);
  if (rangeMs > 10 * MINUTE) return iso.slice(11, 16) === '00:00' ? iso.slice(5, 10) : iso.slice(11, 16);
  return iso.slice(11, 19);
}

/** A number, short enough for an axis. */
export function numberLabel(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e15 || size < 1e-4)) return value.toExponential(1);
  for (const [unit, letter] of [
    [1e12, 'T'],
    [1e9, 'G'],
    [1e6, 'M'],
    [1e4, 'k'],
  ] as const) {
    if (size >= unit) return `${Number((value / (letter === 'k' ? 1e3 : unit)).toPrecision(4))}${letter}`;
  }
  return String(Number(value.toPrecision(6)));
}
