import { type Logger, pino } from 'pino';
import { messageOf } from '../contract/text.ts';
import { visibleText } from '../contract/visible.ts';
import type { Logger as PlainLogger } from '../mcp/logger.ts';
import type { Config } from '../settings.ts';

/**
 * The process's logger. It writes to standard error, since standard output belongs to MCP, and synchronously, so that a
 * process's last lines are not lost. Lines that cannot be written (a full disk, a reader that is gone) wait for the
 * next line, and are dropped if they become too many: a log never ends its process.
 */
export function createLog({ logLevel = 'info' }: Pick<Config, 'logLevel'>): Logger {
  const destination = pino.destination({ dest: 2, sync: true, maxLength: WAITING_CHARS_MAX });
  destination.on('error', () => {});
  // For what bypasses the logger: warnings of Node.js, the line of an error.
  process.stderr.on('error', () => {});
  return pino({ level: logLevel }, destination);
}

/**
 * The log of a command that a person runs: only what went wrong, in plain lines; with `--log-level`, everything of that
 * level, as JSON lines.
 */
export function personLog({ logLevel }: Pick<Config, 'logLevel'>): PlainLogger {
  if (logLevel !== undefined) return createLog({ logLevel });
  const write = (details: object, message: string) => {
    const { err } = details as { err?: unknown };
    process.stderr.write(err === undefined ? `colloquy: ${plainText(message)}\n` : errorLine(because(message, err)));
  };
  return { info: () => {}, warn: write, error: write };
}

function because(message: string, cause: unknown): string {
  return `${message}: ${messageOf(cause)}`;
}

const WAITING_CHARS_MAX = 64 * 1024;

/** An error on one line for a person at a terminal, without anything that would move the cursor or colour the text. */
export function errorLine(error: unknown): string {
  return `colloquy: ${plainText(messageOf(error))}\n`;
}

/** Text for a terminal: anything invisible, or that would move the cursor, becomes an escape such as `\u001b`. */
export function plainText(text: string): string {
  return visibleText(text.replaceAll('\r\n', '\n')).replaceAll('\t', ' ');
}

/** Prints lines for a person. */
export function print(...lines: string[]): void {
  process.stdout.write(`${plainText(lines.join('\n'))}\n`);
}

/** The cells of rows in columns, each as wide as its widest. */
export function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
