// Drives the built program through client libraries, in their own languages, over stdio and over HTTP:
// `npm run clients:libraries`, with `short` those that CI tries, with names these. Installs them from their registries into
// the folder that `--folder` names, by default one in the user's cache, and finds them there the next time; with `--install` it
// does no more than that. With `--lake` they are driven over HTTP before nodes of a lake.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { environmentOf, isPossible, LIBRARIES } from './libraries/environments.mjs';
import { JUDGES } from './libraries/judges.mjs';
import {
  approve,
  environment,
  hasCollection,
  localService,
  prepare,
  served,
  servedOnLake,
  tidyUp,
} from './libraries/services.mjs';

const CHECKS = Object.keys(JUDGES);
const TIME_MAX_MS = 240_000;
const STDERR_CHARS = 3_000;
/** Libraries that would tell their makers about this run. */
const QUIET = {
  MCP_USE_ANONYMIZED_TELEMETRY: 'false',
  OPENAI_AGENTS_DISABLE_TRACING: '1',
  OTEL_SDK_DISABLED: 'true',
  DO_NOT_TRACK: '1',
};

/** Functions that end the drivers that run. */
const endings = new Set();
let isOver = false;

/** Runs a driver; hands each line that it reports to `hear`, and ends it, with all that it started, in time. */
async function drive([command, ...args], plan, home, hear) {
  if (isOver) throw new Error('interrupted');
  // Not COLLOQUY_…, since some libraries pass all of it on, and the program refuses variables that it does not know.
  const env = environment({ HOME: home, PYTHONDONTWRITEBYTECODE: '1', ...QUIET, LIBRARY_PLAN: JSON.stringify(plan) });
  const child = spawn(command, args, { env, cwd: home, stdio: 'pipe', detached: true });
  const end = () => {
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // All of it has ended.
    }
  };
  const timer = setTimeout(end, TIME_MAX_MS);
  endings.add(end);
  let printed = '';
  child.stderr.on('data', (chunk) => {
    printed = (printed + chunk).slice(-STDERR_CHARS);
  });
  const ended = new Promise((done) => child.once('error', (error) => done(error.message)).once('close', done));
  for await (const line of createInterface(child.stdout)) {
    if (line.startsWith('@{')) await hear(JSON.parse(line.slice(1)), () => child.stdin.write('\n'));
  }
  const code = await ended;
  clearTimeout(timer);
  endings.delete(end);
  end();
  return code === 0 ? '' : `the driver ended with ${code}\n${printed}`;
}

/** One library over one transport: its version, and the outcome of each check. */
async function play(command, service, home) {
  const plan = await prepare(service);
  const look = { tools: service.tools, hasCollection: (name) => hasCollection(service, plan, name) };
  const found = { version: '?', outcomes: {} };
  const failure = await drive(command, plan, home, async (line, goOn) => {
    if (line.version !== undefined) found.version = line.version;
    if (line.ask === 'approve') {
      // What cannot be approved is seen by the call that follows.
      await approve(service, line.text).catch((error) => console.error(error.message));
      goOn();
    }
    if (line.check !== undefined) found.outcomes[line.check] = await outcomeOf(line, look);
  });
  await tidyUp(service, plan);
  const silent = CHECKS.filter((check) => found.outcomes[check] === undefined);
  for (const check of silent) found.outcomes[check] = { mark: 'FAIL', why: 'nothing was reported' };
  if (silent.length > 0 && failure !== '') found.outcomes[silent.at(-1)].why = failure;
  return found;
}

async function outcomeOf({ check, cannot, error, ...seen }, look) {
  if (cannot !== undefined) return { mark: '-', why: cannot };
  if (error !== undefined) return { mark: 'FAIL', why: error };
  try {
    const wrong = await JUDGES[check](seen, look);
    return wrong === undefined ? { mark: 'ok' } : { mark: 'FAIL', why: wrong };
  } catch (thrown) {
    return { mark: 'FAIL', why: `${thrown.stack}\n${JSON.stringify(seen)}` };
  }
}

const row = (name, version, transport, marks) =>
  `${name.padEnd(16)}${version.padEnd(9)}${transport.padEnd(7)}${marks.map((mark) => mark.padEnd(9)).join('')}`.trimEnd();

/** The libraries that the command line asks for, and the folder that they are installed in. */
function readCommandLine() {
  const { values, positionals } = parseArgs({
    options: { folder: { type: 'string' }, lake: { type: 'boolean' }, install: { type: 'boolean' } },
    allowPositionals: true,
  });
  const unknown = positionals.filter((name) => name !== 'short' && !LIBRARIES.some((one) => one.name === name));
  if (unknown.length > 0) throw new Error(`${unknown} is none of ${LIBRARIES.map(({ name }) => name).join(', ')}`);
  const isAsked = ({ name, isShort }) =>
    positionals.length === 0 || positionals.includes(name) || (isShort && positionals.includes('short'));
  const cacheHome = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  const cache = resolve(values.folder ?? join(cacheHome, 'colloquy-libraries'));
  return {
    asked: LIBRARIES.filter(isAsked),
    cache,
    isOnLake: values.lake ?? false,
    isInstall: values.install ?? false,
  };
}

/** Prints a row of the table, with what failed below it; returns how many checks failed. */
function print(name, transport, { version, outcomes }, notes) {
  const found = CHECKS.map((check) => ({ check, ...outcomes[check] }));
  const marks = found.map(({ mark }) => mark);
  console.log(row(name, version, transport, marks));
  const failed = found.filter(({ mark }) => mark === 'FAIL');
  for (const { check, why } of failed) console.log(`  ${check}: ${why}`);
  for (const { check, mark, why } of found) if (mark === '-') notes.add(`${name}, ${check}: ${why}`);
  return failed.length;
}

const { asked, cache, isOnLake, isInstall } = readCommandLine();
const [possible, missing] = [asked.filter(isPossible), asked.filter((library) => !isPossible(library))];
const commands = possible.map((library) => ({ name: library.name, command: environmentOf(library, cache) }));

if (isInstall) process.exit();

const home = await mkdtemp(join(tmpdir(), 'colloquy-libraries-'));
const services = [];
const stops = [];
async function cleanUp() {
  isOver = true;
  // First, since what they do starts a service again.
  for (const end of endings) end();
  for (const { client } of services) await client.close();
  for (const stop of stops) await stop().catch((error) => console.error(error.message));
  await rm(home, { recursive: true, force: true, maxRetries: 5 });
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => cleanUp().finally(() => process.exit(1)));

const notes = new Set(missing.map(({ name, needs }) => `${name} is left out: there is no ${needs} here`));
let failed = 0;
try {
  for (const start of isOnLake ? [servedOnLake] : [localService, served]) services.push(await start(home, stops));
  for (const { transport, tools } of services) console.log(`${transport}: ${tools.length} tools`);
  console.log(row('library', 'version', '', CHECKS));
  for (const { name, command } of commands) {
    for (const service of services) {
      failed += print(name, service.transport, await play(command, service, home), notes);
    }
  }
} finally {
  await cleanUp();
}
for (const note of notes) console.log(`- ${note}`);
console.log(failed === 0 ? 'No check failed.' : `${failed} checks failed.`);
if (failed > 0 || commands.length === 0) process.exitCode = 1;
