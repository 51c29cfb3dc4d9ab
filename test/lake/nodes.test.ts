import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/contract/json/json.ts';
import type { Engine, RecordChange } from '../../src/engine/engine.ts';
import { createDocs, doc, openSmall, rowsOf, statusesOf, temporaryFolder } from '../engine/harness.ts';
import { inCatalog, lakeFor } from './lake-for.ts';

let folder: ReturnType<typeof temporaryFolder>;
let nodes: Engine[];
let a: Engine;
let b: Engine;

const openNode = async () => {
  const node = await openSmall(folder.file);
  nodes.push(node);
  return node;
};

beforeEach(async () => {
  folder = temporaryFolder();
  nodes = [];
  await lakeFor(folder.file);
  await Promise.all([openNode(), openNode()]);
  [a, b] = nodes as [Engine, Engine];
});

afterEach(async () => {
  for (const node of nodes) await node.close();
  folder.dispose();
});

test('two nodes that open an empty lake at once have one', async () => {
  await createDocs(a);
  await b.refresh();
  await expect(b.commit([{ do: 'createWorkspace', workspace: 'commons' }])).rejects.toThrow(/a workspace of that name/);
  await a.addDocuments('t', [doc('1', { n: 1 })]);
  await b.refresh();
  expect(await rowsOf(b, 'SELECT _id, n FROM docs')).toEqual([['1', 1]]);
});

