import type { SetupRequest } from '../../commands.ts';
import { type UserFolders, userFolders } from '../../config.ts';
import { nearest } from '../../contract/nearest.ts';
import { offeredTools } from '../../mcp/offer.ts';
import { type Config, SETTINGS } from '../../settings.ts';
import { commandLine, type ServerCommand, serverCommand } from '../connect-lines.ts';
import { diagnose, findingLines } from '../doctor/doctor.ts';
import { errorLine, print } from '../log.ts';
import { offerOf } from '../offer.ts';
import { forPerson } from '../person.ts';
import { askAtTerminal, isYes } from '../terminal.ts';
import { ASSISTANTS, type AssistantKind, entryFor, isHere, SERVER_NAME } from './clients.ts';
import { carryOut, isRefused, linesToPaste, type Plan, planFor, shownChange, tryFor, withoutSecrets } from './plan.ts';
import { carryOutUndo, planUndo } from './undo.ts';

type Request = SetupRequest & { config: Config };

/**
 * Connects the assistants on this machine: shows the exact change to each configuration, and writes it once a person at
 * the terminal has agreed, or with `yes`; a copy of the original file stays beside it. The exit code is 1 if something
 * was refused or nobody could be asked, and 2 for an unknown assistant.
 */
export function setup(request: Request, bin: string): Promise<number> {
  const folders = userFolders();
  return forPerson(async () => {
    const unknown = request.clients.find((id) => !ASSISTANTS.some((kind) => kind.id === id));
    if (unknown !== undefined) return refuseAssistant(unknown);
    const wanted = ASSISTANTS.filter(({ id }) => request.clients.length === 0 || request.clients.includes(id));
    const here = wanted.filter((kind) => isHere(kind, folders));
    const missing = request.clients.length === 0 ? [] : wanted.filter((one) => !here.includes(one));
    for (const kind of missing) {
      print(`${kind.name} was not found: there is no ${JSON.stringify(kind.signs(folders)[0])}. Start it once first.`);
    }
    if (request.undo) return undo(request, here, folders);
    return connect(request, { here, wanted, folders }, bin);
  });
}

function refuseAssistant(id: string): number {
  const ids = ASSISTANTS.map((kind) => kind.id);
  const [meant] = nearest(id, ids, 1);
  const hint = meant === undefined ? `They are ${ids.join(', ')}.` : `Did you mean "${meant}"?`;
  process.stderr.write(errorLine(`There is no assistant "${id.slice(0, 100)}". ${hint}`));
  return 2;
}

interface Found {
  here: readonly AssistantKind[];
  wanted: readonly AssistantKind[];
  folders: UserFolders;
}

async function connect(request: Request, { here, wanted, folders }: Found, bin: string): Promise<number> {
  const { config, print: isOnlyShown } = request;
  if (here.length === 0) {
    print(`No assistant was found. Looked for ${wanted.map(({ name }) => name).join(', ')}.`);
    // Lines that are only shown may be for an assistant on another machine, or unknown here.
    if (!isOnlyShown) return 1;
    const shown = { ...config, readOnly: await isReadOnly(request) };
    const server = serverFor(shown, bin);
    print(offerText(shown), '');
    if (request.clients.length === 0) showAnyEntry(server, config);
    else showEntries(wanted, server, { config, folders });
    return 0;
  }
  print(`Found: ${here.map(({ name }) => name).join(', ')}.`);
  const readOnly = await isReadOnly(request);
  const server = serverFor({ ...config, readOnly }, bin);
  print(`Each is to start: ${commandLine(server)}`, offerText({ ...config, readOnly }));
  if (server.env !== undefined) print(KEY_IN_PLAIN);
  // Trying a local service would start it, and it writes to its folder.
  if (isOnlyShown && config.url === undefined) print('Not tried, since --print writes nothing.');
  else if (!(await works({ ...config, readOnly }, bin))) return 1;
  const missing = wanted.filter((kind) => request.clients.length > 0 && !here.includes(kind));
  if (isOnlyShown) showEntries(missing, server, { config, folders });
  let exitCode = 0;
  for (const kind of here) {
    const isDone = await connectOne(kind, request, { server, path: kind.file(folders) });
    if (!isDone) exitCode = 1;
  }
  return exitCode;
}

