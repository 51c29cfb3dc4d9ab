import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, resolve } from 'node:path';
import { Command, CommanderError, Option } from 'commander';
import envPaths from 'env-paths';
import { z } from 'zod';
import { ApiError } from './contract/errors.ts';
import { nearest } from './contract/nearest.ts';
import { resolveTarget } from './http/target.ts';
import { type Choice, PROFILE_NAMES, readToolsets, TOOLSETS } from './mcp/toolsets.ts';
import { parseRange } from './service/addresses.ts';

declare const COLLOQUY_VERSION: string | undefined;

/** The version of this copy: built in, or read from package.json when it runs from the sources. */
export const VERSION: string =
  typeof COLLOQUY_VERSION === 'string'
    ? COLLOQUY_VERSION
    : (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }).version;

/** `stdio`: the MCP server, which runs when no command is given. */
export const COMMANDS = [
  'stdio',
  'serve',
  'call',
  'stop',
  'demo',
  'doctor',
  'trash',
  'approve',
  'audit',
  'backup',
  'restore',
] as const;
export type CommandName = (typeof COMMANDS)[number];

/** One setting: where it comes from and what it means. A flag goes before the environment variable. */
export interface Setting {
  /** Checks the text of the flag or variable and makes its value. */
  readonly schema: z.ZodType;
  /** Environment variable. */
  readonly env?: `COLLOQUY_${string}`;
  /** Flag with its placeholder; none for secrets, which every user of the machine could read off the command line. */
  readonly flag?: `--${string}`;
  readonly commands: readonly CommandName[];
  /** Text used when nothing is given; absent: unset. */
  readonly default?: string;
  /** The default in words, for where it depends on the machine or is not made here. */
  readonly defaultShown?: string;
  readonly meaning: string;
  readonly secret?: true;
  /** The local service takes it over from the process that starts it. */
  readonly passedOn?: true;
}

