import { createInterface } from 'node:readline/promises';
import { plainText } from './log.ts';

/**
 * What the person at the terminal types, trimmed; undefined without a terminal, so that no program can answer. `prompt`
 * may hold anything: it is shown as plain text.
 */
export async function askAtTerminal(prompt: string): Promise<string | undefined> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await terminal.question(plainText(prompt))).trim();
  } finally {
    terminal.close();
  }
}

/** Whether what was typed is a yes; nothing else is one. */
export function isYes(typed: string | undefined): boolean {
  return typed !== undefined && /^y(es)?$/i.test(typed);
}
