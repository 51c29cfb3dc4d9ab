import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findFiles } from '../../../src/cli/files/find-files.ts';
import { openUrl } from '../../../src/cli/files/url-file.ts';
import { fileMeans } from '../../../src/cli/means.ts';
import { DOWNLOAD_LIMITS, type Network } from '../../../src/http/download.ts';
import { isPublic } from '../../../src/http/public-addresses.ts';
import type { FileEntry, FileRequest } from '../../../src/mcp/tools/file.ts';
import { piecesOf } from './entries.ts';
import { readEntries } from './opened.ts';

const TLS = join(import.meta.dirname, '../tls');
const pem = (name: string) => readFileSync(join(TLS, `${name}.pem`));
const JSON_LINES = '{"a":1}\n{"a":2}\n';
/** What the server was asked for. */
const asked: string[] = [];
let server: Server;
let port: number;
let parquet: Buffer;

/** Names of this test are at loopback addresses, of which only the server's may be connected to. */
const network: Network = {
  addressesOf: async (host) => (host.startsWith('inner') ? ['127.0.0.1', '127.0.0.2'] : ['127.0.0.1']),
  mayConnect: (address) => address === '127.0.0.1' || isPublic(address),
  tls: { ca: pem('localhost.cert'), checkServerIdentity: () => undefined },
};
const limits = { ...DOWNLOAD_LIMITS, bytesMax: 1_000_000, connectMs: 1_000, idleMs: 700 };

beforeAll(async () => {
  const path = join(tmpdir(), `colloquy-url-test-${process.pid}.parquet`);
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`COPY (SELECT range AS n FROM range(3)) TO '${path}' (FORMAT parquet)`);
  connection.closeSync();
  instance.closeSync();
  parquet = readFileSync(path);
  rmSync(path);
  server = createServer({ cert: pem('localhost.cert'), key: pem('localhost.key') }, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'https://x');
    asked.push(pathname);
    const to = searchParams.get('to');
    if (to !== null) response.writeHead(Number(searchParams.get('status') ?? 302), { location: to }).end();
    else if (pathname === '/a.jsonl') response.end(JSON_LINES);
    else if (pathname === '/a.jsonl.gz') response.end(gzipSync(JSON_LINES));
    else if (pathname === '/encoded.jsonl') {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(JSON_LINES));
    } else if (pathname === '/brotli.jsonl') response.writeHead(200, { 'content-encoding': 'br' }).end('x');
    else if (pathname === '/typed')
      response.writeHead(200, { 'content-type': 'text/csv; charset=utf-8' }).end('a\n1\n');
    else if (pathname === '/p.parquet') response.end(parquet);
    else if (pathname === '/claims.jsonl') response.writeHead(200, { 'content-length': '1000001' }).write('{"a":1}\n');
    else if (pathname === '/endless.jsonl') {
      const send = () => {
        while (!response.destroyed && response.write('{"a":1}\n'.repeat(10_000)));
      };
      response.on('drain', send);
      send();
    } else if (pathname === '/stalls.jsonl') response.write('{"a":1}\n');
    else if (pathname === '/drips.jsonl') {
      const timer = setInterval(() => response.write('{"a":1}\n'), 100);
      response.on('close', () => clearInterval(timer));
    } else if (pathname === '/cut.jsonl') {
      response.writeHead(200, { 'content-length': '1000' }).write('{"a":1}\n');
      setTimeout(() => response.destroy(), 50);
    } else if (pathname !== '/silent.jsonl') response.writeHead(404).end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  port = (server.address() as AddressInfo).port;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

const url = (path: string, host = 'files.example.org') => `https://${host}:${port}/${path}`;
const redirect = (to: string, status = 302) => url(`r.jsonl?status=${status}&to=${encodeURIComponent(to)}`);

