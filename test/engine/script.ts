import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

/**
 * Runs a TypeScript module, whose imports are relative to this folder, in a process of its own; resolves to its first
 * line of output. `fileBytesMax` limits the size of every file that it writes.
 */
export async function runScript(
  folder: string,
  source: string,
  fileBytesMax?: number,
): Promise<{ child: ChildProcess; line: string }> {
  const script = join(folder, 'script.mjs');
  const driver = createRequire(import.meta.url).resolve('@duckdb/node-api');
  await build({
    stdin: { contents: source, resolveDir: resolve(import.meta.dirname), loader: 'ts' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    alias: { '@duckdb/node-api': driver },
    external: [driver],
    // For packages that are no ES modules.
    banner: {
      js: "import { createRequire as requireOfPackages } from 'node:module'; const require = requireOfPackages(import.meta.url);",
    },
    outfile: script,
    logLevel: 'error',
  });
  const [command, args] =
    fileBytesMax === undefined
      ? [process.execPath, [script]]
      : ['bash', ['-c', `ulimit -f ${Math.floor(fileBytesMax / 1024)} && exec "$0" "$1"`, process.execPath, script]];
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let line = '';
  for await (const chunk of child.stdout) {
    line += String(chunk);
    if (line.includes('\n')) break;
  }
  return { child, line: line.trim() };
}

/** Resolves when the process has ended, and its locks are released. */
export async function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}
