import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import { offeredTools } from '../../../src/mcp/offer.ts';
import { BUDGET } from '../../../src/mcp/results.ts';
import { estimateTokens } from '../../../src/mcp/room.ts';
import { type DocumentFile, FILE_NOT_FOUND, type FileBatch } from '../../../src/mcp/tools/file.ts';
import { loadFileTool } from '../../../src/mcp/tools/load-file.ts';
import { fakeClient, notFound } from '../fake-client.ts';

type Documents = Record<string, unknown>[];

function fileOf(
  batches: FileBatch[] | (() => AsyncGenerator<FileBatch>),
  closed: { closed: boolean },
  text: string[] = [],
  more: Partial<DocumentFile> = {},
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
    ...more,
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
  /** What else is known of the file. */
  more?: Partial<DocumentFile>;
}

async function load({ batches, args = {}, add = added, getCollection = () => ({}), signal, text, more }: Setup) {
  const state = { closed: false, isOpened: false };
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
    means: {
      openFile: async () => {
        state.isOpened = true;
        return fileOf(batches, state, text, more);
      },
      findFiles: async () => ({ files: [{ path: '/in/a.json', name: 'a.json', bytes: 100 }], leftOut: [] }),
    },
  };
  const run = tool.run(context as never, input);
  const result = await run.finally(() => expect(state.closed).toBe(state.isOpened));
  return { data: result.data, next: result.next ?? '', isError: result.isError === true, sent, calls, reports };
}

