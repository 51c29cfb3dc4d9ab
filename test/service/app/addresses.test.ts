/** @module-tag more */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AddressRange,
  contains,
  isLoopback,
  parseAddress,
  parseRange,
} from '../../../src/service/app/addresses.ts';
import { propertyRuns } from '../../property.ts';

function rangeOf(text: string): AddressRange {
  const range = parseRange(text);
  if (range === undefined) throw new Error(`${text} is no range`);
  return range;
}

function holds(range: string, address: string): boolean {
  const parsed = parseAddress(address);
  if (parsed === undefined) throw new Error(`${address} is no address`);
  return contains(rangeOf(range), parsed);
}

describe('parseRange()', () => {
  it.each(['0.0.0.0/0', '203.0.113.7', '203.0.113.7/32', '10.1.2.3/8', '::', '::/0', '2001:DB8::/32', '::1.2.3.4'])(
    'reads %s',
    (text) => {
      expect(parseRange(text)).toBeDefined();
    },
  );

  it.each([
    '',
    ' ',
    ' 1.2.3.4',
    '1.2.3.4 ',
    '1.2.3',
    '1.2.3.4.5',
    '1.2.3.256',
    '01.2.3.4',
    '0x1.2.3.4',
    '16909060',
    '1.2.3.4/',
    '1.2.3.4/33',
    '1.2.3.4/-1',
    '1.2.3.4/08',
    '1.2.3.4/8/8',
    '1.2.3.4/255.0.0.0',
    '1.2.3.4/ 8',
    '1.2.3.4-1.2.3.9',
    '1.2.3.*',
    '1.2.3.4:80',
    '[::1]',
    '::1/129',
    ':::1',
    '1::2::3',
    'fe80::1%eth0',
    'fe80::%eth0/64',
    'localhost',
    '*',
    '/8',
    '1.2.3.4\n',
  ])('refuses %j', (text) => {
    expect(parseRange(text)).toBeUndefined();
  });

  it('reads an IPv4 range that is written as IPv6', () => {
    expect(parseRange('::ffff:203.0.113.0/120')).toEqual(parseRange('203.0.113.0/24'));
    expect(parseRange('::FFFF:cb00:7107')).toEqual(parseRange('203.0.113.7'));
  });
});

describe('contains()', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7', true],
    ['203.0.113.7', '203.0.113.8', false],
    ['203.0.113.0/24', '203.0.113.255', true],
    ['203.0.113.0/24', '203.0.114.0', false],
    ['203.0.113.129/25', '203.0.113.128', true],
    ['203.0.113.129/25', '203.0.113.127', false],
    ['203.0.113.129/17', '127.0.0.1', false],
    ['10.1.2.3/8', '10.255.255.255', true],
    ['0.0.0.0/0', '8.8.8.8', true],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['::/0', '2001:db8::1', true],
    ['::/0', '8.8.8.8', false],
    ['2001:db8::/33', '2001:db8:7fff::1', true],
    ['2001:db8::/33', '2001:db8:8000::1', false],
    ['203.0.113.0/24', '::ffff:203.0.113.9', true],
    ['203.0.113.0/24', '::ffff:cb00:7109', true],
    ['::ffff:203.0.113.0/120', '203.0.113.9', true],
    ['::ffff:203.0.113.0/120', '203.0.114.9', false],
    ['fe80::/10', 'fe80::1%eth0', true],
    ['2001:DB8:0:0:0::1', '2001:db8::1', true],
    ['::1.2.3.4', '1.2.3.4', false],
  ])('%s and %s: %s', (range, address, expected) => {
    expect(holds(range, address)).toBe(expected);
  });

  it('compares exactly the bits of the prefix', () => {
    const quad = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255));
    const number = (bytes: readonly number[]) => bytes.reduce((sum, byte) => sum * 256 + byte, 0);
    fc.assert(
      fc.property(quad, quad, fc.nat(32), fc.nat(32), (one, two, prefix, flipped) => {
        // The other address is either unrelated, or differs in at most one bit.
        const near = one.map((byte, index) => byte ^ (Math.floor(flipped / 8) === index ? 128 >> (flipped % 8) : 0));
        for (const other of [two, near]) {
          const same =
            Math.floor(number(one) / 2 ** (32 - prefix)) === Math.floor(number([...other]) / 2 ** (32 - prefix));
          expect(holds(`${one.join('.')}/${prefix}`, other.join('.'))).toBe(same);
        }
      }),
      propertyRuns(100),
    );
  });
});

describe('parseAddress()', () => {
  it('reads every way to write an IPv6 address as the same bytes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 }),
        fc.nat(7),
        fc.nat(7),
        (groups, from, to) => {
          const zeroed = groups.map((group, index) => (index >= from && index <= to ? 0 : group));
          // Never an IPv4-mapped address, which has other bytes.
          zeroed[0] = from === 0 ? 0 : 0x2001;
          const bytes = zeroed.flatMap((group) => [group >> 8, group & 0xff]);
          const hex = zeroed.map((group) => group.toString(16));
          fc.pre(parseAddress(hex.join(':'))?.length === 16);
          expect(parseAddress(hex.join(':'))).toEqual(bytes);
          expect(parseAddress(hex.map((group) => group.padStart(4, '0').toUpperCase()).join(':'))).toEqual(bytes);
          if (from <= to) {
            const short = `${hex.slice(0, from).join(':')}::${hex.slice(to + 1).join(':')}`;
            expect(parseAddress(short)).toEqual(bytes);
          }
          const quad = bytes.slice(12).join('.');
          expect(parseAddress(`${hex.slice(0, 6).join(':')}:${quad}`)).toEqual(bytes);
        },
      ),
      propertyRuns(100),
    );
  });
});

describe('isLoopback()', () => {
  it.each([
    ['127.0.0.1', true],
    ['127.255.0.9', true],
    ['::1', true],
    ['::ffff:127.0.0.1', true],
    ['128.0.0.1', false],
    ['0.0.0.0', false],
    ['::', false],
    ['::2', false],
    ['1::1', false],
    ['::127.0.0.1', false],
  ])('%s: %s', (text, expected) => {
    const address = parseAddress(text);
    expect(address !== undefined && isLoopback(address)).toBe(expected);
  });
});
