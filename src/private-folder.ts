import { chmodSync, lstatSync, mkdirSync } from 'node:fs';

/**
 * Makes a folder for what will be run again, and answers whether it can be trusted with that: it is this user's own, no
 * link, and others cannot enter it. One that others could only read is closed to them; one that they could write to may
 * hold their code, and is not trusted. On Windows a user's folders are closed to others by what they lie in.
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
