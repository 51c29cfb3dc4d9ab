import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectLines, serverCommand } from '../connect-lines.ts';
import { leaveService } from '../serve/leave-service.ts';
import { differences } from './check.ts';
import { DESCRIPTIONS, type DemoData, readDemoData } from './data.ts';
import { answerLines, callLines, type Style, styleOf, wrappedLines } from './print.ts';
import { openSession, type Session } from './session.ts';
import { STORY, type Step } from './story.ts';

export interface DemoOptions {
  /** The exchanges to play (default: the demo's own). */
  story?: readonly Step[];
  /** Receives the printed text (default: standard output). */
  write?: (text: string) => void;
  /** Whether to print colours (default: on a terminal that supports them, without NO_COLOR). */
  colors?: boolean;
}

const DOCUMENTS_PER_CALL = 500;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** An answer differs from the raw records; the message has expected and actual. */
class WrongAnswer extends Error {}

interface Stage {
  session: Session;
  data: DemoData;
  style: Style;
  print: (...lines: string[]) => void;
}

/**
 * Plays the demo: starts the built server on a temporary folder, loads real records through MCP, asks questions and
 * checks every answer. Leaves nothing behind: no process, no folder.
 *
 * Resolves to the exit code: 0 if every answer was right, 1 if not, 130 if interrupted.
 */
export async function runDemo(options: DemoOptions = {}): Promise<number> {
  const style = styleOf(options.colors ?? (process.stdout.isTTY && process.stdout.hasColors()));
  const write = options.write ?? ((text) => process.stdout.write(text));
  const print = (...lines: string[]) => void write(`${lines.join('\n')}\n`);
  const stop = new AbortController();
  const interrupt = () => stop.abort(new Error('interrupted'));
  // Once: a second Ctrl-C ends the process without waiting for the cleanup.
  for (const name of SIGNALS) process.once(name, interrupt);
  // The reader of the output may go away (`| head`); the cleanup still has to happen.
  process.stdout.on('error', interrupt);
  try {
    await inTemporaryFolder((dataDir) => play(dataDir, options.story ?? STORY, { style, print, signal: stop.signal }));
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return 130;
    const message = error instanceof Error ? error.message : String(error);
    print('', style.bad(error instanceof WrongAnswer ? message : `The demo broke off: ${message}`));
    return 1;
  } finally {
    for (const name of SIGNALS) process.off(name, interrupt);
    process.stdout.off('error', interrupt);
  }
}

/** Runs `play` with a new data folder; then ends the service that was started for it, and removes the folder. */
async function inTemporaryFolder(play: (dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'colloquy-demo-'));
  try {
    await play(dataDir);
  } finally {
    await leaveService(dataDir);
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

async function play(
  dataDir: string,
  story: readonly Step[],
  { style, print, signal }: Pick<Stage, 'style' | 'print'> & { signal: AbortSignal },
): Promise<void> {
  const started = performance.now();
  const bin = builtServer();
  const data = await readDemoData(new URL('demo/', bin));
  const session = await openSession({ bin: fileURLToPath(bin), dataDir, signal });
  try {
    const stage: Stage = { session, data, style, print };
    print(
      style.strong('Colloquy: an assistant explores JSON documents with SQL.'),
      ...wrappedLines(
        `What follows happens for real: an MCP client (revision ${session.protocol}) has started the server, loads public records, and checks every answer against them.`,
        '',
      ),
      '',
    );
    await load(stage);
    for (const [index, step] of story.entries()) await playStep(stage, step, index + 1);
  } catch (error) {
    if (!(error instanceof WrongAnswer) && !signal.aborted) print('', style.faint(session.log().trimEnd()));
    throw error;
  } finally {
    await session.close();
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  print(style.good(`All ${story.length} answers were right. Everything took ${seconds} s.`), '');
  print(style.strong('Connect your own assistant:'), ...connectLines(serverCommand(fileURLToPath(bin))));
}

/** The file of the built server: next to the chunk that contains this code, or in `dist` when run from the sources. */
function builtServer(): URL {
  const places = ['../colloquy.js', '../../../dist/colloquy.js', './colloquy.js'];
  const found = places.map((place) => new URL(place, import.meta.url)).find((url) => existsSync(url));
  if (found === undefined) throw new Error('The built server is missing: run `npm run build` first.');
  return found;
}

/** Creates the workspace and its collections, and adds the documents as an assistant would, batch by batch. */
async function load({ session, data, style, print }: Stage): Promise<void> {
  const call = async (tool: string, args: Record<string, unknown>) => {
    const answer = await session.call(tool, args);
    if (answer.isError) throw new Error(`${tool} failed: ${answer.text}`);
    return answer;
  };
  print(
    style.strong('Loading public records'),
    `    ${style.code('create_workspace, create_collection, add_documents')}`,
  );
  await call('create_workspace', { name: 'demo', description: 'Public records of the U.S. government' });
  for (const collection of ['earthquakes', 'birdstrikes', 'capitals'] as const) {
    await call('create_collection', { workspace: 'demo', name: collection, description: DESCRIPTIONS[collection] });
    const documents = data[collection];
    const started = performance.now();
    let calls = 0;
    for (let at = 0; at < documents.length; at += DOCUMENTS_PER_CALL) {
      const batch = documents.slice(at, at + DOCUMENTS_PER_CALL);
      const { content, text } = await call('add_documents', { workspace: 'demo', collection, data: batch });
      if (addedCount(content) !== batch.length)
        throw new WrongAnswer(`Not all ${batch.length} documents went in: ${text}`);
      calls += 1;
    }
    const elapsedMs = Math.round(performance.now() - started);
    const name = `demo.${collection}`.padEnd(18);
    print(
      `    ${name} ${String(documents.length).padStart(5)} documents in ${calls} ${calls === 1 ? 'call' : 'calls'}, ${elapsedMs} ms`,
    );
  }
  print('');
}

function addedCount(content: Readonly<Record<string, unknown>>): unknown {
  const counts = content['counts'];
  return typeof counts === 'object' && counts !== null && 'ADDED' in counts ? counts.ADDED : 0;
}

/** Plays and prints one exchange; throws `WrongAnswer` if it did not go as it should. */
async function playStep({ session, data, style, print }: Stage, step: Step, number: number): Promise<void> {
  print(
    style.strong(`${String(number).padStart(2)}. ${step.question}`),
    ...callLines(step.tool, step.arguments, style),
  );
  const answer = await session.call(step.tool, step.arguments, step.human);
  const outcome = { table: step.reads(answer.content), text: answer.text, isError: answer.isError };
  const expected = step.expected(data);
  print(...answerLines(answer, 'says' in expected || answer.isError ? undefined : outcome.table, style));
  const wrong = differences(expected, outcome);
  if (step.human !== undefined && !answer.elicitations.some(({ message }) => step.human?.whenAsked.test(message))) {
    wrong.push(
      `expected the human to be asked ${step.human.whenAsked}, but the questions were: ${JSON.stringify(answer.elicitations)}`,
    );
  }
  if (wrong.length > 0)
    throw new WrongAnswer(['This answer is wrong:', ...wrong.map((line) => `  ${line}`)].join('\n'));
  print(`    ${style.good('checked')}${style.faint(`, ${answer.elapsedMs.toFixed(0)} ms`)}`, '');
}
