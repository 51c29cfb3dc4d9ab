import { writeSync } from 'node:fs';

/**
 * Ends the process at once, for reasons that leave nothing else. An orderly exit waits for the engine's threads, and
 * the point is that one of them does not stop. Nothing is lost that was acknowledged: that is on disk.
 */
export function endProcess(message: string): void {
  try {
    writeSync(2, `colloquy: ${message}\n`);
  } catch {
    // Nobody reads it.
  }
  process.kill(process.pid, 'SIGKILL');
}
