// What the client libraries are driven against: the built program on private data folders, as the local service that the
// first assistant starts, and as `colloquy serve`.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createClient } from '../../src/http/client.ts';
import { openFolder } from '../../src/local/folder.ts';

const BIN = fileURLToPath(new URL('../../dist/colloquy.js', import.meta.url));
const DOCUMENTS = 120;
/** Deleted in the checks of these names. */
const TO_DELETE = ['unasked', 'declined', 'accepted'];

const run = promisify(execFile);

/** What a process gets of this one's environment, besides what it needs itself. */
export function environment(more) {
  const { PATH, LANG, TMPDIR } = process.env;
  return JSON.parse(JSON.stringify({ PATH, LANG, TMPDIR, ...more }));
}

/**
 * A service that the libraries are driven against: `plan` is how they reach it, `tools` what it lists, `client` its API.
 */
async function service(transport, { plan, connection, dataDir, env }) {
  const assistant = new Client({ name: 'listing', version: '1' });
  await assistant.connect(connection);
  const { tools } = await assistant.listTools();
  await assistant.callTool({ name: 'list_workspaces', arguments: {} });
  await assistant.close();
  const { socketPath, adminKeyFile } = await openFolder(dataDir);
  const client = createClient({ target: { socketPath }, apiKey: (await readFile(adminKeyFile, 'utf8')).trim() });
  return { transport, plan, tools, client, env };
}

/** A local service, started as assistants do, which may also load files. What ends it is added to `stops`. */
export async function localService(home, stops) {
  const dataDir = join(home, 'local');
  const env = environment({ HOME: home, COLLOQUY_DATA_DIR: dataDir, COLLOQUY_IDLE_SECS: '300' });
  const plan = { command: process.execPath, args: [BIN], env: { ...env, COLLOQUY_ALLOW_DIRS: home } };
  stops.push(() => run(process.execPath, [BIN, 'stop'], { env }));
  const connection = new StdioClientTransport({ ...plan, stderr: 'ignore' });
  return service('stdio', { plan, connection, dataDir, env });
}

/** A service with MCP over HTTP, on a free port. What ends it is added to `stops`. */
export async function served(home, stops) {
  const dataDir = join(home, 'served');
  const env = environment({ HOME: home, COLLOQUY_DATA_DIR: dataDir, COLLOQUY_LOG_LEVEL: 'warn' });
  const child = spawn(process.execPath, [BIN, 'serve', '--port', '0'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  stops.push(() => {
    child.kill();
    return ended;
  });
  let url;
  for await (const line of createInterface(child.stdout)) {
    url = /^MCP clients connect to (\S+)/.exec(line)?.[1];
    if (url !== undefined) break;
  }
  assert.ok(url, 'serve ended before it listened');
  const key = (await readFile(join(dataDir, 'admin.key'), 'utf8')).trim();
  const plan = { url, headers: { Authorization: `Bearer ${key}` } };
  const connection = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: plan.headers } });
  return service('http', { plan, connection, dataDir, env });
}

/** One of two nodes of a lake, behind a balancer that keeps each key at one of them. What ends it is added to `stops`. */
export async function servedOnLake(home, stops) {
  const [{ default: setup }, { serveLake, sharedPlaces }, { startBalancer }] = await Promise.all(
    ['servers', 'served-lake', 'balancer'].map((name) => import(`../../test/lake/${name}.ts`)),
  );
  const stop = await setup();
  const lake = await serveLake(sharedPlaces());
  const nodes = await Promise.all([lake.start(), lake.start()]);
  const balancer = await startBalancer(
    nodes.map(({ base }) => base),
    { isSticky: true },
  );
  stops.push(async () => {
    await balancer.close();
    await lake.close();
    await stop();
  });
  const [{ key }] = nodes;
  const plan = { url: new URL('/mcp', balancer.base).href, headers: { Authorization: `Bearer ${key}` } };
  const connection = new StreamableHTTPClientTransport(new URL(plan.url), { requestInit: { headers: plan.headers } });
  const { folder: dataDir } = nodes.find(({ base }) => base === balancer.nodeOf(plan.headers.Authorization));
  return service('lake', { plan, connection, dataDir, env: environment({ HOME: home, COLLOQUY_DATA_DIR: dataDir }) });
}

/** A workspace for one run of one library, and the rest of its plan. */
export async function prepare({ client, transport, plan }) {
  const workspace = `w${randomBytes(4).toString('hex')}`;
  await client.createWorkspace({ name: workspace });
  for (const name of ['orders', ...TO_DELETE]) await client.createCollection({ workspace, name });
  const numbered = (n) => ({ _id: `o${String(n).padStart(3, '0')}`, n });
  const orders = Array.from({ length: DOCUMENTS }, (_, index) => numbered(index + 1));
  // A value that does not fit, so that answers carry a warning.
  await client.addDocuments({ workspace, collection: 'orders', data: [...orders, { _id: 'odd', n: 'many' }] });
  for (const collection of TO_DELETE) await client.addDocuments({ workspace, collection, data: [{ _id: 'a' }] });
  const query = (text, more) => ({ tool: 'run_query', arguments: { query: text, ...more } });
  const deletion = (collection) => ({ tool: 'delete_collection', arguments: { workspace, collection } });
  const all = `SELECT _id, n + 1 AS more FROM ${workspace}.orders ORDER BY _id`;
  const calls = {
    query: query(`SELECT _id, n FROM ${workspace}.orders WHERE n > :least ORDER BY n`, {
      parameters: [{ name: 'least', type: 'int', value: String(DOCUMENTS - 3) }],
    }),
    large: query(all),
    page: { tool: 'fetch_result', arguments: { offset: 50, limit: 3 } },
    issued: { tool: 'create_api_key', arguments: { name: workspace } },
    error: query(`SELECT * FROM ${workspace}.order`),
    ...Object.fromEntries(TO_DELETE.map((name) => [name, deletion(name)])),
  };
  return {
    transport,
    ...plan,
    workspace,
    calls,
    resource: `colloquy://workspaces/${workspace}/collections/orders`,
    prompt: { name: 'explore_data', arguments: { question: 'How many orders are there?', workspace } },
    typed: { name: 'accepted' },
    callSeconds: 60,
    seconds: 180,
  };
}

/** Removes what would be in the way of later runs: the API key, of which a user may have a few. */
export async function tidyUp({ client }, { workspace }) {
  await client.deleteApiKey({ name: workspace }).catch(() => undefined);
}

/** Approves the question that an answer's text tells of, as its human would; it has to be listed in the terminal. */
export async function approve({ client, env }, text) {
  const code = /approve ([\w-]+)/.exec(text)?.[1];
  const { stdout } = await run(process.execPath, [BIN, 'approve'], { env });
  assert.ok(code !== undefined && stdout.includes(code), `no question of ${text} among ${stdout}`);
  const { shown, typed_name } = await client.getApproval({ code });
  await client.decideApproval({ code, decision: 'approve', typed_name, shown });
}

/** Whether the collection is there, in the workspace of the plan. */
export async function hasCollection({ client }, { workspace }, name) {
  const all = await client.listWorkspaceCollections({ workspace });
  return all.some((one) => one.name === name);
}
