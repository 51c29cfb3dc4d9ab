import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Command, CommanderError, Option } from 'commander';
import { ApiError } from './contract/errors.ts';
import { nearest } from './contract/nearest.ts';
import { resolveTarget } from './http/target.ts';
import {
  CLIENT,
  COMMANDS,
  type CommandName,
  type Config,
  ConfigSchema,
  folder,
  integer,
  SETTINGS,
  type Setting,
} from './settings.ts';

declare const COLLOQUY_VERSION: string | undefined;

/** The version of this copy: built in, or read from package.json when it runs from the sources. */
export const VERSION: string =
  typeof COLLOQUY_VERSION === 'string'
    ? COLLOQUY_VERSION
    : (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }).version;

/** Which records of the audit log are printed, and how. */
export interface AuditFilter {
  tool: string | undefined;
  /** Records from this moment on, in milliseconds since 1970. */
  sinceMs: number | undefined;
  failed: boolean;
  json: boolean;
  /** The newest so many; 0: all. */
  lines: number;
}

/** What the command line asks for. `exit`: only to print a text and leave. */
export type Invocation =
  | { command: 'stdio' | 'stop' | 'demo'; config: Config }
  | { command: 'serve'; config: Config; local: boolean }
  | { command: 'doctor'; config: Config; json: boolean }
  | { command: 'call'; config: Config; tool: string | undefined; input: string | undefined }
  | ({ command: 'trash'; config: Config } & TrashRequest)
  | ({ command: 'approve'; config: Config } & ApproveRequest)
  | ({ command: 'setup'; config: Config } & SetupRequest)
  | { command: 'audit'; config: Config; filter: AuditFilter }
  | { command: 'backup'; config: Config; path: string }
  | { command: 'restore'; config: Config; path: string; yes: boolean }
  | { command: 'exit'; exitCode: 0 | 2; stdout: string; stderr: string };

export interface TrashRequest {
  action: (typeof TRASH_ACTIONS)[number];
  /** Of an entry; absent for `list`, and to empty all of it. */
  id: string | undefined;
  /** Empty it without asking. */
  yes: boolean;
}
export interface ApproveRequest {
  /** `list` the questions that wait, `answer` one, `pair` a browser to answer in, or `forget` all of these. */
  action: 'list' | 'answer' | 'pair' | 'forget';
  /** Of the question to answer. */
  code: string | undefined;
}
export interface SetupRequest {
  /** Only these assistants; empty: all that are found. */
  clients: string[];
  /** Write without asking. */
  yes: boolean;
  /** Write nothing. */
  print: boolean;
  undo: boolean;
  /** Offer tools that change data, too; undefined where nothing was said of it. */
  write: boolean | undefined;
}
const TRASH_ACTIONS = ['list', 'restore', 'empty'] as const;

type Environment = Readonly<Record<string, string | undefined>>;
type Texts = Partial<Record<string, string>>;

const entries: [string, Setting][] = Object.entries(SETTINGS);

class UsageError extends Error {}

/** Reads command line and environment; never throws: what is wrong with them is an `exit` with code 2. */
export function readInvocation(
  argv: readonly string[] = process.argv.slice(2),
  env: Environment = process.env,
): Invocation {
  const printed = { stdout: '', stderr: '' };
  try {
    return parse(argv, env, printed);
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return { command: 'exit', exitCode: 0, ...printed };
    if (error instanceof CommanderError || error instanceof UsageError) {
      const why = error instanceof UsageError ? `colloquy: ${error.message}\n` : printed.stderr;
      return { command: 'exit', exitCode: 2, stdout: '', stderr: `${why}Run "colloquy --help" for all settings.\n` };
    }
    throw error;
  }
}

function parse(argv: readonly string[], env: Environment, printed: { stdout: string; stderr: string }): Invocation {
  let invocation: Invocation | undefined;
  const program = new Command('colloquy')
    .description('MCP server that explores JSON collections with SQL, and the data service behind it.')
    .version(VERSION, '--version', 'print the version')
    .helpOption('--help', 'print this text')
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => {
        printed.stdout += text;
      },
      writeErr: (text) => {
        printed.stderr += text;
      },
    });
  const configOf = (command: CommandName, own: Command) =>
    readConfig(command, { ...(own === program ? {} : flagsFor(command, program.opts())), ...own.opts() }, env);
  addSettings(program, 'stdio')
    .argument('[command]')
    .usage('[options] [command]')
    .action((name: string | undefined) => {
      if (name !== undefined) refuseCommand(name);
      invocation = { command: 'stdio', config: configOf('stdio', program) };
    })
    .addHelpText('before', 'Without a command: the MCP server on standard input and output, for an MCP client.\n')
    .addHelpText('after', `\nEnvironment only:\n  COLLOQUY_API_KEY  ${SETTINGS.apiKey.meaning}`);
  for (const { name, description, args = [], options = [], invoke } of SUBCOMMANDS) {
    const command = addSettings(program.command(name).description(description), name).helpOption(
      '--help',
      'print this text',
    );
    for (const [form, meaning] of args) command.argument(form, meaning);
    for (const option of options) command.addOption(option);
    command.action(() => {
      invocation = invoke(configOf(name, command), command.args, command.opts());
    });
  }
  program.helpCommand(false).parse([...argv], { from: 'user' });
  if (invocation === undefined) throw new UsageError('the command line names nothing to do.');
  return invocation;
}

