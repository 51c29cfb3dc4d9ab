// Bundles the conformance run and starts it: `npm run conformance`. Needs the npm registry to fetch the suite itself.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const outfile = `${root}node_modules/.cache/conformance/run.mjs`;

await build({
  absWorkingDir: root,
  entryPoints: ['test/conformance/run.ts'],
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  banner: { js: "import{createRequire as runRequire}from'node:module';const require=runRequire(import.meta.url);" },
  logLevel: 'warning',
  outfile,
});

const { status } = spawnSync(process.execPath, [outfile, root, ...process.argv.slice(2)], { stdio: 'inherit' });
process.exit(status ?? 1);
