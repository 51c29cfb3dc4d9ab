import { describe, expect, it } from 'vitest';
import { ApiError } from '../../src/contract/errors.ts';
import type { DocumentFile, FileBatch } from '../../src/mcp/file.ts';
import { loadFileTool } from '../../src/mcp/load-file.ts';
import { offeredTools } from '../../src/mcp/offer.ts';
import { fakeClient, notFound } from './fake-client.ts';

type Documents = Record<string, unknown>[];

function fileOf(
  batches: FileBatch[] | (() => AsyncGenerator<FileBatch>),
  closed: { closed: boolean },
  text: string[] = [],
): DocumentFile {
  async function* listed() {
    if (Array.isArray(batches)) yield* batches;
  }
  return {
    path: '/in/a.json',
    format: 'json',
    bytes: 100,
    unit: 'line',
    batches: Array.isArray(batches) ? listed() : batches(),
    unwritable: () => 0,
    asText: () => text,
    close: async () => {
      closed.closed = true;
    },
  };
}

const batch = (bytesRead: number, ...documents: Documents): FileBatch => ({
  entries: documents.map((document, index) => ({ at: index + 1, document: document as never })),
  bytesRead,
});

const added = (data: Documents) => ({
  data: data.map(({ _id }) => ({ _id: _id ?? 'made', status: 'ADDED', error: null })),
  last_offset: '1',
});

interface Setup {
  batches: FileBatch[] | (() => AsyncGenerator<FileBatch>);
  args?: Record<string, unknown>;
  add?: (data: Documents, signal: AbortSignal | undefined) => unknown;
  getCollection?: () => unknown;
  signal?: AbortSignal;
  /** Columns whose decimals are text. */
  text?: string[];
}

async function load({ batches, args = {}, add = added, getCollection = () => ({}), signal, text }: Setup) {
  const state = { closed: false };
  const sent: Documents[] = [];
  const reports: [number, number | undefined, string][] = [];
  const { client, calls } = fakeClient({
    getCollection,
    createCollection: () => ({}),
    addDocuments: ({ data }, options) => {
      sent.push(data as Documents);
      return add(data as Documents, options.signal);
    },
  });
  const tool = loadFileTool();
  const input = tool.read({ path: 'a.json', workspace: 'w', collection: 'c', ...args });
  const context = {
    client,
    signal,
    progress: (...report: [number, number | undefined, string]) => reports.push(report),
    means: { openFile: async () => fileOf(batches, state, text) },
  };
  const run = tool.run(context as never, input);
  const result = await run.finally(() => expect(state.closed).toBe(true));
  return { data: result.data, next: result.next ?? '', isError: result.isError === true, sent, calls, reports };
}

