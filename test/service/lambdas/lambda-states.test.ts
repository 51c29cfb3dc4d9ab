import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Change, type Engine, NOT_SHARED } from '../../../src/engine/engine.ts';
import { type Catalog, openCatalog, put } from '../../../src/service/catalog/catalog.ts';
import type { LambdaVersionRecord } from '../../../src/service/catalog/records.ts';
import { createLambdaStates, type LambdaStates } from '../../../src/service/lambdas/lambda-states.ts';
import { doc, openSmall, temporaryFolder } from '../../engine/harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;
let catalog: Catalog;
let states: LambdaStates;
let bound: string[];

beforeEach(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  bound = [];
  await engine.commit([
    { do: 'createWorkspace', workspace: 'commons' },
    { do: 'createWorkspace', workspace: 'a.b' },
    collection('orders'),
    collection('people'),
    { do: 'createCollection', table: 'dotted', workspace: 'a.b', name: 'c' },
    { do: 'putAlias', workspace: 'commons', name: 'now', tables: ['orders'] },
  ]);
  await engine.addDocuments('orders', [doc('1', { n: 1 })]);
  catalog = openCatalog({ ...NOT_SHARED, records: [], commit: async () => undefined });
  restart();
});

afterEach(async () => {
  await engine.close();
  folder.dispose();
});

function restart(versions = '1.0.0') {
  const inspect = vi.fn<Engine['inspect']>((request) => {
    bound.push(request.sql);
    return engine.inspect(request);
  });
  const spied = { inspect, definitionOf: (names: readonly string[]) => engine.definitionOf(names) };
  states = createLambdaStates({ engine: spied, catalog, versions, log: pino({ level: 'silent' }) });
}

function collection(name: string): Change {
  return { do: 'createCollection', table: name, workspace: 'commons', name };
}

function version(query: string, ...names: string[]): LambdaVersionRecord {
  const by = { createdAt: '', createdBy: '', description: null };
  const bound = { unbound: null, boundOn: null };
  return { workspace: 'commons', lambda: query, version: 'v', query, names, defaultParameters: [], ...bound, ...by };
}

/** The SQL of those that were bound again by asking for all of them. */
async function ask(versions: readonly LambdaVersionRecord[]): Promise<string[]> {
  bound = [];
  for (const one of versions) await states.unboundOf(one);
  return bound;
}

describe('the state of a version', () => {
  const orders = version('SELECT n FROM orders', 'commons.orders');
  const people = version('SELECT _id FROM people', 'commons.people');
  const alias = version('SELECT n FROM "now"', 'commons.now');
  const dotted = version('SELECT _id FROM "a.b".c', 'a.b.c');
  const missing = version('SELECT x FROM later', 'commons.later');
  const constant = version('SELECT 1');
  const all = [orders, people, alias, dotted, missing, constant];
  const sqlOf = (versions: readonly LambdaVersionRecord[]) => versions.map(({ query }) => query);

  it.each<[string, readonly LambdaVersionRecord[], (engine: Engine) => Promise<unknown>]>([
    ['a collection that none names', [], (one) => one.commit([collection('other')])],
    ['a workspace', [], (one) => one.commit([{ do: 'createWorkspace', workspace: 'w' }])],
    ['documents without new fields', [], (one) => one.addDocuments('orders', [doc('2', { n: 2 })])],
    ['a new column', [orders, alias], (one) => one.addDocuments('orders', [doc('2', { n: 2, m: 1 })])],
    ['a wider column', [orders, alias], (one) => one.addDocuments('orders', [doc('2', { n: 'text' })])],
    ['a collection that was missing', [missing], (one) => one.commit([collection('LATER')])],
    ['the trash', [people], (one) => one.commit([{ do: 'trashCollection', table: 'people' }])],
    [
      'an alias that stands for another',
      [alias],
      (one) => one.commit([{ do: 'putAlias', workspace: 'commons', name: 'now', tables: ['people'] }]),
    ],
    ['a name with dots', [dotted], (one) => one.commit([{ do: 'dropCollection', table: 'dotted' }])],
    [
      'deleted documents',
      [],
      (one) =>
        one.deleteDocuments('orders', ['1'], {
          trash: 'k',
          record: () => ({ do: 'putRecord', kind: 'trash', key: 'k', value: {} }),
        }),
    ],
  ])('is found out again after a change of what it names only: %s', async (_, expected, change) => {
    expect(await ask(all)).toEqual(sqlOf(all));
    expect(await ask(all)).toEqual([]);
    await change(engine);
    expect(await ask(all)).toEqual(sqlOf(expected));
    expect(await ask(all)).toEqual([]);
  });

  it('is right after each of these changes', async () => {
    const state = async (one: LambdaVersionRecord) => ((await states.unboundOf(one)) === null ? 'ACTIVE' : 'INVALID');
    const now = () => Promise.all(all.map(state));
    expect(await now()).toEqual(['ACTIVE', 'ACTIVE', 'ACTIVE', 'ACTIVE', 'INVALID', 'ACTIVE']);
    await engine.commit([collection('later')]);
    expect(await state(missing)).toBe('INVALID');
    await engine.addDocuments('later', [doc('1', { x: 1 })]);
    expect(await state(missing)).toBe('ACTIVE');
    await engine.commit([{ do: 'putAlias', workspace: 'commons', name: 'now', tables: ['people'] }]);
    expect(await state(alias)).toBe('INVALID');
    await engine.addDocuments('people', [doc('1', { n: 1 })]);
    expect(await state(alias)).toBe('ACTIVE');
    await engine.commit([
      { do: 'dropAlias', workspace: 'commons', name: 'now' },
      { do: 'trashCollection', table: 'people' },
    ]);
    expect(await now()).toEqual(['ACTIVE', 'INVALID', 'INVALID', 'ACTIVE', 'ACTIVE', 'ACTIVE']);
    await engine.commit([{ do: 'restoreCollection', table: 'people' }]);
    expect(await state(people)).toBe('ACTIVE');
  });

  it('is known after a restart, as long as names, program and engine are the same', async () => {
    const changes = all.map((one) => put('lambdaVersion', `commons.${one.lambda}::v`, one));
    await catalog.change(() => ({ changes, result: undefined }));
    const stored = () => all.map((one) => catalog.all('lambdaVersion').get(`commons.${one.lambda}::v`) ?? one);
    const before = await Promise.all(all.map((one) => states.unboundOf(one)));
    await states.close();
    await engine.close();
    engine = await openSmall(folder.file);
    restart();
    expect(await ask(stored())).toEqual([]);
    expect(await Promise.all(stored().map((one) => states.unboundOf(one)))).toEqual(before);
    await engine.addDocuments('orders', [doc('2', { n: 'text' })]);
    restart();
    expect(await ask(stored())).toEqual(sqlOf([orders, alias]));
    restart('1.0.1');
    expect(await ask(stored())).toEqual(sqlOf(all));
  });

  it('is found out once for all who ask at the same time', async () => {
    expect(await Promise.all([1, 2, 3].map(() => states.unboundOf(orders)))).toEqual([null, null, null]);
    expect(bound).toEqual(sqlOf([orders]));
  });
});
