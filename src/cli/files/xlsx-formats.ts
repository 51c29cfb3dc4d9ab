import { builtInKind, kindOf, type TimeKind } from './xlsx-dates.ts';

/** What the number format of a cell shows beside its number. */
export interface CellFormat {
  time?: TimeKind | undefined;
  /** With how many digits an integer is shown, with zeros before it. */
  zeros?: number;
  /** The sign or code of a currency. */
  currency?: string;
}

const CODE_CHARS_MAX = 1_000;
/** The formats with a currency that every workbook has, by their number. */
const LOCAL_CURRENCY: ReadonlySet<number> = new Set([5, 6, 7, 8, 42, 44]);

export function builtInFormat(id: number): CellFormat | undefined {
  const time = builtInKind(id);
  if (time !== undefined) return { time };
  return LOCAL_CURRENCY.has(id) ? { currency: "the reader's own currency" } : undefined;
}

/** What a format shows by its code; undefined: the number alone. */
export function formatOf(code: string): CellFormat | undefined {
  const time = kindOf(code);
  if (time !== undefined) return { time };
  const [first = ''] = code.slice(0, CODE_CHARS_MAX).split(';', 1);
  const currency = currencyOf(first);
  if (currency !== undefined) return { currency };
  const plain = first.replace(/\[[^[\]]{0,40}\]/g, '');
  return /^0{2,30}$/.test(plain) ? { zeros: plain.length } : undefined;
}

function currencyOf(code: string): string | undefined {
  const [, named] = /\[\$([^\]-]{1,10})(?:-[^\]]{0,20})?\]/.exec(code) ?? [];
  if (named !== undefined) return named.trim();
  const outside = code.replace(/\[[^[\]]{0,40}\]/g, '');
  return /\p{Sc}/u.exec(outside)?.[0] ?? /"\s?([A-Z]{3})\s?"/.exec(outside)?.[1];
}

/** A number as a format with zeros before it shows it; undefined if the format shows it otherwise. */
export function paddedText(value: number, format: CellFormat | undefined): string | undefined {
  if (format?.zeros === undefined || !Number.isSafeInteger(value) || value < 0) return undefined;
  return String(value).padStart(format.zeros, '0');
}
