import { writeFileSync } from 'node:fs';
import { constants } from 'node:os';

/** Signals of a process that did something impossible. */
const CRASHES: ReadonlySet<string> = new Set(['SIGSEGV', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGABRT', 'SIGTRAP']);
/** Windows ends a process that crashes with one of these codes, such as 0xC0000005. */
const CRASH_CODES_FROM = 0xc0000000;

/** The exit code by which shells name a signal. */
export function endedBy(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/**
 * Notes for the next service that the one before crashed, which only the process that started it can see. Nothing is
 * noted of any other end: a kill by a person or the system is nobody's doing who sent a request.
 */
export function noteCrash(endNoteFile: string, pid: number | undefined, code: number | null, signal: string | null) {
  const isCrash = signal === null ? (code ?? 0) >= CRASH_CODES_FROM : CRASHES.has(signal);
  if (!isCrash) return;
  try {
    const note = { pid, at: new Date().toISOString(), why: 'crashed', signal, by: [] };
    writeFileSync(endNoteFile, JSON.stringify(note), { mode: 0o600 });
  } catch {
    // A full disk; the next service then does not know.
  }
}
