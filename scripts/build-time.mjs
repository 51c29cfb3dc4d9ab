// The build time tells builds of one version apart. It belongs to the content: building the same again keeps it, so
// that no running service is replaced by an identical one.
import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Placeholder for the time in the built files, of the same length, so that nothing else in them moves. */
export const UNSTAMPED = '@@ COLLOQUY BUILT AT @@@';
const RECORD = 'build.json';

async function filesOf(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

/** A hash of all files in a build folder before the time is filled in. */
export async function contentOf(folder) {
  const hash = createHash('sha256');
  for (const file of (await filesOf(folder)).sort()) {
    const bytes = await readFile(file);
    hash.update(`${file.slice(folder.length)}\0${bytes.length}\0`).update(bytes);
  }
  return hash.digest('hex');
}

/**
 * Fills the build time into the files of `folder`: from SOURCE_DATE_EPOCH, or that of the build in `before` if its
 * content is the same, or else the current time.
 */
export async function stampBuild(folder, content, before, env = process.env) {
  const builtAt = timeOf(env) ?? (await timeOfSame(before, content)) ?? new Date().toISOString();
  for (const file of await filesOf(folder)) {
    if (!file.endsWith('.js')) continue;
    const text = await readFile(file, 'utf8');
    if (text.includes(UNSTAMPED)) await writeFile(file, text.replaceAll(UNSTAMPED, builtAt));
  }
  await writeFile(join(folder, RECORD), `${JSON.stringify({ built_at: builtAt, content })}\n`);
}

function timeOf({ SOURCE_DATE_EPOCH: secs }) {
  return secs ? new Date(Number(secs) * 1_000).toISOString() : undefined;
}

async function timeOfSame(before, content) {
  try {
    const found = JSON.parse(await readFile(join(before, RECORD), 'utf8'));
    return found.content === content ? found.built_at : undefined;
  } catch {
    return undefined;
  }
}
