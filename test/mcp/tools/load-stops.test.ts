import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import { load, type Service, takeAll } from './fake-load.ts';

describe('load_file that stops', () => {
  it('says how to go on from what the service has dealt with', async () => {
    const refused = [{ at: 2, _id: null, error: 'no' }];
    const stopped: Service = async () => ({
      entries: 1,
      added: 1,
      refused,
      refused_count: 1,
      stopped: 'line 2: no',
    });
    const { data, next, isError } = await load({ service: stopped });
    expect(data).toMatchObject({ complete: false, stopped_because: 'line 2: no', entries: 1 });
    expect(data).toMatchObject({ counts: { ADDED: 1, ERROR: 1 }, failed: [{ line: 2, error: 'no' }] });
    expect(next).toContain(
      'to go on, correct the file and call again with "skip": 1; "on_error": "skip" leaves out what is refused',
    );
    expect(isError).toBe(true);
  });

  it.each(['connection_failed', 'request_timeout', 'internal'] as const)(
    'with %s says that it does not know whether more is in',
    async (code) => {
      const service: Service = async ({ tell }) => {
        tell({ entries: 3, added: 2, replaced: 1 });
        throw new ApiError(code, 'It broke.');
      };
      const { data, next } = await load({ service, getCollection: () => ({ stats: { doc_count: 10 } }) });
      expect(data).toMatchObject({ complete: false, entries: 3, counts: { ADDED: 2, REPLACED: 1 } });
      expect(next).toContain('whether some of the entries after number 3 are in too is not known');
      expect(next).toContain('call again with "skip": 3, which replaces those of them that are in');
      expect(next).toContain('first count the documents of the collection');
      const early = await load({ service: async () => Promise.reject(new ApiError(code, 'It broke.')) });
      expect(early.next).toContain('whether some of the entries after number 0 are in too is not known');
    },
  );

  it('rejects if nothing was done, and it is sure of that', async () => {
    const service = async () => Promise.reject(new ApiError('invalid_input', 'The file is not JSON, at line 1.'));
    await expect(load({ service })).rejects.toThrow('The file is not JSON, at line 1.');
  });

  it('says how to go on where the file breaks off, with what the service says is in', async () => {
    async function* breaking() {
      yield '{"_id":"1"}\n{"_id":"2"}\n{"_id":';
      throw new ApiError('invalid_input', 'The file cannot be decompressed.');
    }
    const { data, next, isError, sent } = await load({ pieces: breaking });
    expect(sent).toEqual(['{"_id":"1"}\n{"_id":"2"}\n']);
    expect(data).toMatchObject({ complete: false, stopped_because: 'The file cannot be decompressed.', entries: 2 });
    expect(next).toContain('2 documents are in and stay');
    expect(next).not.toContain('not known');
    expect(next).toContain('"skip": 2');
    expect(isError).toBe(true);
  });
});

describe('load_file that is cancelled', () => {
  it('sends no more than whole lines of what it has read, and waits for what becomes of them', async () => {
    const stop = new AbortController();
    const service: Service = async (all) => {
      const done = await takeAll({
        ...all,
        async next() {
          const chunk = await all.next();
          stop.abort();
          expect(all.signal?.aborted).toBe(false);
          return chunk;
        },
      });
      return done;
    };
    const pieces = ['{"_id":"1"}\n{"_id"', ':"2"}\n', '{"_id":"3"}\n'];
    const { sent, data, next } = await load({ pieces, service, signal: stop.signal });
    expect(sent).toEqual(['{"_id":"1"}\n']);
    expect(data).toMatchObject({ complete: false, stopped_because: 'it was cancelled', counts: { ADDED: 1 } });
    expect(next).toContain('"skip": 1');
    expect(next).not.toContain('not known');
  });

  it('does not say that the file is broken, since its list does not end in what was sent', async () => {
    const stop = new AbortController();
    const service: Service = async (all) => {
      await all.next();
      stop.abort();
      await all.next();
      throw new ApiError('invalid_input', 'The file is not JSON, at line 2: the file ends before its list does.');
    };
    const more = { sentAs: 'json', format: 'json' } as const;
    const args = { on_error: 'skip' };
    const { data, next } = await load({ pieces: ['[{}\n', ',{}]'], service, signal: stop.signal, more, args });
    expect(data).toMatchObject({ complete: false, stopped_because: 'it was cancelled', counts: {} });
    expect(next).toContain('to go on, call again.');
    expect(next).not.toContain('correct');
  });

  it('breaks off a file of rows, of which nothing is in then', async () => {
    const stop = new AbortController();
    const service: Service = async (all) => {
      await all.next();
      stop.abort();
      await all.next();
      throw new Error('not reached');
    };
    const more = { sentAs: 'parquet', format: 'parquet', unit: 'row' } as const;
    const { sent, data, next } = await load({ pieces: ['PAR1', 'more'], service, signal: stop.signal, more });
    expect(sent).toEqual(['PAR1']);
    expect(data).toMatchObject({ complete: false, stopped_because: 'it was cancelled', counts: {} });
    expect(next).not.toContain('not known');
  });
});