describe('load_file', () => {
  it('is offered only where files can be opened, and says otherwise why not', () => {
    expect(offeredTools({}).has('load_file')).toBe(false);
    const means = { openFile: async () => Promise.reject(new Error('not called')) };
    expect(offeredTools({ means }).has('load_file')).toBe(true);
    expect(offeredTools({ means, readOnly: true }).has('load_file')).toBe(false);
  });

  it('tells which columns are text for the sake of their digits', async () => {
    const { data, next } = await load({ batches: [batch(100, { price: '1.250' })], text: ['price'] });
    expect(data).toMatchObject({ decimals_as_text: ['price'] });
    expect(next).toContain('CAST them AS DECIMAL');
    expect((await load({ batches: [batch(100, { b: 1 })] })).data).not.toHaveProperty('decimals_as_text');
  });

  it('sends batch after batch, counts, and reports bytes', async () => {
    const { data, sent, reports, next, isError } = await load({
      batches: [batch(40, { _id: 'a' }), batch(100, { b: 1 })],
    });
    expect(sent).toEqual([[{ _id: 'a' }], [{ b: 1 }]]);
    expect(data).toMatchObject({ complete: true, entries: 2, counts: { ADDED: 2 }, bytes: 100 });
    expect(reports.map(([done, total]) => [done, total])).toEqual([
      [0, 100],
      [40, 100],
      [100, 100],
    ]);
    expect(next).toContain('1 documents had no _id');
    expect(isError).toBe(false);
  });

  it('makes a field the _id, exactly, and names what has none', async () => {
    const documents = [
      { id: 5 },
      { id: 9007199254740993n },
      { id: 'x' },
      { id: null },
      {},
      { id: true },
      { id: 1, _id: 'other' },
    ];
    const { sent, data } = await load({ batches: [batch(100, ...documents)], args: { id_field: 'id' } });
    expect(sent[0]?.map(({ _id, id }) => [_id, id])).toEqual([
      ['5', 5],
      ['9007199254740993', 9007199254740993n],
      ['x', 'x'],
    ]);
    expect(data['counts']).toEqual({ ADDED: 3, ERROR: 4 });
    expect((data['failed'] as { line: number }[]).map(({ line }) => line)).toEqual([4, 5, 6, 7]);
  });

  it('counts what the service and the reader refuse, and shows the first', async () => {
    const entries = Array.from({ length: 8 }, (_, index) => ({ at: index + 1, problem: 'is no JSON' }));
    const add = (data: Documents) => ({ data: data.map(() => ({ _id: null, status: 'ERROR', error: 'no' })) });
    const mixed: FileBatch = { entries: [...entries, { at: 9, document: { a: 1 } }], bytesRead: 100 };
    const { data, next, isError } = await load({ batches: [mixed], add });
    expect(data['counts']).toEqual({ ERROR: 9 });
    expect(data['failed']).toHaveLength(5);
    expect(next).toContain('first 5 of 9 failures');
    expect(isError).toBe(true);
  });

  it('refuses a number that no JSON reader takes, by itself', async () => {
    const documents = [{ a: Number.POSITIVE_INFINITY }, { a: 1 }];
    const { sent, data } = await load({ batches: [batch(100, ...documents)] });
    expect(sent).toEqual([[{ a: 1 }]]);
    expect(data['failed']).toMatchObject([{ line: 1 }]);
  });

  it('creates the collection only where it is asked to', async () => {
    const getCollection = () => {
      throw notFound('Collection "c" does not exist');
    };
    const missing = load({ batches: [batch(100, {})], getCollection });
    await expect(missing).rejects.toMatchObject({ code: 'not_found' });
    const { data, calls } = await load({ batches: [batch(100, {})], getCollection, args: { create_collection: true } });
    expect(data['collection_created']).toBe(true);
    expect(calls.find(({ operation }) => operation === 'createCollection')?.input).toEqual({
      workspace: 'w',
      name: 'c',
    });
  });

  it('says of a first batch whose fate is not known what may happen twice, and what cannot', async () => {
    const add = () => {
      throw new ApiError('connection_failed', 'The connection broke.');
    };
    const { next } = await load({ batches: [batch(50, {}, { _id: 'a' })], add });
    expect(next).toContain('whether entries 1 to 2 are in too is not known; they have no _id');
    expect(next).toContain('if they are in, call again with "skip": 2, otherwise with "skip": 0');
    const named = await load({ batches: [batch(50, { _id: 'a' })], add });
    expect(named.next).toContain('call again with "skip": 0, which replaces those of them that are in');
    expect(named.next).not.toContain('twice');
  });

  it('creates no collection for a file that cannot be read, or holds nothing', async () => {
    const getCollection = () => {
      throw notFound('Collection "c" does not exist');
    };
    const args = { create_collection: true };
    async function* broken(): AsyncGenerator<FileBatch> {
      yield* [];
      throw new ApiError('invalid_input', 'The file is not JSON, at line 1.');
    }
    await expect(load({ batches: broken, getCollection, args })).rejects.toThrow('not JSON');
    const empty = await load({ batches: [], getCollection, args });
    expect(empty.calls.map(({ operation }) => operation)).not.toContain('createCollection');
    expect(empty.data).not.toHaveProperty('collection_created');
    expect(empty.next).toContain('the file holds no documents; the collection was not created');
  });

  it('says that it created the collection where nothing went in', async () => {
    const getCollection = () => {
      throw notFound('Collection "c" does not exist');
    };
    const add = () => {
      throw new ApiError('resource_exceeded', 'Too much at once.');
    };
    const { data, next } = await load({
      batches: [batch(9, {})],
      getCollection,
      add,
      args: { create_collection: true },
    });
    expect(data).toMatchObject({ collection_created: true, complete: false, stopped_because: 'Too much at once.' });
    expect(next).toContain('the collection was created, and is empty');
  });

  it('says that skip leaves nothing of the file', async () => {
    const { next } = await load({ batches: [batch(50, { _id: '1' }, { _id: '2' })], args: { skip: 5 } });
    expect(next).toBe('the file has 2 entries, so "skip": 5 leaves nothing to load.');
  });

  it('halves what is too large for one request', async () => {
    const add = (data: Documents) => {
      if (data.length > 1 || data[0]?.['_id'] === 'c') throw new ApiError('content_too_large', 'Too large.');
      return added(data);
    };
    const { data } = await load({ batches: [batch(100, { _id: 'a' }, { _id: 'b' }, { _id: 'c' })], add });
    expect(data).toMatchObject({
      complete: true,
      counts: { ADDED: 2, ERROR: 1 },
      failed: [{ line: 3, error: 'Too large.' }],
    });
  });

  it('leaves out what was loaded before', async () => {
    const batches = [batch(50, { _id: '1' }, { _id: '2' }), batch(100, { _id: '3' }, { _id: '4' })];
    const { sent, data } = await load({ batches, args: { skip: 3 } });
    expect(sent).toEqual([[{ _id: '4' }]]);
    expect(data).toMatchObject({ entries: 4, skipped: 3, counts: { ADDED: 1 } });
  });

  it('says how to go on where the file breaks off', async () => {
    async function* breaking() {
      yield batch(50, { _id: '1' }, { _id: '2' });
      throw new ApiError('invalid_input', 'The file is not JSON, at line 3.');
    }
    const { data, next, isError } = await load({ batches: breaking });
    expect(data).toMatchObject({ complete: false, stopped_because: 'The file is not JSON, at line 3.', entries: 2 });
    expect(next).toContain('2 documents are in and stay');
    expect(next).toContain('"skip": 2');
    expect(isError).toBe(true);
  });

  it('says so where it does not know whether the last batch is in', async () => {
    let calls = 0;
    const add = (data: Documents) => {
      calls += 1;
      if (calls === 2) throw new ApiError('connection_failed', 'The connection broke.');
      return added(data);
    };
    const { data, next } = await load({ batches: [batch(50, {}), batch(100, {})], add });
    expect(data).toMatchObject({ complete: false, entries: 1, counts: { ADDED: 1 } });
    expect(next).toContain('whether entries 2 to 2 are in too is not known');
    expect(next).toContain('first count the documents of the collection');
    expect(next).toContain('if they are in, call again with "skip": 2, otherwise with "skip": 1');
  });

  it('ends the batch under way when it is cancelled, and starts no other', async () => {
    const stop = new AbortController();
    const add = (data: Documents, signal: AbortSignal | undefined) => {
      stop.abort();
      expect(signal?.aborted).toBe(false);
      return added(data);
    };
    const batches = [batch(50, { _id: '1' }), batch(100, { _id: '2' })];
    const { sent, data, next } = await load({ batches, add, signal: stop.signal });
    expect(sent).toHaveLength(1);
    expect(data).toMatchObject({ complete: false, stopped_because: 'it was cancelled', counts: { ADDED: 1 } });
    expect(next).toContain('"skip": 1');
  });
});
