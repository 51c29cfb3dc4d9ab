import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { UserFolders } from '../../config.ts';
import type { ServerCommand } from '../connect-lines.ts';
import type { ConfigFormat, Entry } from './format.ts';
import { json, jsonc } from './json-format.ts';
import { toml } from './toml-format.ts';

/** An assistant that can be connected, for all of a user's projects, by its configuration file. */
export interface AssistantKind {
  id: string;
  name: string;
  format: ConfigFormat;
  /** Keys that lead to the list of servers in the configuration. */
  servers: readonly string[];
  /** Further keys that this assistant needs in an entry. */
  extra?: Entry;
  /** The key of an entry's variables (default `env`). */
  variables?: string;
  /** The entry, if it is not `command`, `args` and `env`. */
  entry?(server: StartedServer): Entry;
  /** The configuration file, which may not exist. */
  file(folders: UserFolders): string;
  /** The assistant is on this machine if one of these, or its configuration file, exists. */
  signs(folders: UserFolders): string[];
  /** What a person has to do for the change to take effect. */
  afterwards: string;
}

/** How an assistant starts the server, and with which variables. */
type StartedServer = ServerCommand & { env?: Readonly<Record<string, string>> | undefined };

/** The server's name in every configuration. */
export const SERVER_NAME = 'colloquy';

const MCP_SERVERS = ['mcpServers'];
const RESTART = 'quit it wholly and start it again';

export const ASSISTANTS: readonly AssistantKind[] = [
  {
    id: 'claude-code',
    name: 'Claude Code',
    format: json,
    servers: MCP_SERVERS,
    extra: { type: 'stdio' },
    file: ({ claudeConfigDir, home }) => join(claudeConfigDir ?? home, '.claude.json'),
    signs: ({ claudeConfigDir, home }) => [claudeConfigDir ?? join(home, '.claude')],
    afterwards: 'start a new session; /mcp shows it',
  },
  {
    id: 'claude-desktop',
    name: 'Claude Desktop',
    format: json,
    servers: MCP_SERVERS,
    file: (folders) => join(claudeDesktop(folders), 'claude_desktop_config.json'),
    signs: (folders) => [claudeDesktop(folders)],
    afterwards: RESTART,
  },
  {
    id: 'cursor',
    name: 'Cursor',
    format: jsonc,
    servers: MCP_SERVERS,
    extra: { type: 'stdio' },
    file: ({ home }) => join(home, '.cursor', 'mcp.json'),
    signs: ({ home }) => [join(home, '.cursor')],
    afterwards: 'switch it on under Settings > MCP if it is off',
  },
  {
    id: 'vscode',
    name: 'VS Code',
    format: jsonc,
    servers: ['servers'],
    extra: { type: 'stdio' },
    file: (folders) => join(applicationFolder(folders, 'Code'), 'User', 'mcp.json'),
    signs: (folders) => [join(applicationFolder(folders, 'Code'), 'User')],
    afterwards: 'VS Code asks once whether the server is trusted',
  },
  {
    id: 'windsurf',
    name: 'Windsurf',
    format: jsonc,
    servers: MCP_SERVERS,
    file: ({ home }) => join(home, '.codeium', 'windsurf', 'mcp_config.json'),
    signs: ({ home }) => [join(home, '.codeium', 'windsurf')],
    afterwards: 'refresh the list of MCP servers in Cascade',
  },
  {
    id: 'zed',
    name: 'Zed',
    format: jsonc,
    servers: ['context_servers'],
    file: (folders) => join(zed(folders), 'settings.json'),
    signs: (folders) => [zed(folders)],
    afterwards: 'Zed notices it by itself',
  },
  {
    id: 'gemini-cli',
    name: 'Gemini CLI',
    format: jsonc,
    servers: MCP_SERVERS,
    file: ({ geminiHome, home }) => join(geminiHome ?? home, '.gemini', 'settings.json'),
    signs: ({ geminiHome, home }) => [join(geminiHome ?? home, '.gemini')],
    afterwards: 'start a new session; /mcp shows it',
  },
  {
    id: 'codex',
    name: 'Codex',
    format: toml,
    servers: ['mcp_servers'],
    file: ({ codexHome, home }) => join(codexHome ?? join(home, '.codex'), 'config.toml'),
    signs: ({ codexHome, home }) => [codexHome ?? join(home, '.codex')],
    afterwards: 'start a new session; /mcp shows it',
  },
  {
    id: 'opencode',
    name: 'opencode',
    format: jsonc,
    servers: ['mcp'],
    variables: 'environment',
    entry: ({ command, args, env }) => ({
      type: 'local',
      command: [command, ...args],
      ...(env === undefined ? {} : { environment: env }),
    }),
    // It reads both files; if the one with comments exists, people keep their settings there.
    file: (folders) =>
      ['opencode.jsonc', 'opencode.json'].map(inOpencode(folders)).find(existsSync) ??
      inOpencode(folders)('opencode.json'),
    signs: (folders) => [inOpencode(folders)('')],
    afterwards: 'start it again; `opencode mcp list` shows it',
  },
];

/** On every system as on Linux. */
function inOpencode({ xdgConfig }: UserFolders): (name: string) => string {
  return (name) => join(xdgConfig, 'opencode', name);
}

/** Where desktop programs keep their configuration. */
function applicationFolder({ platform, home, appData, xdgConfig }: UserFolders, name: string): string {
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', name);
  return join(platform === 'win32' ? appData : xdgConfig, name);
}

function claudeDesktop(folders: UserFolders): string {
  const fromStore = join(folders.localAppData, 'Packages', 'Claude_pzs8sxrjxfjjc', 'LocalCache', 'Roaming', 'Claude');
  // The version from Microsoft's store sees a folder of its own instead of the usual one.
  if (folders.platform === 'win32' && existsSync(fromStore)) return fromStore;
  return applicationFolder(folders, 'Claude');
}

function zed({ platform, home, appData, xdgConfig }: UserFolders): string {
  if (platform === 'win32') return join(appData, 'Zed');
  return platform === 'darwin' ? join(home, '.config', 'zed') : join(xdgConfig, 'zed');
}

/** Whether there are traces of the assistant on this machine. */
export function isHere(kind: AssistantKind, folders: UserFolders): boolean {
  return [kind.file(folders), ...kind.signs(folders)].some((path) => existsSync(path));
}

/** The keys that lead to our entry. */
export function pathOf({ servers }: AssistantKind): string[] {
  return [...servers, SERVER_NAME];
}

/** The content of our entry in the configuration. */
export function entryFor({ entry, extra }: AssistantKind, server: StartedServer): Entry {
  if (entry !== undefined) return entry(server);
  const { command, args, env } = server;
  return { ...extra, command, args: [...args], ...(env === undefined ? {} : { env }) };
}

/** Whether an entry starts this program. */
export function isOurs({ command, args }: Entry): boolean {
  return [command, args].flat().some((one) => /(^|[\\/])colloquy(\.js)?$/.test(String(one)));
}
