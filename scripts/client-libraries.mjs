// Drives the built program through client libraries, in their own languages, over stdio and over HTTP:
// `npm run clients:libraries`, with `short` those that CI tries, with names these. Installs them from their registries into
// the folder that `--folder` names, by default one in the user's cache, and finds them there the next time.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { environmentOf, isPossible, LIBRARIES } from './libraries/environments.mjs';
import { JUDGES } from './libraries/judges.mjs';
import { approve, environment, hasCollection, localService, prepare, served } from './libraries/services.mjs';

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

/** Runs a driver; hands each line that it reports to `hear`, and ends it, with all that it started, in time. */
async function drive([command, ...args], plan, home, hear) {
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
  process.once('exit', end);
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
  process.removeListener('exit', end);
  end();
  return code === 0 ? '' : `the driver ended with ${code}\n${printed}`;
}

/** One library over one transport: its version, and the outcome of each check. */
async function play(command, service, tools, home) {
  const plan = await prepare(service);
  const look = { tools, hasCollection: (name) => hasCollection(service, plan, name) };
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

const { values, positionals } = parseArgs({ options: { folder: { type: 'string' } }, allowPositionals: true });
const cacheHome = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
const cache = resolve(values.folder ?? join(cacheHome, 'colloquy-libraries'));
const isAsked = ({ name, isShort }) =>
  positionals.length === 0 || positionals.includes(name) || (isShort && positionals.includes('short'));
const asked = LIBRARIES.filter(isAsked);
const unknown = positionals.filter((name) => name !== 'short' && !LIBRARIES.some((one) => one.name === name));
if (unknown.length > 0) throw new Error(`${unknown} is none of ${LIBRARIES.map(({ name }) => name).join(', ')}`);

process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
const home = await mkdtemp(join(tmpdir(), 'colloquy-libraries-'));
const services = [];
const notes = new Map();
let failed = 0;
try {
  services.push(await localService(home));
  services.push(await served(home));
  const [{ tools }] = services;
  console.log(`${tools.length} tools\n${row('library', 'version', '', CHECKS)}`);
  for (const library of asked) {
    const { name, needs } = library;
    if (!isPossible(library)) {
      console.log(`${name}: left out, since there is no ${needs} here`);
      continue;
    }
    const command = environmentOf(library, cache);
    for (const service of services) {
      const { transport } = service;
      const { version, outcomes } = await play(command, service, tools, home);
      const marks = CHECKS.map((check) => outcomes[check].mark);
      console.log(row(name, version, transport, marks));
      for (const check of CHECKS) {
        const { mark, why } = outcomes[check];
        if (mark === 'FAIL') failed += 1;
        if (mark === 'FAIL') console.log(`  ${check}: ${why}`);
        if (mark === '-') notes.set(`${name}, ${check}`, why);
      }
    }
  }
} finally {
  for (const { client, stop } of services) {
    await client.close();
    await stop().catch((error) => console.error(error.message));
  }
  await rm(home, { recursive: true, force: true, maxRetries: 5 });
}
for (const [what, why] of notes) console.log(`- ${what}: ${why}`);
console.log(failed === 0 ? 'All is well.' : `${failed} checks failed.`);
if (failed > 0) process.exitCode = 1;
