import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import pino from 'pino';
import { expect, test } from 'vitest';
import { ApiError } from '../../src/contract/errors.ts';
import { type Client, createClient } from '../../src/http/client.ts';
import { openFolder } from '../../src/local/folder.ts';
import { startService } from '../../src/service/start.ts';
import { propertyRuns } from '../property.ts';
import { makeFolder } from './harness.ts';
import { apply, type Command, fullName, nameIn, newModel, send, standing } from './model.ts';

const WORKSPACES = ['commons', 'a', 'a.b', 'a.b.c', 'main', 'A', 'a.B', '_x', 'a..b', 'Commons'];
const NAMES = ['x', 'X', 'y', 'select', 'b.x', '_x'];
const TAGS = ['prod', 'PROD', 'latest', 'Latest', '_t', 'a.b'];
const DESCRIPTIONS = ['', 'one'];

// Names that may succeed are more frequent than those that never do.
const ws = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('commons', 'a', 'a.b') },
  { weight: 1, arbitrary: fc.constantFrom(...WORKSPACES) },
);
const name = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('x', 'y') },
  { weight: 1, arbitrary: fc.constantFrom(...NAMES) },
);
const tag = fc.oneof({ weight: 2, arbitrary: fc.constant('prod') }, fc.constantFrom(...TAGS));
const target = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(ws, name).map(([one, other]) => `${one}.${other}`) },
  fc.constant('x'),
);
const collections = fc.array(target, { minLength: 1, maxLength: 2 });
const query = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(ws, fc.constantFrom('x', 'y', 'X')).map(([w, n]) => `SELECT * FROM "${w}"."${n}"`) },
  { weight: 3, arbitrary: fc.constantFrom('SELECT 1', 'SELECT 2') },
  { weight: 1, arbitrary: fc.constantFrom('SELEC 1', 'DROP TABLE x') },
);
const description = fc.constantFrom(...DESCRIPTIONS);
const version = fc.nat({ max: 5 });

const kind = <K extends Command['do']>(...kinds: K[]) => fc.constantFrom(...kinds);
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: kind('createWorkspace'), ws }) },
  { weight: 2, arbitrary: fc.record({ do: kind('deleteWorkspace'), ws }) },
  { weight: 6, arbitrary: fc.record({ do: kind('createCollection'), ws, name }) },
  { weight: 4, arbitrary: fc.record({ do: kind('deleteCollection', 'addDocument'), ws, name }) },
  { weight: 6, arbitrary: fc.record({ do: kind('createAlias', 'updateAlias'), ws, name, collections }) },
  { weight: 3, arbitrary: fc.record({ do: kind('deleteAlias'), ws, name }) },
  { weight: 5, arbitrary: fc.record({ do: kind('createLambda'), ws, name, query, description }) },
  {
    weight: 7,
    arbitrary: fc.record(
      { do: kind('postVersion'), ws, name, create: fc.boolean(), query, description },
      { requiredKeys: ['do', 'ws', 'name', 'create'] },
    ),
  },
  { weight: 2, arbitrary: fc.record({ do: kind('deleteLambda'), ws, name }) },
  { weight: 3, arbitrary: fc.record({ do: kind('deleteVersion'), ws, name, version }) },
  { weight: 4, arbitrary: fc.record({ do: kind('tag'), ws, name, version, tag }) },
  { weight: 2, arbitrary: fc.record({ do: kind('deleteTag'), ws, name, tag }) },
);
/** A former bug: `b.x` in `a` was mistaken for `x` in `a.b`. */
const DOTTED: Command[] = [
  { do: 'createWorkspace', ws: 'a' },
  { do: 'createWorkspace', ws: 'a.b' },
  { do: 'createCollection', ws: 'a.b', name: 'y' },
  { do: 'createAlias', ws: 'a.b', name: 'x', collections: ['a.b.y'] },
  { do: 'createLambda', ws: 'a.b', name: 'x', query: 'SELECT 1', description: '' },
  { do: 'updateAlias', ws: 'a', name: 'b.x', collections: ['a.b.y'] },
  { do: 'deleteAlias', ws: 'a', name: 'b.x' },
  { do: 'deleteCollection', ws: 'a', name: 'b.y' },
  { do: 'deleteLambda', ws: 'a', name: 'b.x' },
];
/** A former error of the model: SQL without a description does not inherit the previous version's description. */
const DESCRIBED: Command[] = [
  { do: 'postVersion', ws: 'commons', name: 'y', create: true, query: 'SELECT 1', description: 'one' },
  { do: 'postVersion', ws: 'commons', name: 'y', create: false, query: 'SELECT 2' },
  { do: 'postVersion', ws: 'commons', name: 'y', create: false, description: 'one' },
  { do: 'postVersion', ws: 'commons', name: 'y', create: false },
];
const commands = fc.array(command, { minLength: 1, maxLength: 30, size: 'max' });

