import { isIP } from 'node:net';

/** The bytes of an IP address: 4 or 16. An IPv4-mapped IPv6 address (`::ffff:1.2.3.4`) becomes its 4 IPv4 bytes. */
export type Address = readonly number[];

/** The addresses whose first `prefix` bits are those of `address`. */
export interface AddressRange {
  address: Address;
  prefix: number;
}

const PREFIX = /^(?:0|[1-9]\d{0,2})$/;
/** Bits before the IPv4 part of an IPv4-mapped IPv6 address. */
const MAPPED_BITS = 96;

/** Parses an IP address, ignoring a zone (`fe80::1%eth0`). Undefined if the text is not an address. */
export function parseAddress(text: string): Address | undefined {
  const bytes = parseBytes(text.split('%', 1)[0] ?? '');
  return bytes === undefined ? undefined : (unmapped(bytes) ?? bytes);
}

/** Parses an address, or a range in CIDR notation, ignoring bits after the prefix. Undefined if the text is neither. */
export function parseRange(text: string): AddressRange | undefined {
  const slash = text.indexOf('/');
  const bytes = parseBytes(slash === -1 ? text : text.slice(0, slash));
  if (bytes === undefined) return undefined;
  const bits = bytes.length * 8;
  const length = slash === -1 ? String(bits) : text.slice(slash + 1);
  if (!PREFIX.test(length) || Number(length) > bits) return undefined;
  const inner = Number(length) >= MAPPED_BITS ? unmapped(bytes) : undefined;
  if (inner !== undefined) return { address: inner, prefix: Number(length) - MAPPED_BITS };
  return { address: bytes, prefix: Number(length) };
}

/** Whether a range contains an address. An IPv6 range, even `::/0`, contains no IPv4 address. */
export function contains(range: AddressRange, address: Address): boolean {
  if (range.address.length !== address.length) return false;
  const whole = Math.floor(range.prefix / 8);
  for (let index = 0; index < whole; index++) if (range.address[index] !== address[index]) return false;
  const rest = range.prefix % 8;
  return rest === 0 || (range.address[whole] ?? 0) >> (8 - rest) === (address[whole] ?? 0) >> (8 - rest);
}

export function firstOf({ address, prefix }: AddressRange): Address {
  return address.map((byte, index) => byte & (0xff << Math.max(0, 8 - Math.max(0, prefix - index * 8))) & 0xff);
}

/** Whether an address is a loopback address: `127.0.0.0/8` or `::1`. */
export function isLoopback(address: Address): boolean {
  return address.length === 4 ? address[0] === 127 : address.every((byte, index) => byte === (index === 15 ? 1 : 0));
}

function parseBytes(text: string): Address | undefined {
  if (text.includes('%')) return undefined;
  const version = isIP(text);
  if (version === 4) return text.split('.').map(Number);
  return version === 6 ? parseIpv6(text) : undefined;
}

/** The bytes of valid IPv6 text. */
function parseIpv6(text: string): Address {
  const [head = '', tail] = text.split('::');
  const first = groupBytes(head);
  const last = groupBytes(tail ?? '');
  return [...first, ...new Array<number>(16 - first.length - last.length).fill(0), ...last];
}

function groupBytes(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (group.includes('.')) return group.split('.').map(Number);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

/** The IPv4 address in `::ffff:0:0/96`. */
function unmapped(bytes: Address): Address | undefined {
  const isMapped = bytes.length === 16 && bytes.slice(0, 12).every((byte, index) => byte === (index < 10 ? 0 : 0xff));
  return isMapped ? bytes.slice(12) : undefined;
}
