import { createInterface } from 'node:readline/promises';
import { plainText } from './log.ts';

/**
 * The text typed by the person at the terminal, trimmed; undefined if there is no terminal, so that no program can
 * answer. `prompt` may contain anything: it is shown as plain text. Rejects with an AbortError once `until` aborts.
 */
export async function askAtTerminal(prompt: string, until?: AbortSignal): Promise<string | undefined> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await terminal.question(plainText(prompt), until === undefined ? {} : { signal: until })).trim();
  } finally {
    terminal.close();
  }
}

/** Whether the typed text is a yes; anything unclear is not. */
export function isYes(typed: string | undefined): boolean {
  return typed !== undefined && /^y(es)?$/i.test(typed);
}
