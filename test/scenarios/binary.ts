import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

/** The built program that scenarios run. */
export const BINARY = join(ROOT, 'dist/colloquy.js');

/** Builds the program if a source file is newer than it; under `npm test` it has already been built. */
export function buildIfStale(): void {
  const built = existsSync(BINARY) ? statSync(BINARY).mtimeMs : 0;
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
  if (sources.every((file) => statSync(join(ROOT, 'src', file)).mtimeMs <= built)) return;
  const { status, stderr } = spawnSync(process.execPath, ['scripts/build.mjs'], { cwd: ROOT, encoding: 'utf8' });
  if (status !== 0) throw new Error(`the build failed: ${stderr}`);
}

/** An empty data folder, and a function that removes it. */
export async function dataFolder(): Promise<{ path: string; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'colloquy-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}
