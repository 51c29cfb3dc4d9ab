import { STOPPABLE } from '../guards.ts';
import { type CompatFunction, once } from './entry.ts';

/*
 * Hashes as hexadecimal text, as the engine's md5, sha1 and sha256 give them. It has no SHA-512: what follows is that
 * algorithm (FIPS 180-4) over words of 64 bits, in UBIGINT; sums are made in 128 bits.
 */

const fraction = (root: (n: number) => number, prime: bigint, degree: bigint): bigint => {
  // The first 64 bits of the fraction of a root: found in whole numbers, from a first guess in floating point.
  const scaled = prime << (64n * degree);
  let low = 0n;
  let high = BigInt(Math.ceil(root(Number(prime))) + 1) << 64n;
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** degree <= scaled) low = middle;
    else high = middle;
  }
  return low & ((1n << 64n) - 1n);
};
const PRIMES = Array.from({ length: 410 }, (_, n) => n).filter(
  (n) => n > 1 && !Array.from({ length: 19 }, (_, d) => d + 2).some((d) => d < n && n % d === 0),
);
const wordsOf = (count: number, root: (n: number) => number, degree: bigint) =>
  PRIMES.slice(0, count).map((prime) => fraction(root, BigInt(prime), degree));
const listOf = (words: readonly bigint[], word: (text: string) => string) =>
  `[${words.map((one) => word(`${one}::UBIGINT`)).join(', ')}]`;
const INITIAL = listOf(wordsOf(8, Math.sqrt, 2n), (word) => word);
/** Each in a list of its own, since list_reduce takes items and a result of one type. */
const ROUNDS = listOf(wordsOf(80, Math.cbrt, 3n), (word) => `[${word}]`);

const sum = (...words: string[]) =>
  `((${words.map((word) => `${word}::UHUGEINT`).join(' + ')}) % 18446744073709551616::UHUGEINT)::UBIGINT`;
const turned = (x: string, bits: number) =>
  `((${x} >> ${bits}) | ((${x} % ${1n << BigInt(bits)}::UBIGINT) * ${1n << BigInt(64 - bits)}::UBIGINT))`;
const mixed = (x: string, a: number, b: number, c: string) => `xor(xor(${turned(x, a)}, ${turned(x, b)}), ${c})`;
const small = (x: string, a: number, b: number, shift: number) => mixed(x, a, b, `(${x} >> ${shift})`);
const large = (x: string, a: number, b: number, c: number) => mixed(x, a, b, turned(x, c));

/** The 80 words of a block of 16. */
const SCHEDULE = `list_reduce(system.main.list_resize([[0::UBIGINT]], 64, [0::UBIGINT]), lambda w, _: list_append(w,
  ${sum(small('w[len(w) - 1]', 19, 61, 6), 'w[len(w) - 6]', small('w[len(w) - 14]', 1, 8, 7), 'w[len(w) - 15]')}), b)`;
const CHOICE = 'xor(s[5] & s[6], (18446744073709551615::UBIGINT - s[5]) & s[7])';
const MAJORITY = 'xor(xor(s[1] & s[2], s[1] & s[3]), s[2] & s[3])';
const FIRST = sum('s[8]', large('s[5]', 14, 18, 41), CHOICE, 'k[1]', 'k[2]');
/** The state after a block: 80 rounds of words and constants, added to the state before. */
const ROUND = `[${sum(FIRST, large('s[1]', 28, 34, 39), MAJORITY)},
  s[1], s[2], s[3], ${sum('s[4]', FIRST)}, s[5], s[6], s[7]]`;
const BLOCK = `list_transform(list_zip(h, list_reduce(
  list_transform(list_zip(${ROUNDS}, ${SCHEDULE}), lambda z: [z[1][1], z[2]]), lambda s, k: ${ROUND}, h)),
  lambda z: ${sum('z[1]', 'z[2]')})`;

/** The bytes with their end, as words, 16 to a block. */
const ENDED = `p.x || '80' || system.main.repeat('00', (239 - length(p.x) // 2 % 128) % 128) || system.main.lpad(to_hex(length(p.x) * 4), 32, '0')`;
const SHA512 = `list_transform([${ENDED}], lambda e: array_to_string(list_transform(list_reduce(
  list_transform(system.main.range(length(e) // 256), lambda i: list_transform(system.main.range(16),
    lambda j: ('0x' || substr(e, i * 256 + j * 16 + 1, 16))::UBIGINT)),
  lambda h, b: ${STOPPABLE}(${BLOCK}), ${INITIAL}), lambda w: lower(system.main.lpad(to_hex(w), 16, '0'))), ''))[1]`;