/** For assistants on other machines, or with their configuration elsewhere. */
function showEntries(
  kinds: readonly AssistantKind[],
  server: Server,
  { config, folders }: { config: Config; folders: UserFolders },
): void {
  for (const kind of kinds) {
    const entry = linesToPaste(kind, entryFor(kind, server), config.apiKey);
    print(`${kind.name}: put this in ${JSON.stringify(kind.file(folders))}:`, indented(entry), '');
  }
}

function showAnyEntry({ command, args, env }: Server, { apiKey }: Config): void {
  const entry = { command, args, ...(env === undefined ? {} : { env }) };
  print(
    'Put this in the file in which your assistant names its MCP servers; "--client cursor", for example, says which file that is:',
    indented(withoutSecrets(JSON.stringify({ mcpServers: { [SERVER_NAME]: entry } }, null, 2), apiKey)),
  );
}

/** What the entry will offer to an assistant. */
function offerText(config: Config): string {
  const offered = offeredTools(offerOf({ ...config, readOnly: false }));
  if (![...offered.values()].some(({ effect }) => effect !== 'read')) return READS_BY_CHOICE;
  return config.readOnly ? READS_ONLY : WRITES_TOO;
}

const READS_BY_CHOICE = 'It offers only tools that read: no other one is among those that were chosen.';
const READS_ONLY = 'It offers only tools that read. --write offers those that change data, too.';
const WRITES_TOO = 'It offers tools that change data, too; before a tool deletes, a human is asked.';
const KEY_IN_PLAIN =
  'The API key of COLLOQUY_API_KEY would stand in each of these files in plain text. With --api-key-file <file> in its place only the path of a file would.';

async function isReadOnly({ write, yes, print: isOnlyShown }: Request): Promise<boolean> {
  if (write !== undefined || yes || isOnlyShown) return write !== true;
  const typed = await askAtTerminal('Offer only tools that read? Recommended to begin with. [Y/n] ');
  return typed === undefined || !/^n(o)?$/i.test(typed);
}

type Server = ServerCommand & { env?: Record<string, string> };

/** How assistants start this copy of the program, with the settings of this run. */
function serverFor(config: Config, bin: string): Server {
  const { command, args } = serverCommand(bin);
  const { apiKey, apiKeyFile } = config;
  const keyInEntry = apiKeyFile === undefined ? apiKey : undefined;
  const flags = entryFlags(config);
  const env = keyInEntry === undefined ? {} : { env: { COLLOQUY_API_KEY: keyInEntry } };
  // Desktop programs do not see the PATH of a shell, to which version managers of Node.js add it.
  if (command === 'node') return { command: process.execPath, args: [...args, ...flags], ...env };
  // Windows starts scripts such as npx only through its shell.
  if (process.platform === 'win32') return { command: 'cmd', args: ['/c', command, ...args, ...flags], ...env };
  return { command, args: [...args, ...flags], ...env };
}

function entryFlags(config: Config): string[] {
  const { dataDir, url, apiKeyFile, toolsets, profile, requestTimeoutMs, idleSecs, readOnly } = config;
  const { allowDirs, allowHosts, exportDirs, lambdaTools } = config;
  const chosen = toolsets?.map((one) => (one.readOnly ? `${one.toolset}:read` : one.toolset)).join(',');
  const flag = (name: string, value: string | undefined) => (value === undefined ? [] : [name, value]);
  return [
    ...flag('--data-dir', dataDir === SETTINGS.dataDir.default ? undefined : dataDir),
    ...flag('--url', url),
    ...flag('--api-key-file', apiKeyFile),
    ...flag('--profile', profile),
    ...flag('--toolsets', chosen),
    ...flag('--lambda-tools', lambdaTools),
    ...flag('--allow-dirs', allowDirs?.join(',')),
    ...flag('--allow-hosts', allowHosts?.join(',')),
    ...flag('--export-dirs', exportDirs?.join(',')),
    ...flag('--request-timeout-ms', changed(requestTimeoutMs, SETTINGS.requestTimeoutMs.default)),
    ...flag('--idle-secs', changed(idleSecs, SETTINGS.idleSecs.default)),
    ...(readOnly ? ['--read-only'] : []),
  ];
}

