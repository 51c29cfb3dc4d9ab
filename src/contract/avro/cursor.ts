import { isUtf8 } from 'node:buffer';

/** Why Avro cannot be read: a clause. */
export class AvroError extends Error {}

/** How deep a record may be nested: what is read next is checked against what a document may have. */
const LEVELS_MAX = 1_000;
/** Values of one record; nothing that a document may hold comes near. Many may have no bytes at all. */
const VALUES_MAX = 500_000;

/** Reads the primitives of Avro from the bytes of a block; throws an `AvroError` instead of reading past their end. */
export class AvroCursor {
  readonly #bytes: Buffer;
  #at = 0;
  #level = 0;
  /** The most levels that the current record has been read to. */
  deepest = 0;
  /** Values of the current record. */
  values = 0;
  /** Why the current record is no document, although it can be read: words that follow its name. */
  problem: string | undefined;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  beginRecord(): void {
    this.values = 0;
    this.#level = 0;
    this.deepest = 0;
    this.problem = undefined;
  }

  /** Is told of each value, so that a schema cannot make endless ones of no bytes. */
  count(): void {
    this.values += 1;
    if (this.values > VALUES_MAX) throw new AvroError(`it has more than ${VALUES_MAX} values`);
  }

  within<T>(read: () => T): T {
    this.#level += 1;
    if (this.#level > this.deepest) this.deepest = this.#level;
    if (this.#level > LEVELS_MAX) throw new AvroError('it is nested without end, or too deeply');
    const value = read();
    this.#level -= 1;
    return value;
  }

  take(length: number | bigint): Buffer {
    if (length < 0 || length > this.left) {
      throw new AvroError(`a value claims ${length} bytes, where ${this.left} are left`);
    }
    const from = this.#at;
    this.#at += Number(length);
    return this.#bytes.subarray(from, this.#at);
  }

  boolean(): boolean {
    const [byte = 0] = this.take(1);
    if (byte > 1) throw new AvroError(`a boolean has the byte ${byte}`);
    return byte === 1;
  }

  float(): number {
    return this.take(4).readFloatLE();
  }

  double(): number {
    return this.take(8).readDoubleLE();
  }

  text(): string {
    const bytes = this.take(this.long());
    const text = bytes.toString();
    // What cannot be read as UTF-8 would be replaced silently.
    if (text.includes('\ufffd') && !isUtf8(bytes)) this.problem ??= 'holds a text that is not UTF-8';
    return text;
  }

  /** An integer; beyond 2^53 a `bigint`. */
  long(): number | bigint {
    const start = this.#at;
    for (let value = 0, unit = 1, index = 0; index < 7; index++, unit *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }
    this.#at = start;
    let value = 0n;
    for (let index = 0n; index < 10n; index++) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << (7n * index);
      if (byte >= 0x80) continue;
      const exact = BigInt.asIntN(64, (BigInt.asUintN(64, value) >> 1n) ^ -(value & 1n));
      return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact;
    }
    throw new AvroError('an integer has more than 10 bytes');
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw new AvroError('its bytes end within a value');
    this.#at += 1;
    return byte;
  }
}
