// Kills the built service at random moments and checks what is left: `npm run crash -- [rounds] [seed] [documents]`.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const outfile = `${root}node_modules/.cache/crash/main.mjs`;
await build({
  absWorkingDir: root,
  entryPoints: ['test/crash/main.ts'],
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  external: ['@duckdb/node-api'],
  banner: { js: "import{createRequire as crashRequire}from'node:module';const require=crashRequire(import.meta.url);" },
  logLevel: 'warning',
  outfile,
});
const run = spawnSync(process.execPath, [outfile, `${root}dist/colloquy.js`, ...process.argv.slice(2)], {
  stdio: 'inherit',
});
process.exit(run.status ?? 1);
