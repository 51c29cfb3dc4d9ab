// Drives the built program from the shell with the MCP Inspector: its CLI, and mcpdo, which answers questions. Covers
// both protocol eras, over stdio and over HTTP. The Inspector is fetched by npx and needs a newer Node.js than we do.
import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SELF = fileURLToPath(import.meta.url);
const BIN = fileURLToPath(new URL('../dist/colloquy.js', import.meta.url));
const PACKAGES = ['-p', 'node@24', '-p', '@modelcontextprotocol/inspector@2'];
const TIME_MAX_MS = 60_000;

/** Runs a command; returns its output, parsed as JSON, whatever its exit code says about the result's `isError`. */
function run(command, args, env) {
  return new Promise((resolve, reject) => {
    execFile(command, args, { env, timeout: TIME_MAX_MS, maxBuffer: 1e8 }, (error, stdout, stderr) => {
      try {
        resolve(JSON.parse(stdout));
      } catch {
        reject(new Error(`${command} ${args.join(' ')}: ${error?.message ?? 'no JSON'}\n${stdout}\n${stderr}`));
      }
    });
  });
}

/** The Inspector's CLI, which opens a connection for each call. */
async function cli({ era, target, env }) {
  const ask = (...args) =>
    run('mcp-inspector', ['--cli', '--format', 'json', '-q', '--protocol-era', era, ...args, ...target], env);
  const listed = await ask('--method', 'tools/list');
  const names = (listed.result ?? listed).tools.map(({ name }) => name);
  assert.ok(names.includes('run_query') && names.includes('delete_collection'), `tools: ${names}`);
  const call = ['--method', 'tools/call', '--tool-name', 'run_query', '--tool-args-json'];
  const answer = await ask(...call, JSON.stringify({ query: 'SELECT 6 * 7 AS answer' }));
  assert.deepEqual((answer.result ?? answer).structuredContent.rows, [[42]]);
}

/** mcpdo: one connection, kept by a daemon; a further command answers the server's questions. */
async function conversation({ era, target, env, collection }) {
  const mcpdo = (...args) => run('mcpdo', ['--format', 'json', ...args], env);
  const { name, protocolEra } = await mcpdo('connect', '--era', era, ...target);
  assert.equal(protocolEra, era);
  const call = (tool, args) => mcpdo('--connection', name, 'tools/call', tool, JSON.stringify(args));
  const place = { workspace: 'commons', collection };
  await call('create_collection', { workspace: 'commons', name: collection });
  const added = await call('add_documents', { ...place, data: [{ _id: '1' }, { _id: '2' }] });
  assert.deepEqual(added.structuredContent.counts, { ADDED: 2 });
  const respond = async (...answer) => {
    const { elicitationPending: pending } = await call('delete_collection', place);
    assert.match(pending.message, /2 documents in it will be gone/);
    return mcpdo('--connection', name, 'elicitation/respond', pending.elicitationId, ...answer);
  };
  const declined = await respond('--decline');
  assert.equal(declined.isError, true);
  assert.equal(declined.structuredContent.error.code, 'declined');
  const counted = await call('run_query', { query: `SELECT count(*) FROM commons.${collection}` });
  assert.deepEqual(counted.structuredContent.rows, [[2]]);
  const accepted = await respond(JSON.stringify({ name: collection }));
  assert.notEqual(accepted.isError, true, JSON.stringify(accepted));
  const gone = await call('get_collection', place);
  assert.equal(gone.structuredContent.error.code, 'not_found');
  await run('mcpdo', ['--format', 'json', 'disconnect', name], env);
}

/** A service with MCP over HTTP, on a free port. */
async function serve(dataDir) {
  const env = { PATH: process.env.PATH, HOME: dataDir, COLLOQUY_DATA_DIR: dataDir, COLLOQUY_LOG_LEVEL: 'warn' };
  const child = spawn(process.argv[3], [BIN, 'serve', '--port', '0'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  const url = await new Promise((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      printed += chunk;
      const found = /^MCP clients connect to (\S+)/m.exec(printed);
      if (found !== null) resolve(found[1]);
    });
    child.once('exit', (code) => reject(new Error(`serve ended with ${code}: ${printed}`)));
  });
  const [, keyFile] = /admin's key is in (.+)/.exec(printed);
  const key = (await readFile(keyFile.trim(), 'utf8')).trim();
  return { url, key, stop: () => new Promise((done) => child.once('exit', done).kill()) };
}

async function inside() {
  const home = await mkdtemp(join(tmpdir(), 'colloquy-inspector-'));
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    MCP_INSPECTOR_SECRET_STORE: 'memory',
    // A separate daemon, so that the user's own is not touched.
    MCP_INSPECTOR_DAEMON_DIR: join(home, 'daemon'),
    MCP_INSPECTOR_DAEMON_TOKEN: 'only-for-this-run-'.repeat(3),
  };
  const service = await serve(join(home, 'served'));
  try {
    for (const era of ['legacy', 'modern']) {
      const stdio = ['-e', `COLLOQUY_DATA_DIR=${join(home, 'own')}`, '-e', 'COLLOQUY_IDLE_SECS=5'];
      const program = [process.argv[3], BIN];
      const header = ['--header', `Authorization: Bearer ${service.key}`];
      const ways = [
        { way: 'stdio', target: [...stdio, '--', ...program], cliTarget: [...stdio, '--', ...program] },
        { way: 'http', target: [service.url, ...header], cliTarget: ['--server-url', service.url, ...header] },
      ];
      for (const { way, cliTarget, target } of ways) {
        const startedAt = performance.now();
        await cli({ era, target: cliTarget, env });
        await conversation({ era, target, env, collection: `${way}_${era}` });
        console.log(
          `inspector: ${way}, ${era}: list, call, decline, accept in ${Math.round(performance.now() - startedAt)} ms`,
        );
      }
    }
  } finally {
    spawnSync('mcpdo', ['daemon', 'stop'], { env, stdio: 'ignore' });
    await service.stop();
    await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 1_000 });
  }
}

if (process.argv[2] === 'inside') await inside();
else {
  if (!existsSync(BIN)) throw new Error('dist/colloquy.js is missing: npm run build');
  const args = ['-y', ...PACKAGES, 'node', SELF, 'inside', process.execPath];
  process.exitCode = spawnSync('npx', args, { stdio: 'inherit' }).status ?? 1;
}
