import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import { createClient } from '../../../src/http/client.ts';
import { createSelections } from '../../../src/service/collections/selections.ts';
import { startTestService, type TestService } from '../harness.ts';

let service: TestService;
let client: ReturnType<typeof createClient>;

beforeAll(async () => {
  service = await startTestService();
  client = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
  await client.createWorkspace({ name: 'w' });
});
afterAll(async () => {
  await client.close();
  await service.remove();
});

let made = 0;

/** A collection whose documents have `n`, from 0 on. */
async function numbers(count: number): Promise<{ workspace: string; collection: string }> {
  const collection = `c${made++}`;
  await client.createCollection({ workspace: 'w', name: collection });
  for (let from = 0; from < count; from += 20_000) {
    const length = Math.min(20_000, count - from);
    const data = Array.from({ length }, (_, index) => ({ _id: `d${from + index}`, n: from + index, tag: 'x' }));
    await client.addDocuments({ workspace: 'w', collection, data });
  }
  return { workspace: 'w', collection };
}

async function left(collection: string): Promise<unknown> {
  const query = `SELECT count(*) AS n, min(n) AS least, max(n) AS most FROM w.${collection}`;
  return (await client.runQuery({ sql: { query } })).results?.[0];
}

async function idsOf(collection: string): Promise<unknown[]> {
  const query = `SELECT _id FROM w.${collection} ORDER BY _id`;
  return (await client.runQuery({ sql: { query } })).results?.map((row) => row['_id']) ?? [];
}

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof ApiError ? `${error.code}: ${error.message}` : String(error)),
  );