describe('load_file', () => {
  it('is offered only where files can be opened, and says otherwise why not', () => {
    expect(offeredTools({}).has('load_file')).toBe(false);
    const no = async () => Promise.reject(new Error('not called'));
    const means = { openFile: no, findFiles: no };
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
    expect(data['warnings']).toEqual([expect.stringContaining('1 document had no _id and got a new one')]);
    expect(next).toBe('describe_collection shows the fields.');
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
    const args = { id_field: 'id', on_error: 'skip' };
    const { sent, data } = await load({ batches: [batch(100, ...documents)], args });
    expect(sent[0]?.map(({ _id, id }) => [_id, id])).toEqual([
      ['5', 5],
      ['9007199254740993', 9007199254740993n],
      ['x', 'x'],
    ]);
    expect(data['counts']).toEqual({ ADDED: 3, ERROR: 4 });
    expect((data['failed'] as { line: number }[]).map(({ line }) => line)).toEqual([4, 5, 6, 7]);
  });

  it('refuses in one line a field for the _id that no document has', async () => {
    const documents = Array.from({ length: 40 }, (_, n) => ({ Id: n, name: 'x' }));
    const refused = load({ batches: [batch(100, ...documents)], args: { id_field: 'id' } });
    await expect(refused).rejects.toThrow(
      'None of the first 40 documents has the field "id" that "id_field" names. Fields of the first one: "Id", "name".',
    );
  });

  it('shows the first refused entries with the reason, and of the next ones the lines', async () => {
    const refused = (from: number, to: number): FileBatch['entries'] =>
      Array.from({ length: to - from + 1 }, (_, index) => ({ at: from + index, problem: 'is no JSON' }));
    const add = (data: Documents) => ({ data: data.map(() => ({ _id: null, status: 'ERROR', error: 'no' })) });
    const entries = [...refused(2, 30), { at: 1, document: { a: 1 } }, ...refused(33, 33), ...refused(40, 45)];
    const args = { on_error: 'skip' };
    const { data, next, isError } = await load({ batches: [{ entries, bytesRead: 100 }], add, args });
    expect(data['counts']).toEqual({ ERROR: 37 });
    expect(data['failed']).toEqual(Array.from({ length: 20 }, (_, at) => ({ line: at + 2, error: 'is no JSON' })));
    expect(data['failed_at_lines']).toBe('1, 22-30, 33, 40-45');
    expect(next).toContain('the first 20 of 37 failures are shown with their reason, and of 17 more the lines');
    expect(isError).toBe(true);
    const few = await load({ batches: [{ entries: refused(1, 20), bytesRead: 100 }], args });
    expect(few.data).not.toHaveProperty('failed_at_lines');
    expect(few.next).not.toContain('shown');
  });

  it('keeps refused entries within the budget of an answer', async () => {
    const add = (data: Documents) => ({
      data: data.map(() => ({ _id: '長'.repeat(300), status: 'ERROR', error: '誤り'.repeat(400) })),
    });
    const entries = Array.from({ length: 1_500 }, (_, index) => ({ at: 1_000_000 + index * 2, document: { a: 1 } }));
    const args = { on_error: 'skip' };
    const { data, next } = await load({ batches: [{ entries, bytesRead: 100 }], add, args });
    const text = JSON.stringify(data);
    expect(Buffer.byteLength(text)).toBeLessThan(BUDGET.bytesMax);
    expect(estimateTokens(text)).toBeLessThan(BUDGET.tokensMax);
    const shown = (data['failed'] as unknown[]).length;
    expect(shown).toBeGreaterThan(0);
    expect(String(data['failed_at_lines']).split(', ')).toHaveLength(500);
    expect(next).toContain(`${1_000 - shown} are not shown`);
  });

  it('collects what the service warns of, each once, and sums up what is counted', async () => {
    let batches = 0;
    const add = (data: Documents) => {
      batches += 1;
      const old = `${batches === 1 ? '4,999' : 3} documents of this write are past the retention`;
      return { ...added(data), warnings: ['"n" of w.c was BIGINT\u200b', old, ...(batches === 2 ? ['other'] : [])] };
    };
    const { data, next } = await load({ batches: [batch(40, { _id: 'a' }), batch(100, { _id: 'b' })], add });
    expect(data['warnings']).toEqual([
      expect.stringMatching(/^"n" of w.c was BIGINT.*200b/),
      '5,002 documents of this write are past the retention',
      'other',
    ]);
    expect(next).toContain('what SQL computes sees NULL for values that do not fit');
    expect(next).not.toContain('BIGINT');
    const quiet = await load({ batches: [batch(100, { _id: 'a' })] });
    expect(quiet.data).not.toHaveProperty('warnings');
    expect(quiet.next).not.toContain('warnings');
  });

  it('shows few warnings, however many there are', async () => {
    let batches = 0;
    const add = (data: Documents) => ({ ...added(data), warnings: [`warning ${++batches} ${'x'.repeat(2_000)}`] });
    const many = Array.from({ length: 30 }, (_, index) => batch(index, { _id: `${index}` }));
    const { data } = await load({ batches: many, add });
    expect(data['warnings']).toHaveLength(12);
    expect(JSON.stringify(data['warnings']).length).toBeLessThan(10_000);
  });

  it('says of a file that is one object which list in it it took, or could take', async () => {
    const one = { list: { path: 'data.features', beside: ['type'] } };
    const { data, next } = await load({ batches: [batch(100, { a: 1 })], more: one });
    expect(data).toMatchObject({ list_path: 'data.features', beside_list: ['type'] });
    expect(next).toContain('("list_path": "." makes the object the document)');
    const asked = await load({ batches: [batch(100, { a: 1 })], more: one, args: { list_path: 'data.features' } });
    expect(asked.next).not.toContain('list_path');
    const several = {
      lists: [
        { path: 'a', items: 2 },
        { path: 'b', items: 1_000 },
      ],
    };
    const whole = await load({ batches: [batch(100, { a: [{}, {}] })], more: several });
    expect(whole.data).toMatchObject({ lists: ['a: 2 items', 'b: 1,000 items'] });
    expect(whole.next).toContain('delete this document and load again with its path as "list_path"');
    const tooLarge = { entries: [{ at: 1, problem: 'has more than 10 MiB' }], bytesRead: 100 };
    const large = await load({ batches: [tooLarge], more: several });
    expect(large.next).toContain('to be the documents, load again with its path');
  });

  it('says where a file that is missing is to lie, and of a collection what lists them', () => {
    const { next } = loadFileTool();
    const file = new ApiError('not_found', 'Cannot open the file "x".', { messageKey: FILE_NOT_FOUND });
    expect(next?.(file)).toContain('relative to a folder that the operator allows (--allow-dirs)');
    const missing = new ApiError('not_found', 'No.', { messageKey: 'COLLECTION_DOES_NOT_EXIST' });
    expect(next?.(missing)).toContain('list_workspace_collections');
  });

  it('refuses a number that no JSON reader takes, by itself', async () => {
    const documents = [{ a: Number.POSITIVE_INFINITY }, { a: 1 }];
    const { sent, data } = await load({ batches: [batch(100, ...documents)], args: { on_error: 'skip' } });
    expect(sent).toEqual([[{ a: 1 }]]);
    expect(data['failed']).toMatchObject([{ line: 1 }]);
  });

  it('creates the collection that is missing, unless it is told not to', async () => {
    const getCollection = () => {
      throw notFound('Collection "c" does not exist');
    };
    const missing = load({ batches: [batch(100, {})], getCollection, args: { create_collection: false } });
    await expect(missing).rejects.toMatchObject({ code: 'not_found' });
    const { data, calls } = await load({ batches: [batch(100, {})], getCollection });
    expect(data['collection_created']).toBe(true);
    expect(calls.find(({ operation }) => operation === 'createCollection')?.input).toEqual({
      workspace: 'w',
      name: 'c',
      recognize_times: true,
    });
    expect(calls.map(({ operation }) => operation)).not.toContain('createWorkspace');
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
    async function* broken(): AsyncGenerator<FileBatch> {
      yield* [];
      throw new ApiError('invalid_input', 'The file is not JSON, at line 1.');
    }
    await expect(load({ batches: broken, getCollection })).rejects.toThrow('not JSON');
    const empty = await load({ batches: [], getCollection });
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
    const args = { on_error: 'skip' };
    const { data } = await load({ batches: [batch(100, { _id: 'a' }, { _id: 'b' }, { _id: 'c' })], add, args });
    expect(data).toMatchObject({
      complete: true,
      counts: { ADDED: 2, ERROR: 1 },
      failed: [{ line: 3, error: 'Too large.' }],
    });
  });

  it('stops before an entry that is no document, unless it is told to skip these', async () => {
    const entries: FileBatch['entries'] = [
      { at: 1, document: { _id: 'a' } },
      { at: 2, problem: 'is no JSON' },
      { at: 3, document: { _id: 'c' } },
    ];
    const batches = [
      { entries, bytesRead: 50 },
      { entries: entries.slice(2), bytesRead: 100 },
    ];
    const { data, next, sent, isError } = await load({ batches });
    expect(sent).toEqual([[{ _id: 'a' }]]);
    expect(data).toMatchObject({
      complete: false,
      stopped_because: 'line 2: is no JSON',
      entries: 1,
      counts: { ADDED: 1, ERROR: 1 },
      failed: [{ line: 2, error: 'is no JSON' }],
    });
    expect(isError).toBe(true);
    expect(next).toContain(
      'to go on, correct the file behind them and call again with "skip": 1; "on_error": "skip" leaves out what is refused',
    );
    const all = await load({ batches, args: { on_error: 'skip' } });
    expect(all.sent).toEqual([[{ _id: 'a' }, { _id: 'c' }], [{ _id: 'c' }]]);
    expect(all.data).toMatchObject({ complete: true, counts: { ADDED: 3, ERROR: 1 } });
    expect(all.isError).toBe(false);
  });

  it('creates nothing for a file whose first entry is refused', async () => {
    const getCollection = () => {
      throw notFound('Collection "c" does not exist');
    };
    const batches = [{ entries: [{ at: 1, problem: 'is no JSON' }], bytesRead: 9 }];
    const { calls, data, isError } = await load({ batches, getCollection });
    expect(calls.map(({ operation }) => operation)).toEqual(['getCollection']);
    expect(data).toMatchObject({ complete: false, entries: 0, counts: { ERROR: 1 } });
    expect(isError).toBe(true);
  });

  it('stops after the batch in which the service refuses a document', async () => {
    const add = (data: Documents) => ({
      data: data.map(({ _id }) => ({ _id, status: _id === 'b' ? 'ERROR' : 'ADDED', error: _id === 'b' ? 'no' : null })),
    });
    const batches = [batch(50, { _id: 'a' }, { _id: 'b' }, { _id: 'c' }), batch(100, { _id: 'd' })];
    const { sent, data } = await load({ batches, add });
    expect(sent).toHaveLength(1);
    expect(data).toMatchObject({ stopped_because: 'line 2: no', entries: 3, counts: { ADDED: 2, ERROR: 1 } });
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
