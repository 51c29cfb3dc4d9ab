import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LoadBench, startBench } from './load-bench.ts';

let bench: LoadBench;

beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.remove());

const idsOf = async (name: string) =>
  (await bench.rows(`SELECT _id FROM ${name} ORDER BY _id`)).map(({ _id }) => String(_id));
const countOf = async (name: string) => Number((await bench.rows(`SELECT count(*) AS n FROM ${name}`))[0]?.['n']);
const some = (count: number, textOf: (n: number) => string) => Array.from({ length: count }, (_, n) => textOf(n));
/** Lines that are several parts: the first is half a MiB, the others are 16. */
const line = (n: number) => `{"_id":"${n}","n":${n},"text":"${'x'.repeat(80)}"}\n`;

describe('load, with an id_field', () => {
  it('takes its text or number as the _id, as addDocuments takes an _id that is text', async () => {
    const values = ['"x"', '5', '5.5', '9007199254740993', '123456789012345678901234567890', '"é\\u0041"'];
    const others = ['1.0', '1e2', '-0', '1E+2', '0.10', '"\\u0078y"', '1e-7', '1e21'];
    const [first, ...rest] = [...values, ...others].map((id, n) => `{"k":"v","id":${id},"n":${n}}`);
    const name = await bench.create();
    // The others have the shape that the first has taught.
    expect(await bench.load(name, `${first}\n`, { id_field: 'id' })).toMatchObject({ added: 1, without_id: 0 });
    const done = await bench.load(name, rest.join('\n'), { id_field: 'id' });
    expect(done).toMatchObject({ stopped: null, refused_count: 0 });
    const ids = (await bench.rows(`SELECT _id, n FROM ${name}`)).map(({ _id, n }) => [n, _id]);
    const expected = [...values, ...others].map((id, n) => [n, String(JSON.parse(id))]);
    expected[3] = [3, '9007199254740993'];
    expected[4] = [4, '123456789012345678901234567890'];
    // Of two that are the same the later one is left.
    const last = new Map(expected.map(([n, id]) => [id, n]));
    expect(new Map(ids.map(([n, id]) => [id, n]))).toEqual(last);
  });

  it('refuses documents that lack it, and those with another _id', async () => {
    const texts = [
      '{"id":5}',
      '{"id":null}',
      '{}',
      '{"id":true}',
      '{"id":""}',
      '{"id":1,"_id":"x"}',
      '{"id":7,"_id":"7"}',
    ];
    const name = await bench.create();
    const done = await bench.load(name, texts.join('\n'), { id_field: 'id', on_error: 'skip' });
    expect(done).toMatchObject({ entries: 7, added: 2, refused_count: 5 });
    expect(done.refused.map(({ at }) => at)).toEqual([2, 3, 4, 5, 6]);
    expect(done.refused[0]?.error).toBe('has no text or number in the field "id", which is to be its _id');
    expect(done.refused[4]?.error).toBe('has an _id already, which is not its "id"');
    expect(await idsOf(name)).toEqual(['5', '7']);
  });
});

describe('load, of documents without _id', () => {
  it('makes one for each, and says for how many', async () => {
    const name = await bench.create();
    const texts = some(6_000, (n) => (n % 3 === 0 ? `{"_id":"${n}","n":${n}}` : `{"n":${n}}`));
    for (const round of [1, 2]) {
      const done = await bench.load(name, texts.join('\n'));
      expect(done).toMatchObject({ entries: 6_000, without_id: 4_000, replaced: round === 1 ? 0 : 2_000 });
    }
    expect(await countOf(name)).toBe(10_000);
  });
});

describe('load, with skip', () => {
  it.each([
    [0, 100],
    [1, 99],
    [99, 1],
    [100, 0],
    [1_000, 0],
  ])('leaves out the first %i of 100', async (skip, added) => {
    const name = await bench.create();
    expect(await bench.load(name, some(100, line).join(''), { skip })).toMatchObject({ entries: 100, added });
    expect(await countOf(name)).toBe(added);
    const list = await bench.create();
    const text = `[${some(100, line).join(',')}]`;
    expect(await bench.load(list, text, { skip, size: 13 })).toMatchObject({ entries: 100, added });
  });

  it('leaves out as many in whatever parts they come, refused ones among them', async () => {
    const texts = some(30_000, line);
    texts[10] = 'no JSON\n';
    texts[25_000] = 'no JSON either\n';
    const name = await bench.create();
    const done = await bench.load(name, texts.join(''), { skip: 20_000, on_error: 'skip' });
    expect(done).toMatchObject({ entries: 30_000, added: 9_999, refused: [{ at: 25_001 }] });
    expect((await bench.rows(`SELECT min(n) AS n FROM ${name}`))[0]).toEqual({ n: 20_000 });
  });
});

