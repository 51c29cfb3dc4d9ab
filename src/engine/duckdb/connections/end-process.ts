import { writeSync } from 'node:fs';

/**
 * Ends the process at once, when nothing else is left to do. An orderly exit would wait for the engine's threads, and
 * the point is that one of them does not stop. Nothing acknowledged is lost: that is on disk.
 */
export function endProcess(message: string): void {
  try {
    writeSync(2, `colloquy: ${message}\n`);
  } catch {
    // Nobody reads standard error.
  }
  process.kill(process.pid, 'SIGKILL');
}
