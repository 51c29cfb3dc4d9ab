// Bundles the benchmarks next to the built binary and runs them: `npm run bench [-- section...]` or `bench:peers`.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const [first, ...rest] = process.argv.slice(2);
const root = fileURLToPath(new URL('..', import.meta.url));
const outdir = `${root}node_modules/.cache/bench`;

// From the sources, since it starts what tests start.
if (first === 'lakes') {
  const args = ['--import', './scripts/ts-loader.mjs', 'bench/lakes.ts'];
  process.exit(spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1);
}

const options = {
  absWorkingDir: root,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  external: ['@duckdb/node-api'],
  banner: { js: "import{createRequire as benchRequire}from'node:module';const require=benchRequire(import.meta.url);" },
  logLevel: 'warning',
  outdir,
  outExtension: { '.js': '.mjs' },
};
await build({ ...options, entryPoints: ['bench/main.ts', 'bench/load-clients.ts', 'bench/thread-held.ts'] });
// Minified like our own binary, so that the two starts are comparable.
await build({ ...options, entryPoints: ['bench/hello-server.ts'], minifySyntax: true, minifyWhitespace: true });

if (first === 'peers') {
  // Without a folder, bench:peers only prints its usage.
  if (rest.length > 0 || process.env.BENCH_PEERS) await import('../scripts/build.mjs');
  await build({ ...options, entryPoints: ['bench/mcp-peers.ts'] });
  const { status } = spawnSync(process.execPath, [`${outdir}/mcp-peers.mjs`, root, ...rest], { stdio: 'inherit' });
  process.exit(status ?? 1);
}
const run = spawnSync(process.execPath, [`${outdir}/main.mjs`, root, outdir, ...process.argv.slice(2)], {
  stdio: 'inherit',
});
process.exit(run.status ?? 1);
