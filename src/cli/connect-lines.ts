import { type Config, SETTINGS } from '../settings.ts';

/** The command with which a client starts the server. */
export interface ServerCommand {
  command: string;
  args: readonly string[];
}

const SAFE_IN_SHELL = /^[\w@%+=:,./-]+$/;

/** A text as one word on a POSIX shell's command line. */
function shellWord(text: string): string {
  return SAFE_IN_SHELL.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The command as one line for a POSIX shell. */
export function commandLine({ command, args }: ServerCommand): string {
  return [command, ...args].map(shellWord).join(' ');
}

/**
 * The lines, for people to copy, that connect the server to Claude Code, Claude Desktop, Cursor and VS Code: first the
 * command that does it for them, then what to write by hand. As by that command, an assistant is only offered tools
 * that read.
 *
 * `server` starts this very copy, so that the lines work whether or not it is installed.
 */
export function connectLines(server: ServerCommand): string[] {
  const { command } = server;
  const args = [...server.args, '--read-only'];
  const words = commandLine({ command, args });
  const entry = JSON.stringify({ command, args });
  const vsCode = JSON.stringify({ name: 'colloquy', command, args });
  return [
    'All assistants on this machine (asks before it writes)',
    `  ${commandLine(server)} setup`,
    'By hand, to read only; without --read-only an assistant may also change and delete',
    'Claude Code',
    `  claude mcp add colloquy -- ${words}`,
    'VS Code',
    `  code --add-mcp ${shellWord(vsCode)}`,
    'Claude Desktop (Settings > Developer > Edit Config), Cursor (~/.cursor/mcp.json)',
    `  {"mcpServers":{"colloquy":${entry}}}`,
  ];
}

/** The command that starts the copy of the server whose executable is `bin`. */
export function serverCommand(bin: string): ServerCommand {
  // npx keeps packages in a cache that it may clear, so npx, which started this copy, has to start it again.
  if (/[\\/]_npx[\\/]/.test(bin)) return { command: 'npx', args: ['-y', 'colloquy'] };
  return { command: 'node', args: [bin] };
}

/** The flags with which another process of this program reaches the same service. */
export function placeFlags({ url, dataDir }: Pick<Config, 'url' | 'dataDir'>): string[] {
  if (url !== undefined) return ['--url', url];
  return dataDir === SETTINGS.dataDir.default ? [] : ['--data-dir', dataDir];
}

/** This program as a person starts it for the same service, as one line for a POSIX shell; a subcommand follows. */
export function ownCommand(config: Pick<Config, 'url' | 'dataDir'>, bin: string): string {
  const { command, args } = serverCommand(bin);
  return commandLine({ command, args: [...args, ...placeFlags(config)] });
}
