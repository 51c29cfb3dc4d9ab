import { Decimal128 } from 'mongodb';
import type { JsonValue } from '../../contract/json/json.ts';
import { withoutTrailing } from '../../contract/text.ts';
import type { DeclaredType } from '../../engine/engine.ts';
import { shortDecimal } from './decimals.ts';

/** Digits of the engine's widest decimal. */
const DIGITS_MAX = 38;
/**
 * A column of decimals has the type that its first value is declared to have, and each value of MongoDB's has a number of
 * digits of its own: so there is room for more than the value itself needs.
 */
const SCALES = [10, 18] as const;

interface Plain {
  sign: string;
  /** Digits before the point, without zeros in front. */
  whole: string;
  /** Digits after it, without zeros at the end. */
  fraction: string;
}

/** The digits of a Decimal128; undefined for what is no number, or has too many. */
function plainOf(text: string): Plain | undefined {
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

/** A number if a double holds all its digits, else text without an exponent where that is short. */
export function readDecimal(bytes: Buffer): JsonValue {
  const text = new Decimal128(bytes).toString();
  const plain = plainOf(text);
  return plain === undefined ? text : (shortDecimal(textOf(plain)) ?? textOf(plain));
}

/** The same of a field of the document itself, declared as a decimal where one of the engine's holds it. */
export function topDecimal(bytes: Buffer): { value: JsonValue; type?: DeclaredType | undefined } {
  const text = new Decimal128(bytes).toString();
  const plain = plainOf(text);
  if (plain === undefined) return { value: text };
  const { whole, fraction } = plain;
  const scale = SCALES.find((digits) => fraction.length <= digits && whole.length + digits <= DIGITS_MAX);
  const short = shortDecimal(textOf(plain));
  if (scale === undefined) return { value: short ?? textOf(plain) };
  // Longer ones are text as the engine writes it, with all digits of the type.
  const value = short ?? textOf({ ...plain, fraction: fraction.padEnd(scale, '0') });
  return { value, type: `decimal ${DIGITS_MAX} ${scale}` };
}

function textOf({ sign, whole, fraction }: Plain): string {
  return `${sign}${whole === '' ? '0' : whole}${fraction === '' ? '' : `.${fraction}`}`;
}
