import * as z from 'zod';
import { ALL, CLIENT, type CommandName, FOLDER, OFFER, SERVICE } from './command-names.ts';
import { DEFAULT_FOLDERS } from './default-folders.ts';
import { PROFILE_NAMES, TOOLSETS } from './mcp/tools/toolsets.ts';
import { addresses, file, folder, folders, integer, names, onOff, tag, toolsets } from './setting-values.ts';

/** One setting: where it comes from and what it means. A flag takes precedence over the environment variable. */
export interface Setting {
  /** Validates the text of the flag or variable and converts it to the setting's value. */
  readonly schema: z.ZodType;
  /**
   * Flag with its placeholder; none for secrets, since every user of the machine could read them off the command line.
   */
  readonly flag?: `--${string}`;
  readonly commands: readonly CommandName[];
  /** Text used when nothing is given; absent: unset. */
  readonly default?: string;
  /** The default in words, if it depends on the machine or is set elsewhere. */
  readonly defaultShown?: string;
  readonly meaning: string;
  readonly secret?: true;
  /** The page whose table it is in (default: README). */
  readonly page?: 'docs/lakes.md';
  /** Whether the local service gets it from the process that starts it. */
  readonly passedOn?: true;
}

/** The environment variable of a setting: `COLLOQUY_DATA_DIR` of `dataDir`. */
export function variableOf(setting: string): string {
  return `COLLOQUY_${setting.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** All settings; the README's table is generated from this. */
export const SETTINGS = {
  dataDir: {
    schema: z.string().min(1, 'expected a folder').transform(folder),
    flag: '--data-dir <folder>',
    commands: FOLDER,
    default: DEFAULT_FOLDERS.data,
    defaultShown: "the OS's folder for application data",
    meaning: 'Folder with database, socket, log and admin key of the local service',
    passedOn: true,
  },
  url: {
    schema: z.string().optional(),
    flag: '--url <url>',
    commands: CLIENT,
    meaning: 'Remote service to use instead of the local one; https, or http on a loopback host',
  },
  apiKey: {
    schema: z
      .string()
      .regex(/^[\x21-\x7e]+$/, 'it holds spaces, line breaks or non-ASCII characters; copy it again')
      .optional(),
    commands: CLIENT,
    meaning: 'API key for COLLOQUY_URL',
    secret: true,
  },
  apiKeyFile: {
    schema: file,
    flag: '--api-key-file <file>',
    commands: CLIENT,
    meaning: 'File that holds the API key for COLLOQUY_URL, in the place of COLLOQUY_API_KEY',
  },
  toolsets: {
    schema: toolsets,
    flag: '--toolsets <names>',
    commands: OFFER,
    defaultShown: 'all',
    meaning: `Tools that an assistant is offered, separated by commas; with ":read" behind a name only those of it that read: ${TOOLSETS.join(', ')}`,
  },
  profile: {
    schema: z.enum(PROFILE_NAMES, `expected one of ${PROFILE_NAMES.join(', ')}`).optional(),
    flag: '--profile <name>',
    commands: OFFER,
    meaning:
      'Toolsets for a purpose, to which --toolsets adds: explore (query and look around), author (also lambdas and aliases), admin (all)',
  },
  lambdaTools: {
    schema: tag,
    flag: '--lambda-tools <tag>',
    commands: ['stdio', 'serve', 'doctor', 'setup'],
    defaultShown: 'none',
    meaning:
      'Tag whose Query Lambdas are offered as tools of their own, named workspace_lambda, beside the others; read once, at start',
  },
  guard: {
    schema: z.enum(['ask', 'off'], 'expected ask or off'),
    flag: '--guard <mode>',
    commands: SERVICE,
    default: 'ask',
    meaning: 'ask: a human is asked before a tool deletes; off: deletes run without a question, for automation',
  },
  readOnly: {
    schema: onOff,
    flag: '--read-only',
    commands: OFFER,
    default: 'false',
    meaning: 'Offer an assistant only tools that read, and let nothing else through to the service',
  },
  allowDirs: {
    schema: folders,
    flag: '--allow-dirs <folders>',
    commands: OFFER,
    defaultShown: 'none',
    meaning: 'Folders that load_file may read from, with all below them; separated by commas',
  },
  allowHosts: {
    schema: names(
      /^(\*\.)?[a-z\d](?:[a-z\d.-]*[a-z\d])?(:\d{1,5})?$/i,
      'expected host names such as data.example.org or *.example.org, separated by commas',
    ),
    flag: '--allow-hosts <names>',
    commands: OFFER,
    defaultShown: 'none',
    meaning:
      'Hosts that load_file may read https URLs of, never at private addresses; *.example.org: those below it; separated by commas',
  },
  exportDirs: {
    schema: folders,
    flag: '--export-dirs <folders>',
    commands: OFFER,
    defaultShown: 'none',
    meaning: 'Folders that export_result may add files to, with all below them; separated by commas',
  },
  requestTimeoutMs: {
    schema: integer(1, 86_400_000),
    flag: '--request-timeout-ms <ms>',
    commands: CLIENT,
    default: '150000',
    meaning: 'Time for one call to the service, retries included',
  },
  logLevel: {
    schema: z.enum(LOG_LEVELS, `expected one of ${LOG_LEVELS.join(', ')}`).optional(),
    flag: '--log-level <level>',
    commands: ALL,
    defaultShown: 'info',
    meaning: `How much to log, to standard error: ${LOG_LEVELS.join(', ')}`,
    passedOn: true,
  },
  idleSecs: {
    schema: integer(0, 31_536_000),
    flag: '--idle-secs <seconds>',
    commands: CLIENT,
    default: '600',
    meaning: 'The local service leaves after this time without requests; 0: never',
    passedOn: true,
  },
  sources: {
    schema: z.enum(['follow', 'rest'], 'expected follow or rest'),
    flag: '--sources <how>',
    commands: CLIENT,
    default: 'follow',
    meaning:
      'While collections have sources: follow keeps the local service running, so that they are up to date; rest lets it leave, and they are read on with the next chat',
    passedOn: true,
  },
  port: {
    schema: integer(0, 65_535).optional(),
    flag: '--port <port>',
    commands: ['serve'],
    meaning: 'Also listen on this TCP port; 0 picks a free one',
  },
  host: {
    schema: z.string().regex(/^([\w.-]+|[\da-f.]*:[\da-f:.]*)$/i, 'expected a host name or an IP address'),
    flag: '--host <host>',
    commands: ['serve'],
    default: '127.0.0.1',
    meaning: 'Host name or address that --port belongs to; another than loopback needs TLS, here or before it',
  },
  tlsCert: {
    schema: file,
    flag: '--tls-cert <file>',
    commands: ['serve'],
    meaning: 'Certificate with its chain, as PEM, for --port to be reached by https',
  },
  tlsKey: {
    schema: file,
    flag: '--tls-key <file>',
    commands: ['serve'],
    meaning: 'Private key of --tls-cert, as PEM',
  },
  behindTlsProxy: {
    schema: onOff,
    flag: '--behind-tls-proxy',
    commands: ['serve'],
    default: 'false',
    meaning: 'States that a proxy in front terminates TLS, so that --host may be reached by plain http',
  },
  mcp: {
    schema: onOff,
    flag: '--mcp <on-or-off>',
    commands: ['serve'],
    default: 'on',
    meaning: 'Offer MCP over Streamable HTTP at /mcp, beside the API',
  },
  allowedHosts: {
    schema: names(/^([\w.-]+|\[[\da-f:.]+\])$/i, 'expected host names without port, separated by commas'),
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
    flag: '--allowed-origins <names>',
    commands: ['serve'],
    defaultShown: 'loopback',
    meaning: 'Host names of web pages that may call /mcp from a browser, besides the default; separated by commas',
  },
  socket: {
    schema: z.string().min(1, 'expected a path').transform(folder).optional(),
    flag: '--socket <path>',
    commands: ['serve'],
    meaning: 'Also listen on this Unix socket',
  },
  trustProxy: {
    schema: addresses,
    flag: '--trust-proxy <addresses>',
    commands: ['serve'],
    meaning:
      'Proxies whose X-Forwarded-For is believed, for the IP allowlist; addresses or CIDR ranges, separated by commas',
  },
  lake: {
    schema: z.string().optional(),
    flag: '--lake <url>',
    commands: ['serve', 'doctor'],
    defaultShown: 'none',
    meaning:
      'Keep the data in a lake, which any number of services share: its catalog, postgres://user@host/database?sslmode=verify-full',
  },
  lakePassword: {
    schema: z.string().optional(),
    commands: ['serve', 'doctor'],
    meaning: 'Password of the user in --lake',
    secret: true,
    page: 'docs/lakes.md',
  },
  lakePasswordFile: {
    schema: file,
    flag: '--lake-password-file <file>',
    commands: ['serve', 'doctor'],
    meaning: 'File that holds it, in the place of COLLOQUY_LAKE_PASSWORD',
    page: 'docs/lakes.md',
  },
  lakeData: {
    schema: z.string().optional(),
    flag: '--lake-data <place>',
    commands: ['serve', 'doctor'],
    meaning:
      "The lake's files: s3://bucket/prefix or gs://bucket/prefix, or the whole path of a folder that all nodes share",
    page: 'docs/lakes.md',
  },
  lakeEndpoint: {
    schema: z.string().optional(),
    flag: '--lake-endpoint <url>',
    commands: ['serve', 'doctor'],
    defaultShown: "AWS's own, or Google's",
    meaning: 'URL of the store of --lake-data, for another one that speaks S3',
    page: 'docs/lakes.md',
  },
  lakeRegion: {
    schema: z
      .string()
      .regex(/^[a-z\d-]{1,40}$/, 'expected a region such as eu-central-1')
      .optional(),
    flag: '--lake-region <name>',
    commands: ['serve', 'doctor'],
    defaultShown: 'us-east-1',
    meaning:
      'Region of the bucket. Signing in is as with the tools of AWS: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or a role of the machine; with gs:// these two are an HMAC key of a service account',
    page: 'docs/lakes.md',
  },
  extensionDir: {
    schema: z.string().min(1, 'expected a folder').transform(folder).optional(),
    flag: '--extension-dir <folder>',
    commands: ['serve', 'doctor'],
    defaultShown: 'downloaded at the first start',
    meaning:
      "Folder with the engine's extensions for lakes, where nothing may be downloaded: ducklake, postgres_scanner and httpfs, each as <name>.duckdb_extension",
    page: 'docs/lakes.md',
  },
  queryTimeoutMs: {
    schema: integer(1, 86_400_000).optional(),
    flag: '--query-timeout-ms <ms>',
    commands: SERVICE,
    defaultShown: '120000',
    meaning: 'Longest time of a query in the local service',
    passedOn: true,
  },
  rowsMax: {
    schema: integer(1, 100_000_000).optional(),
    flag: '--rows-max <rows>',
    commands: SERVICE,
    defaultShown: '100000',
    meaning: 'Most rows of a result of the local service',
    passedOn: true,
  },
  memoryMb: {
    schema: integer(128, 16_777_216).optional(),
    flag: '--memory-mb <megabytes>',
    commands: SERVICE,
    defaultShown: "a quarter of the machine's, at least 512; up to three quarters by size",
    meaning: 'Most memory of the SQL engine of the local service, whatever size its virtual instance has',
    passedOn: true,
  },
  trashDays: {
    schema: integer(0, 3_650),
    flag: '--trash-days <days>',
    commands: SERVICE,
    default: '7',
    meaning: 'Days for which what is deleted can be restored with "colloquy trash"; 0: it is gone at once',
    passedOn: true,
  },
  threads: {
    schema: integer(1, 1_024).optional(),
    flag: '--threads <count>',
    commands: SERVICE,
    defaultShown: 'all cores',
    meaning: 'Most threads of the SQL engine of the local service, whatever size its virtual instance has',
    passedOn: true,
  },
  secretDir: {
    schema: z.string().min(1, 'expected a folder').transform(folder).optional(),
    flag: '--secret-dir <folder>',
    commands: SERVICE,
    defaultShown: 'the folder secrets in the data folder; with serve: none, and no references',
    meaning:
      'Folder of the files that an assistant may name in the place of a secret, as file:PATH; env:NAME names any variable COLLOQUY_SECRET_…',
  },
  audit: {
    schema: onOff,
    flag: '--audit <on-or-off>',
    commands: SERVICE,
    default: 'on',
    meaning: 'Whether calls of tools are put on record in audit.log of the data folder, without secrets',
  },
  auditTool: {
    schema: onOff,
    flag: '--audit-tool <on-or-off>',
    commands: OFFER,
    default: 'off',
    meaning: 'Whether an assistant may read that record, of all chats, with the tool read_audit',
  },
} as const satisfies Record<string, Setting>;

type Settings = typeof SETTINGS;
type Shape = { [K in keyof Settings]: Settings[K]['schema'] };

// Object.fromEntries loses which key has which schema; the type assertion restores it.
const shape = Object.fromEntries(Object.entries(SETTINGS).map(([name, { schema }]) => [name, schema])) as Shape;
export const ConfigSchema = z.strictObject(shape);

/** The settings of this run, checked. */
export type Config = z.output<typeof ConfigSchema>;