describe('a deletion by a condition', () => {
  it('counts, shows examples, deletes exactly these in one entry of the trash, and comes back whole', async () => {
    const target = await numbers(45_000);
    const found = await client.selectDocuments({ ...target, where: 'n >= 5000 -- the new ones' });
    expect(found).toMatchObject({ documents: 40_000, collection_documents: 45_000, warnings: [] });
    expect(found.examples?.length).toBe(3);
    expect(JSON.parse(found.examples?.[0] ?? '')).toMatchObject({ tag: 'x', n: expect.any(Number) });
    expect(await left(target.collection)).toMatchObject({ n: 45_000 });
    const gone = await client.deleteSelected({ ...target, selection: found.selection ?? '' }, { tellTrash: true });
    expect(gone).toMatchObject({
      deleted: 40_000,
      left: 0,
      stopped: null,
      trash: { id: expect.stringMatching(/^\w+$/) },
    });
    expect(await left(target.collection)).toEqual({ n: 5_000, least: 0, most: 4_999 });
    const { id } = gone['trash'] as { id: string };
    const entries = (await client.listTrash({})).filter(({ name }) => name === target.collection);
    expect(entries).toMatchObject([{ id, kind: 'documents', documents: 40_000 }]);
    await client.addDocuments({ ...target, data: [{ _id: 'd6000', n: -1 }] });
    expect(await client.restoreTrash({ id })).toMatchObject({ documents: 39_999, skipped: 1, skipped_ids: ['d6000'] });
    expect(await left(target.collection)).toEqual({ n: 45_000, least: -1, most: 44_999 });
  });

  it('leaves what came or changed later, also where it still meets the condition, and says so', async () => {
    const target = await numbers(12);
    const { selection } = await client.selectDocuments({ ...target, where: 'n < 8' });
    await client.addDocuments({
      ...target,
      data: [
        { _id: 'late', n: 0 },
        { _id: 'd0', n: 100 },
        { _id: 'd1', n: 1, tag: 'other' },
        { _id: 'd2', n: 'odd' },
      ],
    });
    await client.patchDocuments({
      ...target,
      data: [{ _id: 'd3', patch: [{ op: 'add', path: '/seen', value: true }] }],
    });
    await client.deleteDocuments({ ...target, data: [{ _id: 'd4' }] });
    const gone = await client.deleteSelected({ ...target, selection: selection ?? '' });
    expect(gone).toMatchObject({ deleted: 3, left: 5, stopped: null });
    expect(await idsOf(target.collection)).toEqual(['d0', 'd1', 'd10', 'd11', 'd2', 'd3', 'd8', 'd9', 'late']);
  });

  /** Selects all, adds documents, and says what is left. */
  async function leftAfter(before: object[], after: object[]): Promise<unknown> {
    const target = await numbers(0);
    await client.addDocuments({ ...target, data: before as never });
    const { selection } = await client.selectDocuments({ ...target, where: 'true' });
    await client.addDocuments({ ...target, data: after as never });
    const { deleted, left } = await client.deleteSelected({ ...target, selection: selection ?? '' });
    expect((deleted ?? 0) + (left ?? 0)).toBe(before.length);
    return await idsOf(target.collection);
  }
  const keyed = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`key ${n}`, { n }]));

  it.each<[string, object[], object[]]>([
    ['fields', [{ _id: 'a', n: 1, odd: null }], [{ _id: 'p', more: [1], N: 1, n: 'odd' }]],
    ['fields of objects', [{ _id: 'a', u: { a: { b: 1 } } }], [{ _id: 'p', u: { a: { c: 2 }, d: 3 } }]],
    ['fields in lists', [{ _id: 'a', l: [[{ a: 1 }], []] }], [{ _id: 'p', l: [[{ b: { c: 2 } }]] }]],
    ['fields in maps', [{ _id: 'a', m: keyed(300) }], [{ _id: 'p', m: { x: { more: 1 } } }]],
    ['many fields', [{ _id: 'a', ...keyed(480) }], [{ _id: 'p', ...keyed(499) }]],
    ['many fields in fields', [{ _id: 'a', ...keyed(20), u: keyed(200), v: { w: keyed(200) } }], [{ _id: 'p', z: 1 }]],
  ])('takes a document for unchanged where only others brought %s', async (_, before, after) => {
    expect(await leftAfter(before, after)).toEqual(['p']);
  });

  it.each<[string, object, object]>([
    ['swapped values', { a: 1, b: 2 }, { a: 2, b: 1 }],
    ['a value in another field of its object', { u: { a: 1, b: null } }, { u: { b: 1 } }],
    ['a value deep in a list', { l: [{ a: [{ b: 1 }] }] }, { l: [{ a: [{ b: 2 }] }] }],
    ['another order of a list', { l: [{ a: 1 }, { a: 2 }] }, { l: [{ a: 2 }, { a: 1 }] }],
    ['a value that does not fit', { a: 1 }, { a: 'x' }],
    ['another value of a map', { m: keyed(300) }, { m: { ...keyed(300), 'key 7': { n: 8 } } }],
    ['one of many fields', keyed(490), { ...keyed(490), 'key 489': { n: 0 } }],
    ['one of many fields in a field', { u: { v: keyed(250) } }, { u: { v: { ...keyed(250), 'key 3': { n: 0 } } } }],
    ['a time', { _event_time: '2024-01-01T00:00:00Z' }, { _event_time: '2024-01-02T00:00:00Z' }],
  ])('leaves a document that got %s', async (_, before, after) => {
    const time = { _event_time: '2024-01-01T00:00:00Z' };
    const others = ['b', 'c'].map((_id) => ({ ...time, ...before, _id }));
    expect(await leftAfter([{ ...time, ...before, _id: 'a' }, ...others], [{ ...time, ...after, _id: 'a' }])).toEqual([
      'a',
    ]);
    expect(await leftAfter([{ ...time, ...before, _id: 'a' }], [{ ...time, ...before, _id: 'a' }])).toEqual([]);
  });

  it('is selected anew each time, except for what a human was shown', async () => {
    const [target, other] = [await numbers(4), await numbers(4)];
    const where = 'n >= 2';
    const first = await client.selectDocuments({ ...target, where });
    await client.addDocuments({ ...target, data: [{ _id: 'late', n: 9 }] });
    const anew = await client.selectDocuments({ ...target, where });
    expect(anew).toMatchObject({ documents: 3, collection_documents: 5 });
    expect(anew.selection).not.toBe(first.selection);
    const shown = first.selection ?? '';
    expect(await client.selectDocuments({ ...target, where, shown })).toEqual(first);
    for (const not of [
      { ...target, where: 'n >= 3' },
      { ...other, where },
    ]) {
      expect((await client.selectDocuments({ ...not, shown })).selection).not.toBe(shown);
    }
    await client.deleteSelected({ ...target, selection: shown });
    expect(await client.selectDocuments({ ...target, where, shown })).toMatchObject({ documents: 1 });
  });

  it('is the selection of an open question until its answer was fetched', async () => {
    const target = await numbers(4);
    const where = 'true';
    const first = await client.selectDocuments({ ...target, where });
    const question = {
      tool: 'delete_documents_where',
      binding: `b${made}`,
      target: 't',
      extent: { documents: { count: 4, which: first.selection ?? '' } },
      message: 'Delete?',
    };
    const again = () => client.selectDocuments({ ...target, where, shown: question.binding });
    const { code } = await client.requestApproval(question);
    await client.addDocuments({ ...target, data: [{ _id: 'late', n: 9 }] });
    expect(await again()).toEqual(first);
    const { shown } = await client.getApproval({ code: code ?? '' });
    await client.decideApproval({ code: code ?? '', decision: 'decline', shown: shown ?? '' });
    expect(await again()).toEqual(first);
    expect(await client.requestApproval(question)).toMatchObject({ status: 'declined' });
    expect(await again()).toMatchObject({ documents: 5 });
  });

  it.each(['random() < 0.5', 'n >= 0 AND _event_time <= current_timestamp', "uuid()::text < '8'"])(
    'with %s deletes those that were counted',
    async (where) => {
      const target = await numbers(300);
      const { selection, documents, examples } = await client.selectDocuments({ ...target, where });
      expect(examples).toHaveLength(3);
      expect(await client.deleteSelected({ ...target, selection: selection ?? '' })).toMatchObject({
        deleted: documents,
        left: 0,
      });
      expect(await left(target.collection)).toMatchObject({ n: 300 - (documents ?? 0) });
    },
  );

  it('keeps nothing where there is nothing', async () => {
    const target = await numbers(2);
    const { selection } = await client.selectDocuments({ ...target, where: 'true' });
    for (let n = 0; n < 21; n++) {
      expect(await client.selectDocuments({ ...target, where: 'n > 5' })).toMatchObject({
        selection: null,
        documents: 0,
        examples: [],
        expires_at: null,
      });
    }
    expect(await client.deleteSelected({ ...target, selection: selection ?? '' })).toMatchObject({ deleted: 2 });
  });

  it('can be done once, and for no other collection or key', async () => {
    const [target, other] = [await numbers(3), await numbers(3)];
    const selection = (await client.selectDocuments({ ...target, where: 'true' })).selection ?? '';
    expect(await codeOf(client.deleteSelected({ ...other, selection }))).toMatch(
      /^not_found: There is no such selection/,
    );
    const { key } = await client.createApiKey({ name: `k${made}` });
    const second = createClient({ target: { socketPath: service.socket }, apiKey: key ?? '' });
    expect(await codeOf(second.deleteSelected({ ...target, selection }))).toMatch(/^not_found/);
    const shown = await second.selectDocuments({ ...target, where: 'true', shown: selection });
    expect(shown.selection).not.toBe(selection);
    await second.close();
    expect(await client.deleteSelected({ ...target, selection })).toMatchObject({ deleted: 3 });
    expect(await codeOf(client.deleteSelected({ ...target, selection }))).toMatch(/^not_found/);
    expect(await client.selectDocuments({ ...target, where: 'true' })).toMatchObject({ documents: 0 });
  });

  it.each([
    ['n = 1) OR (true', 'query_error: In where: '],
    ['n = 1 GROUP BY n', 'query_error: where must be one condition'],
    ['n = 1 ORDER BY n LIMIT 1', 'query_error: where must be one condition'],
    ['n = 1 UNION SELECT 1', 'query_error: where must be one condition'],
    ['n = 1; SELECT 1', 'query_error: where must be one condition'],
    ['n = :n', 'query_error: where cannot have parameters such as ":n"'],
    ['n IN (SELECT n FROM w.c0)', 'query_error: where cannot have a subquery'],
    ['n = 1 AND exists(FROM w.c0)', 'query_error: where cannot have a subquery'],
    ['count(*) > 1', 'query_error: In where: '],
    ['nn = 1', 'query_error: In where: '],
    ["read_text('/etc/passwd') = ''", 'query_error: In where: '],
    ['n = 1 /* open', 'query_error: In where: '],
    ["n = '1", 'query_error: In where: '],
    ['n +', 'query_error: In where: '],
    ['x'.repeat(2_001), 'invalid_input: '],
  ])('refuses the condition %j', async (where, why) => {
    const target = await numbers(2);
    expect(await codeOf(client.selectDocuments({ ...target, where }))).toContain(why);
    expect(await left(target.collection)).toMatchObject({ n: 2 });
  });

  it('gives the place of an error in the condition', async () => {
    const target = await numbers(1);
    const error = await client.selectDocuments({ ...target, where: 'n = 1\n AND nn = 2' }).catch((one: unknown) => one);
    expect(error).toMatchObject({ code: 'query_error', details: { line: 2, column: 6 } });
  });

  it('gives the condition as it was probably meant, and no more of the statement', async () => {
    const target = await numbers(1);
    const where = 'n = 1\n AND _id = "x"';
    const error = await client.selectDocuments({ ...target, where }).catch((one: unknown) => one);
    expect(error).toMatchObject({ details: { correctedSql: "n = 1\n AND _id = 'x'" } });
  });

  it('is refused to a key that may only read', async () => {
    const target = await numbers(1);
    await client.createUser({ email: `r${made}@example.com`, roles: ['read-only'] });
    const { key } = await client.createUserApiKey({ user: `r${made}@example.com`, name: 'k' });
    const reader = createClient({ target: { socketPath: service.socket }, apiKey: key ?? '' });
    expect(await codeOf(reader.selectDocuments({ ...target, where: 'true' }))).toMatch(/^forbidden/);
    await reader.close();
  });

  it('lets other writes have their turn', async () => {
    const target = await numbers(60_000);
    const { selection } = await client.selectDocuments({ ...target, where: 'n >= 0' });
    const order: string[] = [];
    const deletion = client.deleteSelected({ ...target, selection: selection ?? '' }).then((gone) => {
      order.push('deleted');
      return gone;
    });
    await client.addDocuments({ ...target, data: [{ _id: 'other', n: -5 }] });
    order.push('added');
    expect(await deletion).toMatchObject({ deleted: 60_000 });
    expect(order).toEqual(['added', 'deleted']);
  });
});

