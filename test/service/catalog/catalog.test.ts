import { describe, expect, it } from 'vitest';
import {
  type Change,
  NOT_SHARED,
  type RecordChange,
  type RecordsListener,
  type StoredRecord,
} from '../../../src/engine/engine.ts';
import { permits } from '../../../src/service/access/auth.ts';
import { openCatalog, put, remove, SCHEMA_VERSION } from '../../../src/service/catalog/catalog.ts';
import { createOffsets, prepareMetadata, startToCount } from '../../../src/service/catalog/metadata.ts';

/** An engine that records what is committed, and fails where told to. */
function memory(records: StoredRecord[] = []) {
  const committed: (readonly Change[])[] = [];
  const store = {
    ...NOT_SHARED,
    records,
    failing: false,
    committed,
    async commit(changes: readonly Change[]) {
      await new Promise((resolve) => setImmediate(resolve));
      if (store.failing) throw new Error('disk full');
      committed.push(changes);
    },
  };
  return store;
}

const workspace = (name: string) => ({ name, description: null, createdAt: 'now', createdBy: 'me' });

describe('openCatalog()', () => {
  it.each<[string, StoredRecord[], RegExp]>([
    [
      'a newer version',
      [{ kind: 'schema', key: 'self', value: { version: SCHEMA_VERSION + 1 } }],
      /version 2 and this program knows version 1/,
    ],
    ['an unknown kind', [{ kind: 'starship', key: 'x', value: {} }], /starship "x": its kind is unknown/],
    ['a kind named __proto__', [{ kind: '__proto__', key: 'x', value: {} }], /its kind is unknown/],
    ['a damaged record', [{ kind: 'workspace', key: 'x', value: { name: 5 } }], /workspace "x"/],
  ])('refuses %s', (_, records, message) => {
    expect(() => openCatalog(memory(records))).toThrow(message);
  });

  it('reads what it wrote', async () => {
    const store = memory();
    await prepareMetadata(openCatalog(store));
    const records = store.committed.flat().flatMap((change) => (change.do === 'putRecord' ? [change] : []));
    const again = openCatalog(memory(records));
    expect([...again.all('workspace').keys()]).toEqual(['commons']);
    expect(again.all('user').get('admin@localhost')).toMatchObject({ roles: ['admin'], state: 'NEW' });
  });
});

describe('Catalog.derived()', () => {
  const names = (records: ReadonlyMap<string, { name: string }>) => [...records.values()].map(({ name }) => name);

  it('is built once, and anew after a change of its kind', async () => {
    const told: RecordsListener[] = [];
    const catalog = openCatalog({ ...memory(), onRecords: (listener) => void told.push(listener) });
    const add = (name: string) => put('workspace', name, workspace(name));
    await catalog.change(() => ({ changes: [add('a')], result: 0 }));
    const first = catalog.derived('workspace', names);
    expect(first).toEqual(['a']);
    await catalog.change(() => ({ changes: [put('starts', 'self', { count: 1 })], result: 0 }));
    expect(catalog.derived('workspace', names)).toBe(first);
    await catalog.change(() => ({ changes: [add('b')], result: 0 }));
    expect(catalog.derived('workspace', names)).toEqual(['a', 'b']);
    await catalog.change(() => ({ changes: [remove('workspace', 'a')], result: 0 }));
    expect(catalog.derived('workspace', names)).toEqual(['b']);
    for (const listener of told) listener([add('c')], false);
    expect(catalog.derived('workspace', names)).toEqual(['b', 'c']);
  });
});

it('takes what another node stored and this version cannot read for what is not there, and all else as it is', async () => {
  const told: RecordsListener[] = [];
  const catalog = openCatalog({ ...memory(), onRecords: (listener) => void told.push(listener) });
  await catalog.change(() => ({ changes: [put('workspace', 'a', workspace('a'))], result: 0 }));
  const newer: RecordChange[] = [
    { do: 'putRecord', kind: 'starship', key: 'x', value: {} },
    { do: 'putRecord', kind: 'workspace', key: 'a', value: { name: 5 } },
    put('workspace', 'b', workspace('b')),
  ];
  for (const listener of told) listener(newer, false);
  expect([...catalog.all('workspace').keys()]).toEqual(['b']);
});

describe('Catalog.change()', () => {
  it('shows a change after it is durable, and not before', async () => {
    const catalog = openCatalog(memory());
    const done = catalog.change(() => ({ changes: [put('workspace', 'a', workspace('a'))], result: 1 }));
    await Promise.resolve();
    expect(catalog.all('workspace').has('a')).toBe(false);
    expect(await done).toBe(1);
    expect(catalog.all('workspace').has('a')).toBe(true);
    await catalog.change(() => ({ changes: [remove('workspace', 'a')], result: 0 }));
    expect(catalog.all('workspace').has('a')).toBe(false);
  });

  it('leaves memory as it was when the engine refuses, and goes on', async () => {
    const store = memory();
    const catalog = openCatalog(store);
    store.failing = true;
    const plan = () => ({ changes: [put('workspace', 'a', workspace('a'))], result: 0 });
    await expect(catalog.change(plan)).rejects.toThrow('disk full');
    expect(catalog.all('workspace').size).toBe(0);
    store.failing = false;
    await catalog.change(plan);
    expect(catalog.all('workspace').size).toBe(1);
  });

  it('lets each plan see what the earlier ones did', async () => {
    const catalog = openCatalog(memory());
    const create = () =>
      catalog.change(() => {
        if (catalog.all('workspace').has('a')) throw new Error('taken');
        return { changes: [put('workspace', 'a', workspace('a'))], result: 0 };
      });
    const outcomes = await Promise.allSettled([create(), create(), create()]);
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  });

  it('writes nothing for no changes', async () => {
    const store = memory();
    await openCatalog(store).change(() => ({ changes: [], result: 0 }));
    expect(store.committed).toEqual([]);
  });
});

describe('createOffsets()', () => {
  it('sorts as text within a start and over starts', () => {
    const [first, second] = [createOffsets(9), createOffsets(10)];
    const offsets = [...Array.from({ length: 12 }, first), ...Array.from({ length: 3 }, second)];
    expect([...offsets].sort()).toEqual(offsets);
  });

  it('counts a start that could not be stored as soon as it can be, and only once', async () => {
    const store = memory();
    const catalog = openCatalog(store);
    await prepareMetadata(catalog);
    store.failing = true;
    const start = startToCount(catalog) ?? 0;
    const offsets = createOffsets(start, () => prepareMetadata(catalog));
    const settled = () => catalog.change(() => ({ changes: [], result: 0 }));
    const first = offsets();
    await settled();
    store.failing = false;
    await settled();
    const later = [offsets()];
    await settled();
    later.push(offsets(), offsets());
    await settled();
    expect(catalog.all('starts').get('self')).toEqual({ count: start });
    const next = createOffsets((await prepareMetadata(catalog)) ?? 0)();
    expect([first, ...later, next]).toEqual([first, ...later, next].sort());
    expect(next).toMatch(/^00000003:/);
  });
});

describe('startToCount()', () => {
  it('is undefined if more than the count is missing', () => {
    expect(startToCount(openCatalog(memory()))).toBeUndefined();
  });
});

describe('permits()', () => {
  it.each([
    [['admin'], 'admin', true],
    [['admin'], 'read-only', true],
    [['member'], 'member', true],
    [['member'], 'admin', false],
    [['read-only'], 'member', false],
    [['read-only', 'member'], 'member', true],
    [[], 'read-only', false],
  ] as const)('%j for %s is %s', (roles, needed, expected) => {
    expect(permits(roles, needed)).toBe(expected);
  });
});
