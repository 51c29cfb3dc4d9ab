import { createHmac } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SegmentLibrary, type SegmentSettings, segmentLibrary } from './servers/segment-library.ts';
import { dataFolder, freePort, type Server, start } from './servers/server.ts';
import { ITEMS, until } from './source-tests.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PROGRAM = ['--import', join(ROOT, 'scripts/ts-loader.mjs'), join(ROOT, 'src/main.ts')];
const WS = '/v1/orgs/self/ws/commons';

let Library: new (settings: SegmentSettings) => SegmentLibrary;
let folder: string;
let port: number;
let server: Server;
let key: string;

/** The program in a process of its own, which can be killed. */
async function startProgram(): Promise<void> {
  const args = ['serve', '--data-dir', folder, '--port', String(port), '--supervised', '0', '--mcp', 'off'];
  server = await start(process.execPath, [...PROGRAM, ...args], { port, folder, cwd: ROOT });
  key = (await readFile(join(folder, 'admin.key'), 'utf8')).trim();
  await until(
    async () => (await fetch(`${hostOf()}/ready`)).status,
    (status) => status === 200,
  );
}

beforeAll(async () => {
  Library = await segmentLibrary();
  folder = await dataFolder('segment');
  port = await freePort();
  await startProgram();
});
afterAll(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

const hostOf = () => `http://127.0.0.1:${port}`;

// biome-ignore lint/suspicious/noExplicitAny: the shape is what each test asserts.
async function call(method: string, path: string, body?: unknown): Promise<any> {
  const headers = { authorization: `ApiKey ${key}`, 'content-type': 'application/json' };
  const answer = await fetch(`${hostOf()}${path}`, { method, headers, body: JSON.stringify(body) ?? null });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

/** An integration with a collection of the same name; returns its write key. */
async function create(name: string, segment: object = {}): Promise<string> {
  const { data } = await call('POST', '/v1/orgs/self/integrations', { name, segment });
  await call('POST', `${WS}/collections`, { name, sources: [{ integration_name: name }] });
  return data.segment.connection_string;
}

const rows = async (query: string) => (await call('POST', '/v1/orgs/self/queries', { sql: { query } })).results;
const count = async (name: string) => Number((await rows(`SELECT count(*) AS n FROM commons."${name}"`))[0].n);
const reportOf = async (name: string) =>
  (await call('GET', `/v1/colloquy/ws/commons/collections/${name}/sources/0`)).data;
const control = (name: string, verb: string) =>
  call('POST', `/v1/colloquy/ws/commons/collections/${name}/sources/0/${verb}`, {});

/** Tracks this many events and waits until the library is through with them; returns how many it gave up. */
async function track(
  library: SegmentLibrary,
  { from = 0, to, idOf = (n) => `e${n}` }: { from?: number; to: number; idOf?: (n: number) => string },
): Promise<number> {
  const failed: unknown[] = [];
  const done: Promise<void>[] = [];
  for (let n = from; n < to; n++) {
    const message = {
      messageId: idOf(n),
      event: 'Seen',
      userId: `u${n % 100}`,
      properties: { n, text: 'x'.repeat(50) },
    };
    done.push(
      new Promise((resolve) =>
        library.track(message, (error) => {
          if (error) failed.push(error);
          resolve();
        }),
      ),
    );
    // As an application that does something else between its events.
    if (n % 500 === 499) await delay(0);
  }
  await Promise.all(done);
  return failed.length;
}

function connect(writeKey: string, more: Partial<SegmentSettings> = {}): SegmentLibrary {
  return new Library({ writeKey, host: hostOf(), flushAt: 100, flushInterval: 100, ...more });
}

describe("Segment's library", () => {
  it('has all its events stored, of every type, as it sent them', async () => {
    const library = connect(await create('types'));
    const userId = 'u1';
    const timestamp = new Date('2026-11-20T18:00:00.123Z');
    const sent = [
      (done: () => void) => library.track({ userId, event: 'Ordered', properties: { total: 9.5 }, timestamp }, done),
      (done: () => void) => library.identify({ userId, traits: { plan: 'pro' }, timestamp }, done),
      (done: () => void) => library.page({ userId, name: 'Home', timestamp }, done),
      (done: () => void) => library.screen({ userId, name: 'Start', timestamp }, done),
      (done: () => void) => library.group({ userId, groupId: 'g1', timestamp }, done),
      (done: () => void) => library.alias({ userId, previousId: 'u0', timestamp }, done),
    ];
    await Promise.all(sent.map((send) => new Promise<void>((resolve) => send(resolve))));
    await library.closeAndFlush();
    const stored = await rows('SELECT * FROM commons.types ORDER BY type');
    expect(stored.map(({ type }: { type: string }) => type)).toEqual([
      'alias',
      'group',
      'identify',
      'page',
      'screen',
      'track',
    ]);
    expect(stored[5]).toMatchObject({
      _id: stored[5].messageId,
      _event_time: '2026-11-20T18:00:00.123000Z',
      event: 'Ordered',
      properties: { total: 9.5 },
      context: { library: { name: '@segment/analytics-node' } },
    });
    expect((await reportOf('types')).source.status).toMatchObject({
      state: 'ACTIVE',
      total_processed_items: 6,
      total_error_items: 0,
    });
  });

  it('is nearly as fast as where nothing is stored, and repeated events change nothing', async () => {
    const bare = createServer((request, answer) => {
      request.resume().once('end', () => answer.end('{"success":true}'));
    });
    await new Promise<void>((resolve) => bare.listen(0, '127.0.0.1', resolve));
    const host = `http://127.0.0.1:${(bare.address() as AddressInfo).port}`;
    const writeKey = await create('many');
    const rate = async (settings: Partial<SegmentSettings>) => {
      const library = connect(writeKey, settings);
      const began = performance.now();
      expect(await track(library, { to: ITEMS })).toBe(0);
      await library.closeAndFlush();
      return Math.round((ITEMS / (performance.now() - began)) * 1_000);
    };
    // Not the first, which loads the library's parts.
    await rate({ host });
    const unstored = await rate({ host });
    const stored = await rate({});
    bare.close();
    expect(await count('many')).toBe(ITEMS);
    const before = await rows(
      'SELECT sum(CAST(properties.n AS bigint)) AS sum, max(_event_time) AS last FROM commons.many',
    );
    const again = await rate({});
    expect(await count('many')).toBe(ITEMS);
    const after = await rows('SELECT sum(CAST(properties.n AS bigint)) AS sum FROM commons.many');
    expect(after[0].sum).toBe(before[0].sum);
    process.stdout.write(
      `segment: ${ITEMS} events, ${stored}/s stored, ${again}/s again, ${unstored}/s by the library alone\n`,
    );
    const lag = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        await delay(n * 50);
        const began = performance.now();
        const library = connect(writeKey, { flushAt: 1 });
        expect(await track(library, { to: 1, idOf: () => `lag${n}` })).toBe(0);
        expect(await rows(`SELECT _id FROM commons.many WHERE _id = 'lag${n}'`)).toHaveLength(1);
        return performance.now() - began;
      }),
    );
    process.stdout.write(
      `segment: at most ${Math.round(Math.max(...lag))} ms from a call of the library to a query that sees it\n`,
    );
  });

  it('sends again what a killed service had not acknowledged, and nothing is lost or there twice', async () => {
    const library = connect(await create('killed'));
    let isThrough = false;
    const sending = track(library, { to: ITEMS }).finally(() => {
      isThrough = true;
    });
    let kills = 0;
    while (!isThrough && kills < 4) {
      await delay(kills === 0 ? 40 : 1_500);
      if (isThrough) break;
      await server.stop('SIGKILL');
      kills += 1;
      await startProgram();
    }
    expect(await sending).toBe(0);
    await library.closeAndFlush();
    expect(kills).toBeGreaterThan(0);
    expect(await count('killed')).toBe(ITEMS);
    const { source, refused } = await reportOf('killed');
    expect(source.status.total_processed_items).toBeGreaterThanOrEqual(ITEMS);
    expect(refused).toEqual([]);
  });

  it.concurrent('keeps its events while the source is paused, and loses none', async () => {
    const library = connect(await create('paused'));
    const seen = new Set<number>();
    library.on('http_response', ({ status }) => seen.add(status));
    expect(await track(library, { to: 100 })).toBe(0);
    await control('paused', 'pause');
    const sending = track(library, { from: 100, to: 1_000 });
    await until(async () => seen.has(429), Boolean);
    expect(await count('paused')).toBe(100);
    await control('paused', 'resume');
    expect(await sending).toBe(0);
    expect(await count('paused')).toBe(1_000);
    expect((await reportOf('paused')).source.status.total_processed_items).toBe(1_000);
  });

  it.concurrent('waits for a collection that is made only later', async () => {
    const { data } = await call('POST', '/v1/orgs/self/integrations', { name: 'early', segment: {} });
    const library = connect(data.segment.connection_string);
    const seen = new Set<number>();
    library.on('http_response', ({ status }) => seen.add(status));
    const sending = track(library, { to: 10 });
    await until(async () => seen.has(429), Boolean);
    await call('POST', `${WS}/collections`, { name: 'early', sources: [{ integration_name: 'early', segment: {} }] });
    expect(await sending).toBe(0);
    expect(await count('early')).toBe(10);
  });

  it('learns at once that its key is wrong', async () => {
    const library = connect('no-such-write-key');
    const seen = new Set<number>();
    library.on('http_response', ({ status }) => seen.add(status));
    expect(await track(library, { to: 10 })).toBe(10);
    expect([...seen]).toEqual([401]);
  });

  it('is refused where messages have to be signed, and a webhook that signs is not', async () => {
    const secret = 'a-signing-secret';
    const writeKey = await create('signed', { signing_secret: secret });
    expect(await track(connect(writeKey), { to: 3 })).toBe(3);
    const body = JSON.stringify({ messageId: 'hook-1', type: 'track', event: 'Signed' });
    const signature = createHmac('sha1', secret).update(body).digest('hex');
    const headers = { authorization: `Basic ${btoa(`${writeKey}:`)}`, 'x-signature': signature };
    const answer = await fetch(`${hostOf()}/v1/track`, { method: 'POST', headers, body });
    expect([answer.status, await answer.json()]).toEqual([200, { success: true }]);
    expect(await rows('SELECT _id FROM commons.signed')).toEqual([{ _id: 'hook-1' }]);
  });
});