interface Subcommand {
  readonly name: Exclude<CommandName, 'stdio'>;
  readonly description: string;
  /** Arguments, each with its meaning. */
  readonly args?: readonly (readonly [form: string, meaning: string])[];
  /** Options of this command alone, beside its settings. */
  readonly options?: readonly Option[];
  invoke(config: Config, args: readonly string[], options: OwnOptions): Invocation;
}

/** Values of the options below, by their names. */
interface OwnOptions {
  local?: boolean;
  json?: boolean;
  yes?: boolean;
  browser?: boolean;
  forgetBrowsers?: boolean;
  tool?: string;
  since?: string;
  failed?: boolean;
  lines?: string;
  client?: string;
  print?: boolean;
  undo?: boolean;
  write?: boolean;
}

const SUBCOMMANDS: readonly Subcommand[] = [
  {
    name: 'serve',
    description: 'run the data service in the foreground',
    options: [new Option('--local').hideHelp()],
    invoke: (config, _args, { local = false }) => ({ command: 'serve', config, local }),
  },
  {
    name: 'setup',
    description:
      'find the assistants on this machine, and connect them: shows each change, and asks before it is written',
    options: [
      new Option('--client <names>', 'only these assistants, separated by commas, e.g. claude-code,cursor'),
      new Option('--write', 'offer tools that change data, too; without it, only those that read'),
      new Option('--yes', 'write without asking'),
      new Option('--print', 'only show what would be written'),
      new Option('--undo', 'take back what was written'),
    ],
    invoke: (config, _args, options) => ({ command: 'setup', config, ...setupRequest(config, options) }),
  },
  {
    name: 'call',
    description: "call one of the server's tools and print its answer; without a tool: list them",
    args: [
      ['[tool]', 'name of the tool, e.g. run_query'],
      ['[json]', 'its arguments, as a JSON object'],
    ],
    invoke: (config, [tool, input]) => ({ command: 'call', config, tool, input }),
  },
  {
    name: 'stop',
    description: 'ask the local service of the data folder to leave',
    invoke: (config) => ({ command: 'stop', config }),
  },
  {
    name: 'doctor',
    description: 'check that all is well, and say which tools are hidden and why',
    options: [new Option('--json', 'print the findings as JSON')],
    invoke: (config, _args, { json = false }) => ({ command: 'doctor', config, json }),
  },
  {
    name: 'trash',
    description: 'list what was deleted, restore one entry, or empty all or one of it',
    args: [
      ['<action>', TRASH_ACTIONS.join(', ')],
      ['[id]', 'id of an entry, as listed'],
    ],
    options: [new Option('--yes', 'empty it without asking')],
    invoke: (config, [action = '', id], { yes = false }) => ({
      command: 'trash',
      config,
      ...trashRequest(action, id, yes),
    }),
  },
  {
    name: 'approve',
    description: 'answer a question of an assistant; without a code: list them',
    args: [['[code]', 'code of the question, as the assistant tells it']],
    options: [
      new Option('--browser', 'print an address that pairs a browser, so that questions can be answered in it'),
      new Option('--forget-browsers', 'end every pairing'),
    ],
    invoke: (config, [code], options) => ({ command: 'approve', config, ...approveRequest(code, options) }),
  },
  {
    name: 'backup',
    description: 'copy all that is stored into a new folder, while the service serves',
    args: [['<folder>', 'the new folder']],
    invoke: (config, [path = '']) => ({ command: 'backup', config, path: folder(path) }),
  },
  {
    name: 'restore',
    description: 'put a backup in the place of what is stored, which is kept',
    args: [['<folder>', 'the folder of the backup']],
    options: [new Option('--yes', 'restore without asking')],
    invoke: (config, [path = ''], { yes = false }) => ({ command: 'restore', config, path: folder(path), yes }),
  },
  {
    name: 'demo',
    description: 'play an exploration of real records on a temporary folder',
    invoke: (config) => ({ command: 'demo', config }),
  },
  {
    name: 'audit',
    description: 'print what tools were called, the newest last',
    options: [
      new Option('--tool <name>', 'only calls of this tool'),
      new Option('--since <time>', 'only calls since then: 30m, 12h, 7d, or a date and time such as 2026-01-31T08:00Z'),
      new Option('--failed', 'only calls that failed or were refused'),
      new Option('--json', 'print the records as JSON lines'),
      new Option('--lines <count>', 'at most so many, the newest; 0: all').default('50'),
    ],
    invoke: (config, _args, options) => ({ command: 'audit', config, filter: auditFilter(options) }),
  },
];

