import type { JsonValue } from '../../contract/json/json.ts';
import { withoutTrailing } from '../../contract/text.ts';

/** Digits of the engine's widest decimal. */
export const DIGITS_MAX = 38;
/** Digits of a decimal that a double surely holds. */
const DOUBLE_DIGITS = 15;

/** A decimal, written without an exponent, as a number; undefined if it may have more digits than a double holds. */
export function shortDecimal(text: string): number | undefined {
  const digits = withoutTrailing(text.replace(/[-.]/g, '').replace(/^0+/, ''), '0');
  return digits.length <= DOUBLE_DIGITS ? Number(text) : undefined;
}

export interface Plain {
  sign: string;
  /** Digits before the point, without zeros in front. */
  whole: string;
  /** Digits after it, without zeros at the end. */
  fraction: string;
}

/** The digits of a Decimal128; undefined for what is no number, or has too many. */
export function plainOf(text: string): Plain | undefined {
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:E([+-]\d{1,4}))?$/.exec(text);
  if (parts === null) return undefined;
  const [, sign = '', before = '', after = '', exponent = '0'] = parts;
  const point = before.length + Number(exponent);
  if (Math.abs(point) > DIGITS_MAX) return undefined;
  const digits = before + after;
  const padded = digits.padStart(digits.length + Math.max(0, -point), '0').padEnd(point, '0');
  const at = Math.max(0, point);
  return { sign, whole: padded.slice(0, at).replace(/^0+/, ''), fraction: withoutTrailing(padded.slice(at), '0') };
}

export function plainText({ sign, whole, fraction }: Plain): string {
  return `${sign}${whole === '' ? '0' : whole}${fraction === '' ? '' : `.${fraction}`}`;
}

/** A Decimal128 as it is written: a number if a double holds all its digits, else text without an exponent where that is short. */
export function decimalValue(text: string): JsonValue {
  const plain = plainOf(text);
  return plain === undefined ? text : (shortDecimal(plainText(plain)) ?? plainText(plain));
}
