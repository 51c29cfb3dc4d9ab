import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { loadingHere } from './load-here.ts';

const { call, rowsOf: rows, write } = loadingHere();

/** Loads a file with a content, into a collection of its name. */
async function load(path: string, content: string | Buffer, args: Record<string, unknown> = {}, more: object = {}) {
  write(path, content);
  return call('load_file', { path, ...args }, more);
}

const line = (n: number) => `{"_id":"${n}","n":${n},"text":"some text ${n * 7919} ${(n * 104729) % 9973}"}\n`;
const lines = (count: number) => Array.from({ length: count }, (_, n) => line(n)).join('');

const ENTRIES = 200_000;

describe('load_file', () => {
  it('makes a field the _id, exactly, and names what has none', async () => {
    const texts = ['5', '9007199254740993', '"x"', 'null', 'true'].map((id) => `{"id":${id}}`);
    const text = [...texts, '{}', '{"id":1,"_id":"other"}'].join('\n');
    const { data } = await load('ids.jsonl', text, { id_field: 'id', on_error: 'skip' });
    expect(data).toMatchObject({ counts: { ADDED: 3, ERROR: 4 } });
    expect((data['failed'] as unknown as { line: number }[]).map(({ line }) => line)).toEqual([4, 5, 6, 7]);
    expect(await rows('SELECT _id FROM ids ORDER BY _id')).toEqual([['5'], ['9007199254740993'], ['x']]);
    const none = await load('noids.jsonl', '{"Id":1,"name":"x"}\n{"Id":2}', { id_field: 'id' });
    expect(none.text).toContain('None of the first 2 documents has the field');
    expect((await call('describe_collection', { collection: 'noids' })).isError).toBe(true);
  });

  it('stops before an entry that is no document, unless it is told to skip these', async () => {
    const text = '{"_id":"a"}\nno JSON\n{"_id":"c","n":1e400}\n{"_id":"d"}\n';
    const stopped = await load('stop.jsonl', text);
    expect(stopped.data).toMatchObject({
      complete: false,
      stopped_because: expect.stringMatching(/^line 2: is no JSON/),
      entries: 1,
      counts: { ADDED: 1, ERROR: 1 },
      failed: [{ line: 2, error: expect.stringContaining('is no JSON') }],
    });
    expect(stopped.isError).toBe(true);
    expect(stopped.next).toContain('correct the file and call again with "skip": 1');
    const all = await call('load_file', { path: 'stop.jsonl', on_error: 'skip', skip: 1 });
    expect(all.data).toMatchObject({ complete: true, counts: { ADDED: 1, ERROR: 2 } });
    expect(all.isError).toBe(false);
    expect(await rows('SELECT _id FROM stop ORDER BY _id')).toEqual([['a'], ['d']]);
  });

  it('creates nothing for a file whose first entry is refused', async () => {
    const { data, isError } = await load('first.jsonl', 'no JSON\n{"_id":"a"}\n');
    expect(data).toMatchObject({ complete: false, entries: 0, counts: { ERROR: 1 } });
    expect(isError).toBe(true);
    expect((await call('describe_collection', { collection: 'first' })).isError).toBe(true);
  });

  it('says how to go on where a compressed file breaks off, and why it does', async () => {
    const whole = gzipSync(lines(60_000));
    const { data, next, isError } = await load('cut.jsonl.gz', whole.subarray(0, whole.length - 50_000));
    expect(isError).toBe(true);
    expect(data).toMatchObject({
      complete: false,
      stopped_because: expect.stringContaining('cannot be decompressed (gzip)'),
    });
    const entries = Number(data['entries']);
    expect(await rows('SELECT count(*) FROM cut')).toEqual([[entries]]);
    expect(next).toContain(`"skip": ${entries}`);
    const { data: rest } = await load('cut.jsonl.gz', whole, { skip: entries });
    expect(rest).toMatchObject({ complete: true, counts: { ADDED: 60_000 - entries } });
  });

  it('ends when it is cancelled, says what is in, and goes on from there', async () => {
    // Several parts, each of 16 MB at least: once the first is in, the last cannot have been sent yet.
    const pad = 'x'.repeat(300);
    const long = Array.from({ length: ENTRIES }, (_, n) => `{"_id":"${n}","n":${n},"text":"${pad}"}`);
    for (const [path, text] of [
      ['stopped.jsonl', long.join('\n')],
      ['stoppedlist.json', `[${long.join(',\n')}]`],
    ] as const) {
      const stop = new AbortController();
      const progress = (_done: number, _all: number, message: string) => {
        if (!message.startsWith('0 ')) stop.abort();
      };
      const { data, next } = await load(path, text, {}, { signal: stop.signal, progress });
      expect(data).toMatchObject({ complete: false, stopped_because: 'it was cancelled' });
      const entries = Number(data['entries']);
      expect(entries).toBeGreaterThan(1_000);
      expect(entries).toBeLessThan(ENTRIES);
      const name = path.split('.')[0];
      expect(await rows(`SELECT count(*), max(n) FROM ${name}`)).toEqual([[entries, entries - 1]]);
      expect(next).toContain(`"skip": ${entries}`);
      const { data: rest } = await call('load_file', { path, skip: entries });
      expect(rest).toMatchObject({ complete: true, counts: { ADDED: ENTRIES - entries } });
    }
  }, 120_000);

  it('warns as addDocuments does', async () => {
    const { data } = await load('warned.jsonl', '{"_id":"1","n":1}\n{"_id":"2","n":2}\n{"_id":"3","n":"x","N":1}\n');
    expect(data['warnings']).toEqual([
      expect.stringContaining(`1 of "n" (BIGINT, document "3" has text) as NULL, and (_strays->>'n') has them.`),
      expect.stringContaining('"N" of commons.warned differs from "n" only in letter case'),
    ]);
  });

  it('tells later chats, too, of rows that sum up others, until they are gone', async () => {
    await load('totals.csv', 'region,amt\nNorth,10\nSouth,20\nGrand Total,30\n');
    const where = `coalesce("region", '') NOT IN ('Grand Total')`;
    const warned = async (query: string) => (await call('run_query', { query })).data['warnings'] ?? [];
    const told = `1 row of commons.totals seems to sum up others, as was told at a load (${new Date().toISOString().slice(0, 10)}), and the statement does not leave it out: WHERE ${where}.`;
    expect(await warned('SELECT sum(amt) FROM totals')).toEqual([told]);
    expect(await warned(`SELECT sum(amt) FROM totals WHERE ${where}`)).toEqual([]);
    expect(await warned('SELECT region, sum(amt) FROM totals GROUP BY 1')).toEqual([]);
    expect(await warned('SELECT amt FROM totals')).toEqual([]);
    expect(await warned('SELECT sum(amt) FROM totals WHERE amt IN (10, 20)')).toEqual([]);
    expect(await warned('SELECT sum(t.amt) FROM commons.totals t WHERE t.amt < 25 OR false')).toEqual([]);
    expect(await warned('SELECT sum(amt) FROM totals WHERE amt >= 20')).toEqual([told]);
    const areTold = async (queries: readonly string[], warnings: readonly string[]) => {
      for (const query of queries) expect([query, await warned(query)]).toEqual([query, warnings]);
    };
    const used = [
      'SELECT region FROM totals ORDER BY amt DESC LIMIT 1;',
      'SELECT arg_max(commons.totals.region, "commons".totals.amt) FROM commons.totals -- all',
      'SELECT region, rank() OVER (ORDER BY amt DESC) FROM totals',
      'SELECT region, amt / sum(amt) OVER () FROM totals',
      'SELECT count(DISTINCT region) FROM totals',
      'WITH totals AS (SELECT * FROM commons.totals) SELECT max(amt) FROM totals',
      "SELECT sum(amt) FROM totals WHERE region <> 'North'",
    ];
    await areTold(used, [told]);
    await call('create_alias', { workspace: 'commons', name: 'sums', collections: ['commons.totals'] });
    expect(await warned('SELECT max(s.amt) FROM commons.sums s')).toEqual([told]);
    const right = [
      "SELECT sum(amt) FILTER (WHERE region <> 'Grand Total') FROM totals",
      "SELECT sum(if(region LIKE 'G%', 0, amt)) FROM totals",
      "WITH t AS (SELECT * FROM totals WHERE region IN ('North', 'South')) SELECT sum(amt), avg(amt) FROM t",
      "SELECT sum(amt) FROM totals WHERE region = 'Grand Total'",
      "SELECT sum(amt) FROM totals WHERE region LIKE '%total'",
      "SELECT amt / (SELECT max(amt) FROM totals WHERE region = 'Grand Total') FROM totals",
      'SELECT region, amt FROM totals ORDER BY amt DESC',
      'SELECT * FROM totals LIMIT 3',
      'SELECT region FROM totals ORDER BY random() LIMIT 1',
      'SELECT min(amt) FROM totals',
    ];
    await areTold(right, []);
    const { data } = await call('describe_collection', { collection: 'totals' });
    expect(data['load_notes']).toEqual([expect.stringContaining(`: 1 row (line 4 "Grand Total") seems to sum up`)]);
    expect((await call('list_collections', {})).text).toMatch(/totals \(3 documents.*told at a load .*Grand Total/);
    const ordinary = [{ _id: 'own', region: 'Grand Total', amt: 1 }];
    await call('add_documents', { workspace: 'commons', collection: 'totals', data: ordinary });
    expect(await warned('SELECT sum(amt) FROM totals')).toEqual([]);
    await call('delete_documents_where', { workspace: 'commons', collection: 'totals', where: `amt IN (1, 30)` });
    expect(await warned('SELECT sum(amt) FROM totals')).toEqual([]);
    await call('delete_documents_where', { workspace: 'commons', collection: 'totals', where: `true` });
    await load('totals.csv', 'region,amt\nNorth,10\nSouth,20\n');
    expect((await call('describe_collection', { collection: 'totals' })).data['load_notes']).toBeUndefined();
  });
});
