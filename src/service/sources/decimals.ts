import { withoutTrailing } from '../../contract/text.ts';

/** Digits of a decimal that a double surely holds. */
const DOUBLE_DIGITS = 15;

/** A decimal, written without an exponent, as a number; undefined if it may have more digits than a double holds. */
export function shortDecimal(text: string): number | undefined {
  const digits = withoutTrailing(text.replace(/[-.]/g, '').replace(/^0+/, ''), '0');
  return digits.length <= DOUBLE_DIGITS ? Number(text) : undefined;
}
