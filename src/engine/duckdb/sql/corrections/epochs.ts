/*
 * Numbers that count time since 1970: in which unit, judging by how large they are, and what makes a time of them.
 */

export type Unit = 'seconds' | 'milliseconds' | 'microseconds' | 'nanoseconds';

/** From where on a number is in a unit, if it is of the years 1973 to 5138; smaller ones may be in any. */
const FROM: readonly (readonly [number, Unit])[] = [
  [1e17, 'nanoseconds'],
  [1e14, 'microseconds'],
  [1e11, 'milliseconds'],
  [1e8, 'seconds'],
];
/** Seconds beyond the year 2106 are none that anybody has. */
const SECONDS_MAX = 2 ** 32;

/** The unit of a number; undefined: it may be any. */
export function unitOf(number: number): Unit | undefined {
  const unit = FROM.find(([from]) => Math.abs(number) >= from)?.[1];
  return unit === 'seconds' && Math.abs(number) > SECONDS_MAX ? undefined : unit;
}

/** The functions that take a unit; the first is what is advised. */
const FUNCTIONS: ReadonlyMap<string, Unit> = new Map([
  ['to_timestamp', 'seconds'],
  ['epoch_ms', 'milliseconds'],
  ['make_timestamp_ms', 'milliseconds'],
  ['make_timestamp', 'microseconds'],
  ['make_timestamp_ns', 'nanoseconds'],
]);

export const unitTaken = (call: string): Unit | undefined => FUNCTIONS.get(call);

/** What makes a time of text, or of a number, in a unit. */
export function epochCall(unit: Unit, operand: string, isText = true): string {
  const call = [...FUNCTIONS].find(([, taken]) => taken === unit)?.[0] ?? '';
  const type = unit === 'seconds' ? 'DOUBLE' : 'BIGINT';
  return `${call}(${isText ? `CAST(${operand} AS ${type})` : operand})`;
}