/** The text of a setting, unless it is the default. */
function changed(value: number, usual: string): string | undefined {
  return String(value) === usual ? undefined : String(value);
}

/** Tries the service as the assistants will use it; prints what is wrong and which tools they will see. */
async function works(config: Config, bin: string): Promise<boolean> {
  const { findings } = await diagnose(config, bin);
  const isBroken = findings.some(({ state }) => state === 'fail');
  const shown = findings.filter(({ name, state }) => state !== 'ok' || ['service', 'API key', 'tools'].includes(name));
  print('', ...findingLines(shown), '');
  if (isBroken) print('Nothing was written, since this would not work.');
  return !isBroken;
}

/** Whether the assistant is connected now, or its user did not want it to be. */
async function connectOne(
  kind: AssistantKind,
  request: Request,
  { server, path }: { server: Server; path: string },
): Promise<boolean> {
  const entry = entryFor(kind, server);
  const secret = request.config.apiKey;
  const leftAlone = (why: string) => {
    print(`${kind.name}: ${JSON.stringify(path)} is left alone: ${why}.`);
    print('To connect it by hand, put this in:', indented(linesToPaste(kind, entry, secret)), '');
    return false;
  };
  const plan = await tryFor(kind, () => planFor(kind, path, entry));
  if (isRefused(plan)) return leftAlone(plan.why);
  if (plan === undefined) {
    print(`${kind.name}: is connected like that already, in ${JSON.stringify(path)}.`, '');
    return true;
  }
  const answer = await isAgreed(plan, request, 'Write this');
  if (answer !== 'yes') return answer === 'no';
  const done = await tryFor(kind, async () => ({ copy: await carryOut({ ...plan, text: plan.text ?? '' }) }));
  if (isRefused(done)) return leftAlone(done.why);
  print(`Written. ${copyText(done.copy)}For ${kind.name} to see it: ${kind.afterwards}.`, '');
  return true;
}

function copyText(copy: string | undefined): string {
  return copy === undefined ? '' : `As it was: ${JSON.stringify(copy)}. `;
}

/** Shows a change and asks. `unasked`: there is no terminal to ask at. */
async function isAgreed(plan: Plan, request: Request, question: string): Promise<'yes' | 'no' | 'unasked'> {
  print(`${plan.kind.name}:`, shownChange(plan, request.config.apiKey));
  if (request.print) {
    print('');
    return 'no';
  }
  if (request.yes) return 'yes';
  const typed = await askAtTerminal(`${question} (${plan.kind.name})? [y/N] `);
  if (typed === undefined) {
    print('Nothing was written: there is no terminal to ask at. Add --yes.', '');
    return 'unasked';
  }
  if (isYes(typed)) return 'yes';
  print('Left as it is.', '');
  return 'no';
}

async function undo(request: Request, here: readonly AssistantKind[], folders: UserFolders): Promise<number> {
  let exitCode = 0;
  for (const kind of here) {
    const path = kind.file(folders);
    const plan = await tryFor(kind, () => planUndo(kind, path));
    if (plan === undefined) {
      print(`${kind.name}: nothing to take back in ${JSON.stringify(path)}.`);
      continue;
    }
    const leftAlone = (why: string) => {
      print(
        `${kind.name}: ${JSON.stringify(path)} is left alone: ${why}. If it has an entry "colloquy", remove that by hand.`,
      );
      exitCode = 1;
    };
    if (isRefused(plan)) {
      leftAlone(plan.why);
      continue;
    }
    const answer = await isAgreed(plan, request, 'Take it back');
    if (answer === 'unasked') exitCode = 1;
    if (answer !== 'yes') continue;
    const done = await tryFor(kind, async () => ({ copy: await carryOutUndo(plan) }));
    if (isRefused(done)) leftAlone(done.why);
    else print(`Taken back. ${copyText(done.copy)}`.trim(), '');
  }
  return exitCode;
}

function indented(text: string): string {
  return text.replace(/^/gm, '  ');
}
