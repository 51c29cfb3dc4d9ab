import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { Work } from './flights.ts';

/** Why a process ended that did not close. */
export type Why =
  /** Its thread no longer answered. */
  | 'hung'
  /** A statement that was told to stop did not. */
  | 'stuck'
  /** Queries took ever more memory and did not stop. */
  | 'memory'
  /** It crashed. */
  | 'crashed';

/**
 * What is known of the end of a process that did not close: written by the process itself, by the thread that watches
 * it, or by the process that started it. The next process reads it.
 */
export interface EndNote {
  pid: number;
  /** ISO-8601. */
  at: string;
  why: Why;
  /** The requests whose doing it was; empty: not known. */
  by: Work[];
  /** By which it crashed. */
  signal?: string | undefined;
}

/** Writes it durably, as the last thing before the end. */
export function writeEndNote(file: string, note: EndNote): void {
  const fd = openSync(file, 'w', 0o600);
  writeSync(fd, JSON.stringify(note));
  fsyncSync(fd);
  closeSync(fd);
}

/** Undefined if there is none, or not of this process. */
export function readEndNote(file: string, pid: number): EndNote | undefined {
  try {
    const note = JSON.parse(readFileSync(file, 'utf8')) as Partial<EndNote>;
    if (note.pid !== pid) return undefined;
    const { at = new Date().toISOString(), why = 'crashed', by = [], signal } = note;
    return { pid, at, why, by, signal };
  } catch {
    return undefined;
  }
}
