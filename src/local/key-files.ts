import { constants } from 'node:fs';
import { lstat, mkdir, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { openFolder } from './folder.ts';

const FOLDER = 'keys';
const LABEL_CHARS_MAX = 80;

/**
 * Writes a secret into a new file `keys/<label>-<time>.key` of the data folder (mode 0600, folder 0700, created if
 * necessary), and resolves to the file's path once it is on the disk. If that fails, rejects and leaves nothing behind;
 * no message contains the secret.
 */
export async function keepKey(dataDir: string, label: string, secret: string, now = new Date()): Promise<string> {
  const { path } = await openFolder(dataDir);
  const folder = join(path, FOLDER);
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const { mode, uid, isPlain } = await lstat(folder).then((found) => ({
    mode: found.mode,
    uid: found.uid,
    isPlain: found.isDirectory(),
  }));
  if (!isPlain) throw new Error(`"${folder}" is no folder`);
  if (process.platform !== 'win32' && (uid !== process.getuid?.() || (mode & 0o077) !== 0)) {
    throw new Error(`other users may enter "${folder}"; chmod 700 it`);
  }
  const file = join(folder, `${plainLabel(label)}-${now.toISOString().replace(/[-:.]/g, '')}.key`);
  await writeNew(file, `${secret}\n`);
  return file;
}

/** A label as a part of a file name; it cannot lead to another folder. */
function plainLabel(label: string): string {
  const plain = label
    .replace(/[^A-Za-z0-9@._-]+/g, '_')
    .replace(/^[._-]+/, '')
    .slice(0, LABEL_CHARS_MAX);
  return plain === '' ? 'key' : plain;
}

async function writeNew(file: string, text: string): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
  const handle = await open(file, flags, 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
    await handle.close();
  } catch (error) {
    await handle.close().catch(() => {});
    // Half a key is of no use.
    await unlink(file).catch(() => {});
    throw error;
  }
}