function integer(min: number, max: number) {
  const rule = `expected a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, rule)
    .transform(Number)
    .refine((value) => value >= min && value <= max, rule);
}

const addresses = z
  .string()
  .transform((text) => text.split(/[,\s]+/).filter((part) => part !== ''))
  .refine(
    (parts) => parts.length > 0 && parts.every((part) => parseRange(part) !== undefined),
    'expected IP addresses or CIDR ranges, separated by commas',
  )
  .optional();

const toolsets = z
  .string()
  .transform((text, context): Choice[] => {
    const read = readToolsets(text);
    if ('choices' in read) return read.choices;
    context.addIssue({ code: 'custom', message: read.problem });
    return z.NEVER;
  })
  .optional();

const onOff = z
  .string()
  .regex(/^(true|false|1|0|yes|no|on|off)$/i, 'expected true or false')
  .transform((text) => /^(true|1|yes|on)$/i.test(text));

/** Names that each match `rule`, separated by commas. */
function names(rule: RegExp, message: string) {
  return z
    .string()
    .transform((text) => text.split(/[,\s]+/).filter((part) => part !== ''))
    .refine((parts) => parts.length > 0 && parts.every((part) => rule.test(part)), message)
    .optional();
}

const folders = z
  .string()
  .transform((text) => {
    const parts = text.split(new RegExp(`[,${delimiter}]`)).map((part) => part.trim());
    return parts.filter((part) => part !== '').map(folder);
  })
  .optional();

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

function folder(text: string): string {
  // Configuration files of MCP clients go through no shell that would expand it.
  return resolve(text.replace(/^~(?=$|[\\/])/, () => homedir()));
}

const file = z.string().min(1, 'expected a file').transform(folder).optional();

const ALL = COMMANDS;
const SERVICE = ['stdio', 'serve', 'call', 'doctor'] as const;
const FOLDER = [...SERVICE, 'stop', 'trash', 'approve', 'audit', 'backup', 'restore'] as const;
const CLIENT = ['stdio', 'call', 'doctor'] as const;

/** Every setting there is; the README's table is made from this. */
export const SETTINGS = {
  dataDir: {
    schema: z.string().min(1, 'expected a folder').transform(folder),
    env: 'COLLOQUY_DATA_DIR',
    flag: '--data-dir <folder>',
    commands: FOLDER,
    default: envPaths('colloquy', { suffix: '' }).data,
    defaultShown: "the OS's folder for application data",
    meaning: 'Folder with database, socket, log and admin key of the local service',
    passedOn: true,
  },
  url: {
    schema: z.string().optional(),
    env: 'COLLOQUY_URL',
    flag: '--url <url>',
    commands: CLIENT,
    meaning: 'Remote service to use instead of the local one; https, or http on a loopback host',
  },
  apiKey: {
    schema: z
      .string()
      .regex(/^[\x21-\x7e]+$/, 'it holds spaces, line breaks or non-ASCII characters; copy it again')
      .optional(),
    env: 'COLLOQUY_API_KEY',
    commands: CLIENT,
    meaning: 'API key for COLLOQUY_URL',
    secret: true,
  },
  toolsets: {
    schema: toolsets,
    env: 'COLLOQUY_TOOLSETS',
    flag: '--toolsets <names>',
    commands: SERVICE,
    defaultShown: 'all',
    meaning: `Tools that an assistant is offered, separated by commas; with ":read" behind a name only those of it that read: ${TOOLSETS.join(', ')}`,
  },
  profile: {
    schema: z.enum(PROFILE_NAMES, `expected one of ${PROFILE_NAMES.join(', ')}`).optional(),
    env: 'COLLOQUY_PROFILE',
    flag: '--profile <name>',
    commands: SERVICE,
    meaning:
      'Toolsets for a purpose, to which --toolsets adds: explore (query and look around), author (also lambdas and aliases), admin (all)',
  },
  guard: {
    schema: z.enum(['ask', 'off'], 'expected ask or off'),
    env: 'COLLOQUY_GUARD',
    flag: '--guard <ask|off>',
    commands: ['stdio', 'serve'],
    default: 'ask',
    meaning: 'Ask a human before a tool deletes; off: deletes run without a question, for automation',
  },
  readOnly: {
    schema: onOff,
    env: 'COLLOQUY_READ_ONLY',
    flag: '--read-only',
    commands: SERVICE,
    default: 'false',
    meaning: 'Offer an assistant only tools that read, and let nothing else through to the service',
  },
  allowDirs: {
    schema: folders,
    env: 'COLLOQUY_ALLOW_DIRS',
    flag: '--allow-dirs <folders>',
    commands: SERVICE,
    defaultShown: 'none',
    meaning: 'Folders that load_file may read from, with all below them; separated by commas',
  },
  requestTimeoutMs: {
    schema: integer(1, 86_400_000),
    env: 'COLLOQUY_REQUEST_TIMEOUT_MS',
    flag: '--request-timeout-ms <ms>',
    commands: CLIENT,
    default: '150000',
    meaning: 'Time for one call to the service, retries included',
  },
  logLevel: {
    schema: z.enum(LOG_LEVELS, `expected one of ${LOG_LEVELS.join(', ')}`).optional(),
    env: 'COLLOQUY_LOG_LEVEL',
    flag: '--log-level <level>',
    commands: ALL,
    defaultShown: 'info',
    meaning: `How much to log, to standard error: ${LOG_LEVELS.join(', ')}`,
    passedOn: true,
  },
  idleSecs: {
    schema: integer(0, 31_536_000),
    env: 'COLLOQUY_IDLE_SECS',
    flag: '--idle-secs <seconds>',
    commands: CLIENT,
    default: '600',
    meaning: 'The local service leaves after this time without requests; 0: never',
    passedOn: true,
  },
  port: {
    schema: integer(0, 65_535).optional(),
    env: 'COLLOQUY_PORT',
    flag: '--port <port>',
    commands: ['serve'],
    meaning: 'Also listen on this TCP port; 0 picks a free one',
  },
  host: {
    schema: z.string().regex(/^([\w.-]+|[\da-f:.]*:[\da-f:.]*)$/i, 'expected a host name or an IP address'),
    env: 'COLLOQUY_HOST',
    flag: '--host <host>',
    commands: ['serve'],
    default: '127.0.0.1',
    meaning: 'Host name or address that --port belongs to; another than loopback needs TLS, here or before it',
  },
  tlsCert: {
    schema: file,
    env: 'COLLOQUY_TLS_CERT',
    flag: '--tls-cert <file>',
    commands: ['serve'],
    meaning: 'Certificate with its chain, as PEM, for --port to be reached by https',
  },
  tlsKey: {
    schema: file,
    env: 'COLLOQUY_TLS_KEY',
    flag: '--tls-key <file>',
    commands: ['serve'],
    meaning: 'Private key of --tls-cert, as PEM',
  },
  behindTlsProxy: {
    schema: onOff,
    env: 'COLLOQUY_BEHIND_TLS_PROXY',
    flag: '--behind-tls-proxy',
    commands: ['serve'],
    default: 'false',
    meaning: 'States that a proxy in front terminates TLS, so that --host may be reached by plain http',
  },
  mcp: {
    schema: onOff,
    env: 'COLLOQUY_MCP',
    flag: '--mcp <on|off>',
    commands: ['serve'],
    default: 'on',
    meaning: 'Offer MCP over Streamable HTTP at /mcp, beside the API',
  },
  allowedHosts: {
    schema: names(/^([\w.-]+|\[[\da-f:.]+\])$/i, 'expected host names without port, separated by commas'),
    env: 'COLLOQUY_ALLOWED_HOSTS',
    flag: '--allowed-hosts <names>',
    commands: ['serve'],
    defaultShown: 'loopback, and --host',
    meaning: 'Host names by which MCP clients may reach /mcp, besides the default; separated by commas',
  },
  allowedOrigins: {
    schema: names(
      /^([\w.-]+|\[[\da-f:.]+\]|[a-z][\w+.-]*:\/\/\*)$/i,
      'expected host names without scheme and port, or <scheme>://* for browser extensions, separated by commas',
    ),
    env: 'COLLOQUY_ALLOWED_ORIGINS',
    flag: '--allowed-origins <names>',
    commands: ['serve'],
    defaultShown: 'loopback',
    meaning: 'Host names of web pages that may call /mcp from a browser, besides the default; separated by commas',
  },
  socket: {
    schema: z.string().min(1, 'expected a path').transform(folder).optional(),
    env: 'COLLOQUY_SOCKET',
    flag: '--socket <path>',
    commands: ['serve'],
    meaning: 'Also listen on this Unix socket',
  },
  trustProxy: {
    schema: addresses,
    env: 'COLLOQUY_TRUST_PROXY',
    flag: '--trust-proxy <addresses>',
    commands: ['serve'],
    meaning:
      'Proxies whose X-Forwarded-For is believed, for the IP allowlist; addresses or CIDR ranges, separated by commas',
  },
  queryTimeoutMs: {
    schema: integer(1, 86_400_000).optional(),
    env: 'COLLOQUY_QUERY_TIMEOUT_MS',
    flag: '--query-timeout-ms <ms>',
    commands: SERVICE,
    defaultShown: '120000',
    meaning: 'Longest time of a query in the local service',
    passedOn: true,
  },
  rowsMax: {
    schema: integer(1, 100_000_000).optional(),
    env: 'COLLOQUY_ROWS_MAX',
    flag: '--rows-max <rows>',
    commands: SERVICE,
    defaultShown: '100000',
    meaning: 'Most rows of a result of the local service',
    passedOn: true,
  },
  memoryMb: {
    schema: integer(128, 16_777_216).optional(),
    env: 'COLLOQUY_MEMORY_MB',
    flag: '--memory-mb <megabytes>',
    commands: SERVICE,
    defaultShown: "a quarter of the machine's, at least 512; up to three quarters by size",
    meaning: 'Most memory of the SQL engine of the local service, whatever size its virtual instance has',
    passedOn: true,
  },
  trashDays: {
    schema: integer(0, 3_650),
    env: 'COLLOQUY_TRASH_DAYS',
    flag: '--trash-days <days>',
    commands: SERVICE,
    default: '7',
    meaning: 'Days for which what is deleted can be restored with "colloquy trash"; 0: it is gone at once',
    passedOn: true,
  },
  threads: {
    schema: integer(1, 1_024).optional(),
    env: 'COLLOQUY_THREADS',
    flag: '--threads <count>',
    commands: SERVICE,
    defaultShown: 'all cores',
    meaning: 'Most threads of the SQL engine of the local service, whatever size its virtual instance has',
    passedOn: true,
  },
  secretDir: {
    schema: z.string().min(1, 'expected a folder').transform(folder).optional(),
    env: 'COLLOQUY_SECRET_DIR',
    flag: '--secret-dir <folder>',
    commands: ['stdio', 'call', 'serve'],
    defaultShown: 'the folder secrets in the data folder; with serve: none, and no references',
    meaning:
      'Folder of the files that an assistant may name in the place of a secret, as file:PATH; env:NAME names any variable COLLOQUY_SECRET_…',
  },
  audit: {
    schema: onOff,
    env: 'COLLOQUY_AUDIT',
    flag: '--audit <on|off>',
    commands: ['stdio', 'call', 'serve'],
    default: 'on',
    meaning: 'Whether calls of tools are put on record in audit.log of the data folder, without secrets',
  },
} as const satisfies Record<string, Setting>;

type Settings = typeof SETTINGS;
type Shape = { [K in keyof Settings]: Settings[K]['schema'] };

// Object.fromEntries forgets which key had which schema; the type says it again.
const shape = Object.fromEntries(Object.entries(SETTINGS).map(([name, { schema }]) => [name, schema])) as Shape;
const ConfigSchema = z.strictObject(shape);

/** The settings of this run, checked. */
export type Config = z.output<typeof ConfigSchema>;

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
  | { command: 'backup'; config: Config; path: string }
  | { command: 'restore'; config: Config; path: string; yes: boolean }
  | { command: 'approve'; config: Config; code: string | undefined }
  | { command: 'audit'; config: Config; filter: AuditFilter }
  | { command: 'exit'; exitCode: 0 | 2; stdout: string; stderr: string };

export interface TrashRequest {
  action: (typeof TRASH_ACTIONS)[number];
  /** Of an entry; absent for `list`, and to empty all of it. */
  id: string | undefined;
  /** Empty it without asking. */
  yes: boolean;
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
  const subcommand = (name: CommandName, usage: string, description: string) =>
    addSettings(program.command(usage).description(description).helpOption('--help', 'print this text'), name);
  const serve = subcommand('serve', 'serve', 'run the data service in the foreground')
    .addOption(new Option('--local').hideHelp())
    .action(() => {
      const { local = false } = serve.opts<{ local?: boolean }>();
      invocation = { command: 'serve', config: configOf('serve', serve), local };
    });
  const call = subcommand(
    'call',
    'call',
    "call one of the server's tools and print its answer; without a tool: list them",
  )
    .argument('[tool]', 'name of the tool, e.g. run_query')
    .argument('[json]', 'its arguments, as a JSON object')
    .action((tool: string | undefined, input: string | undefined) => {
      invocation = { command: 'call', config: configOf('call', call), tool, input };
    });
  const stop = subcommand('stop', 'stop', 'ask the local service of the data folder to leave').action(() => {
    invocation = { command: 'stop', config: configOf('stop', stop) };
  });
  const doctor = subcommand('doctor', 'doctor', 'check that all is well, and say which tools are hidden and why')
    .option('--json', 'print the findings as JSON')
    .action(() => {
      const { json = false } = doctor.opts<{ json?: boolean }>();
      invocation = { command: 'doctor', config: configOf('doctor', doctor), json };
    });
  const trash = subcommand('trash', 'trash', 'list what was deleted, restore one entry, or empty all or one of it')
    .argument('<action>', TRASH_ACTIONS.join(', '))
    .argument('[id]', 'id of an entry, as listed')
    .option('--yes', 'empty it without asking')
    .action((action: string, id: string | undefined) => {
      const request = trashRequest(action, id, trash.opts<{ yes?: boolean }>().yes ?? false);
      invocation = { command: 'trash', config: configOf('trash', trash), ...request };
    });
  const backup = subcommand('backup', 'backup', 'copy all that is stored into a new folder, while the service serves')
    .argument('<folder>', 'the new folder')
    .action((path: string) => {
      invocation = { command: 'backup', config: configOf('backup', backup), path: folder(path) };
    });
  const restore = subcommand('restore', 'restore', 'put a backup in the place of what is stored, which is kept')
    .argument('<folder>', 'the folder of the backup')
    .option('--yes', 'restore without asking')
    .action((path: string) => {
      const { yes = false } = restore.opts<{ yes?: boolean }>();
      invocation = { command: 'restore', config: configOf('restore', restore), path: folder(path), yes };
    });
  const approve = subcommand('approve', 'approve', 'answer a question of an assistant; without a code: list them')
    .argument('[code]', 'code of the question, as the assistant tells it')
    .action((code: string | undefined) => {
      invocation = { command: 'approve', config: configOf('approve', approve), code };
    });
  const demo = subcommand('demo', 'demo', 'play an exploration of real records on a temporary folder').action(() => {
    invocation = { command: 'demo', config: configOf('demo', demo) };
  });
  const audit = subcommand('audit', 'audit', 'print what tools were called, the newest last')
    .option('--tool <name>', 'only calls of this tool')
    .option('--since <time>', 'only calls since then: 30m, 12h, 7d, or a date and time such as 2026-01-31T08:00Z')
    .option('--failed', 'only calls that failed or were refused')
    .option('--json', 'print the records as JSON lines')
    .option('--lines <count>', 'at most so many, the newest; 0: all', '50')
    .action(() => {
      invocation = { command: 'audit', config: configOf('audit', audit), filter: auditFilter(audit.opts()) };
    });
  program.helpCommand(false).parse([...argv], { from: 'user' });
  if (invocation === undefined) throw new UsageError('the command line names nothing to do.');
  return invocation;
}

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

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function auditFilter(given: { tool?: string; since?: string; failed?: true; json?: true; lines: string }): AuditFilter {
  const { tool, since, failed = false, json = false } = given;
  const lines = integer(0, 1_000_000).safeParse(given.lines);
  if (!lines.success) throw new UsageError(`--lines is ${JSON.stringify(given.lines)}: expected a whole number.`);
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
    // Clients pass a variable that nobody filled in as empty text.
    const fromEnv = setting.env === undefined ? undefined : env[setting.env]?.trim() || undefined;
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
  if ((CLIENT as readonly CommandName[]).includes(command)) checkRemote(checked.data, flags);
  if (command === 'serve') checkListening(checked.data, flags);
  return checked.data;
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

function checkRemote({ url, apiKey }: Config, flags: Texts): void {
  if (url === undefined) {
    if (apiKey === undefined) return;
    throw new UsageError(
      'COLLOQUY_API_KEY is set, but COLLOQUY_URL is not. Set both for a remote service, or neither.',
    );
  }
  try {
    resolveTarget({ url });
  } catch (error) {
    if (error instanceof ApiError) throw new UsageError(`${sourceOf('url', flags)}: ${error.message}`);
    throw error;
  }
  if (apiKey === undefined) {
    throw new UsageError(`${sourceOf('url', flags)} is set, but COLLOQUY_API_KEY is not. Set the key of that service.`);
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
