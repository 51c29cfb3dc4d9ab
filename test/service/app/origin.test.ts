import { describe, expect, it } from 'vitest';
import { admits } from '../../../src/service/access/allowlist.ts';
import { type AddressRange, parseRange } from '../../../src/service/app/addresses.ts';
import { type Hops, originOf } from '../../../src/service/app/origin.ts';

const PROXIES = ['127.0.0.1', '10.0.0.0/8', '2001:db8:1::/48'].flatMap((text): AddressRange[] => {
  const range = parseRange(text);
  return range === undefined ? [] : [range];
});

function hops(peer: string | undefined, forwardedFor?: string): Hops {
  return { isLocal: false, peer, forwardedFor };
}

const LOCAL: Hops = { isLocal: true, peer: undefined, forwardedFor: undefined };

describe('originOf()', () => {
  it.each([
    ['a caller without a proxy', '203.0.113.7', undefined, '203.0.113.7'],
    ['a caller that names another address', '203.0.113.7', '127.0.0.1', '203.0.113.7'],
    ['a proxy that names the caller', '127.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['a proxy over a mapped address', '::ffff:127.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['what the caller wrote left of it', '127.0.0.1', '127.0.0.1, 203.0.113.7', '203.0.113.7'],
    ['a chain of proxies', '127.0.0.1', '203.0.113.7, 10.0.0.9', '203.0.113.7'],
    ['a stranger between proxies', '127.0.0.1', '203.0.113.7, 198.51.100.1, 10.0.0.9', '198.51.100.1'],
    ['only proxies', '127.0.0.1', '10.0.0.1,10.0.0.9', '10.0.0.1'],
    ['a port', '127.0.0.1', '203.0.113.7:4711', '203.0.113.7:4711'],
    ['an IPv6 caller', '127.0.0.1', '2001:db8::7', '2001:db8::7'],
    ['a proxy that says nothing', '127.0.0.1', undefined, '127.0.0.1'],
  ])('%s', (_, peer, forwardedFor, shown) => {
    expect(originOf(hops(peer, forwardedFor), PROXIES).shown).toBe(shown);
  });

  it('reads addresses with a port', () => {
    const bare = originOf(hops('203.0.113.7'), []).address;
    expect(originOf(hops('127.0.0.1', '203.0.113.7:4711'), PROXIES).address).toEqual(bare);
    expect(originOf(hops('127.0.0.1', '[::ffff:203.0.113.7]:4711'), PROXIES).address).toEqual(bare);
    expect(originOf(hops('127.0.0.1', '[::ffff:203.0.113.7]'), PROXIES).address).toEqual(bare);
  });

  it.each(['unknown', '', '_hidden', '203.0.113', 'x'.repeat(5_000), '203.0.113.7,'])(
    'has no address where the proxy says %j',
    (text) => {
      const origin = originOf(hops('127.0.0.1', text), PROXIES);
      expect(origin.address).toBeUndefined();
      expect(origin.shown.length).toBeLessThan(100);
      expect(admits([{ ipAddress: '0.0.0.0/0' }, { ipAddress: '::/0' }], origin)).toBe(false);
    },
  );

  it('tells a proxy that no setting names', () => {
    expect(originOf(hops('127.0.0.1', '1.2.3.4'), []).isForwarded).toBe(true);
    expect(originOf(hops('127.0.0.1', '1.2.3.4'), PROXIES).isForwarded).toBe(false);
    expect(originOf(hops('127.0.0.1'), []).isForwarded).toBe(false);
    expect(originOf({ ...LOCAL, forwardedFor: '1.2.3.4' }, PROXIES).isForwarded).toBe(true);
  });
});

describe('admits()', () => {
  const list = [{ ipAddress: '203.0.113.0/24' }, { ipAddress: '2001:db8::7' }];

  it('lets everybody in where the list is empty', () => {
    for (const from of [hops('198.51.100.1'), hops(undefined), hops('127.0.0.1', '1.2.3.4'), LOCAL]) {
      expect(admits([], originOf(from, []))).toBe(true);
    }
  });

  it.each([
    ['an address in a range', hops('203.0.113.9'), true],
    ['the same, mapped', hops('::ffff:203.0.113.9'), true],
    ['an IPv6 address', hops('2001:db8::7'), true],
    ['another address', hops('198.51.100.1'), false],
    ['another IPv6 address', hops('2001:db8::8'), false],
    ['an unknown address', hops(undefined), false],
    ['loopback', hops('127.0.0.1'), true],
    ['loopback, mapped', hops('::ffff:127.0.0.1'), true],
    ['IPv6 loopback', hops('::1'), true],
    ['the local socket', LOCAL, true],
    ['a proxy on this machine that nobody named', hops('127.0.0.1', '203.0.113.9'), false],
    ['the same over the local socket', { ...LOCAL, forwardedFor: '203.0.113.9' }, false],
    ['a stranger who claims an address on the list', hops('198.51.100.1', '203.0.113.9'), false],
    ['an address on the list that claims another', hops('203.0.113.9', '198.51.100.1'), true],
  ])('%s', (_, from, expected) => {
    expect(admits(list, originOf(from, []))).toBe(expected);
  });

  it('admits an unnamed proxy if its own address is on the list', () => {
    expect(admits([{ ipAddress: '127.0.0.1' }], originOf(hops('127.0.0.1', '198.51.100.1'), []))).toBe(true);
  });

  it('believes a named proxy', () => {
    expect(admits(list, originOf(hops('127.0.0.1', '203.0.113.9'), PROXIES))).toBe(true);
    expect(admits(list, originOf(hops('127.0.0.1', '198.51.100.1'), PROXIES))).toBe(false);
    expect(admits(list, originOf(hops('127.0.0.1', '203.0.113.9, 198.51.100.1'), PROXIES))).toBe(false);
  });
});
