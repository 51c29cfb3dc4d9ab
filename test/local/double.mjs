// Stands in for the service in tests of finding and starting it: holds the database as the real one does, with DuckDB's
// own lock, and answers /ready, /local/leave and everything else with its process id.
import { appendFileSync, existsSync, unlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
// Not the package around it, which takes longer to load than all the rest.
import duckdb from '@duckdb/node-bindings';

const {
  COLLOQUY_DATA_DIR: folder = '',
  DOUBLE_SOCKET,
  DOUBLE_MODE = '',
  DOUBLE_VERSION = '1.0.0',
  DOUBLE_BUILD = '2026-02-01T00:00:00.000Z',
} = process.env;
const at = (name) => join(folder, name);
const KEY = 'double-admin-key';

appendFileSync(at('starts'), `${process.pid}\n`);
setTimeout(() => process.exit(9), 60_000).unref();
if (DOUBLE_MODE === 'fails') {
  process.stderr.write(
    `${JSON.stringify({ level: 60, msg: 'cannot open the database', err: { message: 'disk on fire' } })}\n`,
  );
  process.exit(3);
}

if (DOUBLE_MODE === 'disk-full') process.exit(74);

let database;
try {
  database = await duckdb.open(at('_colloquy.duckdb'));
} catch {
  process.stderr.write('the database is held by another process\n');
  process.exit(75);
}
appendFileSync(at('winners'), `${process.pid}\n`);
if (DOUBLE_MODE !== 'keyless') writeFileSync(at('admin.key'), `${KEY}\n`, { mode: 0o600 });

function leave() {
  server.close();
  server.closeAllConnections();
  duckdb.close_sync(database);
  process.exit(0);
}

let refusals = DOUBLE_MODE === 'refuses-once' ? 1 : 0;
const server = createServer((request, response) => {
  const answer = (status, body) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  if (request.url === '/ready') {
    const ready = DOUBLE_MODE !== 'never-ready';
    return answer(ready ? 200 : 503, {
      version: DOUBLE_VERSION,
      build: DOUBLE_BUILD === 'none' ? undefined : DOUBLE_BUILD,
      foreground: DOUBLE_MODE === 'foreground',
      pid: process.pid,
      ready,
    });
  }
  if (request.headers.authorization !== `ApiKey ${KEY}`) return answer(401, { message: 'wrong key' });
  if (request.url === '/local/leave') {
    if (DOUBLE_MODE === 'stays') return answer(404, { message: 'no such path' });
    response.on('finish', () => setImmediate(leave));
    return answer(200, { data: {} });
  }
  if (refusals-- > 0) return answer(503, { message: 'shutting down', type: 'NOT_READY' });
  appendFileSync(at('requests'), `${request.method}\n`);
  answer(200, { data: { name: String(process.pid) } });
});
const socket = DOUBLE_SOCKET ?? at('service.sock');
if (existsSync(socket)) unlinkSync(socket);
server.listen(socket);
