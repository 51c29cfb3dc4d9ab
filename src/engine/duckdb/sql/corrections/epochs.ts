/*
 * Numbers that count time since 1970: in which unit, judging by how large they are, and what makes a time of them.
 */

export type Unit = 'seconds' | 'milliseconds' | 'microseconds' | 'nanoseconds';

/** Of smaller numbers no unit can be told. */
export const UNIT_LEAST = 1e8;
/** From where on a number is in a unit, if it is of the years 1973 to 5138; smaller ones may be in any. */
export const UNITS_FROM: readonly (readonly [number, Unit])[] = [
  [1e17, 'nanoseconds'],
  [1e14, 'microseconds'],
  [1e11, 'milliseconds'],
  [UNIT_LEAST, 'seconds'],
];
/** Seconds beyond the year 2106 are none that anybody has. */
export const SECONDS_MAX = 2 ** 32;

/** The unit of a number; undefined: it may be any. */
export function unitOf(number: number): Unit | undefined {
  const unit = UNITS_FROM.find(([from]) => Math.abs(number) >= from)?.[1];
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

const PER_SECOND: Readonly<Record<Unit, number>> = {
  seconds: 1,
  milliseconds: 1e3,
  microseconds: 1e6,
  nanoseconds: 1e9,
};

/** The unit of which a second has so many. */
export const unitOfSecond = (count: number | undefined): Unit | undefined =>
  ([...FUNCTIONS.values()] as const).find((unit) => unit !== 'seconds' && PER_SECOND[unit] === count);

/** What makes a time of numbers in several units. */
export function mixedCall(units: readonly Unit[], operand: string, isText: boolean): string {
  const number = isText ? `CAST(${operand} AS DOUBLE)` : operand;
  const seconds = (unit: Unit) =>
    unit === 'seconds' ? number : `${number} / 1e${String(Math.log10(PER_SECOND[unit]))}`;
  const known = UNITS_FROM.filter(([, unit]) => units.includes(unit));
  const cases = known
    .slice(0, -1)
    .map(([from, unit]) => `WHEN ${number} >= 1e${String(Math.log10(from))} THEN ${seconds(unit)}`);
  const last = known.at(-1)?.[1] ?? 'seconds';
  return `to_timestamp(CASE ${cases.join(' ')} ELSE ${seconds(last)} END)`;
}