describe('the trash during a deletion by a condition', () => {
  it('restores and removes what is done, and refuses the entry that still grows, without waiting', async () => {
    const [target, other] = [await numbers(40_000), await numbers(2)];
    const done = await client.deleteDocuments({ ...other, data: [{ _id: 'd0' }] }, { tellTrash: true });
    const { id: earlier } = done['trash'] as { id: string };
    const entries = async () => (await client.listTrash({})).filter(({ name }) => name === target.collection);
    const { selection } = await client.selectDocuments({ ...target, where: 'true' });
    let isDone = false;
    const deletion = client.deleteSelected({ ...target, selection: selection ?? '' }).finally(() => {
      isDone = true;
    });
    // They have their turn between two steps.
    const data = Array.from({ length: 20_000 }, (_, n) => ({ n }));
    const writes = [1, 2, 3].map(() => client.addDocuments({ ...target, data }));
    let id = '';
    while (id === '') id = (await entries())[0]?.id ?? '';
    expect(await client.restoreTrash({ id: earlier })).toMatchObject({ documents: 1 });
    const emptying = client.emptyTrash({});
    const refused = await Promise.all([codeOf(client.restoreTrash({ id })), codeOf(client.removeTrash({ id }))]);
    expect(isDone).toBe(false);
    expect(refused).toEqual(
      ['restore', 'remove'].map((what) =>
        expect.stringContaining(
          `dependent_resources: Cannot ${what} entry "${id}" of the trash now: documents are still`,
        ),
      ),
    );
    await emptying;
    expect(await deletion).toMatchObject({ deleted: 40_000, stopped: null });
    await Promise.all(writes);
    expect(await entries()).toMatchObject([{ id, documents: 40_000 }]);
    expect(await client.restoreTrash({ id })).toMatchObject({ documents: 40_000 });
  });
});

