import { Command, CommanderError, Option } from 'commander';
import { type ExportFlags, type ExportRequest, exportRequest } from './cli/exports/export-request.ts';
import type { ServeRole } from './cli/serve/serve.ts';
import { commandLine } from './command-line.ts';
import { COMMANDS, type CommandName } from './command-names.ts';
import { type Environment, readConfig, SETTING_ENTRIES, type Texts, UsageError, VERSION } from './config.ts';
import { MOMENT_SHOWN, momentIn } from './contract/moment.ts';
import { nearest } from './contract/nearest.ts';
import { folder, integer } from './setting-values.ts';
import { type Config, SETTINGS, variableOf } from './settings.ts';

/** Which records of the audit log are printed, and how. */
export interface AuditFilter {
  tool: string | undefined;
  /** Records from this moment on, in milliseconds since 1970. */
  sinceMs: number | undefined;
  failed: boolean;
  json: boolean;
  /** How many of the newest records to print; 0: all. */
  lines: number;
}

/** What the command line asks for. `exit`: only print a text and end. */
export type Invocation =
  | { command: 'stdio' | 'demo'; config: Config }
  /** `force`: also a service that was started with `serve`, which is refused otherwise. */
  | { command: 'stop'; config: Config; force: boolean }
  | { command: 'serve'; config: Config; role: ServeRole }
  | { command: 'doctor'; config: Config; json: boolean; clockIsRight: boolean }
  /** Without a tool: list them. `input`: JSON text of the arguments (default: none). */
  | { command: 'call'; config: Config; tool: string | undefined; input: string | undefined }
  | ({ command: 'trash'; config: Config } & TrashRequest)
  /** `print`: the address, instead of starting a browser. */
  | { command: 'open'; config: Config; print: boolean }
  | ({ command: 'approve'; config: Config } & ApproveRequest)
  | ({ command: 'setup'; config: Config } & SetupRequest)
  | { command: 'audit'; config: Config; filter: AuditFilter }
  /** `path` is the folder of the backup; `yes`: do not ask. */
  | { command: 'backup'; config: Config; path: string }
  | { command: 'restore'; config: Config; path: string; yes: boolean }
  /** `path`: a folder of lambdas, or a file with an answer of the API. */
  | { command: 'import-lambdas'; config: Config; path: string; dryRun: boolean }
  | ({ command: 'export'; config: Config } & ExportRequest)
  | { command: 'exit'; exitCode: 0 | 2; stdout: string; stderr: string };

export type InvocationOf<Command extends Invocation['command']> = Extract<Invocation, { command: Command }>;

export interface TrashRequest {
  action: (typeof TRASH_ACTIONS)[number];
  /** Of one entry; absent for `list`, and to empty the whole trash. */
  id: string | undefined;
  /** Empty the trash without asking. */
  yes: boolean;
}
export interface ApproveRequest {
  /** `list` the open questions, `answer` one, `pair` a browser to answer in, or `forget` all paired browsers. */
  action: 'list' | 'answer' | 'pair' | 'forget';
  /** Code of the question to answer. */
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
  /** Whether to offer tools that change data, too; undefined if not specified. */
  write: boolean | undefined;
}
const TRASH_ACTIONS = ['list', 'restore', 'empty'] as const;

/** Reads the command line and the environment. Never throws: a mistake in them becomes an `exit` with code 2. */
export function readInvocation(argv: readonly string[] = commandLine(), env?: Environment): Invocation {
  const printed = { stdout: '', stderr: '' };
  try {
    return parse(argv, env, printed);
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return { command: 'exit', exitCode: 0, ...printed };
    if (error instanceof CommanderError || error instanceof UsageError) {
      const why =
        error instanceof UsageError ? `colloquy: ${error.message}\n` : `${printed.stderr}${elsewhere(printed.stderr)}`;
      return { command: 'exit', exitCode: 2, stdout: '', stderr: `${why}Run "colloquy --help" for all settings.\n` };
    }
    throw error;
  }
}

/** Of an option that is unknown here, the commands that have it. */
function elsewhere(said: string): string {
  const flag = /^error: unknown option '(--[a-z-]+)/.exec(said)?.[1];
  const isIt = (flags: string | undefined) => flag !== undefined && flags?.split(/[ ,]+/, 2).includes(flag) === true;
  const names = SUBCOMMANDS.filter(
    ({ name, options = [] }) =>
      options.some((option) => !option.hidden && isIt(option.flags)) ||
      SETTING_ENTRIES.some(([, setting]) => isIt(setting.flag) && setting.commands.includes(name)),
  ).map(({ name }) => name);
  const [first] = names;
  return first === undefined ? '' : `${flag} belongs to ${listed(names)}: colloquy ${first} ${flag} …\n`;
}

const listed = (names: readonly string[]) => names.join(', ').replace(/, ([^,]*)$/, ' and $1');

function parse(
  argv: readonly string[],
  env: Environment | undefined,
  printed: { stdout: string; stderr: string },
): Invocation {
  let invocation: Invocation | undefined;
  const program = new Command('colloquy')
    .description('MCP server that explores JSON collections with SQL, and the data service behind it.')
    .version(VERSION, '-v, --version', 'print the version')
    .helpOption('-h, --help', 'print this text')
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
      '-h, --help',
      'print this text',
    );
    for (const [form, meaning] of args) command.argument(form, meaning);
    for (const option of options) command.addOption(option);
    command.action(() => {
      invocation = invoke(configOf(name, command), command.args, command.opts());
    });
  }
  program.helpCommand(false).parse(argv[0] === 'help' ? [...argv.slice(1), '--help'] : [...argv], { from: 'user' });
  if (invocation === undefined) throw new UsageError('the command line names nothing to do.');
  return invocation;
}