interface Running {
  client: Client;
  stop(): Promise<void>;
}

/** The service in this process, which is closed at the end. */
async function startHere(home: string): Promise<Running> {
  const folder = await openFolder(home);
  const socketPath = join(home, 'here.sock');
  const log = pino({ level: 'silent' });
  const limits = { threads: 2, memoryBytes: 512 * 1024 * 1024 };
  const service = await startService({ ...folder, listen: [{ path: socketPath }], version: '0.0.1', log, limits });
  const client = createClient({ target: { socketPath }, apiKey: (await readFile(folder.adminKeyFile, 'utf8')).trim() });
  return {
    client,
    async stop() {
      await client.close();
      await service.close();
    },
  };
}

/** The built service in a process of its own, which is killed at the end. */
async function startThere(home: string): Promise<Running> {
  const socketPath = join(home, 'there.sock');
  await rm(socketPath, { force: true });
  const options = ['--data-dir', home, '--socket', socketPath, '--threads', '2', '--memory-mb', '512'];
  const bin = resolve(import.meta.dirname, '../../dist/colloquy.js');
  const child = spawn(process.execPath, [bin, 'serve', '--supervised', '0', ...options, '--log-level', 'info'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env['PATH'], HOME: home },
  });
  const gone = once(child, 'exit');
  let log = '';
  for await (const chunk of child.stderr.iterator({ destroyOnReturn: false })) {
    log += String(chunk);
    if (log.includes('the service is ready')) break;
  }
  child.stderr.resume();
  if (!log.includes('the service is ready')) throw new Error(`the service did not start: ${log}`);
  const apiKey = (await readFile((await openFolder(home)).adminKeyFile, 'utf8')).trim();
  const client = createClient({ target: { socketPath }, apiKey });
  return {
    client,
    async stop() {
      await client.close();
      child.kill('SIGKILL');
      await gone;
    },
  };
}

type Model = ReturnType<typeof newModel>;
const sorted = <T>(items: Iterable<T>, key: (item: T) => string) =>
  [...items].sort((a, b) => (key(a) < key(b) ? -1 : Number(key(a) > key(b))));
/** Sorted by workspace, then by name, as all lists are. */
const listed = <T extends { ws: string; name: string }>(items: Iterable<T>) =>
  sorted(items, (one) => `${one.ws}\n${one.name}`);

/** A version as lists show it. */
function shown(model: Model, { query: sql, description: text, hash }: Model['lambdas'][number]['versions'][number]) {
  const named = nameIn(sql);
  const found = named === null ? undefined : standing(model, named);
  return {
    version: hash,
    query: sql,
    description: text === '' ? null : text,
    state: named === null || found !== undefined ? 'ACTIVE' : 'INVALID_SQL',
    collections: named === null ? [] : [found ?? named],
  };
}

