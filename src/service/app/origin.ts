import { type Address, type AddressRange, contains, parseAddress } from './addresses.ts';

/** Where a request came from. */
export interface Origin {
  /** It came over the local socket. */
  isLocal: boolean;
  /** The caller's address; undefined if it is unreadable, or for the local socket. */
  address: Address | undefined;
  /** The address as shown to people. */
  shown: string;
  /** An untrusted proxy claims to forward the request; `address` is then that proxy's. */
  isForwarded: boolean;
}

/** What the HTTP side knows about the hops of a request. */
export interface Hops {
  isLocal: boolean;
  /** The address at the other end of the connection. */
  peer: string | undefined;
  /** The `X-Forwarded-For` header; several are joined with commas. */
  forwardedFor: string | undefined;
}

const SHOWN_MAX = 80;
// Some proxies add the port of the connection: `1.2.3.4:5678`, `[2001:db8::1]:5678`.
const WITH_PORT = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/;

/**
 * The caller's address: the other end of the connection or, if that is a trusted proxy, the last hop before the trusted
 * proxies. Hops further left may be forged and are not believed.
 */
export function originOf({ isLocal, peer, forwardedFor }: Hops, trusted: readonly AddressRange[]): Origin {
  if (isLocal) {
    return { isLocal, address: undefined, shown: 'the local socket', isForwarded: forwardedFor !== undefined };
  }
  const hops = forwardedFor === undefined ? [] : forwardedFor.split(',').map((hop) => hop.trim());
  let shown = peer ?? '';
  let address = parseAddress(shown);
  const isForwarded = hops.length > 0 && !isTrusted(trusted, address);
  while (hops.length > 0 && isTrusted(trusted, address)) {
    shown = hops.pop() ?? '';
    const [, bracketed, bare] = WITH_PORT.exec(shown) ?? [];
    address = parseAddress(bracketed ?? bare ?? shown);
  }
  return { isLocal, address, shown: shown === '' ? 'unknown' : shown.slice(0, SHOWN_MAX), isForwarded };
}

function isTrusted(trusted: readonly AddressRange[], address: Address | undefined): boolean {
  return address !== undefined && trusted.some((range) => contains(range, address));
}
