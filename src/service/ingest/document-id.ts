import { randomFillSync } from 'node:crypto';
import type { RefusalKind } from '../../contract/errors.ts';
import type { JsonValue } from '../../contract/json/json.ts';

/** Longest `_id`, in bytes of UTF-8. */
export const ID_BYTES_MAX = 1_024;

let lastMs = 0;
let counter = 0;

const RANDOM_BYTES = 8;
/** Random bytes for the next ids, each used once; asking for those of each id takes ten times as long. */
const pool = Buffer.alloc(512 * RANDOM_BYTES);
let poolAt = pool.length;

/** Writes random bytes at the end of an id. */
function randomize(bytes: Buffer): void {
  if (poolAt === pool.length) {
    randomFillSync(pool);
    poolAt = 0;
  }
  pool.copy(bytes, bytes.length - RANDOM_BYTES, poolAt, poolAt + RANDOM_BYTES);
  poolAt += RANDOM_BYTES;
}

/** Makes an `_id`: a version 7 UUID (RFC 9562). The ids of one process sort in the order in which they were made. */
export function newDocumentId(): string {
  const now = Date.now();
  if (now > lastMs) {
    lastMs = now;
    counter = 0;
  } else if (++counter > 0xfff) {
    // More than 4,096 in a millisecond, or the clock was set back: use later times to stay in order.
    lastMs++;
    counter = 0;
  }
  const bytes = Buffer.allocUnsafe(16);
  randomize(bytes);
  bytes.writeUIntBE(lastMs, 0, 6);
  bytes.writeUInt16BE(0x7000 | counter, 6);
  bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/**
 * Reserves numbers for as many ids as are made elsewhere; returns the first. The time is their upper 48 bits and the
 * counter the lower 12, so that ids that have them in their place sort among those of `newDocumentId`.
 */
export function reserveDocumentIds(count: number): bigint {
  const now = Date.now();
  if (now > lastMs) {
    lastMs = now;
    counter = 0;
  } else counter += 1;
  const first = BigInt(lastMs) * 4_096n + BigInt(counter);
  const last = first + BigInt(Math.max(0, count - 1));
  lastMs = Number(last / 4_096n);
  counter = Number(last % 4_096n);
  return first;
}

/** Why a value cannot be an `_id`; undefined if it can, or if it is null, in which case an `_id` is generated. */
export function problemOfId(id: JsonValue): string | undefined {
  if (id === null) return undefined;
  if (typeof id === 'object')
    return `"_id" must be a string, and is ${Array.isArray(id) ? 'a list' : 'an object'}; leave it out to have one made`;
  if (typeof id !== 'string') return `"_id" must be a string, e.g. "42" instead of 42; leave it out to have one made`;
  if (id === '') return '"_id" must not be empty; leave it out to have one made';
  if (Buffer.byteLength(id) > ID_BYTES_MAX) return `"_id" must have at most ${ID_BYTES_MAX} bytes`;
  if (!id.isWellFormed()) return '"_id" holds half of a surrogate pair, which is not a character';
  return undefined;
}

/** Of an `_id` that is refused: what of it the `id_field` of a load takes. */
export function kindOfId(id: JsonValue): RefusalKind | undefined {
  if (typeof id === 'object') return 'id_is_nested';
  return typeof id === 'number' || typeof id === 'bigint' ? 'id_is_number' : undefined;
}
