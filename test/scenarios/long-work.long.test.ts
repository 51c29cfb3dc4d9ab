import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BINARY, buildIfStale, dataFolder } from './binary.ts';
import { serverEnvironment } from './session.ts';

interface Message {
  id?: number;
  method?: string;
  params?: { progressToken?: string; progress?: number; total?: number; message?: string };
  result?: { isError?: boolean; structuredContent?: Record<string, unknown>; tools?: { name: string }[] };
  error?: unknown;
}

const ENDLESS = 'SELECT sum(a.range * b.range) AS total FROM range(10000000) a, range(10000000) b';
const META = 'io.modelcontextprotocol';
const ENVELOPE = {
  [`${META}/protocolVersion`]: '2026-07-28',
  [`${META}/clientInfo`]: { name: 'wire', version: '1' },
  [`${META}/clientCapabilities`]: {},
};

/** The server process on the wire: the messages that it writes, in order. */
class Wire {
  readonly messages: Message[] = [];
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #isModern: boolean;
  #heard: () => void = () => undefined;
  #id = 0;

  constructor(env: Record<string, string>, isModern: boolean) {
    this.#isModern = isModern;
    this.#child = spawn(process.execPath, [BINARY], { env });
    this.#child.stderr.resume();
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      this.messages.push(JSON.parse(line) as Message);
      this.#heard();
    });
  }

  #send(message: object): void {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  async open(): Promise<void> {
    if (this.#isModern) return;
    const clientInfo = { name: 'wire', version: '1' };
    const id = this.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    await this.answer(id);
    this.#send({ method: 'notifications/initialized' });
  }

  request(method: string, params: object, progressToken?: string): number {
    this.#id += 1;
    const meta = {
      ...(this.#isModern ? ENVELOPE : {}),
      ...(progressToken === undefined ? {} : { progressToken }),
    };
    this.#send({ id: this.#id, method, params: { ...params, _meta: meta } });
    return this.#id;
  }

  call(name: string, args: object, progressToken?: string): number {
    return this.request('tools/call', { name, arguments: args }, progressToken);
  }

  cancel(requestId: number): void {
    const meta = this.#isModern ? { _meta: ENVELOPE } : {};
    this.#send({ method: 'notifications/cancelled', params: { requestId, ...meta } });
  }

  async until<T>(find: () => T | undefined): Promise<T> {
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    }
  }

  answer(id: number): Promise<Message> {
    return this.until(() => this.messages.find((message) => message.id === id));
  }

  async structured(name: string, args: object): Promise<Record<string, unknown>> {
    return (await this.answer(this.call(name, args))).result?.structuredContent ?? {};
  }

  progress(token: string) {
    const reports = this.messages.filter(({ params }) => params?.progressToken === token);
    return reports.map(({ params }) => ({ done: params?.progress ?? Number.NaN, total: params?.total }));
  }

  async close(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.stdin.end();
    await exited;
  }
}

const LINES = 400_000;
const TIME_MAX_MS = 90_000;

