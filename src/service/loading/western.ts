import { isUtf8 } from 'node:buffer';

/*
 * CSV that Excel wrote in the encoding of Windows: told from UTF-8 by its first byte that is none, and from other encodings by
 * what its bytes would be in words. In doubt it is none.
 */

const [OTHER, LATIN, LETTER, MARK, SIGN, NONE] = [0, 1, 2, 3, 4, 5];
/** As many of the letters have to stand beside one of a to z. */
const JOINED_MIN = 0.8;
/** In other encodings the bytes of these are seldom letters of words; and half of the letters have to be some of them. */
const COMMON: ReadonlySet<number> = new Set(Buffer.from('äöüßéçñåøàêôáíóúÄÖÜÉÇÑÅØÀÁÓÚ', 'latin1'));
const COMMON_MIN = 0.5;
/** Letters beside one another, of which other alphabets have words. */
const RUN_MAX = 3;
const MARKS = '’­·';

const decoder = new TextDecoder('windows-1252', { fatal: true });
/** Bytes as text; as a stream, since Node.js 20 takes whole ones for Latin-1. */
export const inWestern = (bytes: Uint8Array) => decoder.decode(bytes, { stream: true });

const CLASSES = classes();

function classes(): Uint8Array {
  const found = new Uint8Array(256);
  for (let byte = 0; byte < 256; byte++) {
    const text = inWestern(new Uint8Array([byte]));
    if (byte < 128) found[byte] = (/[A-Za-z]/.test(text) ? LATIN : OTHER) as number;
    else if (/[ÀÁÂÃÄÅÆÇÈÉÊËÍÎÏÑÒÓÔÖØÙÚÛÜßàáâãäåæçèéêëíîïñòóôöøùúûü]/.test(text)) found[byte] = LETTER as number;
    else if (MARKS.includes(text)) found[byte] = MARK as number;
    // Letters that stand for commoner ones of other encodings, and what is undefined.
    else found[byte] = (/[\p{L}\u0080-\u009f]/u.test(text) && !/[ªº]/.test(text) ? NONE : SIGN) as number;
  }
  return found;
}

/** Looks at bytes, in order, for whether they may be windows-1252. */
export class WesternLook {
  #before = OTHER as number;
  #last = OTHER as number;
  #run = 0;
  #letters = 0;
  #joined = 0;
  #common = 0;
  #lastByte = 0;
  #isOther = false;
  readonly #seen = new Set<number>();

  take(bytes: Uint8Array): void {
    for (const byte of bytes) {
      const kind = CLASSES[byte] as number;
      // A character of UTF-8: a byte that is cut, or one line of another encoding, would make all others wrong.
      const isSequence = this.#lastByte >= 0xc2 && this.#lastByte <= 0xf4 && byte >= 0x80 && byte <= 0xbf;
      this.#lastByte = byte;
      if (kind === NONE || isSequence) this.#isOther = true;
      const isLetter = kind === LETTER || kind === LATIN;
      // A sign within a word is a letter of another encoding.
      if (isLetter && this.#last === SIGN && (this.#before === LETTER || this.#before === LATIN)) this.#isOther = true;
      if (kind === LETTER) {
        this.#letters += 1;
        this.#run += 1;
        if (this.#last === LATIN) this.#joined += 1;
        if (this.#run > RUN_MAX) this.#isOther = true;
        if (COMMON.has(byte)) this.#common += 1;
        this.#seen.add(byte);
      } else {
        if (kind === LATIN && this.#run === 1 && this.#before !== LATIN) this.#joined += 1;
        this.#run = 0;
      }
      this.#before = this.#last;
      this.#last = kind;
    }
  }

  get isPlausible(): boolean {
    // In the encodings of Central Europe č, ć and ř are è, æ and ø, which no language has beside one another.
    const isCentral = this.#seen.has(0xe8) && (this.#seen.has(0xe6) || this.#seen.has(0xf8));
    if (this.#isOther || isCentral || this.#letters === 0) return false;
    return this.#joined >= JOINED_MIN * this.#letters && this.#common >= COMMON_MIN * this.#letters;
  }
}

/** Whether the bytes begin as UTF-8 does; the last character may be cut. */
export function isUtf8SoFar(bytes: Buffer): boolean {
  if (isUtf8(bytes)) return true;
  for (let left = 1; left < 4; left++) {
    const lead = bytes[bytes.length - left] ?? 0;
    const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
    if (lead >= 0xc0) return left < length && isUtf8(bytes.subarray(0, bytes.length - left));
    if (lead < 0x80) return false;
  }
  return false;
}
