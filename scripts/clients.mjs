// Drives the built program through assistants as people install them: `setup` connects each, and a model that follows a
// script calls our tools through it. `npm run clients -- <folder>`: where `npm install @anthropic-ai/claude-code
// @openai/codex @google/gemini-cli opencode-ai` was run; those that are not there are left out.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { scriptedModel } from './scripted-model.mjs';

const BIN = fileURLToPath(new URL('../dist/colloquy.js', import.meta.url));
const TIME_MAX_MS = 120_000;
const ORDERS = { workspace: 'commons', collection: 'orders' };
const COUNT = { query: 'SELECT count(*) FROM commons.orders' };

/** `says`: what the model has to be told, without spaces and quotes. */
const STEPS = [
  { tool: 'create_collection', input: { workspace: 'commons', name: 'orders' }, says: /status:CREATED/ },
  { tool: 'add_documents', input: { ...ORDERS, data: [{ _id: 'a', n: 1 }, { _id: 'b' }] }, says: /ADDED:2/ },
  { tool: 'run_query', input: COUNT, says: /rows:\[\[2\]\]|BIGINT2\(1\)/ },
  { tool: 'run_query', input: { query: 'SELEC 1' }, says: /syntaxerroratornearSELEC/ },
  // Nobody is there to be asked.
  { tool: 'delete_documents', input: { ...ORDERS, ids: ['a'] }, says: /Nothingwaschanged/ },
  { tool: 'run_query', input: COUNT, says: /rows:\[\[2\]\]|BIGINT2\(1\)/ },
];

/** `prepare` writes what the assistant needs to ask our model, before `setup` adds our server. */
const CLIENTS = [
  {
    id: 'claude-code',
    bin: 'claude',
    prepare: (home) => put(home, '.claude.json', '{}'),
    args: ['-p', 'go', '--allowedTools', 'mcp__colloquy__*'],
    env: (url) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'none',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }),
  },
  {
    id: 'codex',
    bin: 'codex',
    prepare: (home, url) =>
      put(
        home,
        '.codex/config.toml',
        `model = "scripted"\nmodel_provider = "scripted"\n\n[model_providers.scripted]\nname = "scripted"\nbase_url = "${url}/v1"\nwire_api = "responses"\n`,
      ),
    args: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', 'go'],
    env: () => ({}),
  },
  {
    id: 'gemini-cli',
    bin: 'gemini',
    prepare: (home) => put(home, '.gemini/settings.json', '{"security":{"auth":{"selectedType":"gemini-api-key"}}}'),
    // Without the name of a model it first asks one which to use.
    args: ['--skip-trust', '-y', '-m', 'gemini-2.5-flash', '-p', 'go'],
    env: (url) => ({ GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: url }),
  },
  {
    id: 'opencode',
    bin: 'opencode',
    prepare: (home, url) => {
      const models = { scripted: { tool_call: true, limit: { context: 100_000, output: 4_000 } } };
      const options = { baseURL: `${url}/v1`, apiKey: 'none' };
      const provider = { scripted: { npm: '@ai-sdk/openai-compatible', options, models } };
      const config = { autoupdate: false, model: 'scripted/scripted', provider };
      return put(home, '.config/opencode/opencode.json', JSON.stringify(config));
    },
    args: ['run', 'go'],
    env: () => ({}),
  },
];

async function put(home, name, text) {
  const file = join(home, name);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text, { mode: 0o600 });
}

/** Runs a program to its end; resolves with all that it prints. Throws if it fails. */
async function run(command, args, { env, cwd }) {
  const child = spawn(command, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'], timeout: TIME_MAX_MS });
  let printed = '';
  for (const output of [child.stdout, child.stderr]) output.on('data', (chunk) => (printed += chunk));
  const code = await new Promise((done, failed) => child.on('error', failed).on('close', done));
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${printed}`);
  return printed;
}

/** Plays the conversation; returns the version, the number of tools offered, and what went otherwise than expected. */
async function play({ bin, id, prepare, args, env }, folder) {
  const home = await mkdtemp(join(tmpdir(), 'colloquy-client-'));
  const model = await scriptedModel(STEPS);
  const { PATH } = process.env;
  const basic = { PATH, HOME: home, XDG_CONFIG_HOME: join(home, '.config'), COLLOQUY_DATA_DIR: join(home, 'data') };
  const options = { env: { ...basic, ...env(model.url) }, cwd: home };
  try {
    await prepare(home, model.url);
    await run(process.execPath, [BIN, 'setup', '--yes', '--write', '--client', id], options);
    const version = await run(join(folder, bin), ['--version'], options);
    const printed = await run(join(folder, bin), args, options);
    const wrong = STEPS.flatMap(({ tool, says }, index) => {
      const told = (model.seen[index] ?? '').replace(/\\n|[\\"\s]/g, '');
      return says.test(told) ? [] : [`${tool}: expected ${says}, the model was told ${told || 'nothing'}`];
    });
    if (wrong.length > 0) wrong.push(printed.trim());
    return { version: /\d+\.\d+\.\d+/.exec(version)?.[0], tools: model.tools.length, wrong };
  } finally {
    model.close();
    await run(process.execPath, [BIN, 'stop'], options).catch(() => {});
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

const folder = resolve(process.argv[2] ?? '.', 'node_modules/.bin');
const found = CLIENTS.filter(({ bin }) => existsSync(join(folder, bin)));
if (found.length === 0) {
  console.error(`There is none of ${CLIENTS.map(({ bin }) => bin).join(', ')} in ${folder}.`);
  process.exit(1);
}
for (const client of found) {
  const { version, tools, wrong } = await play(client, folder);
  if (wrong.length > 0) process.exitCode = 1;
  console.log(
    `${client.id} ${version}: ${STEPS.length} calls, ${tools} tools offered: ${wrong.length === 0 ? 'ok' : 'FAILED'}`,
  );
  for (const line of wrong) console.log(`  ${line}`);
}
