import { open } from 'node:fs/promises';

const OWNER_ONLY = 0o600;

/** Writes a small file durably, readable by the owner only. */
export async function writeDurably(path: string, content: string | Buffer): Promise<void> {
  const handle = await open(path, 'wx', OWNER_ONLY);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes the names in a folder durable (fsync). Windows has no such call. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
