import { copyFile, open, rm, stat, truncate } from 'node:fs/promises';

/** Size at which a log's lines move to `<file>.1`, in bytes. */
const LOG_BYTES_MAX = 5 * 1024 * 1024;
const SHOWN_BYTES_MAX = 64 * 1024;
const SHOWN_LINES_MAX = 8;
/** The longest messages, of a log that is missing for example, end with what to do. */
const SHOWN_CHARS_MAX = 2_000;

/** Size of a log file in bytes; 0 if there is none. */
export async function logSize(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}

/**
 * Moves the lines of a log that has grown too long to `<file>.1`. The log is emptied rather than renamed, since a
 * running service goes on appending to the file it has open.
 */
export async function boundLog(file: string, bytesMax = LOG_BYTES_MAX): Promise<void> {
  if ((await logSize(file)) <= bytesMax) return;
  try {
    await copyFile(file, `${file}.1`);
  } catch (error) {
    // An incomplete copy is of no use, least of all on a full disk.
    await rm(`${file}.1`, { force: true }).catch(() => {});
    throw error;
  }
  await truncate(file, 0);
}

/** The last lines of a log from byte `from` on, without stack frames, for humans; empty if there are none. */
export async function lastLines(file: string, from: number): Promise<string[]> {
  try {
    const handle = await open(file, 'r');
    try {
      const { size } = await handle.stat();
      // If it is smaller than before, it was emptied meanwhile.
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

/** The message of a line written by pino, with that of its error; other lines as they are. */
function readable(line: string): string {
  let text = line;
  try {
    const { msg, err } = JSON.parse(line) as { msg?: unknown; err?: { message?: unknown } };
    const parts = [msg, err?.message].filter((part) => typeof part === 'string' && part !== '');
    if (parts.length > 0) text = [...new Set(parts)].join(': ');
  } catch {}
  return text.trim().slice(0, SHOWN_CHARS_MAX);
}