type Returned = Awaited<ReturnType<Client['getLambdaVersion']>>;
const seen = (one: Returned | null | undefined) => ({
  version: one?.version,
  query: one?.sql?.query,
  description: one?.description,
  state: one?.state,
  // A missing collection is spelled as in the SQL.
  collections: one?.collections,
});

async function expectSame(client: Client, model: Model): Promise<void> {
  const workspaces = (await client.listWorkspaces({})).map((one) => [one.name, one.collection_count]);
  const inside = (one: string) => model.collections.filter((other) => other.ws === one).length;
  expect(workspaces).toEqual([...model.workspaces].sort().map((one) => [one, inside(one)]));

  const aliasesOf = (full: string) =>
    sorted(model.aliases.filter((one) => one.collections.includes(full)).map(fullName), (one) => one);
  const found = (await client.listCollections({})).map((one) => [
    `${one.workspace}.${one.name}`,
    one.status,
    one.stats?.doc_count,
    one.aliases?.map((alias) => `${alias.workspace}.${alias.name}`),
  ]);
  expect(found).toEqual(
    listed(model.collections).map((one) => [fullName(one), 'READY', one.docs, aliasesOf(fullName(one))]),
  );

  const aliases = (await client.listAliases({})).map((one) => [`${one.workspace}.${one.name}`, one.collections]);
  expect(aliases).toEqual(listed(model.aliases).map((one) => [fullName(one), one.collections]));

  const lambdas = (await client.listLambdas({})).map((one) => [
    `${one.workspace}.${one.name}`,
    one.version_count,
    seen(one.latest_version),
  ]);
  const latestOf = (one: Model['lambdas'][number]) => one.versions.find((other) => other.hash === one.latest);
  expect(lambdas).toEqual(
    listed(model.lambdas).map((one) => {
      const latest = latestOf(one);
      return [fullName(one), one.versions.length, latest && shown(model, latest)];
    }),
  );

  for (const one of model.lambdas) {
    const where = { workspace: one.ws, queryLambda: one.name };
    const versions = (await client.listLambdaVersions(where)).map(seen);
    expect(versions).toEqual(one.versions.toReversed().map((other) => shown(model, other)));
    const tags = (await client.listLambdaTags(where)).map((other) => [other.tag_name, other.version?.version]);
    expect(tags).toEqual([['latest', one.latest], ...sorted(one.tags, ([key]) => key)]);
  }
}

async function outcomeOf(running: Running, model: Model, step: Command) {
  try {
    return { outcome: 'ok', hash: await send(running.client, model, step) };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { outcome: error.code, hash: undefined, message: error.message };
  }
}

test('the service does what the model does, also after close and start, and after kill -9', {
  timeout: 1_800_000,
}, async () => {
  // Closing is more frequent: a process of its own takes half a second to start.
  const isKilled = fc.oneof({ weight: 2, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) });
  await fc.assert(
    fc.asyncProperty(commands, isKilled, async (steps, killed) => {
      const home = await makeFolder();
      let running = await (killed ? startThere : startHere)(home);
      try {
        const model = newModel();
        for (const [index, step] of steps.entries()) {
          const { outcome, hash, message } = await outcomeOf(running, model, step);
          const posted = JSON.stringify([...model.hashes]);
          expect([step, outcome, message]).toEqual([step, apply(model, step, hash), message]);
          // The same content always has the same hash, and other content another.
          if (hash !== undefined) expect([...model.hashes.values()], posted).toContain(hash);
          expect(new Set(model.hashes.values()).size).toBe(model.hashes.size);
          if (index % 5 === 4) await expectSame(running.client, model);
        }
        if (!killed) await expectSame(running.client, model);
        await running.stop();
        running = await startHere(home);
        await expectSame(running.client, model);
      } finally {
        await running.stop();
        await rm(home, { recursive: true, force: true });
      }
    }),
    {
      ...propertyRuns(25),
      examples: [
        [DOTTED, false],
        [DESCRIBED, false],
      ],
    },
  );
});
