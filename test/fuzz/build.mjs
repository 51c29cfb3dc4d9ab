import { build } from 'esbuild';

/** Bundles the fuzzer and the process in which it runs statements; returns the paths of both. */
export async function buildFuzz(root) {
  const outdir = `${root}node_modules/.cache/fuzz`;
  await build({
    absWorkingDir: root,
    entryPoints: ['test/fuzz/main.ts', 'test/fuzz/child.ts'],
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    external: ['@duckdb/node-api'],
    outExtension: { '.js': '.mjs' },
    logLevel: 'warning',
    outdir,
  });
  return { main: `${outdir}/main.mjs`, child: `${outdir}/child.mjs` };
}