async function read(path: string, more: Partial<FileRequest> & { limits?: typeof limits } = {}) {
  const hosts = [`files.example.org:${port}`, `*.sub.example.org:${port}`, `inner.example.org:${port}`];
  const { limits: own = limits, ...request } = more;
  const file = await openUrl({ hosts, network, limits: own }, { path, ...request });
  const entries: FileEntry[] = [];
  try {
    const bytes = file.sentAs === 'jsonl' ? Buffer.alloc(0) : Buffer.concat(await piecesOf(file));
    if (file.sentAs === 'jsonl') await readEntries(file, entries);
    return { path: file.path, format: file.format, entries, bytes, text: bytes.toString(), leftDuring: leftovers() };
  } finally {
    await file.close();
  }
}

/** Temporary folders of this process or others that run at the same time are there only while a file is open. */
const leftovers = () =>
  readdirSync(tmpdir()).filter((name) => name.startsWith('colloquy-url-') && !name.includes('test'));

const LINES = [
  { at: 1, document: { a: 1 } },
  { at: 2, document: { a: 2 } },
];

describe('openUrl()', () => {
  it('reads what an allowed host has, also compressed, and tells the format by the name or the type', async () => {
    expect(await read(url('a.jsonl'))).toMatchObject({ path: url('a.jsonl'), format: 'jsonl', entries: LINES });
    for (const path of ['a.jsonl.gz', 'encoded.jsonl']) expect((await read(url(path))).entries).toEqual(LINES);
    expect((await read(url('a.jsonl', 'x.sub.example.org'))).entries).toEqual(LINES);
    expect(await read(url('typed'))).toMatchObject({ format: 'csv', text: 'a\n1\n' });
    expect((await read(url('p.parquet'))).bytes).toEqual(parquet);
  });

  it('leaves no temporary file behind, and none with a name', async () => {
    const before = leftovers();
    expect((await read(url('a.jsonl'))).leftDuring).toEqual(before);
    expect((await read(url('p.parquet'))).leftDuring).toEqual(before);
    await expect(read(url('stalls.jsonl'))).rejects.toThrow();
    await expect(read(url('nothing.jsonl'))).rejects.toThrow('answers with the status 404');
    expect(leftovers()).toEqual(before);
  });

  it('follows redirects to what is allowed, at most five', async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      expect((await read(redirect(url('a.jsonl'), status))).entries).toEqual(LINES);
    }
    let far = 'a.jsonl';
    for (let index = 0; index < 5; index++) far = `/r.jsonl?to=${encodeURIComponent(far)}`;
    expect((await read(url(far.slice(1)))).entries).toEqual(LINES);
    await expect(read(redirect(far))).rejects.toThrow('it redirects more than 5 times');
  });

  it.each([
    ['http', () => 'http://files.example.org/a.jsonl', 'could be read and changed on the way'],
    ['another host', () => url('a.jsonl', 'other.example.org'), 'only the hosts files.example.org'],
    ['another port', () => 'https://files.example.org/a.jsonl', 'only the hosts files.example.org'],
    ['a host that ends alike', () => url('a.jsonl', 'evilsub.example.org'), 'only the hosts'],
    ['a host above', () => url('a.jsonl', 'sub.example.org'), 'only the hosts'],
    ['a user', () => url('a.jsonl', 'files.example.org@other.example.org'), 'user or password'],
    ['an address', () => url('a.jsonl', '127.0.0.1'), 'an address in the place of a host name'],
    ['a number', () => url('a.jsonl', '2130706433'), 'an address in the place of a host name'],
    ['an IPv6 address', () => url('a.jsonl', '[::1]'), 'an address in the place of a host name'],
    ['a file URL', () => 'file:///etc/passwd', 'only files and https URLs'],
    ['a name at a special address', () => url('a.jsonl', 'inner.example.org'), 'private, of this machine'],
  ])('refuses %s, and so a redirect to it, without asking there', async (_, target, why) => {
    const before = asked.length;
    await expect(read(target())).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining(why),
    });
    expect(asked.length).toBe(before);
    await expect(read(redirect(target()))).rejects.toThrow(why);
    expect(asked.slice(before)).toEqual(['/r.jsonl']);
  });

  it('tells nothing of a redirect but its host', async () => {
    const target = 'https://other.example.org/secret?token=secret';
    const message = await read(redirect(target)).catch((error: Error) => error.message);
    expect(message).toContain('it redirects to "other.example.org"');
    expect(message).not.toContain('secret');
  });

  it('refuses a name at a loopback address as it is used, whoever trusts the certificate', async () => {
    const open = openUrl({ hosts: [`localhost:${port}`] }, { path: url('a.jsonl', 'localhost') });
    await expect(open).rejects.toThrow('"localhost" is at an address that is private');
  });

  it('refuses a certificate that is not trusted', async () => {
    const open = openUrl(
      { hosts: [`localhost:${port}`], network: { ...network, tls: {} } },
      { path: url('a.jsonl', 'localhost') },
    );
    await expect(open).rejects.toThrow('DEPTH_ZERO_SELF_SIGNED_CERT');
  });

  it('reads a bounded number of bytes, within a bounded time', async () => {
    await expect(read(url('claims.jsonl'))).rejects.toThrow('more than 1,000,000 bytes');
    await expect(read(url('endless.jsonl'))).rejects.toThrow('more than 1,000,000 bytes');
    await expect(read(url('stalls.jsonl'))).rejects.toThrow('has sent nothing for 0.7 s');
    await expect(read(url('silent.jsonl'))).rejects.toThrow('has sent nothing for 0.7 s');
    await expect(read(url('drips.jsonl'), { limits: { ...limits, slowMs: 500 } })).rejects.toThrow(
      'fewer than 1000 bytes',
    );
    await expect(read(url('cut.jsonl'))).rejects.toThrow('ended before all was sent');
    await expect(read(url('brotli.jsonl'))).rejects.toThrow('compressed with "br"');
  });

  it('ends with its signal', async () => {
    const reading = read(url('drips.jsonl'), { signal: AbortSignal.timeout(300) });
    await expect(reading).rejects.toThrow(/abort|timeout/i);
  });
});

