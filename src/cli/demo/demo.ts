import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, promisify, styleText } from 'node:util';
import { gunzip } from 'node:zlib';
import { Client } from '@modelcontextprotocol/client';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { messageOf } from '../../contract/text.ts';
import { connectLines, serverCommand } from '../connect-lines.ts';
import { aligned } from '../log.ts';
import { leaveService } from '../serve/leave-service.ts';
import { type Content, type Earthquake, STORY, type Step } from './story.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** A service that runs elsewhere. */
interface Remote {
  url: string;
  key: string;
}

/**
 * Plays the demo: starts the built server on a temporary folder (or before `remote`), loads real records through MCP, asks
 * questions and checks every answer. Leaves nothing behind: no process, no folder.
 *
 * Resolves to the exit code: 0 if every answer was right, 1 if not, 130 if interrupted.
 */
export async function runDemo(story = STORY, remote?: Remote): Promise<number> {
  const stop = new AbortController();
  const interrupt = () => stop.abort();
  // Once: a second Ctrl-C ends the process without waiting for the cleanup.
  for (const name of SIGNALS) process.once(name, interrupt);
  // The reader of the output may go away (`| head`); the cleanup still has to happen.
  process.stdout.on('error', interrupt);
  const folder = await mkdtemp(join(tmpdir(), 'colloquy-demo-'));
  try {
    await play(story, { folder, remote, signal: stop.signal });
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return 130;
    print('', styleText('red', messageOf(error)));
    return 1;
  } finally {
    await leaveService(join(folder, 'data'));
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    for (const name of SIGNALS) process.off(name, interrupt);
    process.stdout.off('error', interrupt);
  }
}

interface Stage {
  folder: string;
  remote: Remote | undefined;
  signal: AbortSignal;
}

async function play(story: readonly Step[], stage: Stage): Promise<void> {
  const { folder } = stage;
  const started = performance.now();
  const bin = builtServer();
  const records = await promisify(gunzip)(await readFile(new URL('demo/earthquakes.json.gz', bin)));
  const quakes: Earthquake[] = JSON.parse(records.toString());
  await mkdir(join(folder, 'files'));
  await writeFile(join(folder, 'files', 'earthquakes.json'), records);
  const session = await openSession(fileURLToPath(bin), stage);
  try {
    print(
      styleText('bold', 'Colloquy: an assistant explores JSON documents with SQL.'),
      'What follows happens for real: an MCP client has started the server, loads a week of earthquakes',
      'from a file, and checks every answer against the records in that file.',
    );
    const target = { workspace: 'demo', collection: 'earthquakes' };
    await session.call('create_workspace', { name: target.workspace });
    await session.call('create_collection', { workspace: target.workspace, name: target.collection });
    const { text, isError } = await session.call('load_file', { ...target, path: 'earthquakes.json' });
    if (isError) throw new Error(`The records could not be loaded: ${text}`);
    for (const [index, step] of story.entries()) await playStep(session, step, { number: index + 1, quakes });
  } finally {
    await session.close();
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  print('', styleText('green', `All ${story.length} answers were right. Everything took ${seconds} s.`), '');
  print(styleText('bold', 'Connect your own assistant:'), ...connectLines(serverCommand(fileURLToPath(bin))));
}

/** The file of the built server: next to the chunk that contains this code, or in `dist` when run from the sources. */
function builtServer(): URL {
  const candidates = ['../colloquy.js', '../../../dist/colloquy.js'].map((path) => new URL(path, import.meta.url));
  const found = candidates.find((url) => existsSync(url));
  if (found === undefined) throw new Error('The built server is missing: run `npm run build` first.');
  return found;
}

type Session = Awaited<ReturnType<typeof openSession>>;

/** Starts the built server as an MCP client does, over stdio. */
async function openSession(bin: string, { folder, remote, signal }: Stage) {
  const client = new Client({ name: 'colloquy-demo', version: '1' }, { capabilities: { elicitation: { form: {} } } });
  // The local service exits soon by itself, even if the demo was killed before it could clean up.
  const local = ['--data-dir', join(folder, 'data'), '--idle-secs', '60'];
  const where = remote === undefined ? local : ['--url', remote.url];
  const args = [bin, ...where, '--allow-dirs', join(folder, 'files'), '--log-level', 'error'];
  const env = remote === undefined ? {} : { env: { ...getDefaultEnvironment(), COLLOQUY_API_KEY: remote.key } };
  let human: Step['human'];
  let questions: string[] = [];
  client.setRequestHandler('elicitation/create', ({ params }) => {
    questions.push(params.message);
    if (human?.types === undefined || !('requestedSchema' in params)) return { action: 'decline' };
    const fields = Object.entries(params.requestedSchema.properties);
    const content = fields.map(([key, { type }]) => [key, type === 'boolean' ? true : (human?.types ?? '')]);
    return { action: 'accept', content: Object.fromEntries(content) };
  });
  // The transport passes on harmless variables only: a COLLOQUY_URL of the user must not lead the demo elsewhere.
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'inherit', ...env }), {
    signal,
  });
  return {
    async call(tool: string, given: Step['arguments'], answersAs?: Step['human']) {
      human = answersAs;
      questions = [];
      const answer = await client.callTool({ name: tool, arguments: { ...given } }, { signal });
      const content = (answer.structuredContent ?? {}) as Content;
      const text = answer.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
      return { content, text, questions, isError: answer.isError === true };
    },
    close: () => client.close(),
  };
}