describe('selections', () => {
  const given = (owner: string, where: string, bytes = 10) => ({
    owner,
    table: 't',
    by: where,
    isNamed: false,
    documents: 1,
    collectionDocuments: 1,
    lists: [{ ids: Buffer.alloc(bytes - 8), marks: new Float64Array(1) }],
    examples: [],
    warnings: [],
  });

  it('expire, and hold the service only as long as one waits', () => {
    let now = 0;
    let held = 0;
    const hold = () => {
      held += 1;
      return () => {
        held -= 1;
      };
    };
    const selections = createSelections({ hold, ttlMs: 100, now: () => now });
    const { id } = selections.add(given('a', 'x'));
    expect(selections.find('a', 't', 'x', id)?.id).toBe(id);
    expect(held).toBe(1);
    now = 101;
    expect(selections.find('a', 't', 'x', id)).toBeUndefined();
    expect(() => selections.take('a', 't', id)).toThrow(/no such selection/);
    expect(held).toBe(0);
  });

  it('of one key push out its own oldest, never those of another', () => {
    const selections = createSelections({ hold: () => () => undefined, bytesMax: 100 });
    const other = selections.add(given('other', 'x', 60)).id;
    const oldest = selections.add(given('a', '1', 30)).id;
    selections.add(given('a', '2', 30));
    expect(selections.find('a', 't', '1', oldest)).toBeUndefined();
    expect(() => selections.add(given('a', '3', 50))).toThrow(/too many wait/);
    expect(selections.find('other', 't', 'x', other)).toBeDefined();
    selections.close();
  });
});
