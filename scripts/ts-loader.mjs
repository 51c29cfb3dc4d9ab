// Runs the sources without a build: `node --import ./scripts/ts-loader.mjs FILE`. Each module stays a file of its own,
// with an inline source map, so debuggers, stack traces and coverage speak of src.
import { readFile } from 'node:fs/promises';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { transform } from 'esbuild';

if (isMainThread) register(import.meta.url);

/** Called by Node.js for each module. */
export async function load(url, context, next) {
  const extension = /\.(ts|md)$/.exec(url)?.[1];
  if (extension === undefined || !url.startsWith('file:')) return next(url, context);
  const text = await readFile(fileURLToPath(url), 'utf8');
  if (extension === 'md') return module(`export default ${JSON.stringify(text)};`);
  const { code } = await transform(text, { loader: 'ts', sourcemap: 'inline', sourcefile: fileURLToPath(url) });
  return module(code);
}

function module(source) {
  return { format: 'module', source, shortCircuit: true };
}
