import { type AddressInfo, createServer, type Socket } from 'node:net';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createConnection } from '../../../src/service/sources/redshift-connection.ts';

const sockets = new Set<Socket>();
/** Takes connections, and never says a word. */
const silent = createServer((socket) => sockets.add(socket.on('error', () => undefined)));

beforeAll(() => new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve)));
afterAll(() => {
  silent.close();
  for (const socket of sockets) socket.destroy();
});

test.each([true, false])('a connection that is stopped while it connects ends at once (TLS: %s)', async (tls) => {
  const { port } = silent.address() as AddressInfo;
  const { using } = createConnection({
    connection: { host: '127.0.0.1', port, username: 'u', password: 'p', tls },
    settings: { database: 'd' },
    log: pino({ level: 'silent' }),
  });
  const stopping = new AbortController();
  const before = sockets.size;
  let isBegun = false;
  const ended = using(stopping.signal, async () => {
    isBegun = true;
  });
  ended.catch(() => undefined);
  await expect.poll(() => sockets.size).toBeGreaterThan(before);
  stopping.abort(new Error('enough'));
  await expect(ended).rejects.toThrow('enough');
  expect(isBegun).toBe(false);
});