function trashRequest(name: string, id: string | undefined, yes: boolean): TrashRequest {
  const action = TRASH_ACTIONS.find((one) => one === name);
  if (action === undefined) {
    const [meant] = nearest(name, TRASH_ACTIONS, 1);
    const hint = meant === undefined ? `There are ${TRASH_ACTIONS.join(', ')}.` : `Did you mean "${meant}"?`;
    throw new UsageError(`"trash" has no action "${name.slice(0, 100)}". ${hint}`);
  }
  if (action === 'restore' && id === undefined) {
    throw new UsageError('"trash restore" needs the id of an entry. "colloquy trash list" shows them.');
  }
  if (action === 'list' && id !== undefined) throw new UsageError('"trash list" takes no id.');
  return { action, id, yes };
}

function approveRequest(code: string | undefined, { browser, forgetBrowsers }: OwnOptions): ApproveRequest {
  const own = (code === undefined ? 0 : 1) + (browser === true ? 1 : 0) + (forgetBrowsers === true ? 1 : 0);
  if (own > 1) throw new UsageError('"approve" takes a code, --browser or --forget-browsers: one of them.');
  if (browser === true) return { action: 'pair', code };
  if (forgetBrowsers === true) return { action: 'forget', code };
  return { action: code === undefined ? 'list' : 'answer', code };
}

function setupRequest({ readOnly }: Config, options: OwnOptions): SetupRequest {
  const { client = '', write = false, yes = false, print = false, undo = false } = options;
  if (readOnly && write) throw new UsageError('--read-only and --write exclude each other. Choose one.');
  if (print && yes) throw new UsageError('--print writes nothing, and --yes is about writing. Choose one.');
  const clients = client.split(/[,\s]+/).filter((name) => name !== '');
  return { clients, yes, print, undo, write: readOnly ? false : write || undefined };
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function auditFilter({ tool, since, failed = false, json = false, lines: text }: OwnOptions): AuditFilter {
  const lines = integer(0, 1_000_000).safeParse(text);
  if (!lines.success) throw new UsageError(`--lines is ${JSON.stringify(text)}: expected a whole number.`);
  return { tool, sinceMs: since === undefined ? undefined : momentOf(since), failed, json, lines: lines.data };
}

function momentOf(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const ms = count === undefined ? Date.parse(text) : Date.now() - Number(count) * (UNITS_MS[unit] ?? 0);
  if (!Number.isNaN(ms)) return ms;
  throw new UsageError(`--since is ${JSON.stringify(text.slice(0, 100))}: expected 30m, 12h, 7d, or a date and time.`);
}

function refuseCommand(name: string): never {
  const known = COMMANDS.filter((command) => command !== 'stdio');
  const [meant] = nearest(name, known, 1);
  const hint = meant === undefined ? `The commands are ${known.join(', ')}.` : `Did you mean "${meant}"?`;
  throw new UsageError(`there is no command "${name.slice(0, 100)}". ${hint}`);
}

function addSettings(command: Command, name: CommandName): Command {
  for (const [key, setting] of entries) {
    if (setting.flag === undefined || !setting.commands.includes(name)) continue;
    const shown = setting.default ?? setting.defaultShown;
    const notes = [setting.env, shown === undefined ? undefined : `default: ${shown}`].filter(Boolean);
    const option = new Option(setting.flag, `${setting.meaning} (${notes.join('; ')})`);
    if (option.attributeName() !== key) throw new Error(`flag ${setting.flag} does not belong to setting ${key}`);
    command.addOption(option);
  }
  return command;
}

/** Flags that stand before the command's name, for a command that has them too. */
function flagsFor(command: CommandName, flags: Texts): Texts {
  for (const name of Object.keys(flags)) {
    const setting = entries.find(([key]) => key === name)?.[1];
    if (setting?.commands.includes(command) !== true) {
      throw new UsageError(`the flag ${setting?.flag?.split(' ')[0] ?? name} means nothing to "${command}".`);
    }
  }
  return flags;
}

function readConfig(command: CommandName, flags: Texts, env: Environment): Config {
  refuseUnknownVariables(env);
  const texts: Texts = {};
  for (const [key, setting] of entries) {
    const fromEnv = setting.env === undefined ? undefined : filledIn(env[setting.env]);
    const text = flags[key] ?? fromEnv ?? setting.default;
    // A flag without a value arrives as true.
    if (text !== undefined) texts[key] = String(text);
  }
  const checked = ConfigSchema.safeParse(texts);
  if (!checked.success) {
    const issue = checked.error.issues[0];
    const key = String(issue?.path[0]);
    const secret = entries.find(([name]) => name === key)?.[1].secret === true;
    const shown = secret ? 'unusable' : JSON.stringify(texts[key]);
    throw new UsageError(`${sourceOf(key, flags)} is ${shown}: ${issue?.message}.`);
  }
  const config = { ...checked.data, apiKey: checked.data.apiKey ?? keyOfFile(checked.data, flags) };
  if ((CLIENT as readonly CommandName[]).includes(command)) checkRemote(config, flags);
  if (command === 'serve') checkListening(config, flags);
  return config;
}

/** Clients pass a variable that nobody filled in as empty text, or as the name of what was to be filled in. */
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
  const setting = entries.find(([name]) => name === key)?.[1];
  return (key in flags ? setting?.flag?.split(' ')[0] : setting?.env) ?? key;
}

