import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { CLIENT, type CommandName } from './command-names.ts';
import { ApiError } from './contract/errors.ts';
import { nearest } from './contract/nearest.ts';
import { resolveTarget } from './http/target.ts';
import { SERVICE_THREADS_ENV } from './native-threads.ts';
import { type Config, ConfigSchema, SETTINGS, type Setting, variableOf } from './settings.ts';

declare const COLLOQUY_VERSION: string | undefined;
declare const COLLOQUY_BUILD: string | undefined;

/** Version of this copy: built in, or read from package.json when run from source. */
export const VERSION: string =
  typeof COLLOQUY_VERSION === 'string'
    ? COLLOQUY_VERSION
    : (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }).version;

/** When this copy was built (ISO-8601), to tell builds of one version apart; undefined when run from source. */
export const BUILD: string | undefined = typeof COLLOQUY_BUILD === 'string' ? COLLOQUY_BUILD : undefined;

export type Environment = Readonly<Record<string, string | undefined>>;
/** Values of flags by the names of their settings. */
export type Texts = Partial<Record<string, string>>;

export const SETTING_ENTRIES: readonly [string, Setting][] = Object.entries(SETTINGS);

/** A mistake in the command line or the environment; the message is for a person at a terminal. */
export class UsageError extends Error {}

/** The settings of a command, checked; `flags` go before `env`. Throws `UsageError`. */
export function readConfig(command: CommandName, flags: Texts, env: Environment = process.env): Config {
  refuseUnknownVariables(env);
  const texts: Texts = {};
  for (const [key, setting] of SETTING_ENTRIES) {
    const text = flags[key] ?? filledIn(env[variableOf(key)]) ?? setting.default;
    // A flag without a value arrives as true.
    if (text !== undefined) texts[key] = String(text);
  }
  const checked = ConfigSchema.safeParse(texts);
  if (!checked.success) {
    const issue = checked.error.issues[0];
    const key = String(issue?.path[0]);
    const secret = SETTING_ENTRIES.find(([name]) => name === key)?.[1].secret === true;
    const shown = secret ? 'unusable' : JSON.stringify(texts[key]);
    throw new UsageError(`${sourceOf(key, flags)} is ${shown}: ${issue?.message}.`);
  }
  const config = { ...checked.data, apiKey: checked.data.apiKey ?? keyOfFile(checked.data, flags) };
  if ((CLIENT as readonly CommandName[]).includes(command)) checkRemote(config, flags);
  if (command === 'serve') checkListening(config, flags);
  if (command === 'serve' || command === 'doctor') checkLake(config, flags);
  return config;
}

/** Clients pass a variable that was not filled in as empty text or as its placeholder. */
function filledIn(text: string | undefined): string | undefined {
  const trimmed = text?.trim();
  return trimmed === '' || /^\$\{user_config\.\w+\}$/.test(trimmed ?? '') ? undefined : trimmed;
}

function keyOfFile({ apiKeyFile }: Config, flags: Texts): string | undefined {
  if (apiKeyFile === undefined) return undefined;
  const refuse = (why: string): never => {
    throw new UsageError(`${sourceOf('apiKeyFile', flags)} is ${JSON.stringify(apiKeyFile)}: ${why}.`);
  };
  let text = '';
  try {
    text = readFileSync(apiKeyFile, 'utf8').trim();
  } catch (error) {
    refuse(`it cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown reason'})`);
  }
  const key = SETTINGS.apiKey.schema.safeParse(text);
  if (!key.success) return refuse(text === '' ? 'it is empty' : 'it does not hold an API key alone');
  return key.data;
}

function sourceOf(key: string, flags: Texts): string {
  const setting = SETTING_ENTRIES.find(([name]) => name === key)?.[1];
  return (key in flags ? setting?.flag?.split(' ')[0] : undefined) ?? variableOf(key);
}

/** Prefix of variables with the operator's secrets, which an assistant may name but not read. */
const SECRET_PREFIX = 'COLLOQUY_SECRET_';
const PREFIX = 'COLLOQUY_';
const VARIABLES: readonly string[] = SETTING_ENTRIES.map(([key]) => variableOf(key));

/** The secrets in the environment, by name. */
export function secretVariables(env: Environment = process.env): ReadonlyMap<string, string> {
  const found = Object.entries(env).flatMap(([name, value]): [string, string][] =>
    name.startsWith(SECRET_PREFIX) && !VARIABLES.includes(name) && value !== undefined ? [[name, value]] : [],
  );
  return new Map(found);
}

function refuseUnknownVariables(env: Environment): void {
  for (const name of Object.keys(env)) {
    if (!name.startsWith(PREFIX) || VARIABLES.includes(name) || name.startsWith(SECRET_PREFIX)) continue;
    // Without the prefix: since all have it, it would make any two look alike.
    const [meant] = nearest(name.slice(PREFIX.length), new Set(VARIABLES.map((one) => one.slice(PREFIX.length))), 1);
    const hint = meant === undefined ? `The variables are ${VARIABLES.join(', ')}.` : `Did you mean ${PREFIX}${meant}?`;
    throw new UsageError(`there is no environment variable ${name}. ${hint}`);
  }
}