describe('isPublic()', () => {
  it.each([
    ['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '127.255.255.255', '169.254.169.254', '172.31.0.1'],
    ['192.0.0.8', '192.0.2.1', '192.168.1.1', '198.19.0.1', '203.0.113.9', '224.0.0.1', '255.255.255.255'],
    ['::', '::1', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::7f00:1', 'fe80::1', 'fe80::1%eth0', 'fc00::1', 'fd12::1'],
    ['ff02::1', '64:ff9b::7f00:1', '2001::1', '2001:db8::1', '2002:7f00:1::', '3fff::1', 'nonsense', ''],
  ])('is false of %s and others', (...addresses) => {
    expect(addresses.filter(isPublic)).toEqual([]);
  });

  it('is true of addresses of the internet', () => {
    const addresses = ['8.8.8.8', '1.1.1.1', '172.32.0.1', '192.0.1.1', '2606:4700::1111', '2a00:1450:4001::1'];
    expect(addresses.filter(isPublic)).toEqual(addresses);
  });
});

describe('URLs beside files', () => {
  it('are found by their name, and only if the operator allows their host', async () => {
    const allowed = { folders: [], dataDir: '/none', hosts: ['data.example.org'] };
    const path = 'https://data.example.org/in/Orders%202024.csv.gz?key=1';
    const { files } = await findFiles(allowed, { paths: [path] });
    expect(files).toEqual([{ path, name: 'Orders 2024.csv.gz', bytes: 0, format: 'csv' }]);
    await expect(findFiles(allowed, { paths: ['a.csv'] })).rejects.toThrow('allows no folder to read files from');
    await expect(findFiles({ ...allowed, hosts: [] }, { paths: [path] })).rejects.toThrow(
      'the operator allows no hosts',
    );
    expect(Object.keys(fileMeans({ dataDir: '/none', allowHosts: ['data.example.org'] }))).toHaveLength(2);
    const { openFile } = fileMeans({ dataDir: '/none', allowDirs: ['/none'] });
    await expect(openFile?.({ path })).rejects.toThrow('the operator allows no hosts');
  });
});
