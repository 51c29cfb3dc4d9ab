import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { UserPlaces } from '../../config.ts';
import type { ServerCommand } from '../connect-lines.ts';
import type { ConfigFormat, Entry } from './format.ts';
import { json, jsonc } from './json-format.ts';
import { toml } from './toml-format.ts';

/** An assistant that can be connected by its configuration file, for all of a user's projects. */
export interface AssistantKind {
  id: string;
  name: string;
  format: ConfigFormat;
  /** Keys that lead to the servers of the configuration. */
  servers: readonly string[];
  /** Keys of an entry that this assistant wants beside the command. */
  extra?: Entry;
  /** The configuration file, which need not be there. */
  file(places: UserPlaces): string;
  /** The assistant is on this machine if one of these is there, or its file. */
  signs(places: UserPlaces): string[];
  /** What a person has to do for the change to be seen. */
  afterwards: string;
}

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
    file: (places) => join(claudeDesktop(places), 'claude_desktop_config.json'),
    signs: (places) => [claudeDesktop(places)],
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
    file: (places) => join(applicationFolder(places, 'Code'), 'User', 'mcp.json'),
    signs: (places) => [join(applicationFolder(places, 'Code'), 'User')],
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
    file: (places) => join(zed(places), 'settings.json'),
    signs: (places) => [zed(places)],
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
];

/** Where desktop programs keep their own. */
function applicationFolder({ platform, home, appData, xdgConfig }: UserPlaces, name: string): string {
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', name);
  return join(platform === 'win32' ? appData : xdgConfig, name);
}

function claudeDesktop(places: UserPlaces): string {
  const fromStore = join(places.localAppData, 'Packages', 'Claude_pzs8sxrjxfjjc', 'LocalCache', 'Roaming', 'Claude');
  // The one from Microsoft's store sees a folder of its own in the place of the usual one.
  if (places.platform === 'win32' && existsSync(fromStore)) return fromStore;
  return applicationFolder(places, 'Claude');
}

function zed({ platform, home, appData, xdgConfig }: UserPlaces): string {
  if (platform === 'win32') return join(appData, 'Zed');
  return platform === 'darwin' ? join(home, '.config', 'zed') : join(xdgConfig, 'zed');
}

/** Whether there are traces of the assistant on this machine. */
export function isHere(kind: AssistantKind, places: UserPlaces): boolean {
  return [kind.file(places), ...kind.signs(places)].some((path) => existsSync(path));
}

/** The keys that lead to our entry. */
export function pathOf({ servers }: AssistantKind): string[] {
  return [...servers, SERVER_NAME];
}

/** What stands in the configuration for our server. */
export function entryFor(
  { extra }: AssistantKind,
  { command, args, env }: ServerCommand & { env?: Readonly<Record<string, string>> | undefined },
): Entry {
  return { ...extra, command, args: [...args], ...(env === undefined ? {} : { env }) };
}

/** Whether an entry starts this program. */
export function isOurs({ args }: Entry): boolean {
  return Array.isArray(args) && args.some((one) => /(^|[\\/])colloquy(\.js)?$/.test(String(one)));
}