describe('load, at what is refused', () => {
  const refusable: [string, RegExp][] = [
    ['{"a":', /no JSON/],
    ['[1]', /is no JSON object, but a list: .* orient="records"/],
    ['{"_id":5}', /"_id" must be a string/],
    ['{"_id":"x","_event_time":"no"}', /"_event_time" must be/],
    ['{"_id":"x","a":"\\ud800"}', /half of a surrogate pair/],
    ['{"_id":"x","a":1e400}', /number that is too large/],
    [`{"_id":"x","a":${'['.repeat(250)}${']'.repeat(250)}}`, /nested more than 200 levels/],
    [`{"_id":"x","a":${'['.repeat(3_000)}${']'.repeat(3_000)}}`, /nested too deeply/],
    [`{"_id":"x","a":${'['.repeat(40_000)}`, /nested too deeply/],
    [`{"_id":"x","a":${'1'.repeat(2_000)}}`, /number|no JSON|too many/],
  ];

  it.each(refusable.map(([text, why]) => [text.slice(0, 40), why, text] as const))(
    'stops before it, with its line, or leaves it out: %s',
    async (_, why, text) => {
      const texts = [...some(50, line), '\n', `${text}\n`, ...some(50, (n) => line(100 + n))];
      const stopping = await bench.create();
      const stopped = await bench.load(stopping, texts.join(''));
      expect(stopped).toMatchObject({ entries: 50, added: 50, refused_count: 1, refused: [{ at: 52 }] });
      expect(stopped.stopped).toMatch(/^line 52: /);
      expect(stopped.stopped).toMatch(why);
      expect(await countOf(stopping)).toBe(50);
      const skipping = await bench.create();
      const skipped = await bench.load(skipping, texts.join(''), { on_error: 'skip' });
      expect(skipped).toMatchObject({ entries: 101, added: 100, refused_count: 1, stopped: null });
      expect(skipped.refused[0]).toMatchObject({ at: 52, error: expect.stringMatching(why) });
      expect(await countOf(skipping)).toBe(100);
    },
  );

  it('has the line in a list over several lines, from the number that it is told', async () => {
    const name = await bench.create();
    const text = '[\n{"_id":"a",\n"n":1},\n5,\n{"_id":"b"}, "x"]';
    const done = await bench.load(name, text, { on_error: 'skip', line: 10, size: 3 });
    expect(done.refused.map(({ at }) => at)).toEqual([13, 14]);
    expect(await idsOf(name)).toEqual(['a', 'b']);
  });

  it('says what is wrong with bytes that are no UTF-8, and with a document that is too long', async () => {
    const name = await bench.create();
    const latin = Buffer.concat([Buffer.from(line(1)), Buffer.from('{"a":"é"}\n', 'latin1'), Buffer.from(line(2))]);
    const done = await bench.load(name, latin, { on_error: 'skip' });
    expect(done).toMatchObject({ added: 2, refused: [{ at: 2, error: expect.stringContaining('UTF-8') }] });
    const long = `{"a":"${'é'.repeat(13 * 1024 * 1024)}"}`;
    const refused = [{ at: 2, error: expect.stringContaining('10 MiB') }];
    const lines = await bench.load(name, `${line(3)}${long}\n${line(4)}`, { on_error: 'skip', format: 'jsonl' });
    expect(lines).toMatchObject({ entries: 3, added: 2, refused });
    const list = await bench.load(name, `[${line(5)},${long},\n${line(6)}]`, { on_error: 'skip' });
    expect(list).toMatchObject({ entries: 3, added: 2, refused, stopped: null });
    const stopped = await bench.load(name, `[${line(7)},${long},\n${line(8)}]`);
    expect(stopped).toMatchObject({ entries: 1, added: 1, refused, stopped: expect.stringContaining('line 2') });
  });

  it('counts all that are refused, and keeps the first', async () => {
    const name = await bench.create();
    const done = await bench.load(name, `${'no\n'.repeat(9_000)}${line(1)}`, { on_error: 'skip' });
    expect(done).toMatchObject({ entries: 9_001, added: 1, refused_count: 9_000 });
    expect(done.refused).toHaveLength(500);
  });

  it('stores what comes before a list breaks off, and says where', async () => {
    const name = await bench.create();
    const done = await bench.load(name, `[${some(20_000, line).join(',')}`);
    expect(done).toMatchObject({ entries: 20_000, added: 20_000 });
    expect(done.stopped).toMatch(/^The file is not JSON, at line \d+: the file ends before its list does\.$/);
    const nothing = bench.load(name, '[{"a":1]');
    await expect(nothing).rejects.toMatchObject({ code: 'invalid_input', status: 400 });
    expect(await countOf(name)).toBe(20_000);
  });

  it('takes nothing for no documents', async () => {
    const name = await bench.create();
    for (const text of ['', '\n \n', '[]', ' [ ] ', '\ufeff']) {
      expect(await bench.load(name, text)).toMatchObject({ entries: 0, added: 0, stopped: null });
    }
  });
});