export interface Subcommand {
  readonly name: Exclude<CommandName, 'stdio'>;
  readonly description: string;
  /** Arguments, each with its meaning. */
  readonly args?: readonly (readonly [form: string, meaning: string])[];
  /** Options that only this command has, besides its settings. */
  readonly options?: readonly Option[];
  invoke(config: Config, args: readonly string[], options: OwnOptions): Invocation;
}

/** Values of the options below, by their names. */
interface OwnOptions extends ExportFlags {
  local?: boolean;
  command?: string;
  supervised?: string;
  json?: boolean;
  clockIsRight?: boolean;
  yes?: boolean;
  force?: boolean;
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
  dryRun?: boolean;
}

export const SUBCOMMANDS: readonly Subcommand[] = [
  {
    name: 'serve',
    description: 'run the data service in the foreground',
    // The process that assistants share, for one command perhaps; what `serve` starts, with the port of the one before.
    options: ['--local', '--command <id>', '--supervised <port>'].map((flags) => new Option(flags).hideHelp()),
    invoke: (config, _args, { local = false, command, supervised }) => ({
      command: 'serve',
      config,
      role: { local, command, supervised: supervised === undefined ? undefined : Number(supervised) },
    }),
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
    options: [new Option('--force', 'also one that "colloquy serve" runs in the foreground')],
    invoke: (config, _args, { force = false }) => ({ command: 'stop', config, force }),
  },
  {
    name: 'doctor',
    description: 'check that all is well, and say which tools are hidden and why',
    options: [
      new Option('--json', 'print the findings as JSON'),
      new Option('--clock-is-right', 'first say that it is, where the service doubts it'),
    ],
    invoke: (config, _args, { json = false, clockIsRight = false }) => ({
      command: 'doctor',
      config,
      json,
      clockIsRight,
    }),
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
    name: 'open',
    description: 'open the page of the local service: what runs, collections, calls, and questions that wait for you',
    options: [new Option('--print', 'print its address, which works once, instead of opening a browser')],
    invoke: (config, _args, { print = false }) => ({ command: 'open', config, print }),
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
    name: 'import-lambdas',
    description: 'create lambdas that were exported from the hosted service, and say which do not bind',
    args: [['<path>', 'a folder with files *.lambda.json, or a file with an answer of the API']],
    options: [new Option('--dry-run', 'only say what would be new')],
    invoke: (config, [path = ''], { dryRun = false }) => ({
      command: 'import-lambdas',
      config,
      path: folder(path),
      dryRun,
    }),
  },
  {
    name: 'export',
    description:
      'write a whole collection, or a result, as JSON lines, CSV or Parquet, to a file or to standard output',
    args: [['[collection]', 'as workspace.collection; without a workspace, of commons']],
    options: [
      new Option('--sql <select>', 'the result of this statement instead'),
      new Option('--result <id>', 'a kept result instead, by its query_id'),
      new Option('--all', 'all collections, lambdas, aliases and settings instead, into a new folder'),
      new Option('--format <format>', 'csv, jsonl or parquet; default: by the name of the file, or jsonl'),
      new Option('--gzip', 'compress it; default: if the name of the file ends in .gz'),
      new Option('--to <file>', 'the file, or the folder of --all; -: standard output').default('-'),
      new Option('--force', 'replace a file that exists'),
    ],
    invoke: (config, [collection], options) => ({ command: 'export', config, ...exportRequest(collection, options) }),
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

function auditFilter({ tool, since, failed = false, json = false, lines: text }: OwnOptions): AuditFilter {
  const lines = integer(0, 1_000_000).safeParse(text);
  if (!lines.success) throw new UsageError(`--lines is ${JSON.stringify(text)}: expected a whole number.`);
  return { tool, sinceMs: since === undefined ? undefined : momentOf(since), failed, json, lines: lines.data };
}

function momentOf(text: string): number {
  const ms = momentIn(text);
  if (ms !== undefined) return ms;
  throw new UsageError(`--since is ${JSON.stringify(text.slice(0, 100))}: expected ${MOMENT_SHOWN}.`);
}

function refuseCommand(name: string): never {
  const known = COMMANDS.filter((command) => command !== 'stdio');
  const [meant] = nearest(name, known, 1);
  const hint = meant === undefined ? `The commands are ${known.join(', ')}.` : `Did you mean "${meant}"?`;
  throw new UsageError(`there is no command "${name.slice(0, 100)}". ${hint}`);
}

function addSettings(command: Command, name: CommandName): Command {
  for (const [key, setting] of SETTING_ENTRIES) {
    if (setting.flag === undefined || !setting.commands.includes(name)) continue;
    const shown = setting.default ?? setting.defaultShown;
    const notes = [variableOf(key), shown === undefined ? undefined : `default: ${shown}`].filter(Boolean);
    const option = new Option(setting.flag, `${setting.meaning} (${notes.join('; ')})`);
    if (option.attributeName() !== key) throw new Error(`flag ${setting.flag} does not belong to setting ${key}`);
    command.addOption(option);
  }
  return command;
}

/** The flags given before the command's name. Throws `UsageError` for one that the command does not have. */
function flagsFor(command: CommandName, flags: Texts): Texts {
  for (const name of Object.keys(flags)) {
    const setting = SETTING_ENTRIES.find(([key]) => key === name)?.[1];
    if (setting?.commands.includes(command) !== true) {
      throw new UsageError(`the flag ${setting?.flag?.split(' ')[0] ?? name} means nothing to "${command}".`);
    }
  }
  return flags;
}
