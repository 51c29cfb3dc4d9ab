// Drives clients that people have for the hosted service, as the registries have them, against the built program:
// `npm run clients:hosted -- [client …] [--folder <folder>] [--lake]`, with that before two nodes of a lake. Prints which calls work; ends with 1 if one does not.
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';

const here = (name) => join(import.meta.dirname, name);
const PROGRAM = resolve(import.meta.dirname, '../../dist/colloquy.js');
const TIME_MAX_MS = 300_000;

const run = async (command, args, cwd) => {
  const { stdout } = await promisify(execFile)(command, args, { cwd, timeout: TIME_MAX_MS, maxBuffer: 1 << 26 });
  return stdout;
};

/** A version of the npm client; nothing of it runs while it is installed. */
const npm = (version) => ({
  name: `npm ${version}`,
  install: async (folder) => {
    await writeFile(join(folder, 'package.json'), '{"private":true}');
    await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', `@rockset/client@${version}`], folder);
  },
  drive: (folder) => [process.execPath, [here('node.mjs')], [folder]],
});

const CLIENTS = [
  {
    name: 'python 2.1.2',
    install: async (folder) => {
      await run('python3', ['-m', 'venv', folder], folder);
      const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--only-binary', ':all:'];
      await run(join(folder, 'bin/python'), [...pip, 'rockset==2.1.2'], folder);
    },
    drive: (folder) => [join(folder, 'bin/python'), [here('python.py')], []],
  },
  npm('0.8.2'),
  npm('0.9.2'),
  {
    name: 'java 0.13.0',
    install: async (folder) => {
      await cp(here('pom.xml'), join(folder, 'pom.xml'));
      await run('mvn', ['-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=jars'], folder);
    },
    // Compiled each time: the driver may have changed.
    prepare: (folder) => run('javac', ['-proc:none', '-cp', 'jars/*', '-d', '.', here('Driver.java')], folder),
    drive: (folder) => ['java', ['-cp', `${folder}/jars/*:${folder}`, 'Driver'], []],
  },
];

/** What the lists of a client then hold: one of each kind, with all that it may have. */
const CONTENTS = [
  ['/ws', { name: 'rich', description: 'd' }],
  [
    '/ws/rich/collections',
    {
      name: 'all',
      retention_secs: 86_400,
      sources: [{ file_upload: { file_name: 'a.csv', file_size: 5, file_upload_time: '2024-01-01T00:00:00Z' } }],
      clustering_key: [{ field_name: 'n', type: 'AUTO' }],
      field_schemas: [{ field_name: 'n', field_options: { index_mode: 'index' } }],
      event_time_info: { field: 'at' },
      // The clients have objects for SQL.
      field_mappings: [
        {
          name: 'm',
          input_fields: [{ field_name: 'a' }],
          output_field: { field_name: 'b', value: { sql: 'upper(:a)' } },
        },
      ],
    },
  ],
  [
    '/ws/rich/collections',
    { name: 'made', field_mapping_query: { sql: 'SELECT a, b.c AS d FROM _input WHERE a > 0' } },
  ],
  ['/ws/rich/collections/all/docs', { data: [{ n: 1, big: 2 ** 60 }, { _id: 5 }] }],
  ['/ws/rich/aliases', { name: 'other', collections: ['rich.all'] }],
  ['/ws/rich/lambdas', { name: 'runs', sql: { query: 'SELECT * FROM rich.all' } }],
  ['/ws/rich/lambdas/runs/tags/latest', {}],
  [
    '/ws/rich/lambdas',
    {
      name: 'defaults',
      sql: {
        query: 'SELECT :n AS n, :l AS l, :o AS o, :b AS b, :x AS x, :d AS d',
        default_parameters: [
          { name: 'n', value: 10 },
          { name: 'l', type: 'array', value: [1] },
          { name: 'o', value: { k: 1 } },
          { name: 'b', type: 'bool', value: true },
          { name: 'x', type: 'int', value: null },
          { name: 'd', type: 'date' },
        ],
      },
    },
  ],
  ['/ws/rich/lambdas', { name: 'fails', sql: { query: 'SELECT * FROM rich.nothing' } }],
  ['/integrations', { name: 'kafka', kafka: { kafka_topic_names: ['t'], kafka_data_format: 'JSON' } }],
  ['/integrations', { name: 'mongodb', mongodb: { connection_uri: 'mongodb://u:p@example.com/d' } }],
  ['/integrations', { name: 'gcs', gcs: { gcp_service_account: { service_account_key_file_json: '{}' } } }],
  ['/users', { email: 'rich@example.com', roles: ['read-only'] }],
];

