/*
 * What is not seen in a text: spaces around it, characters without width, and which of two forms of Unicode it has.
 */

/** Characters without width, and those that look like a space. */
const WIDTHLESS = /[\u00ad\u200b-\u200f\u2060\ufeff]/g;
const SPACES = /[\u00a0\u2007\u202f]/g;

/** A text without what is not seen in it. */
export const plainText = (text: string): string =>
  text.normalize('NFC').replace(WIDTHLESS, '').replace(SPACES, ' ').trim();

/** SQL for the same. */
export function plainSql(x: string): string {
  const spaced = `regexp_replace(nfc_normalize(${x}), '[\\x{A0}\\x{2007}\\x{202F}]', ' ', 'g')`;
  const visible = `regexp_replace(${spaced}, '[\\x{AD}\\x{200B}-\\x{200F}\\x{2060}\\x{FEFF}]', '', 'g')`;
  return `regexp_replace(${visible}, '^\\s+|\\s+$', '', 'g')`;
}

/** The least that makes texts alike that `plainText` makes alike. */
export function alikeSql(x: string, texts: readonly string[]): string {
  const isSame = (by: (text: string) => string) => new Set(texts.map(by)).size === 1;
  // `trim` of SQL takes spaces only.
  const isSpaced = texts.every(
    (text) => !/[\t-\r\u00a0\u1680\u2000-\u200f\u2028\u2029\u202f\u205f\u3000\ufeff]/.test(text),
  );
  if (isSpaced && isSame((text) => text.trim())) return `trim(${x})`;
  if (isSame((text) => text.normalize('NFC'))) return `nfc_normalize(${x})`;
  return plainSql(x);
}

/** In what a text differs from one that looks alike, in few words. */
export function differenceOf(text: string, other: string): string {
  if (text.trim() === other.trim()) return 'spaces around';
  if (text.normalize('NFC') === other.normalize('NFC')) return 'another form of Unicode';
  return 'characters that are not seen';
}
