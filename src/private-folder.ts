import { chmodSync, lstatSync, mkdirSync } from 'node:fs';

/**
 * Creates a folder for files that will be executed later; returns whether it can be trusted: it is this user's own, not
 * a link, and closed to others. A folder that others could only read is closed to them; one that they could write to
 * may contain their code, and is not trusted. On Windows a user's folders are closed to others by the folder that
 * contains them.
 */
export function isPrivateFolder(path: string): boolean {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const found = lstatSync(path);
    if (!found.isDirectory()) return false;
    if (process.platform === 'win32') return true;
    if (found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0) return false;
    if ((found.mode & 0o077) !== 0) chmodSync(path, 0o700);
    return true;
  } catch {
    return false;
  }
}