describe('load, of lines', () => {
  it('has one document on each line, whether the engine takes their text or not', async () => {
    const texts = [...some(20, line), '{"_id":"a"} {"_id":"b"}\n', '{"_id":"c",\n', '"n":1}\n'];
    const refused = [21, 22, 23];
    for (const more of [[], ['no JSON\n']]) {
      const name = await bench.create();
      const done = await bench.load(name, [...texts, ...more].join(''), { format: 'jsonl', on_error: 'skip' });
      expect(done.refused.map(({ at }) => at)).toEqual([...refused, ...more.map(() => 24)]);
    }
  });
});

describe('a sample', () => {
  it('is the first documents, of a collection that may be missing, and writes nothing', async () => {
    const text = `[{"_id":5,"n":9007199254740993},\n5,\n${some(100, line).join(',')}]`;
    const few = await bench.load('missing', text, { sample: 10, on_error: 'skip' });
    expect(few).toMatchObject({ is_all: false, refused: [{ at: 2 }], added: 0 });
    expect(few.sample).toHaveLength(9);
    expect(few.sample?.[0]).toEqual({ _id: 5, n: 9007199254740993n });
    const all = await bench.load('missing', text, { sample: 1_000, on_error: 'skip', line: 7 });
    expect(all).toMatchObject({ is_all: true, refused: [{ at: 8 }] });
    expect(all.sample).toHaveLength(101);
    const stopped = await bench.load('missing', text, { sample: 10 });
    expect(stopped).toMatchObject({ is_all: false, refused: [{ at: 2 }] });
    expect(stopped.sample).toHaveLength(1);
    const broken = await bench.load('missing', '[{"a":1},', { sample: 10 });
    expect(broken).toMatchObject({ sample: [{ a: 1 }], stopped: expect.stringContaining('before its list does') });
    expect((await bench.service.call('GET', '/v1/orgs/self/ws/commons/collections/missing')).status).toBe(404);
  });

  it('is answered before all is sent', async () => {
    let sent = 0;
    async function* endless() {
      const chunk = Buffer.from(some(1_000, line).join(''));
      for (; sent < 2_000; sent += 1) yield chunk;
    }
    const call = { workspace: 'commons', collection: 'missing', format: 'jsonl', sample: 5 };
    expect(await bench.client.load(call, endless())).toMatchObject({ is_all: false, entries: 5 });
    expect(sent).toBeLessThan(1_000);
  });
});

describe('a load that ends before its body', () => {
  it('is answered each time, although much of that is still to be sent', async () => {
    const rest = Buffer.from(some(600, line).join(''));
    async function* slowly(first: string) {
      yield Buffer.from(first);
      for (let sent = 0; sent < 400; sent += 1) {
        yield rest;
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    for (let round = 0; round < 10; round += 1) {
      const call = { workspace: 'commons', collection: await bench.create(), format: 'json' };
      const stopped = await bench.client.load(call, slowly(`${line(1)}no JSON\n`));
      expect(stopped).toMatchObject({ added: 1, stopped: expect.stringMatching(/^line 2: /) });
      const sample = await bench.client.load({ ...call, sample: 5 }, slowly(line(1)));
      expect(sample).toMatchObject({ entries: 5, is_all: false });
      const broken = bench.client.load(call, slowly('[}'));
      await expect(broken).rejects.toMatchObject({ code: 'invalid_input', status: 400 });
    }
  });
});

describe('an upload of 40 MB in which every twentieth document brings new fields', () => {
  it('takes no more than a moment, and has them all', async () => {
    const name = await bench.create();
    const count = 100_000;
    const texts = some(count, (n) => {
      const more = n % 20 === 0 ? `,"f${n % 2_000}":${n},"o":{"g${n % 500}":"x"}` : '';
      return `{"_id":"${n}","n":${n},"text":"${'some text '.repeat(37)}"${more}}\n`;
    });
    const body = texts.join('');
    expect(body.length).toBeGreaterThan(40_000_000);
    const began = performance.now();
    const done = await bench.load(name, body);
    expect(done).toMatchObject({ entries: count, added: count, stopped: null, refused_count: 0 });
    expect(performance.now() - began).toBeLessThan(60_000);
    const [row] = await bench.rows(
      `SELECT count(*) AS n, count(f20) AS f, sum(f20) AS s, sum(n) AS all_n FROM ${name}`,
    );
    expect(row).toEqual({
      n: count,
      f: 50,
      s: some(50, () => '').reduce((sum, _, k) => sum + 20 + 2_000 * k, 0),
      all_n: 4_999_950_000,
    });
  }, 120_000);
});
