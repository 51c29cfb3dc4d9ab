import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { leaveService } from '../../../src/cli/serve/leave-service.ts';
import { hasOpen } from '../../../src/local/file-holder.ts';
import { openFolder } from '../../../src/local/folder.ts';
import { filesOf, startTestService } from '../../service/harness.ts';

let base = '';
beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-leave-')));
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

describe('leaveService()', () => {
  it('sends no signal to a process that does not have the folder open, whatever is said on its socket', async () => {
    const dataDir = join(base, 'data');
    const folder = await openFolder(dataDir);
    const bystander = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    await once(bystander, 'spawn');
    const liar = createServer((request, response) => {
      const isProbe = request.url === '/ready';
      response.writeHead(isProbe ? 200 : 401, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ ready: true, version: '1.0.0', pid: bystander.pid }));
    }).listen(folder.socketPath);
    await once(liar, 'listening');
    try {
      await expect(leaveService(dataDir, { startMs: 0 })).rejects.toThrow(/does not have the folder's database open/);
      expect(bystander.signalCode).toBeNull();
    } finally {
      liar.close();
      bystander.stdin.end();
    }
    // It exits by itself, not by a signal that was still on its way.
    expect(await once(bystander, 'exit')).toEqual([0, null]);
  });
});

describe('hasOpen()', () => {
  it('knows the process that has a database open', async () => {
    const service = await startTestService();
    try {
      const file = realpathSync(filesOf(service.folder).databaseFile);
      expect(await hasOpen(process.pid, file)).toBe(true);
      expect(await hasOpen(process.ppid, file)).toBe(false);
    } finally {
      await service.remove();
    }
  });

  it('is false of a file that is not open, and of what is no process', async () => {
    const file = join(base, 'closed');
    writeFileSync(file, '');
    expect(await hasOpen(process.pid, file)).toBe(false);
    for (const pid of [0, -1, 2 ** 30, Number.NaN]) expect(await hasOpen(pid, file)).toBe(false);
  });
});