/** Plays and prints one exchange; throws if it did not go as it should. */
async function playStep(session: Session, step: Step, { number, quakes }: { number: number; quakes: Earthquake[] }) {
  const { sql, query = (sql as Content | undefined)?.['query'], ...others } = step.arguments;
  const given = Object.entries(others).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  print('', styleText('bold', `${String(number).padStart(2)}. ${step.question}`));
  printIndented(styleText('cyan', [[step.tool, ...given].join(' '), ...(query ? [query] : [])].join('\n')));
  const started = performance.now();
  const { content, text, isError, questions } = await session.call(step.tool, step.arguments, step.human);
  const elapsedMs = performance.now() - started;
  for (const question of questions) printIndented(`The server asks: ${question}`);
  const rows = (isError ? undefined : (step.rows?.(content) ?? content['rows'])) as unknown[][] | undefined;
  const message = (content['error'] as { message?: string } | undefined)?.message ?? text;
  printIndented(rows === undefined ? `Error: ${message}` : tableOf(rows, content['columns']));
  const expected = typeof step.expected === 'string' ? step.expected : step.expected(quakes);
  const isRight =
    typeof expected === 'string' ? isError && message.includes(expected) : isDeepStrictEqual(rows, expected);
  const { human } = step;
  const isAsked = questions.every((question) => human !== undefined && question.includes(human.isAsked));
  if (!isRight) throw new Error(`This answer is wrong: expected ${JSON.stringify(expected)}.`);
  if (!isAsked || (human !== undefined && questions.length === 0))
    throw new Error(`The human was not asked as expected: ${human?.isAsked}.`);
  printIndented(`${styleText('green', 'checked')}, ${elapsedMs.toFixed(0)} ms`);
}

/** Aligned lines: a header, if there are names, then the rows. */
function tableOf(rows: readonly unknown[][], names: unknown): string {
  return aligned([...(Array.isArray(names) ? [names] : []), ...rows].map((row) => row.map(String))).join('\n');
}

const LINE_MAX = 100;

/** Cuts long lines. */
function printIndented(text: string): void {
  const lines = text.split('\n').map((line) => `    ${line}`);
  print(...lines.map((line) => (line.length > LINE_MAX ? `${line.slice(0, LINE_MAX - 1)}…` : line)));
}

function print(...lines: string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}
