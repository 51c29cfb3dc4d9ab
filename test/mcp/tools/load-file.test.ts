import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import { offeredTools } from '../../../src/mcp/offer.ts';
import { BUDGET } from '../../../src/mcp/results.ts';
import { estimateTokens } from '../../../src/mcp/room.ts';
import { FILE_NOT_FOUND } from '../../../src/mcp/tools/file.ts';
import { loadFileTool } from '../../../src/mcp/tools/load-file.ts';
import { load, missing, type Service, takeAll } from './fake-load.ts';

describe('load_file', () => {
  it('is offered only where files can be opened, and says otherwise why not', () => {
    expect(offeredTools({}).has('load_file')).toBe(false);
    const no = async () => Promise.reject(new Error('not called'));
    const means = { openFile: no, findFiles: no };
    expect(offeredTools({ means }).has('load_file')).toBe(true);
    expect(offeredTools({ means, readOnly: true }).has('load_file')).toBe(false);
  });

  it('sends piece after piece, cut at the ends of lines, counts, and reports bytes', async () => {
    const service: Service = async (all) => ({ ...(await takeAll(all)), without_id: 1 });
    const pieces = ['{"_id":"a"}\n{"b"', ':1}', '\n{"c":1}'];
    const { data, sent, reports, next, isError } = await load({ pieces, service });
    expect(sent.join('')).toBe(pieces.join(''));
    expect(sent[0]).toBe('{"_id":"a"}\n');
    expect(data).toMatchObject({ complete: true, counts: { ADDED: 3 } });
    const [first, ...rest] = reports;
    expect(first).toEqual([0, 100, '0 documents are in']);
    for (const [at, [done, total]] of rest.entries()) {
      expect([done >= (reports[at]?.[0] ?? 0), done <= 100, total]).toEqual([true, true, 100]);
    }
    expect(reports.at(-1)).toEqual([100, 100, '3 documents are in']);
    expect(data).toMatchObject({ without_id: 1 });
    expect(data).not.toHaveProperty('warnings');
    expect(next).toBe('describe_collection shows the fields.');
    expect(isError).toBe(false);
  });

  it('tells the service how the file is read', async () => {
    const csv = { separator: ';', encoding: 'latin1', firstLineAsColumnNames: false, columnNames: ['a'] };
    const args = { id_field: 'id', skip: 3, on_error: 'skip', format_params: csv, types: { a: 'integer' } };
    const sample = { sample: [{ id: 1 }] };
    const { loads } = await load({ args, sample, more: { sentAs: 'csv', firstLine: 7 } });
    const told = {
      workspace: 'w',
      collection: 'c',
      format: 'csv',
      unit: 'line',
      line: 7,
      on_error: 'skip',
      csv: JSON.stringify(csv),
      types: '{"a":"INTEGER"}',
    };
    expect(loads).toEqual([
      { ...told, sample: 200 },
      { ...told, skip: 3, id_field: 'id' },
    ]);
    expect((await load({})).loads).toEqual([
      { workspace: 'w', collection: 'c', format: 'jsonl', unit: 'line', skip: 0 },
    ]);
  });

  it('names a collection whose name SQL has to quote as SQL does, and says so', async () => {
    const { data, next } = await load({ args: { collection: 'both' }, pieces: ['{"a":1}\n'], service: takeAll });
    expect(data).toMatchObject({ collection: 'w."both"' });
    expect(next).toContain('in SQL its name alone stands in double quotes, "both"');
  });

  it('refuses in one line a field for the _id that no document has', async () => {
    const sample = { sample: Array.from({ length: 40 }, (_, n) => ({ Id: n, name: 'x' })) };
    const refused = load({ sample, args: { id_field: 'id' } });
    await expect(refused).rejects.toThrow(
      'None of the first 40 documents has the field "id" that "id_field" names. Fields of the first one: "Id", "name".',
    );
  });

  it('shows the first refused entries with the reason, and of the next ones the lines', async () => {
    const refused = (from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, index) => ({ at: from + index, _id: null, error: 'is no JSON' }));
    const all = [...refused(2, 30), { at: 1, _id: 'x', error: 'no' }, ...refused(33, 33), ...refused(40, 45)];
    const args = { on_error: 'skip' };
    const service: Service = async () => ({ entries: 40, refused: all, refused_count: 37 });
    const { data, next, isError } = await load({ service, args });
    expect(data['counts']).toEqual({ ERROR: 37 });
    expect(data['failed']).toEqual([
      { line: 1, _id: 'x', error: 'no' },
      // What many have is said three times.
      ...[2, 3, 4].map((line) => ({ line, error: 'is no JSON' })),
    ]);
    expect(data['failed_at_lines']).toBe('5-30, 33, 40-45');
    expect(next).toContain('4 of 37 failures are shown with their reason, and of 33 more the lines');
    expect(isError).toBe(true);
    const few = await load({ service: async () => ({ refused: refused(1, 3), refused_count: 3 }), args });
    expect(few.data).not.toHaveProperty('failed_at_lines');
    expect(few.next).not.toContain('shown');
  });

  it('keeps refused entries within the budget of an answer', async () => {
    const refused = Array.from({ length: 500 }, (_, index) => ({
      at: 1_000_000 + index * 2,
      _id: '長'.repeat(300),
      error: '誤り'.repeat(400),
    }));
    const service: Service = async () => ({ entries: 1_500, refused, refused_count: 1_500 });
    const { data, next } = await load({ service, args: { on_error: 'skip' } });
    const text = JSON.stringify(data);
    expect(Buffer.byteLength(text)).toBeLessThan(BUDGET.bytesMax);
    expect(estimateTokens(text)).toBeLessThan(BUDGET.tokensMax);
    const shown = (data['failed'] as unknown[]).length;
    expect(shown).toBeGreaterThan(0);
    expect(String(data['failed_at_lines']).split(', ')).toHaveLength(500 - shown);
    expect(data['counts']).toEqual({ ERROR: 1_500 });
    expect(next).toContain('1000 are not shown');
  });

  it('shows what the service warns of, each once, and few of many', async () => {
    const warnings = ['"n" of w.c was BIGINT\u200b', '5,002 documents of this write are past the retention', 'other'];
    const service: Service = async (all) => ({ ...(await takeAll(all)), warnings: [...warnings, 'other'] });
    const { data, next } = await load({ service });
    expect(data['warnings']).toEqual([expect.stringMatching(/^"n" of w.c was BIGINT.*200b/), ...warnings.slice(1)]);
    expect(next).toContain('what SQL computes does not see values that do not fit');
    expect(next).not.toContain('BIGINT');
    const quiet = await load({});
    expect(quiet.data).not.toHaveProperty('warnings');
    expect(quiet.next).not.toContain('warnings');
    const many = Array.from({ length: 30 }, (_, index) => `warning ${index} ${'x'.repeat(2_000)}`);
    const cut = await load({ service: async () => ({ entries: 1, added: 1, warnings: many }) });
    expect(cut.data['warnings']).toHaveLength(12);
    expect(JSON.stringify(cut.data['warnings']).length).toBeLessThan(10_000);
  });

  it('says of a file that is one object which list in it it took, or could take', async () => {
    const one = { list: { path: 'data.features', beside: ['type'] } };
    const { data, next } = await load({ more: one });
    expect(data).toMatchObject({ list_path: 'data.features', beside_list: ['type'] });
    expect(next).toContain('("list_path": "." in "format_params": the object is one)');
    const asked = await load({ more: one, args: { format_params: { list_path: 'data.features' } } });
    expect(asked.next).not.toContain('list_path');
    const several = {
      lists: [
        { path: 'a', items: 2 },
        { path: 'b', items: 1_000 },
      ],
    };
    const whole = await load({ more: several });
    expect(whole.data).toMatchObject({ lists: ['a: 2 items', 'b: 1,000 items'] });
    expect(whole.next).toContain('delete this document and load again with its path as "list_path" in "format_params"');
    const refused = [{ at: 1, _id: null, error: 'has more than 10 MiB' }];
    const large = await load({ more: several, service: async () => ({ refused, refused_count: 1 }) });
    expect(large.next).toContain('to be the documents, load again with its path');
  });

  it('says where a file that is missing is to lie, and of a collection what lists them', () => {
    const { next } = loadFileTool();
    const file = new ApiError('not_found', 'Cannot open the file "x".', { messageKey: FILE_NOT_FOUND });
    expect(next?.(file, {})).toContain('relative to a folder that the operator allows (--allow-dirs)');
    const gone = new ApiError('not_found', 'No.', { messageKey: 'COLLECTION_DOES_NOT_EXIST' });
    expect(next?.(gone, {})).toContain('list_collections');
  });

  it('says that skip leaves nothing of the file', async () => {
    const { next } = await load({ service: async () => ({ entries: 2 }), args: { skip: 5 } });
    expect(next).toBe('the file has 2 entries, so "skip": 5 leaves nothing to load.');
  });
});

