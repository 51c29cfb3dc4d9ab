// Runs statements with edge values of everything that queries may call, each in a process that it may end:
// `npm run fuzz -- [statements] [seed]`.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { buildFuzz } from '../test/fuzz/build.mjs';

const { main, child } = await buildFuzz(fileURLToPath(new URL('..', import.meta.url)));
const run = spawnSync(process.execPath, [main, child, ...process.argv.slice(2)], { stdio: 'inherit' });
process.exit(run.status ?? 1);
