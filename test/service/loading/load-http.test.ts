import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../../src/http/client.ts';
import { addUser } from '../people.ts';
import { COLLECTIONS, chunksOf, type LoadBench, startBench } from './load-bench.ts';

let bench: LoadBench;

beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.remove());

const line = (n: number, more = '') => `{"_id":"${n}","n":${n},"text":"${'x'.repeat(80)}"${more}}\n`;
const lines = (from: number, to: number, more = '') =>
  Array.from({ length: to - from }, (_, n) => line(from + n, more)).join('');
const countOf = async (name: string) => Number((await bench.rows(`SELECT count(*) AS n FROM ${name}`))[0]?.['n']);
const target = (collection: string) => ({ workspace: 'commons', collection, format: 'jsonl' });

/** A gate that opens once something has happened. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** Waits until a condition holds; fails if it does not. */
async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  for (let tries = 0; tries < 400; tries += 1) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  expect.fail('it did not happen');
}

/** A request as it is written, of which what is answered is gathered. */
function speak(name: string, headers: string[], format = 'jsonl') {
  const socket = connect(bench.service.socket);
  const heard = { text: '', isClosed: false };
  socket.on('data', (chunk) => {
    heard.text += chunk.toString();
  });
  socket
    .on('error', () => undefined)
    .on('close', () => {
      heard.isClosed = true;
    });
  const head = [
    `POST ${COLLECTIONS}/${name}/load?format=${format} HTTP/1.1`,
    'host: localhost',
    `authorization: ApiKey ${bench.service.key}`,
    'content-type: application/octet-stream',
    ...headers,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  return { socket, heard };
}

describe('a load, while it runs', () => {
  it('tells what is in as soon as that is so, while the rest is still to be sent', async () => {
    const name = await bench.create();
    const first = gate();
    const seen: number[] = [];
    const progress: number[] = [];
    async function* body() {
      yield* chunksOf(lines(0, 6_000), 64 * 1024);
      await first.opened;
      seen.push(await countOf(name));
      yield* chunksOf(lines(6_000, 7_000), 64 * 1024);
    }
    const onProgress = ({ entries, added, replaced }: { entries: number; added: number; replaced: number }) => {
      expect([replaced, entries]).toEqual([0, added]);
      progress.push(added);
      first.open();
    };
    const done = await bench.client.load(target(name), body(), { onProgress });
    expect(done).toMatchObject({ entries: 7_000, added: 7_000 });
    expect(seen).toEqual([progress[0]]);
    expect(progress[0]).toBeGreaterThan(3_000);
    expect(progress.at(-1)).toBe(7_000);
  });

  it('answers lines of JSON', async () => {
    const name = await bench.create();
    const { socket, heard } = speak(name, ['connection: close', `content-length: ${Buffer.byteLength(line(2))}`]);
    socket.write(line(2));
    await until(() => heard.isClosed);
    expect(heard.text).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*content-type: application\/x-ndjson/);
    const told = heard.text.split('\n').filter((one) => one.startsWith('{'));
    expect(told.map((one) => JSON.parse(one))).toEqual([
      { progress: { entries: 1, added: 1, replaced: 0 } },
      {
        data: {
          entries: 1,
          added: 1,
          replaced: 0,
          without_id: 0,
          refused_count: 0,
          refused: [],
          warnings: [],
          stopped: null,
        },
      },
    ]);
  });

  it('ends with what is in, and why, if the collection is deleted meanwhile', async () => {
    const name = await bench.create();
    const first = gate();
    async function* body() {
      yield* chunksOf(lines(0, 6_000), 64 * 1024);
      await first.opened;
      await bench.client.deleteCollection({ workspace: 'commons', collection: name });
      yield* chunksOf(lines(6_000, 7_000), 64 * 1024);
    }
    let inside = 0;
    const onProgress = ({ added }: { added: number }) => {
      inside = added;
      first.open();
    };
    await expect(bench.client.load(target(name), body(), { onProgress })).rejects.toThrow(
      `Collection "${name}" does not exist in workspace "commons"`,
    );
    expect(inside).toBeGreaterThan(3_000);
    expect(inside).toBeLessThan(6_001);
  });

  it('leaves what is in, and no more, when its caller hangs up', async () => {
    const name = await bench.create();
    const stop = new AbortController();
    let inside = 0;
    async function* body() {
      yield* chunksOf(lines(0, 6_000), 64 * 1024);
      await new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve()));
    }
    const onProgress = ({ added }: { added: number }) => {
      inside = added;
      stop.abort();
    };
    await expect(bench.client.load(target(name), body(), { signal: stop.signal, onProgress })).rejects.toThrow();
    await until(() =>
      bench.service.lines.some(({ msg, operation }) => operation === 'load' && /given up/.test(String(msg))),
    );
    expect(inside).toBeGreaterThan(3_000);
    expect(await countOf(name)).toBe(inside);
    expect(await bench.load(name, line(9_999))).toMatchObject({ added: 1 });
  });

  it.each([
    ['of a length', (bytes: number) => [`content-length: ${bytes + 1_000}`], (text: string) => text],
    ['in chunks', () => ['transfer-encoding: chunked'], (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`],
  ])('takes no document of a part that does not arrive, of a body %s', async (_, headers, encoded) => {
    const name = await bench.create();
    const text = lines(0, 6_000);
    const { socket, heard } = speak(name, headers(text.length));
    socket.write(encoded(text));
    await until(() => heard.text.includes('progress'));
    const before = await countOf(name);
    expect(before).toBeGreaterThan(3_000);
    expect(before).toBeLessThan(6_000);
    socket.end();
    await until(() => heard.isClosed);
    expect(await countOf(name)).toBe(before);
    expect(heard.text).not.toContain('"data"');
  });

  it('goes on beside other loads and writes of its collection, and loses nothing', async () => {
    const name = await bench.create();
    const loads = [0, 1].map((at) => bench.load(name, lines(at * 10_000, at * 10_000 + 8_000, `,"f${at}":1`)));
    const adds = Array.from({ length: 20 }, (_, n) =>
      bench.client.addDocuments({
        workspace: 'commons',
        collection: name,
        data: [
          { _id: `a${n}`, n, [`g${n}`]: n % 2 === 0 ? n : 'x' },
          { _id: `${n}`, n: -1 },
        ],
      }),
    );
    const done = await Promise.all(loads);
    await Promise.all(adds);
    expect(done).toMatchObject([
      { entries: 8_000, stopped: null },
      { entries: 8_000, stopped: null, added: 8_000 },
    ]);
    expect(await countOf(name)).toBe(16_020);
    const [row] = await bench.rows(
      `SELECT count(f0) AS f0, count(f1) AS f1, count(g1) AS g1, max(n) AS n FROM ${name}`,
    );
    expect(row).toMatchObject({ f1: 8_000, g1: 1, n: 17_999 });
    expect(Number(row?.['f0'])).toBeGreaterThan(7_970);
  });

  it('replaces what another load of the same documents adds, so that each is in once', async () => {
    const name = await bench.create();
    const [one, other] = await Promise.all([1, 2].map(() => bench.load(name, lines(0, 9_000))));
    expect((one?.added ?? 0) + (other?.added ?? 0)).toBe(9_000);
    expect((one?.replaced ?? 0) + (other?.replaced ?? 0)).toBe(9_000);
    expect(await countOf(name)).toBe(9_000);
  });

  it('rejects with what its source fails with, and keeps what is in', async () => {
    const name = await bench.create();
    const first = gate();
    async function* body() {
      yield* chunksOf(lines(0, 6_000), 64 * 1024);
      await first.opened;
      throw new Error('the file is damaged');
    }
    await expect(bench.client.load(target(name), body(), { onProgress: first.open })).rejects.toMatchObject({
      message: expect.stringMatching(/damaged|broke|Cannot call load/),
    });
    expect(await countOf(name)).toBeGreaterThan(3_000);
    expect(await countOf(name)).toBeLessThan(6_000);
  });
});

describe('a load is refused', () => {
  const send = (path: string, headers: Record<string, string> = {}, method = 'POST') =>
    bench.service.call(method, path, undefined, {
      rawBody: line(1),
      headers: { 'content-type': 'application/octet-stream', ...headers },
    });

  it('for a key that may only read, however much is sent', async () => {
    const name = await bench.create();
    const key = await addUser(bench.service, 'reader@example.com', 'read-only');
    const reader = createClient({ target: { socketPath: bench.service.socket }, apiKey: key });
    let sent = 0;
    async function* endless() {
      const chunk = Buffer.from(lines(0, 6_000));
      for (; sent < 2_000; sent += 1) yield chunk;
    }
    await expect(reader.load(target(name), endless())).rejects.toMatchObject({ code: 'forbidden', status: 403 });
    expect(sent).toBeLessThan(500);
    const sampled = reader.load({ ...target(name), sample: 5 }, chunksOf(line(1), 10));
    await expect(sampled).rejects.toMatchObject({ code: 'forbidden' });
    expect(await countOf(name)).toBe(0);
    await reader.close();
  });

  it('without a key, or with a wrong one', async () => {
    const name = await bench.create();
    for (const authorization of ['', 'ApiKey wrong']) {
      expect((await send(`${COLLECTIONS}/${name}/load?format=jsonl`, { authorization })).status).toBe(401);
    }
    expect(await countOf(name)).toBe(0);
  });

  it('by a client that may only read, before anything is sent', async () => {
    const own = { target: { socketPath: bench.service.socket }, apiKey: bench.service.key, readOnly: true };
    const reader = createClient(own);
    await expect(reader.load(target('c'), chunksOf(line(1), 10))).rejects.toThrow('load was not sent');
    await reader.close();
  });

  it.each([
    ['format=jsonl', { 'content-encoding': 'gzip' }, 415, 'Content-Encoding "gzip"'],
    ['format=jsonl', { 'content-type': 'application/x-www-form-urlencoded' }, 415, 'application/octet-stream'],
    ['format=jsonl', { 'content-type': 'multipart/form-data; boundary=x' }, 415, 'application/octet-stream'],
    ['', {}, 400, 'format'],
    ['format=xml', {}, 400, 'format'],
    ['format=jsonl&id_feild=id', {}, 400, 'id_feild'],
    ['format=jsonl&skip=-1', {}, 400, 'skip'],
    ['format=jsonl&skip=1.5', {}, 400, 'skip'],
    ['format=jsonl&on_error=ignore', {}, 400, 'on_error'],
    ['format=csv&csv=5', {}, 400, 'csv'],
    ['format=csv&csv={"separator":""}', {}, 400, 'separator'],
    ['format=csv&csv={"separator":"|||||"}', {}, 400, '1 to 4 bytes'],
    ['format=csv&csv={"separator":"\'","quoteChar":"\'"}', {}, 400, 'holds the quoteChar'],
    ['format=csv&csv={"escapeChar":","}', {}, 400, 'holds the quoteChar'],
    ['format=csv&csv={"columnTypes":["date"]}', {}, 400, 'types are BOOLEAN'],
    ['format=csv&csv={"columnNames":["a","a"]}', {}, 400, 'there twice'],
    ['format=csv&csv={"encoding":"klingon"}', {}, 400, '"klingon" is not known'],
    ['format=csv&csv={"seperator":";"}', {}, 400, 'seperator'],
  ])('with %j and %j', async (query, headers, status, named) => {
    const name = await bench.create();
    const answer = await send(`${COLLECTIONS}/${name}/load?${query}`, headers as Record<string, string>);
    expect(answer.status).toBe(status);
    expect(answer.body.message).toContain(named);
    expect(await countOf(name)).toBe(0);
  });

  it('for a collection, or a workspace, that does not exist', async () => {
    const missing = await send(`${COLLECTIONS}/none/load?format=jsonl`);
    expect([missing.status, missing.body.message_key]).toEqual([404, 'COLLECTION_DOES_NOT_EXIST']);
    const nowhere = await send('/v1/orgs/self/ws/none/collections/none/load?format=jsonl');
    expect([nowhere.status, nowhere.body.message_key]).toEqual([404, 'WORKSPACE_NOT_FOUND']);
    await expect(bench.load('none', line(1))).rejects.toMatchObject({ code: 'not_found' });
  });

  it('by any other method, with those that there are', async () => {
    const path = `${COLLECTIONS}/none/load`;
    const options = await bench.service.call('OPTIONS', path, undefined, { key: null });
    expect([options.status, options.headers['allow']]).toEqual([204, 'OPTIONS, POST']);
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      const answer = await bench.service.call(method, path);
      expect([answer.status, answer.headers['allow']]).toEqual([405, 'OPTIONS, POST']);
    }
  });
});

describe('a load that is refused', () => {
  const csv = (rows: number) => `id,n\n${'1,2,3\n'.repeat(rows)}`;

  it('with nothing stored has a status of its own, and its result', async () => {
    const name = await bench.create();
    for (const [text, format] of [
      [csv(1), 'csv'],
      ['{"a":1\n', 'jsonl'],
    ] as const) {
      const length = `content-length: ${Buffer.byteLength(text)}`;
      const { socket, heard } = speak(name, ['connection: close', length], format);
      socket.write(text);
      await until(() => heard.isClosed);
      expect(heard.text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*content-type: application\/json/);
      const body = JSON.parse(heard.text.slice(heard.text.indexOf('{'), heard.text.lastIndexOf('}') + 1));
      expect(body).toMatchObject({
        message: expect.stringMatching(/^Nothing was loaded: /),
        type: 'INVALIDINPUT',
        data: { added: 0, stopped: expect.any(String), refused: [{ at: expect.any(Number) }] },
      });
    }
    expect(await countOf(name)).toBe(0);
  });

  it('has that status while its body is still being sent', async () => {
    const name = await bench.create();
    const { socket, heard } = speak(name, ['content-length: 20000000']);
    socket.write(`no JSON\n${line(1).repeat(20_000)}`);
    await until(() => heard.text.includes('"message"'));
    expect(heard.text).toMatch(/^HTTP\/1\.1 400 /);
    socket.destroy();
  });

  it('comes to the client with its result', async () => {
    const name = await bench.create();
    const done = await bench.load(name, csv(3), { format: 'csv' });
    expect(done).toMatchObject({ added: 0, refused_count: 3, stopped: expect.stringContaining('nothing is stored') });
  });
});
