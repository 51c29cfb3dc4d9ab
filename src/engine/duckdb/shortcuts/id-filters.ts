import { createHash } from 'node:crypto';
import { derivedId, type NumberedLines } from '../../documents.ts';

/* Filters of ids (Bloom filters): what they deny is not there, and what they do not may be. */

/**
 * Bits per id, at least, up to where a filter that grows goes on in another one, and at capacity; and how many of them an id
 * sets. One in a hundred thousand answers is a false positive, at capacity one in two thousand: a statement looks for each,
 * which takes as long as storing some hundred documents, so it must not be one in each request of a thousand.
 */
const BITS = 32;
const BITS_FULL = 16;
const BITS_SET = 8;
const BITS_MIN = 2 ** 16;
/** A larger table gets no filter, since its hashes are read all at once. */
export const ROWS_MAX = 8_000_000;

/** Two halves of a hash of an id. */
export type Hash = readonly [low: number, high: number];

/** What says of ids whether they may be in it. */
export interface Filter {
  readonly bytes: number;
  readonly isFull: boolean;
  addId(id: string): void;
  mayHave(id: string): boolean;
  addLines(lines: NumberedLines): void;
  /** The ids of lines that may be in it. */
  among(lines: NumberedLines): string[];
}

/** The ids of lines, in order. */
export function idsOfLines({ prefix, first, ends }: NumberedLines): string[] {
  return ends.map((_, place) => derivedId(prefix, first + place));
}

export class FixedFilter implements Filter {
  readonly bits: Uint32Array;
  readonly #mask: number;
  #ids = 0;

  constructor(rows: number) {
    let size = BITS_MIN;
    while (size < rows * BITS) size *= 2;
    this.bits = new Uint32Array(size / 32);
    this.#mask = size - 1;
  }

  get bytes(): number {
    return this.bits.byteLength;
  }

  get isFull(): boolean {
    return this.#ids * BITS_FULL > this.#mask;
  }

  /** Whether further ids are better put elsewhere. */
  get isDense(): boolean {
    return this.#ids * BITS > this.#mask;
  }

  addId(id: string): void {
    const hash = hashOfId(id);
    if (hash !== undefined) this.add(hash);
  }

  mayHave(id: string): boolean {
    const hash = hashOfId(id);
    return hash === undefined || this.has(hash);
  }

  addLines(lines: NumberedLines): void {
    for (const id of idsOfLines(lines)) this.addId(id);
  }

  among(lines: NumberedLines): string[] {
    return idsOfLines(lines).filter((id) => this.mayHave(id));
  }

  add([low, high]: Hash): void {
    this.#ids += 1;
    for (let index = 0; index < BITS_SET; index++) {
      const bit = (low + Math.imul(index, high | 1)) & this.#mask;
      this.bits[bit >>> 5] = (this.bits[bit >>> 5] ?? 0) | (1 << (bit & 31));
    }
  }

  has([low, high]: Hash): boolean {
    for (let index = 0; index < BITS_SET; index++) {
      const bit = (low + Math.imul(index, high | 1)) & this.#mask;
      if (((this.bits[bit >>> 5] ?? 0) & (1 << (bit & 31))) === 0) return false;
    }
    return true;
  }
}

/** The filter of a table that was empty: filters of which each is this many times as large as the one before. */
const GROWTH = 8;
/** Fewer lines at once are noted one by one. */
const LINES_MIN = 50;
const PREFIXES_MAX = 100_000;
/** Of one prefix, about. */
const PREFIX_BYTES = 250;

export class GrowingFilter implements Filter {
  readonly #filters = [new FixedFilter(0)];
  /** The number of the last line, by prefix: that many of its ids may be there. */
  readonly #lasts = new Map<string, number>();
  #rows = 0;

  get bytes(): number {
    return this.#filters.reduce((sum, { bytes }) => sum + bytes, this.#lasts.size * PREFIX_BYTES);
  }

  get isFull(): boolean {
    return this.#rows > ROWS_MAX || this.#lasts.size > PREFIXES_MAX;
  }

  addId(id: string): void {
    const hash = quickHash(id);
    if (hash !== undefined) this.#add(hash);
  }

  mayHave(id: string): boolean {
    const hash = quickHash(id);
    return hash === undefined || this.#has(hash) || this.#isLine(id);
  }

  addLines(lines: NumberedLines): void {
    const { prefix, first, ends } = lines;
    const last = first + ends.length - 1;
    if (ends.length < LINES_MIN) for (const id of idsOfLines(lines)) this.addId(id);
    else this.#lasts.set(prefix, Math.max(last, this.#lasts.get(prefix) ?? last));
  }

  among(lines: NumberedLines): string[] {
    const { prefix, first, ends } = lines;
    const last = this.#lasts.get(prefix) ?? -1;
    // As `derivedId` begins, of which the number is the end.
    const before = mixedWith(NOTHING, `${prefix}/`);
    if (before === undefined) return idsOfLines(lines);
    if (this.#rows === 0 && last < first) return [];
    const found: string[] = [];
    for (let number = first; number < first + ends.length; number++) {
      const mixed = number <= last ? undefined : mixedWith(before, String(number));
      if (mixed === undefined || this.#has(finished(mixed))) found.push(derivedId(prefix, number));
    }
    return found;
  }

  #isLine(id: string): boolean {
    if (this.#lasts.size === 0) return false;
    const slash = id.lastIndexOf('/');
    const last = this.#lasts.get(id.slice(0, Math.max(0, slash)));
    return last !== undefined && Number(id.slice(slash + 1)) <= last;
  }

  #add(hash: Hash): void {
    this.#rows += 1;
    let last = this.#filters.at(-1);
    if (last === undefined || last.isDense) {
      last = new FixedFilter(((last?.bytes ?? 1) * 8 * GROWTH) / BITS);
      this.#filters.push(last);
    }
    last.add(hash);
  }

  #has(hash: Hash): boolean {
    return this.#filters.some((filter) => filter.has(hash));
  }
}

const NOTHING: Hash = [0xdeadbeef, 0x41c6ce57];

/** A hash of an id for a filter that the engine has no part in: a tenth of the time that `hashOfId` takes. */
function quickHash(id: string): Hash | undefined {
  const mixed = mixedWith(NOTHING, id);
  return mixed && finished(mixed);
}

function mixedWith([from, and]: Hash, text: string): Hash | undefined {
  let [low, high] = [from, and];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // Half of a pair, perhaps without the other: the engine changes ill-formed text.
    if ((code & 0xf800) === 0xd800) return undefined;
    low = Math.imul(low ^ code, 0x9e3779b1);
    high = Math.imul(high ^ code, 0x5f356495);
  }
  return [low, high];
}

function finished([mixed, and]: Hash): Hash {
  const low = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b) ^ Math.imul(and ^ (and >>> 13), 0xc2b2ae35);
  const high = Math.imul(and ^ (and >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35);
  return [low >>> 0, high >>> 0];
}

/** The hash of an id as the engine computes it; undefined for ill-formed text, which the engine changes. */
export function hashOfId(id: string): Hash | undefined {
  if (/\p{Surrogate}/u.test(id)) return undefined;
  const digest = createHash('md5').update(id).digest();
  return [digest.readUInt32LE(8), (digest.readUInt32LE(12) | 0x80000000) >>> 0];
}
