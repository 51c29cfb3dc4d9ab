import { Decimal128 } from 'mongodb';
import type { JsonValue } from '../../contract/json/json.ts';
import type { DeclaredType } from '../../engine/engine.ts';
import { DIGITS_MAX, decimalValue, plainOf, plainText, shortDecimal } from './decimals.ts';

/**
 * A column of decimals has the type that its first value is declared to have, and each value of MongoDB's has a number of
 * digits of its own: so there is room for more than the value itself needs.
 */
const SCALES = [10, 18] as const;

/** A number if a double holds all its digits, else text without an exponent where that is short. */
export function readDecimal(bytes: Buffer): JsonValue {
  return decimalValue(new Decimal128(bytes).toString());
}

/** The same of a field of the document itself, declared as a decimal where one of the engine's holds it. */
export function topDecimal(bytes: Buffer): { value: JsonValue; type?: DeclaredType | undefined } {
  const text = new Decimal128(bytes).toString();
  const plain = plainOf(text);
  if (plain === undefined) return { value: text };
  const { whole, fraction } = plain;
  const scale = SCALES.find((digits) => fraction.length <= digits && whole.length + digits <= DIGITS_MAX);
  const short = shortDecimal(plainText(plain));
  if (scale === undefined) return { value: short ?? plainText(plain) };
  // Longer ones are text as the engine writes it, with all digits of the type.
  const value = short ?? plainText({ ...plain, fraction: fraction.padEnd(scale, '0') });
  return { value, type: `decimal ${DIGITS_MAX} ${scale}` };
}