function checkRemote(config: Config, flags: Texts): void {
  const { url, apiKey } = config;
  if (url === undefined) {
    if (apiKey === undefined) return;
    const source = config.apiKeyFile === undefined ? 'COLLOQUY_API_KEY' : sourceOf('apiKeyFile', flags);
    throw new UsageError(`${source} is set, but COLLOQUY_URL is not. Set both for a remote service, or neither.`);
  }
  try {
    resolveTarget({ url });
  } catch (error) {
    if (error instanceof ApiError) throw new UsageError(`${sourceOf('url', flags)}: ${error.message}`);
    throw error;
  }
  if (apiKey === undefined) {
    throw new UsageError(
      `${sourceOf('url', flags)} is set, but COLLOQUY_API_KEY is not. Set the key of that service, or --api-key-file.`,
    );
  }
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

/** Keys must not cross a network in plain text. */
function checkListening({ host, tlsCert, tlsKey, behindTlsProxy }: Config, flags: Texts): void {
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    const [given, missing] = tlsKey === undefined ? ['tlsCert', '--tls-key'] : ['tlsKey', '--tls-cert'];
    throw new UsageError(`${sourceOf(given, flags)} is set, but ${missing} is not. Give both files.`);
  }
  if (LOOPBACK.test(host) || tlsCert !== undefined || behindTlsProxy) return;
  throw new UsageError(
    `${sourceOf('host', flags)} is ${JSON.stringify(host)}, which others can reach, and plain http would show API keys to the network. Give --tls-cert and --tls-key, or say --behind-tls-proxy if a proxy in front terminates TLS.`,
  );
}

/** The settings of a lake that mean nothing without one. */
const OF_LAKE = ['lakePassword', 'lakePasswordFile', 'lakeData', 'lakeEndpoint', 'lakeRegion'] as const;

function checkLake(config: Config, flags: Texts): void {
  const { lake, lakeData, lakePassword, lakePasswordFile } = config;
  if (lake === undefined) {
    const given = OF_LAKE.find((key) => config[key] !== undefined);
    if (given === undefined) return;
    throw new UsageError(`${sourceOf(given, flags)} is set, but ${sourceOf('lake', {})} is not. Set both, or neither.`);
  }
  const inUrl = URL.canParse(lake) && new URL(lake).password !== '';
  if (inUrl && 'lake' in flags) {
    throw new UsageError(
      '--lake has a password, which every user of this machine can read off the command line. Give it as COLLOQUY_LAKE_PASSWORD or in --lake-password-file.',
    );
  }
  const passwords = [inUrl, lakePassword !== undefined, lakePasswordFile !== undefined].filter(Boolean).length;
  if (passwords > 1) {
    throw new UsageError(
      'the password of the lake is given more than once: in COLLOQUY_LAKE, COLLOQUY_LAKE_PASSWORD or --lake-password-file. Keep one of them.',
    );
  }
  if (lakeData === undefined)
    throw new UsageError(`${sourceOf('lake', flags)} is set, but --lake-data is not. Say where the lake's files are.`);
}

// The variables that a process of this program needs. Others, which may be secrets of other programs, are not passed
// on.
const PASSED_ON: ReadonlySet<string> = new Set(
  `PATH HOME USER USERNAME LOGNAME LANG TZ TMPDIR TEMP TMP SYSTEMROOT WINDIR APPDATA LOCALAPPDATA USERPROFILE
  ELECTRON_RUN_AS_NODE UV_THREADPOOL_SIZE`.split(/\s+/),
);
const PASSED_ON_BEGINNINGS = ['LC_', 'XDG_'];

function isPassedOn(variable: string): boolean {
  const name = variable.toUpperCase();
  return PASSED_ON.has(name) || PASSED_ON_BEGINNINGS.some((beginning) => name.startsWith(beginning));
}

/**
 * The environment for the local service that this process starts: its settings, however they were given to this
 * process.
 */
export function serviceEnvironment(config: Config, env: Environment = process.env): Record<string, string> {
  const passed = Object.entries(env).filter(
    (entry): entry is [string, string] => isPassedOn(entry[0]) && entry[1] !== undefined,
  );
  const values: Record<string, unknown> = config;
  const own = SETTING_ENTRIES.flatMap(([key, setting]): [string, string][] => {
    if (setting.passedOn !== true || values[key] === undefined) return [];
    return [[variableOf(key), String(values[key])]];
  });
  return { ...SERVICE_THREADS_ENV, ...Object.fromEntries([...passed, ...own]) };
}

/** Where programs of this user keep their configurations. */
export interface UserFolders {
  platform: NodeJS.Platform;
  home: string;
  /** Linux only: `XDG_CONFIG_HOME`, or its default. */
  xdgConfig: string;
  /** Windows only. */
  appData: string;
  localAppData: string;
  /** Folders that individual assistants were told to use instead. */
  claudeConfigDir: string | undefined;
  codexHome: string | undefined;
  geminiHome: string | undefined;
}

export function userFolders(
  env: Environment = process.env,
  platform = process.platform,
  home = homedir(),
): UserFolders {
  return {
    platform,
    home,
    xdgConfig: env['XDG_CONFIG_HOME'] || join(home, '.config'),
    appData: env['APPDATA'] || join(home, 'AppData', 'Roaming'),
    localAppData: env['LOCALAPPDATA'] || join(home, 'AppData', 'Local'),
    claudeConfigDir: env['CLAUDE_CONFIG_DIR'] || undefined,
    codexHome: env['CODEX_HOME'] || undefined,
    geminiHome: env['GEMINI_CLI_HOME'] || undefined,
  };
}

/** The command that opens an address, to be appended to it, in the user's browser; undefined if there is none. */
export function browserOpener(
  env: Environment = process.env,
  platform = process.platform,
): { command: string; args: string[] } | undefined {
  if (platform === 'darwin') return { command: 'open', args: [] };
  if (platform === 'win32') return { command: 'rundll32', args: ['url.dll,FileProtocolHandler'] };
  // Without a display, a browser would open in this very terminal, or not at all.
  const hasDisplay = Boolean(env['DISPLAY'] || env['WAYLAND_DISPLAY']);
  return hasDisplay ? { command: 'xdg-open', args: [] } : undefined;
}
