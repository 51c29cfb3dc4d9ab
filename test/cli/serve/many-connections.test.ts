import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { createClient } from '../../../src/http/client.ts';
import { BINARY, buildIfStale } from '../../scenarios/binary.ts';
import { variablesOf } from '../program.ts';

const FILES = 200;

beforeAll(buildIfStale);

/** Resolves when the service has taken the connection, or has refused it. */
const opened = (port: number) =>
  new Promise<Socket>((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => resolve(socket)).on('close', () => resolve(socket));
    // One that is refused is closed after it was made.
    socket.once('connect', () => setImmediate(resolve, socket));
  });

// Only Linux tells a process how many files it may open.
test.runIf(process.platform === 'linux')(
  'connections without a key leave the engine and the socket the files that they need',
  async () => {
    const base = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-many-')));
    const dataDir = join(base, 'data');
    const args = ['-c', `ulimit -n ${FILES} && exec "$0" "$@"`, process.execPath, BINARY, 'serve', '--port', '0'];
    const env = variablesOf(base, dataDir);
    const service = spawn('bash', args, { env, stdio: ['ignore', 'pipe', 'ignore'] });
    const sockets: Socket[] = [];
    try {
      let welcome = '';
      for await (const chunk of service.stdout) {
        welcome += chunk;
        if (welcome.includes('Ctrl-C')) break;
      }
      const port = Number(/http:\/\/127\.0\.0\.1:(\d+)/.exec(welcome)?.[1]);
      sockets.push(...(await Promise.all(Array.from({ length: 2 * FILES }, () => opened(port)))));
      const apiKey = readFileSync(join(dataDir, 'admin.key'), 'utf8').trim();
      const client = createClient({ target: { socketPath: join(dataDir, 'service.sock') }, apiKey });
      const { results } = await client.runQuery({ sql: { query: 'SELECT 42 AS answer' } });
      expect(results).toEqual([{ answer: 42 }]);
      await client.close();
    } finally {
      for (const socket of sockets) socket.destroy();
      service.kill();
      await once(service, 'exit');
      rmSync(base, { recursive: true, force: true, maxRetries: 5 });
    }
  },
  60_000,
);
