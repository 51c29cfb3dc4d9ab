import { copyFile, open, rm, stat, truncate } from 'node:fs/promises';

/** Longest log before its lines move to `<file>.1`, in bytes. */
export const LOG_BYTES_MAX = 5 * 1024 * 1024;
const SHOWN_BYTES_MAX = 16 * 1024;
const SHOWN_LINES_MAX = 8;

/** Bytes in a log file; 0 if there is none. */
export async function logSize(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}

/**
 * Moves a log that has grown too long to `<file>.1` and empties it. It is emptied rather than renamed because the running
 * service goes on appending to the file it has open.
 */
export async function boundLog(file: string, bytesMax = LOG_BYTES_MAX): Promise<void> {
  if ((await logSize(file)) <= bytesMax) return;
  try {
    await copyFile(file, `${file}.1`);
  } catch (error) {
    // Half a copy helps nobody, least of all on a full disk.
    await rm(`${file}.1`, { force: true }).catch(() => {});
    throw error;
  }
  await truncate(file, 0);
}

/** The last lines of a log from byte `from` on, without stack frames, for humans; empty when there are none. */
export async function lastLines(file: string, from: number): Promise<string[]> {
  try {
    const handle = await open(file, 'r');
    try {
      const { size } = await handle.stat();
      // Smaller than before: it was emptied in between.
      const start = Math.max(size < from ? 0 : from, size - SHOWN_BYTES_MAX);
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - start), 0, size - start, start);
      const lines = buffer.toString('utf8', 0, bytesRead).split('\n');
      return lines
        .filter((line) => line.trim() !== '' && !/^\s+at /.test(line))
        .slice(-SHOWN_LINES_MAX)
        .map(readable);
    } finally {
      await handle.close();
    }
  } catch {
    return [];
  }
}

/** The message of a line that pino wrote, with its error's; other lines as they are. */
function readable(line: string): string {
  let text = line;
  try {
    const { msg, err } = JSON.parse(line) as { msg?: unknown; err?: { message?: unknown } };
    const parts = [msg, err?.message].filter((part) => typeof part === 'string' && part !== '');
    if (parts.length > 0) text = [...new Set(parts)].join(': ');
  } catch {}
  return text.trim().slice(0, 400);
}
