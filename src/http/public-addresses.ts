import { BlockList, isIP } from 'node:net';

/** Addresses of the machine itself, of private networks, and all others that are not of a server on the internet. */
const SPECIAL = new BlockList();
for (const range of [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]) {
  const [address = '', prefix] = range.split('/');
  SPECIAL.addSubnet(address, Number(prefix), 'ipv4');
}

/** IPv6 has one range of addresses of the internet, and these in it are not: some stand for any IPv4 address. */
const GLOBAL = new BlockList();
GLOBAL.addSubnet('2000::', 3, 'ipv6');
const SPECIAL_V6 = new BlockList();
for (const range of ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']) {
  const [address = '', prefix] = range.split('/');
  SPECIAL_V6.addSubnet(address, Number(prefix), 'ipv6');
}

/** Whether an address is of a server on the internet: neither private nor loopback, link-local or otherwise special. */
export function isPublic(address: string): boolean {
  const version = isIP(address);
  if (version === 4) return !SPECIAL.check(address, 'ipv4');
  return version === 6 && !address.includes('%') && GLOBAL.check(address, 'ipv6') && !SPECIAL_V6.check(address, 'ipv6');
}
