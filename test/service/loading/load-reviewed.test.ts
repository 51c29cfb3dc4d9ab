import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LoadProgress } from '../../../src/contract/load.ts';
import { chunksOf, type LoadBench, startBench } from './load-bench.ts';

let bench: LoadBench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.remove());

const csv = (rows: readonly string[]) => `id,n\n${rows.join('\n')}\n`;

describe('a load', () => {
  it('whose id field is the field of the event time has both in each document', async () => {
    const name = await bench.create({ event_time_info: { field: 'ts' } });
    const at = (day: number) => `2020-01-0${day}T00:00:00Z`;
    const lines = [1, 2, 3].map((day) => JSON.stringify({ ts: at(day), n: day }));
    await bench.load(name, lines.join('\n'), { id_field: 'ts' });
    await bench.load(name, lines.slice(0, 1).join('\n'), { id_field: 'ts' });
    const rows = await bench.rows(`SELECT _id, _event_time = _id::TIMESTAMPTZ AS same FROM ${name} ORDER BY _id`);
    expect(rows).toEqual([1, 2, 3].map((day) => ({ _id: at(day), same: true })));
  });

  it('of CSV without the column of the id is refused in one line', async () => {
    const name = await bench.create();
    const rows = Array.from({ length: 3_000 }, (_, n) => `${n},${n}`);
    const refused = bench.load(name, csv(rows), { format: 'csv', id_field: 'key' });
    await expect(refused).rejects.toThrow(
      'The file has no column "key", which is to be the _id. Its columns: "id", "n".',
    );
  });

  it('of CSV says which few cells are beside a column, and which make it text', async () => {
    const name = await bench.create();
    const rows = Array.from({ length: 3_000 }, (_, n) => `${n},${n === 2_500 ? 'N/A' : n / 4}`);
    const { warnings } = await bench.load(name, csv(rows), { format: 'csv' });
    expect(warnings).toEqual([
      `1 value of "n" of commons.${name} does not fit its type DOUBLE (line 2,502 has "N/A"): SELECT of the field shows it as given, what SQL computes sees NULL, and (_strays->>'n') has it.`,
    ]);
    const odd = rows.map((row, n) => (n === 2_500 ? `${n},1.000` : row)).concat('3000,007');
    expect((await bench.load(await bench.create(), csv(odd), { format: 'csv' })).warnings).toEqual([
      '"n" is text, since 1 of 3,001 values is no number as JSON writes it: line 3,002 has "007".',
    ]);
    const many = rows.map((row, n) => (n % 2 === 0 ? row : `${n},x`));
    expect((await bench.load(await bench.create(), csv(many), { format: 'csv' })).warnings).toEqual([]);
  });

  it('of CSV with many refused rows leaves these out, and has all others', async () => {
    const name = await bench.create();
    const rows = Array.from({ length: 3_000 }, (_, n) => (n % 2 === 0 ? `,${n}` : `k${n},${n}`));
    const done = await bench.load(name, csv(rows), { format: 'csv', id_field: 'id', on_error: 'skip' });
    expect(done).toMatchObject({ entries: 3_000, added: 1_500, refused_count: 1_500, stopped: null });
    expect(done.refused[0]?.at).toBe(2);
    const stopped = await bench.load(name, csv(rows), { format: 'csv', id_field: 'id' });
    expect(stopped).toMatchObject({ added: 0, replaced: 0, stopped: expect.stringContaining('nothing is stored') });
  });

  it('tells of the entries of CSV that are dealt with, so that it can go on behind them', async () => {
    const name = await bench.create();
    const good = Array.from({ length: 250_000 }, (_, n) => `${n},${n}`);
    const bad = Array.from({ length: 5 }, (_, n) => `${n},1,2`);
    const told: LoadProgress[] = [];
    const body = csv([...good, ...bad, ...good.slice(0, 10), ...bad]);
    const call = { workspace: 'commons', collection: name, format: 'csv', on_error: 'skip' } as const;
    const done = await bench.client.load(call, chunksOf(body, 1 << 20), { onProgress: (one) => told.push(one) });
    expect(told.map(({ entries }) => entries)).toEqual([125_000, 250_000, 250_020]);
    expect(done.entries).toBe(250_020);
  });

  it('is not stored any further for a caller that is gone', async () => {
    const name = await bench.create();
    const lines = Array.from({ length: 400_000 }, (_, n) => JSON.stringify({ n, text: 'some text that is stored' }));
    const stop = new AbortController();
    let told = 0;
    const onProgress = ({ added }: LoadProgress) => {
      told = added;
      stop.abort();
    };
    const call = { workspace: 'commons', collection: name, format: 'jsonl' };
    const body = chunksOf(lines.join('\n'), 1 << 20);
    await expect(bench.client.load(call, body, { signal: stop.signal, onProgress })).rejects.toThrow();
    const count = async () => Number((await bench.rows(`SELECT count(*) AS n FROM ${name}`))[0]?.['n']);
    let [before, now] = [-1, await count()];
    while (now !== before) {
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      [before, now] = [now, await count()];
    }
    expect(now).toBeGreaterThanOrEqual(told);
    // The part after what was told may be in, and none after that one.
    expect(now).toBeLessThan(400_000);
  });
});