const SHA512_BYTES_MAX = 10_000;

/** Of bytes as hexadecimal text. */
const SHA512_OF_HEX = 'sha512_of_hex_';
export const HASH_MACROS: readonly (readonly [string, readonly string[]])[] = [
  [
    SHA512_OF_HEX,
    [
      once(
        'x',
        `CASE WHEN length(p.x) > ${2 * SHA512_BYTES_MAX}
          THEN error('SHA512: the limit is ${SHA512_BYTES_MAX} bytes. SHA256 has none.') ELSE ${SHA512} END`,
      ),
    ],
  ],
];

/** By name: SQL for the hash of bytes as hexadecimal text, and the bytes in a block. */
const ALGORITHMS: Readonly<Record<string, { of: (hex: string) => string; block: number }>> = {
  md5: { of: (hex) => `md5(unhex(${hex}))`, block: 64 },
  sha1: { of: (hex) => `sha1(unhex(${hex}))`, block: 64 },
  sha256: { of: (hex) => `sha256(unhex(${hex}))`, block: 64 },
  sha512: { of: (hex) => `${SHA512_OF_HEX}(${hex})`, block: 128 },
};

/** What `HASH(x, 'md5')` and `TO_HEX(MD5(x))` may name. */
export const HASH_NAMES: ReadonlySet<string> = new Set(
  Object.keys(ALGORITHMS).flatMap((name) => [name, `hmac_${name}`]),
);

/** SQL for a keyed hash (RFC 2104) of `p.x` with the key `p.k`. */
function keyed(name: string): string {
  const { of, block } = ALGORITHMS[name] ?? { of: String, block: 0 };
  const key = `CASE WHEN length(hex(p.k)) > ${2 * block} THEN upper(${of('hex(p.k)')}) ELSE hex(p.k) END`;
  const masked = (mask: string) =>
    `hex(xor(unhex(system.main.rpad(${key}, ${2 * block}, '0'))::BIT, unhex('${mask.repeat(block)}')::BIT)::BLOB)`;
  return of(`${masked('5C')} || ${of(`${masked('36')} || hex(p.x)`)}`);
}

const ANY_KEYED = `CASE lower(p.a) ${Object.keys(ALGORITHMS)
  .map((name) => `WHEN '${name}' THEN ${keyed(name)}`)
  .join(' ')} ELSE error('HMAC: the algorithms are ${Object.keys(ALGORITHMS).join(', ')}.') END`;

export const HASHES: readonly Omit<CompatFunction, 'group'>[] = [
  {
    name: 'SHA256',
    example: "left(SHA256('x'), 8)",
    gives: '2d711642',
    note: 'Hexadecimal text; TO_HEX around it only makes capitals.',
  },
  ...['MD5', 'SHA1'].map((name) => ({
    name,
    listedWith: 'SHA256',
    example: `length(${name}('x'))`,
    gives: name === 'MD5' ? 32 : 40,
  })),
  {
    name: 'SHA512',
    listedWith: 'SHA256',
    macro: [`(x) AS ${SHA512_OF_HEX}(hex(x))`],
    example: "left(SHA512('x'), 8)",
    gives: 'a4abd444',
    note: 'Up to 10,000 bytes, in about two milliseconds for each 128.',
  },
  { name: 'HASH', listedWith: 'SHA256', example: "HASH('x', 'sha1') = SHA1('x')", gives: true },
  ...Object.keys(ALGORITHMS).map((name) => ({
    name: `HMAC_${name.toUpperCase()}`,
    ...(name === 'md5' ? { note: 'Text or bytes, and the key.' } : { listedWith: 'HMAC_MD5' }),
    macro: [once('x k', keyed(name))],
    example: `length(HMAC_${name.toUpperCase()}('a', 'k'))`,
    gives: { md5: 32, sha1: 40, sha256: 64, sha512: 128 }[name],
  })),
  {
    name: 'HMAC',
    listedWith: 'HMAC_MD5',
    macro: [once('x k a', ANY_KEYED)],
    example: "HMAC('a', 'k', 'sha1') = HMAC_SHA1('a', 'k')",
    gives: true,
  },
];
