import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { serveFixture } from './fixture.ts';

/** Pinned: which requirements are scored, and thus which may fail, depends on the version. */
const SUITE = '@modelcontextprotocol/conformance@0.2.0-alpha.12';
const REVISIONS = ['2025-11-25', '2026-07-28'] as const;

interface Target {
  url: string;
  close: () => Promise<void>;
}

const [root = '.', ...names] = process.argv.slice(2);
const target = { fixture: serveFixture, server: serveReal };

/** Runs the suite and resolves to whether all results were as expected. */
function runSuite(url: string, revision: string, out: string, baseline: string | undefined): Promise<boolean> {
  const args = ['-y', '-p', 'node@24', '-p', SUITE, 'conformance', 'server', '--url', url];
  args.push('--requirements', revision, '-o', out);
  if (baseline !== undefined) args.push('--expected-failures', baseline);
  const child = spawn('npx', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  return new Promise((resolve) => {
    child.once('close', (code) => {
      // What each scenario prints before the summary is also in the files of its folder.
      process.stdout.write(`${text.slice(Math.max(0, text.lastIndexOf('=== SUMMARY'))).trim()}\n`);
      resolve(code === 0);
    });
  });
}

/** The real server, as built, behind a proxy that adds the admin's key to every request: the suite cannot send one. */
async function serveReal(): Promise<Target> {
  const folder = await mkdtemp(join(tmpdir(), 'colloquy-conformance-'));
  const args = [join(root, 'dist/colloquy.js'), 'serve', '--data-dir', folder, '--port', '0', '--log-level', 'error'];
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, args, { env: { PATH, HOME }, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
  });
  let address: string | undefined;
  for await (const line of createInterface(child.stdout)) {
    address = /^ {2}(http:\S+)$/.exec(line)?.[1];
    if (address !== undefined) break;
  }
  if (address === undefined) throw new Error('the server did not start');
  const key = (await readFile(join(folder, 'admin.key'), 'utf8')).trim();
  const forwarder = await forward(new URL(address), key);
  async function close(): Promise<void> {
    await forwarder.close();
    child.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true, force: true });
  }
  return { url: forwarder.url, close };
}

async function forward({ hostname, port }: URL, key: string): Promise<Target> {
  const server = createServer((incoming, outgoing) => {
    const { method, url: path } = incoming;
    const headers = { ...incoming.headers, authorization: `Bearer ${key}` };
    const onward = request({ hostname, port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  async function close(): Promise<void> {
    server.closeAllConnections();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, close };
}

let failures = 0;
const out = await mkdtemp(join(tmpdir(), 'colloquy-conformance-out-'));
for (const [name, serve] of Object.entries(target)) {
  if (names.length > 0 && !names.includes(name)) continue;
  const { url, close } = await serve();
  for (const revision of REVISIONS) {
    process.stdout.write(`\n== ${name}, ${revision}\n`);
    const baseline = name === 'server' ? join(root, `test/conformance/expected-${revision}.yml`) : undefined;
    if (!(await runSuite(url, revision, join(out, `${name}-${revision}`), baseline))) failures++;
  }
  await close();
}
if (failures > 0) process.stdout.write(`\n${failures} of the runs deviated from what is expected: see ${out}\n`);
else await rm(out, { recursive: true, force: true });
process.exit(failures === 0 ? 0 : 1);