/** Variables that begin so are secrets of the operator's, which an assistant may name and not read. */
const SECRET_PREFIX = 'COLLOQUY_SECRET_';

/** The secrets in the environment, by name. */
export function secretVariables(env: Environment = process.env): ReadonlyMap<string, string> {
  const settings = entries.flatMap(([, { env: name }]) => (name === undefined ? [] : [name as string]));
  const found = Object.entries(env).flatMap(([name, value]): [string, string][] =>
    name.startsWith(SECRET_PREFIX) && !settings.includes(name) && value !== undefined ? [[name, value]] : [],
  );
  return new Map(found);
}

function refuseUnknownVariables(env: Environment): void {
  const known = entries.flatMap(([, { env: name }]) => (name === undefined ? [] : [name as string]));
  for (const name of Object.keys(env)) {
    if (!name.startsWith('COLLOQUY_') || known.includes(name) || name.startsWith(SECRET_PREFIX)) continue;
    const [meant] = nearest(name, known, 1);
    const hint = meant === undefined ? `The variables are ${known.join(', ')}.` : `Did you mean ${meant}?`;
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

// What a process of this program needs of its surroundings; the rest, other programs' secrets among it, stays behind.
const PASSED_ON =
  /^(PATH|HOME|USER|USERNAME|LOGNAME|LANG|LC_\w+|TZ|TMPDIR|TEMP|TMP|SYSTEMROOT|WINDIR|APPDATA|LOCALAPPDATA|USERPROFILE|XDG_\w+|ELECTRON_RUN_AS_NODE|UV_THREADPOOL_SIZE)$/i;

/** The environment for the local service that this process starts: its settings, however they were given here. */
export function serviceEnvironment(config: Config, env: Environment = process.env): Record<string, string> {
  const passed = Object.entries(env).filter(
    (entry): entry is [string, string] => PASSED_ON.test(entry[0]) && entry[1] !== undefined,
  );
  const values: Record<string, unknown> = config;
  const own = entries.flatMap(([key, setting]): [string, string][] => {
    if (setting.env === undefined || setting.passedOn !== true || values[key] === undefined) return [];
    return [[setting.env, String(values[key])]];
  });
  return Object.fromEntries([[THREAD_POOL, String(SERVICE_THREADS)], ...passed, ...own]);
}

const THREAD_POOL = 'UV_THREADPOOL_SIZE';
const SERVICE_THREADS = 16;

/**
 * Threads that all native calls of this process share, the engine's and those on files. Node.js makes them before any of
 * our code runs, so that a process can only set the number for the ones it starts.
 */
export function nativeThreads(env: Environment = process.env): number {
  const set = Number(env[THREAD_POOL]);
  return Number.isInteger(set) && set > 0 ? set : 4;
}

/** Where programs of this user keep their configurations. */
export interface UserPlaces {
  platform: NodeJS.Platform;
  home: string;
  /** Of Linux: `XDG_CONFIG_HOME`, or its default. */
  xdgConfig: string;
  /** Of Windows. */
  appData: string;
  localAppData: string;
  /** Folders that single assistants were told to use instead. */
  claudeConfigDir: string | undefined;
  codexHome: string | undefined;
  geminiHome: string | undefined;
}

export function userPlaces(env: Environment = process.env, platform = process.platform, home = homedir()): UserPlaces {
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
