// Runs five journeys in this process, from the assistant's call to the engine and back, and prints how many files and
// functions of src each visits: `npm run journey` (with names of the files: `npm run journey -- files`).
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import pino from 'pino';
import { createClient } from '../src/http/client.ts';
import { connectLocal } from '../src/local/connect.ts';
import { createApprovals } from '../src/mcp/guard/signed-states.ts';
import { createServer } from '../src/mcp/server.ts';
import { tools } from '../src/mcp/tools/tools.ts';
import { startService } from '../src/service/start.ts';

const SRC = new URL('../src/', import.meta.url).href;
/** A journey is warm when it has run this often. */
const WARM_AFTER = 3;
const DOCUMENTS = 1_000;

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

/** The functions that were called since the last look, by file; the bodies of modules do not count. */
async function visited() {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const files = new Map();
  for (const { url, functions } of result) {
    if (!url.startsWith(SRC)) continue;
    const called = functions.filter(({ ranges: [whole] }, index) => index > 0 && whole.count > 0);
    if (called.length > 0) files.set(url.slice(SRC.length), called.length);
  }
  return files;
}

const sum = (files) => [...files.values()].reduce((total, count) => total + count, 0);

function print(name, first, warm) {
  const row = [name.padEnd(38), first, warm].map((one) =>
    typeof one === 'string' ? one : one === undefined ? ''.padStart(14) : `${one.size} / ${sum(one)}`.padStart(14),
  );
  console.log(row.join(''));
  if (process.argv[2] !== 'files') return;
  for (const [file, functions] of [...(warm ?? first)].toSorted()) console.log(`    ${file} ${functions}`);
}

const folder = await mkdtemp(join(tmpdir(), 'colloquy-journey-'));
const log = pino({ level: 'silent' });

async function openAssistant() {
  const socket = join(folder, 'service.sock');
  await visited();
  const service = await startService({
    databaseFile: join(folder, 'data.duckdb'),
    adminKeyFile: join(folder, 'admin.key'),
    secretKeyFile: join(folder, 'secret.key'),
    listen: [{ path: socket }],
    version: '0.0.0',
    log,
  });
  print('start of the service itself', await visited(), undefined);
  const apiKey = (await readFile(join(folder, 'admin.key'), 'utf8')).trim();
  const client = createClient({ target: { socketPath: socket }, apiKey });
  const assistant = {
    connect: async () => client,
    version: '0.0.0',
    log,
    principal: 'journey',
    tools: tools(),
    approvals: createApprovals(),
    guard: 'ask',
    command: 'colloquy',
    means: {},
  };
  const [here, there] = InMemoryTransport.createLinkedPair();
  serveStdio(({ era }) => createServer(assistant, era), { transport: there });
  const host = new Client(
    { name: 'journey', version: '1' },
    { capabilities: { elicitation: {} }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  host.setRequestHandler('elicitation/create', async ({ params }) => {
    const name = /^Type (.*) to confirm$/.exec(params.requestedSchema.properties.name?.title ?? '')?.[1];
    return { action: 'accept', content: name === undefined ? { yes: true } : { name } };
  });
  await host.connect(here);
  const call = async (name, args) => {
    const answer = await host.callTool({ name, arguments: args });
    if (answer.isError) throw new Error(JSON.stringify(answer.content));
    return answer;
  };
  const close = async () => {
    await host.close();
    await client.close();
    await service.close();
  };
  return { call, close };
}

async function travel(name, prepare, work) {
  let first;
  let last;
  for (let run = 0; run < WARM_AFTER; run++) {
    await prepare?.(run);
    await visited();
    await work(run);
    last = await visited();
    first ??= last;
  }
  print(name, first, last);
}

/** The caller's side; the service is a process of its own. */
async function startLocal() {
  const dataDir = join(folder, 'local');
  const options = {
    dataDir,
    bin: fileURLToPath(new URL('../dist/colloquy.js', import.meta.url)),
    program: { version: JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8')).version },
    env: { ...process.env },
    log,
    command: 'journey',
  };
  await visited();
  const client = await connectLocal(options);
  await client.listWorkspaces({});
  print('a first call that starts the service', await visited(), undefined);
  await client.close();
}

/** The hash of the only version. */
const versionOf = (listed) => /"version": ?"([0-9a-f]+)"/.exec(JSON.stringify(listed))?.[1];

console.log(`${'files / functions'.padEnd(38)}${'first'.padStart(14)}${'warm'.padStart(14)}`);
const { call, close } = await openAssistant();
try {
  const collection = { workspace: 'commons', collection: 'trips' };
  const documents = (run) =>
    Array.from({ length: DOCUMENTS }, (_, index) => ({ _id: `${run}-${index}`, city: `c${index % 7}`, km: index }));
  await call('create_collection', { workspace: 'commons', name: 'trips' });
  await call('add_documents', { ...collection, data: documents('seed') });
  const query = (text) => call('run_query', { sql: { query: text } });
  const text = 'SELECT city, sum(km) FROM trips GROUP BY city';
  await travel('a query', undefined, () => query(text));
  await travel('a query with another text each time', undefined, (run) => query(`${text} LIMIT ${run + 1}`));
  await travel('a write of 1,000 documents', undefined, (run) =>
    call('add_documents', { ...collection, data: documents(run) }),
  );
  await travel(
    'a delete with its question',
    (run) => call('create_collection', { workspace: 'commons', name: `old${run}` }),
    (run) => call('delete_collection', { workspace: 'commons', collection: `old${run}` }),
  );
  const lambda = { workspace: 'commons', lambda: 'far' };
  await call('create_lambda', {
    workspace: 'commons',
    name: 'far',
    sql: { query: 'SELECT * FROM trips WHERE km > 990' },
  });
  const { structuredContent } = await call('list_lambda_versions', lambda);
  await call('tag_lambda_version', { ...lambda, tag: 'prod', version: versionOf(structuredContent) });
  await travel('a lambda by tag', undefined, () => call('execute_lambda_tag', { ...lambda, tag: 'prod' }));
  await startLocal();
} finally {
  await close();
  await rm(folder, { recursive: true, force: true });
}
