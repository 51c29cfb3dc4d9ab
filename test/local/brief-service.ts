// The real service on a data folder, which leaves after an idle time far below what can be set: it is started as
// `<this> serve --local`, and says in `starts` that it was.
import { appendFileSync } from 'node:fs';
import { openFolder } from '../../src/local/folder.ts';
import { startService } from '../../src/service/start.ts';

const IDLE_MS = 15;
/** As the real program: the database is held by another service. */
const HELD_EXIT_CODE = 75;

const folder = await openFolder(process.env['COLLOQUY_DATA_DIR'] ?? '');
const log = {
  child: () => log,
  info() {},
  debug() {},
  warn: (details: object, message: string) => process.stderr.write(`${message} ${JSON.stringify(details)}\n`),
  error: (details: object, message: string) => process.stderr.write(`${message} ${JSON.stringify(details)}\n`),
};
try {
  const service = await startService({
    databaseFile: folder.databaseFile,
    adminKeyFile: folder.adminKeyFile,
    secretKeyFile: folder.secretKeyFile,
    listen: [{ path: folder.socketPath }],
    version: '0.0.1',
    idleMs: IDLE_MS,
    limits: { threads: 1 },
    log: log as never,
  });
  appendFileSync(`${folder.path}/starts`, `${process.pid}\n`);
  await service.closed;
  process.exit(0);
} catch (error) {
  process.stderr.write(`${error}\n`);
  process.exit(HELD_EXIT_CODE);
}