describe('load_file into a collection that is missing', () => {
  it('creates it, unless it is told not to', async () => {
    const refused = load({ getCollection: missing, args: { create_collection: false } });
    await expect(refused).rejects.toMatchObject({ code: 'not_found' });
    const { data, calls, inputs } = await load({ getCollection: missing });
    expect(data['created']).toBe(true);
    expect(inputs.find(({ operation }) => operation === 'createCollection')?.input).toEqual({
      workspace: 'w',
      name: 'c',
      recognize_times: true,
    });
    expect(calls).not.toContain('createWorkspace');
  });

  it('creates none for a file that cannot be read, holds nothing, or whose first entry is refused', async () => {
    async function* broken(): AsyncGenerator<string> {
      yield* [];
      throw new ApiError('invalid_input', 'The file is damaged.');
    }
    await expect(
      load({ pieces: broken, sample: { sample: [], is_all: true }, getCollection: missing }),
    ).rejects.toThrow('damaged');
    const empty = await load({ sample: { sample: [], is_all: true }, getCollection: missing });
    expect(empty.calls).toEqual(['getCollection']);
    expect(empty.data).not.toHaveProperty('created');
    expect(empty.next).toContain('the file holds no documents; the collection was not created');
    const refused = [{ at: 1, _id: null, error: 'is no JSON' }];
    const first = await load({ sample: { sample: [], is_all: false, refused }, getCollection: missing });
    expect([first.calls, first.sent]).toEqual([['getCollection'], []]);
    expect(first.data).toMatchObject({ complete: false, entries: 0, counts: { ERROR: 1 } });
    expect(first.isError).toBe(true);
  });

  it('says that it created it where nothing went in', async () => {
    const service = async () => {
      throw new ApiError('resource_exceeded', 'Too much at once.');
    };
    const { data, next } = await load({ getCollection: missing, service });
    expect(data).toMatchObject({ created: true, complete: false, stopped_because: 'Too much at once.' });
    expect(next).toContain('the collection was created, and is empty');
  });
});
