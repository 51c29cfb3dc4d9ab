import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BINARY, buildIfStale, dataFolder } from './binary.ts';
import { serverEnvironment } from './session.ts';

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};

interface Run {
  child: ChildProcessWithoutNullStreams;
  stdout: () => string;
  stderr: () => string;
}

describe('the server process', () => {
  let folder: Awaited<ReturnType<typeof dataFolder>>;
  beforeAll(async () => {
    buildIfStale();
    folder = await dataFolder();
  }, 60_000);
  afterAll(() => folder.remove());

  function start(): Run {
    const child = spawn(process.execPath, [BINARY], { env: serverEnvironment(folder.path) });
    const seen = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk) => {
      seen.stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      seen.stderr += chunk;
    });
    return { child, stdout: () => seen.stdout, stderr: () => seen.stderr };
  }

  async function until(check: () => boolean): Promise<void> {
    const deadline = Date.now() + 10_000;
    while (!check()) {
      if (Date.now() > deadline) throw new Error('waited for 10 seconds');
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  it('exits soon after stdin closes, with nothing but messages on stdout', async () => {
    const { child, stdout, stderr } = start();
    child.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
    child.stdin.write('this is no message\n');
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' })}\n`);
    await until(() => stdout().includes('"id":2'));
    const closedAt = performance.now();
    child.stdin.end();
    const [code] = await once(child, 'exit');
    expect(code).toBe(0);
    expect(performance.now() - closedAt).toBeLessThan(1_000);
    for (const line of stdout().trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
    expect(stderr()).toContain('a line on stdin is no JSON-RPC message');
    expect(stderr()).not.toContain('this is no message');
  });

  it('exits when stdin closes in the middle of a call', async () => {
    const { child, stdout } = start();
    child.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
    await until(() => stdout().includes('"id":1'));
    const call = { name: 'list_workspaces', arguments: {} };
    child.stdin.end(`${JSON.stringify({ jsonrpc: '2.0', id: 3, method: 'tools/call', params: call })}\n`);
    const [code] = await once(child, 'exit');
    expect(code).toBe(0);
  });
});