async function fill(url, key) {
  const headers = { authorization: `ApiKey ${key}`, 'content-type': 'application/json' };
  for (const [path, body] of CONTENTS) {
    const answer = await fetch(`${url}/v1/orgs/self${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  }
}

/** Starts `serve` with a data folder of its own; `use` gets its address and a key. */
async function withService(use) {
  const folder = await mkdtemp(join(tmpdir(), 'colloquy-hosted-clients-'));
  const child = spawn(process.execPath, [PROGRAM, 'serve', '--port', '0', '--data-dir', folder], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise((done) => child.once('exit', done));
  try {
    const url = await new Promise((found, failed) => {
      let printed = '';
      const look = (chunk) => {
        printed += chunk;
        const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(printed) ?? [];
        if (address !== undefined) found(address);
      };
      child.stdout.on('data', look);
      child.stderr.on('data', look);
      ended.then(() => failed(new Error(`serve ended:\n${printed}`)));
    });
    return await use(url, (await readFile(join(folder, 'admin.key'), 'utf8')).trim());
  } finally {
    child.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Starts two nodes of a lake behind a balancer, and what the lake is on; `use` gets the balancer's address and a key. */
async function withLake(use) {
  const [{ default: setup }, { serveLake, sharedPlaces }, { startBalancer }] = await Promise.all(
    ['servers', 'served-lake', 'balancer'].map((name) => import(`../../test/lake/${name}.ts`)),
  );
  const stop = await setup();
  const lake = await serveLake(sharedPlaces());
  try {
    const nodes = await Promise.all([lake.start(), lake.start()]);
    const balancer = await startBalancer(nodes.map(({ base }) => base));
    await use(balancer.base, nodes[0].key);
    await balancer.close();
  } finally {
    await lake.close();
    await stop();
  }
}

/** What was wrong with each call of a client, by operation; null where nothing was. */
async function drive({ name, install, prepare, drive: commandIn }, cache, url, key) {
  const folder = join(cache, name.replace(' ', '-'));
  const done = join(folder, 'installed');
  if (!existsSync(done)) {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    await install(folder);
    await writeFile(done, '');
  }
  await prepare?.(folder);
  const [command, first, last] = commandIn(folder);
  const printed = await run(command, [...first, url, key, ...last], folder);
  const calls = new Map();
  for (const line of printed.split('\n').filter((text) => text.startsWith('{'))) {
    const { call, wrong } = JSON.parse(line);
    calls.set(call, calls.get(call) ?? wrong);
  }
  return calls;
}

function printTable(found) {
  const names = [...found.keys()];
  const operations = new Set(names.flatMap((name) => [...found.get(name).keys()]));
  const width = Math.max(...[...operations].map(({ length }) => length));
  const line = (first, cells) => console.log([first.padEnd(width), ...cells].join('  ').trimEnd());
  line('', names);
  for (const operation of operations) {
    const cellOf = (name) => {
      const calls = found.get(name);
      return (calls.has(operation) ? (calls.get(operation) === null ? 'ok' : 'FAIL') : '-').padEnd(name.length);
    };
    line(operation, names.map(cellOf));
  }
  for (const name of names) {
    for (const [call, wrong] of found.get(name)) if (wrong !== null) console.log(`\n${name}, ${call}: ${wrong}`);
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { folder: { type: 'string' }, lake: { type: 'boolean' } },
});
const chosen = CLIENTS.filter(
  ({ name }) => positionals.length === 0 || positionals.some((wanted) => name.startsWith(wanted)),
);
if (chosen.length === 0) throw new Error(`The clients are ${CLIENTS.map(({ name }) => name).join(', ')}.`);
const cache = resolve(values.folder ?? join(tmpdir(), 'colloquy-hosted-clients-cache'));
const found = new Map();
await (values.lake ? withLake : withService)(async (url, key) => {
  await fill(url, key);
  for (const client of chosen) found.set(client.name, await drive(client, cache, url, key));
});
printTable(found);
process.exitCode = [...found.values()].some((calls) => [...calls.values()].some((wrong) => wrong !== null)) ? 1 : 0;