describe.each([
  { era: '2025-11-25', isModern: false },
  { era: '2026-07-28', isModern: true },
])('long work on the wire, $era', ({ isModern }) => {
  let folder: Awaited<ReturnType<typeof dataFolder>>;
  let wire: Wire;
  let files: string;

  beforeAll(async () => {
    buildIfStale();
    folder = await dataFolder();
    files = join(folder.path, 'files');
    await mkdir(files);
    const lines = Array.from({ length: LINES }, (_, n) => `{"n":${n},"text":"${'x'.repeat(60)}"}\n`);
    await writeFile(join(files, 'many.jsonl'), lines.join(''));
    await writeFile(join(files, 'few.json'), '[{"id":1,"n":9007199254740993},{"id":2}]');
    const dataDir = join(folder.path, 'data');
    const env = { ...serverEnvironment(dataDir), COLLOQUY_ALLOW_DIRS: files, COLLOQUY_QUERY_TIMEOUT_MS: '3000' };
    wire = new Wire(env, isModern);
    await wire.open();
    await wire.structured('list_workspaces', {});
  }, 60_000);
  afterAll(async () => {
    await wire.close();
    await folder.remove();
  });

  it('reports a long query as running, steadily, and nothing after the answer', async () => {
    const id = wire.call('run_query', { query: ENDLESS }, 'query');
    const answer = await wire.answer(id);
    expect(answer.result?.structuredContent?.['error']).toMatchObject({ code: 'query_timeout' });
    const reports = wire.progress('query');
    expect(reports.length).toBeGreaterThanOrEqual(1);
    expect(reports[0]?.total).toBeUndefined();
    for (const [index, { done }] of reports.entries()) expect(done).toBeGreaterThan(reports[index - 1]?.done ?? -1);
    // A call that takes as long but does not request progress.
    await wire.answer(wire.call('run_query', { query: ENDLESS }));
    expect(wire.progress('query')).toHaveLength(reports.length);
    const answered = wire.messages.findIndex((message) => message.id === id);
    const last = wire.messages.findLastIndex(({ params }) => params?.progressToken === 'query');
    expect(last).toBeLessThan(answered);
  });

  it('loads a file of an allowed folder, exactly', async () => {
    const place = { workspace: 'commons', collection: 'few' };
    const args = { ...place, path: 'few.json', create_collection: true, id_field: 'id' };
    const loaded = await wire.structured('load_file', args);
    expect(loaded).toMatchObject({ complete: true, counts: { ADDED: 2 }, created: true });
    const again = await wire.structured('load_file', args);
    expect(again).toMatchObject({ complete: true, counts: { REPLACED: 2 } });
    const { rows } = await wire.structured('run_query', { query: 'SELECT _id, n FROM few ORDER BY _id' });
    expect(rows).toEqual([
      ['1', '9007199254740993'],
      ['2', null],
    ]);
    const outside = await wire.structured('load_file', { ...place, path: '/etc/passwd', format: 'csv' });
    expect(outside['error']).toMatchObject({ code: 'invalid_input' });
  });

  it(
    'reports a load in bytes, and keeps what is in when it is cancelled',
    async () => {
      const place = { workspace: 'commons', collection: 'many' };
      const id = wire.call('load_file', { ...place, path: 'many.jsonl', create_collection: true }, 'load');
      await wire.until(() => wire.progress('load').find(({ done }) => done > 3_000_000));
      wire.cancel(id);
      const count = async () => {
        const { rows } = await wire.structured('run_query', { query: 'SELECT count(*) FROM many' });
        return Number((rows as number[][])[0]?.[0]);
      };
      // What was sent is still stored; nothing more may follow.
      let before = -1;
      let now = await count();
      for (let same = 0; same < 20; same = now === before ? same + 1 : 0) {
        before = now;
        await new Promise((resolve) => setTimeout(resolve, 150));
        now = await count();
      }
      expect(now).toBeGreaterThan(0);
      expect(now).toBeLessThan(LINES);
      expect(wire.messages.some((message) => message.id === id)).toBe(false);

      const startedAt = performance.now();
      const rest = await wire.answer(wire.call('load_file', { ...place, path: 'many.jsonl', skip: now }, 'rest'));
      expect(rest.result?.structuredContent).toMatchObject({ complete: true });
      expect(await count()).toBe(LINES);
      const reports = wire.progress('rest');
      expect(reports.length).toBeLessThanOrEqual(2 + (performance.now() - startedAt) / 200);
      for (const [index, { done, total }] of reports.entries()) {
        expect(total).toBe(reports[0]?.total);
        expect(done).toBeGreaterThan(reports[index - 1]?.done ?? -1);
      }
      const { rows } = await wire.structured('run_query', {
        query: 'SELECT count(DISTINCT n), min(n), max(n) FROM many',
      });
      expect(rows).toEqual([[LINES, 0, LINES - 1]]);
    },
    TIME_MAX_MS,
  );
});