describe('what one node changes, the other knows after it has looked', () => {
  beforeEach(async () => {
    await createDocs(a);
    await b.refresh();
  });

  test('documents, and fields that are new', async () => {
    await a.addDocuments('t', [doc('1', { n: 1 })]);
    expect((await b.stats('t')).docCount).toBe(1);
    await b.refresh();
    await b.addDocuments('t', [doc('2', { n: 'text', o: { p: 1 } })]);
    await a.refresh();
    await a.addDocuments('t', [doc('3', { o: { p: 2.5, q: ['x'] } })]);
    await b.refresh();
    for (const node of [a, b]) {
      expect(await rowsOf(node, 'SELECT _id, n, o.p, o.q FROM docs ORDER BY _id')).toEqual([
        ['1', 1, null, null],
        ['2', 'text', 1, null],
        ['3', null, 2.5, ['x']],
      ]);
      expect((await node.stats('t')).docCount).toBe(3);
    }
  });

  test('collections, aliases and workspaces, made and gone', async () => {
    await a.commit([
      { do: 'createWorkspace', workspace: 'other' },
      { do: 'createCollection', table: 'u', workspace: 'other', name: 'more' },
      { do: 'putAlias', workspace: 'commons', name: 'all', tables: ['t', 'u'] },
    ]);
    await b.refresh();
    await b.addDocuments('u', [doc('1', { n: 1 })]);
    expect(await rowsOf(b, 'SELECT n FROM "all"')).toEqual([[1]]);
    await b.commit([
      { do: 'dropAlias', workspace: 'commons', name: 'all' },
      { do: 'dropCollection', table: 'u' },
      { do: 'dropWorkspace', workspace: 'other' },
    ]);
    await a.refresh();
    await expect(rowsOf(a, 'SELECT n FROM "all"')).rejects.toThrow();
    await expect(a.addDocuments('u', [doc('2', {})])).rejects.toThrow(/does not exist any more/);
    await a.commit([{ do: 'createWorkspace', workspace: 'other' }]);
  });

  test('the trash: what one node deleted stays hidden when the other changes columns', async () => {
    await a.addDocuments('t', [doc('1', { n: 1 }), doc('2', { n: 2 })]);
    const record: RecordChange = { do: 'putRecord', kind: 'trash', key: 'k', value: {} };
    await a.deleteDocuments('t', ['1'], { trash: 'k', record: () => record });
    await b.refresh();
    await b.addDocuments('t', [doc('3', { n: 3, more: true })]);
    expect(await rowsOf(b, 'SELECT _id FROM docs ORDER BY _id')).toEqual([['2'], ['3']]);
    await b.restoreDocuments('k', 't', () => [{ do: 'deleteRecord', kind: 'trash', key: 'k' }]);
    await a.refresh();
    expect(await rowsOf(a, 'SELECT _id FROM docs ORDER BY _id')).toEqual([['1'], ['2'], ['3']]);
  });

  test('the trash: what is deleted is hidden on all, also where a node opened when it was empty', async () => {
    const record: RecordChange = { do: 'putRecord', kind: 'trash', key: 'k', value: {} };
    await a.addDocuments('t', [doc('1', { n: 1 }), doc('2', { n: 2 })]);
    await a.deleteDocuments('t', ['1'], { trash: 'k', record: () => record });
    await a.commit([
      { do: 'dropDocuments', trash: ['k'], table: 't' },
      { do: 'deleteRecord', kind: 'trash', key: 'k' },
    ]);
    const late = await openNode();
    await late.addDocuments('t', [doc('3', { n: 3, more: true })]);
    expect(await a.deleteDocuments('t', ['2'], { trash: 'k', record: () => record })).toBe(1);
    for (const node of [a, b, late]) {
      await node.refresh();
      expect(await rowsOf(node, 'SELECT _id FROM docs')).toEqual([['3']]);
    }
  });

  test('many collections written at once take few connections of PostgreSQL, and leave fewer', async () => {
    const names = Array.from({ length: 40 }, (_, n) => `u${n}`);
    await a.commit(names.map((name) => ({ do: 'createCollection', table: name, workspace: 'commons', name })));
    const sessions = async () => {
      const [row] = await inCatalog(
        folder.file,
        `SELECT count(DISTINCT pid) AS n FROM pg_locks WHERE locktype = 'advisory' AND granted
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      );
      return Number(row?.['n']);
    };
    let most = 0;
    const looking = setInterval(() => void sessions().then((n) => (most = Math.max(most, n))), 20);
    const write = (round: number) =>
      Promise.all(names.map((name) => a.addDocuments(name, [doc(`${round}`, { n: round })])));
    for (const round of [1, 2]) await write(round);
    clearInterval(looking);
    expect(most).toBeGreaterThan(2);
    expect(most).toBeLessThan(36);
    expect(await sessions()).toBeLessThan(16);
    expect(await rowsOf(a, 'SELECT count(*) FROM u39')).toEqual([[2]]);
  });

  test('records, in their order, and never its own', async () => {
    const told: RecordChange[] = [];
    const own: RecordChange[] = [];
    b.onRecords((changes) => told.push(...changes));
    a.onRecords((changes) => own.push(...changes));
    const put = (key: string, n: number): RecordChange => ({ do: 'putRecord', kind: 'k', key, value: { n } });
    await a.commit([put('x', 1), put("it's", 2)]);
    await a.commit([put('x', 3)]);
    await b.refresh();
    expect(told).toEqual([put('x', 1), put("it's", 2), { do: 'deleteRecord', kind: 'k', key: 'x' }, put('x', 3)]);
    told.length = 0;
    await a.commit([{ do: 'deleteRecord', kind: 'k', key: 'x' }]);
    await b.commit([put('y', 1)]);
    await b.refresh();
    expect(told).toEqual([{ do: 'deleteRecord', kind: 'k', key: 'x' }]);
    await a.refresh();
    expect(own).toEqual([put('y', 1)]);
    expect((await openNode()).records.map(({ key }) => key).toSorted()).toEqual(["it's", 'y']);
  });

  // A node looks while it starts, before whatever keeps the records listens: for its lease of the upkeep, for one.
  test('records, also of what it looked at before anyone listened', async () => {
    await a.commit([{ do: 'putRecord', kind: 'k', key: 'x', value: { n: 1 } }]);
    await b.refresh();
    const told = new Map<string, unknown>();
    b.onRecords((changes) => {
      for (const change of changes) if (change.do === 'putRecord') told.set(change.key, change.value);
    });
    await b.refresh();
    expect(told.get('x')).toEqual({ n: 1 });
  });
});

// Its turn may come long after its request has looked.
test('a query means the fields that its transaction sees, also those that another node made since the last look', async () => {
  await createDocs(a);
  await a.addDocuments('t', [doc('1', { n: 1 }), doc('2', { n: 2 })]);
  await b.refresh();
  const all = 'SELECT * FROM docs ORDER BY _id';
  const before = (await b.query({ sql: all })).columns.map(({ name }) => name);
  expect(before).toEqual(['_id', '_event_time', 'n']);
  await a.addDocuments('t', [doc('3', { n: 'text', more: true, '': 5 })]);
  const own = async (node: Engine) => {
    const { columns, rows } = await node.query({ sql: all });
    return { names: columns.map(({ name }) => name), last: rows.at(-1)?.toSpliced(1, 1) };
  };
  const shown = await own(b);
  expect(shown.names).not.toContain('_strays');
  expect(shown).toEqual(await own(a));
  expect((await b.query({ sql: 'SELECT sum(n) AS s FROM docs' })).warnings.join()).toMatch(/do not fit|does not fit/);
  await a.commit([{ do: 'createCollection', table: 'u', workspace: 'commons', name: 'later' }]);
  expect(await rowsOf(b, 'SELECT count(*) FROM later')).toEqual([[0]]);
});

test('while one node changes names all the time, queries of the other see them and end', async () => {
  await createDocs(a);
  await b.refresh();
  let fields = 0;
  let isOver = false;
  const changing = (async () => {
    while (!isOver) await a.addDocuments('t', [doc('x', { [`f${fields++}`]: 1 })]);
  })();
  for (let n = 0; n < 30; n++) {
    const least = fields - 1;
    const { columns } = await b.query({ sql: 'SELECT * FROM docs' });
    expect(columns.length).toBeGreaterThanOrEqual(2 + Math.max(0, least));
  }
  isOver = true;
  await changing;
});

test('what is known of the data for warnings is not told of others that came since', async () => {
  await createDocs(a);
  await a.addDocuments('t', [doc('1', { k: '1' }), doc('2', { k: '2' })]);
  await b.refresh();
  const ask = async () => {
    const { rows, warnings } = await b.query({ sql: 'SELECT k FROM docs ORDER BY k' });
    return { rows: rows.flat(), isMisordered: warnings.some((warning) => warning.includes('number')) };
  };
  for (let times = 0; times < 2; times++) expect(await ask()).toEqual({ rows: ['1', '2'], isMisordered: false });
  await a.addDocuments('t', [doc('10', { k: '10' })]);
  for (let times = 0; times < 2; times++) expect(await ask()).toEqual({ rows: ['1', '10', '2'], isMisordered: true });
});

test('work alone is alone over all nodes, and knows what came before', async () => {
  await createDocs(a);
  const seen = new Map<Engine, number>([
    [a, 0],
    [b, 0],
  ]);
  for (const node of [a, b]) {
    node.onRecords((changes) => {
      for (const change of changes) if (change.do === 'putRecord') seen.set(node, Number(change.value['n']));
    });
  }
  const count = (node: Engine) =>
    node.alone(async () => {
      const n = (seen.get(node) ?? 0) + 1;
      await delay(1);
      await node.commit([{ do: 'putRecord', kind: 'k', key: 'count', value: { n } }]);
      seen.set(node, n);
    });
  await Promise.all(Array.from({ length: 20 }, (_, n) => count(n % 2 === 0 ? a : b)));
  expect((await openNode()).records.find(({ key }) => key === 'count')?.value).toEqual({ n: 20 });
});

test('records stored with documents and changes that another node plans do not undo each other', async () => {
  await createDocs(a);
  const known = new Map<Engine, JsonObject>();
  for (const node of [a, b]) {
    await node.refresh();
    node.onRecords((changes) => {
      for (const change of changes) if (change.do === 'putRecord') known.set(node, change.value);
    });
  }
  const merged = (node: Engine, value: JsonObject): RecordChange => {
    return { do: 'putRecord', kind: 'k', key: 'state', value: { ...known.get(node), ...value } };
  };
  for (let n = 1; n <= 3; n++) {
    let stored: Promise<unknown> | undefined;
    await b.alone(async () => {
      const planned = merged(b, { paused: n });
      stored = a.storeBatch('t', {
        documents: [doc(`${n}`, { n })],
        deletes: [],
        records: () => [merged(a, { checkpoint: n })],
      });
      await delay(300);
      await b.commit([planned]);
    });
    await stored;
    for (const node of [a, b]) await node.refresh();
    expect(known.get(a)).toEqual({ checkpoint: n, paused: n });
    expect(known.get(b)).toEqual({ checkpoint: n, paused: n });
  }
});

test('what one node has claimed no other can, until it is done or gone', async () => {
  const claimedBy = (node: Engine) => node.claim(['x', 'y', 'z'], async (claimed) => [...claimed]);
  await a.claim(['x'], async () => {
    await a.claim(['x', 'y'], async (more) => {
      expect(more).toEqual(['y']);
      expect(await claimedBy(b)).toEqual(['z']);
    });
    expect(await claimedBy(b)).toEqual(['y', 'z']);
    expect(await claimedBy(a)).toEqual(['y', 'z']);
  });
  await expect(a.claim(['x'], () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect(await claimedBy(b)).toEqual(['x', 'y', 'z']);
  const sessions = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
  const before = await inCatalog(folder.file, sessions);
  await a.claim(['x'], async () => {
    const own = (await inCatalog(folder.file, sessions)).filter(({ pid }) => before.every((one) => one['pid'] !== pid));
    await inCatalog(folder.file, `SELECT pg_terminate_backend(${own[0]?.['pid']})`);
    expect(await claimedBy(b)).toEqual(['x', 'y', 'z']);
  });
  expect(await claimedBy(a)).toEqual(['x', 'y', 'z']);
});

test('four nodes that replace the same ids, with fields that come and change, leave each once, as it was written last', async () => {
  await createDocs(a);
  await Promise.all([openNode(), openNode()]);
  for (const node of nodes) await node.refresh();
  const values: unknown[] = [1, 'text', { deep: [1] }, 2.5];
  const last = new Map<string, Set<string>>();
  await Promise.all(
    nodes.map(async (node, which) => {
      for (let round = 0; round < 8; round++) {
        const ids = Array.from({ length: 20 }, (_, n) => `id${(n * 7 + round) % 30}`);
        const fields = { who: `${which}.${round}`, [`f${round}`]: round, v: values[(which + round) % 4] as string };
        const outcomes = await node.addDocuments(
          't',
          ids.map((id) => doc(id, fields)),
        );
        expect(new Set(statusesOf(outcomes)).has('error')).toBe(false);
        for (const id of ids) last.set(id, (last.get(id) ?? new Set()).add(fields.who));
      }
    }),
  );
  for (const node of nodes) await node.refresh();
  const rows = await rowsOf(b, 'SELECT _id, who FROM docs ORDER BY _id');
  expect(rows.map(([id]) => id)).toEqual([...last.keys()].toSorted());
  for (const [id, who] of rows) expect(last.get(String(id))).toContain(who);
  for (const node of nodes) expect(await rowsOf(node, 'SELECT _id, who FROM docs ORDER BY _id')).toEqual(rows);
});
