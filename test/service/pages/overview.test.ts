import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OWN_QUERY } from '../../../src/contract/own-query.ts';
import type { Overview } from '../../../src/service/pages/overview.ts';
import { overviewPage } from '../../../src/service/pages/overview-page.ts';
import { startTestService, type TestService } from '../harness.ts';
import { pairAt, sendTo } from './browser.ts';

const HOSTILE = `</script><script>alert(1)</script>"'&<img src=x onerror=alert(1)>\u202Egnp.exe`;

describe('overviewPage()', () => {
  const caller = { email: HOSTILE, keyName: HOSTILE };
  const query = { id: 'q', sql: HOSTILE, caller, startedAt: 0 };
  const seen: Overview = {
    now: 5_000,
    version: HOSTILE,
    pid: 1,
    folder: HOSTILE,
    startedAt: 0,
    addresses: [HOSTILE],
    size: { name: HOSTILE, threads: 1, memoryBytes: 1e9 },
    memoryBytes: 1e6,
    diskBytes: 1e6,
    questions: [
      {
        tool: HOSTILE,
        binding: '',
        target: '',
        extent: {},
        message: HOSTILE,
        typedName: undefined,
        code: HOSTILE,
        status: 'pending',
        asker: { keyHash: 'hash-of-a-key', email: HOSTILE },
        askedAt: 0,
        expiresAt: 60_000,
        more: undefined,
      },
    ],
    running: [query],
    recent: [
      { ...query, ms: 1, rows: 1, outcome: HOSTILE },
      { ...query, sql: `${HOSTILE}\n${HOSTILE}`, ms: 1, rows: undefined, outcome: 'ok' },
    ],
    workspaces: [
      { workspace: HOSTILE, collections: [{ workspace: HOSTILE, name: HOSTILE, documents: 1, bytes: 1 }], left: 3 },
      { workspace: HOSTILE, collections: [], left: 0 },
    ],
    calls: [
      { time: HOSTILE, tool: HOSTILE, outcome: HOSTILE, guard: HOSTILE, client: { name: HOSTILE }, arguments: HOSTILE },
      { tool: { toString: 1 }, client: 7, arguments: { [HOSTILE]: HOSTILE } },
    ],
  };

  it('shows everything as text, also what would turn its direction', () => {
    const { html } = overviewPage(seen, () => HOSTILE);
    expect(html.match(/<script>/g)).toHaveLength(1);
    expect(html).not.toContain('<img');
    expect(html).not.toContain('\u202e');
    expect(html).toContain('&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;');
    expect(html).toContain('\\u202egnp.exe');
    expect(html).not.toContain('hash-of-a-key');
  });

  it('says what there is not', () => {
    const none = { ...seen, questions: [], running: [], recent: [], workspaces: [], calls: [] };
    const { html } = overviewPage(none, () => '');
    for (const text of ['No query runs.', 'No query has ended', 'There is no workspace.', 'No call of a tool']) {
      expect(html).toContain(text);
    }
    expect(overviewPage({ ...none, calls: undefined }, () => '').html).toContain('The audit log cannot be read here.');
  });
});

const SLOW = `SELECT count(*) FROM generate_series(1, 100000000) a(x), generate_series(1, 100000) b(y) WHERE x * y % 7 = 3`;

describe('the page of a service', () => {
  let service: TestService;
  let base: string;
  let cookie: string;
  beforeAll(async () => {
    const recentCalls = async () => [{ time: '2026-01-01T00:00:00Z', tool: 'run_query', outcome: 'ok', arguments: {} }];
    service = await startTestService({ recentCalls });
    const { url } = (await service.call('POST', '/v1/colloquy/browsers')).body.data;
    base = new URL(url).origin;
    cookie = await pairAt(url);
  });
  afterAll(() => service.remove());

  const send = (method: string, path: string, headers: Record<string, string> = { cookie }, text = '') =>
    sendTo(base, method, path, headers, text);
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const stop = (fields: Record<string, string>, headers: Record<string, string> = { cookie, origin: base }) =>
    send('POST', '/stop', { ...form, ...headers }, new URLSearchParams(fields).toString());

  /** Loads the page until it shows a match. */
  async function lookFor(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec((await send('GET', '/')).html);
      if (found !== null) return found;
    }
  }

  it('shows what there is, without a secret, under a policy that lets its own script run only', async () => {
    await service.call('POST', '/v1/orgs/self/ws/commons/collections', { name: 'orders' });
    await service.call('POST', '/v1/orgs/self/ws/commons/collections/orders/docs', { data: [{ a: 1 }, { a: 2 }] });
    await service.call('POST', '/v1/orgs/self/queries', { sql: { query: `SELECT '${service.key}', a FROM orders` } });
    const { status, html, headers } = await send('GET', '/');
    expect(status).toBe(200);
    for (const text of ['orders', service.folder, service.socket, '0.0.1', 'LARGE', 'run_query', 'commons']) {
      expect(html).toContain(text);
    }
    expect(html).not.toContain(service.key);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
      ),
    });
    expect(headers).not.toHaveProperty('access-control-allow-origin');
    await lookFor(/<bdi>orders<\/bdi><\/th><td class="n">2<\/td>/);
  });

  it('shows nothing to whom was not paired, or led here by another page', async () => {
    for (const headers of [
      {},
      { cookie: `${cookie.split('=')[0]}=AAAA` },
      { cookie, host: 'localhost:1' },
      { cookie, 'sec-fetch-site': 'cross-site' },
      { cookie, 'x-forwarded-for': '127.0.0.1' },
    ] as Record<string, string>[]) {
      const { status, html } = await send('GET', '/', headers);
      expect(status).toBe(403);
      expect(html).not.toMatch(/orders|<form|<table/);
      expect(html).not.toContain(service.folder);
    }
    expect((await send('POST', '/', { cookie, origin: base, ...form })).status).toBe(405);
    expect((await send('GET', '/stop')).status).toBe(405);
  });

  it('stops a query in the engine, for the form of this browser only', async () => {
    const running = service.call('POST', '/v1/orgs/self/queries', { sql: { query: SLOW } });
    const [, query = '', token = ''] = await lookFor(
      /name="query" value="([\w-]+)"><input type="hidden" name="token" value="([\w-]+)"/,
    );
    const fields = { query, token };
    const wrong: [Record<string, string>, Record<string, string> | undefined, number][] = [
      [{ query }, undefined, 422],
      [{ query, token: 'x' }, undefined, 422],
      [{ query: 'other', token }, undefined, 422],
      [fields, { cookie }, 403],
      [fields, { cookie, origin: 'http://evil.example' }, 403],
      [fields, { cookie, origin: base, 'sec-fetch-site': 'same-site' }, 403],
      [fields, { origin: base }, 403],
      [
        fields,
        { origin: base, cookie: await pairAt((await service.call('POST', '/v1/colloquy/browsers')).body.data.url) },
        422,
      ],
    ];
    for (const [sent, headers, status] of wrong) {
      expect([sent, headers, (await stop(sent, headers)).status]).toEqual([sent, headers, status]);
    }
    expect(await stop(fields)).toMatchObject({ status: 303, headers: { location: '/' } });
    const answer = await running;
    expect(answer.status).toBe(409);
    expect(answer.body).toMatchObject({ type: 'QUERY_STOPPED', query_id: query });
    expect(answer.body.message).toMatch(/ended by a person, on the page of the service/);
    expect((await stop(fields)).status).toBe(409);
    expect((await send('GET', '/')).html).toMatch(/<span class="tag warm">query_stopped<\/span>/);
  });

  it('lists a question without its code, and shows it to who has that', async () => {
    const asked = { tool: 'delete_x', binding: 'b', target: 't', message: 'Delete <x>?\nIt holds much.' };
    const { code } = (await service.call('POST', '/v1/colloquy/approvals', asked)).body.data;
    const { html } = await send('GET', '/');
    expect(html).toContain('Delete &lt;x&gt;?');
    expect(html).not.toContain(code);
    expect(html).toContain('href="/approve"');
    expect((await send('GET', '/approve')).html).toContain('<form method="get" action="/approve">');
    const typed = await send('GET', `/approve?code=+${code}+`);
    expect(typed).toMatchObject({ status: 303, headers: { location: `/approve/${code}` } });
    expect((await send('GET', '/approve?code=<x>')).status).toBe(404);
    expect(html).toContain('<title>(1) Colloquy</title>');
    expect((await send('GET', `/approve/${code}`)).html).toContain('It holds much.');
  });

  it('shows the rest where the audit log cannot be read', async () => {
    const other = await startTestService({ recentCalls: () => Promise.reject(new Error('gone')) });
    try {
      const { url } = (await other.call('POST', '/v1/colloquy/browsers')).body.data;
      const answer = await fetch(new URL('/', url), { headers: { cookie: await pairAt(url) } });
      expect(await answer.text()).toContain('The audit log cannot be read here.');
    } finally {
      await other.remove();
    }
  });
});

describe('a service that is looked at', () => {
  it('stays while somebody looks, and leaves after that', async () => {
    const service = await startTestService({ idleMs: 1_500 });
    const { url } = (await service.call('POST', '/v1/colloquy/browsers')).body.data;
    const headers = { cookie: await pairAt(url) };
    const home = new URL('/', url);
    let isClosed = false;
    service.service.closed.then(() => {
      isClosed = true;
    });
    const until = performance.now() + 2_500;
    while (performance.now() < until) expect((await fetch(home, { headers })).status).toBe(200);
    expect(isClosed).toBe(false);
    await service.service.closed;
    await service.remove();
  });
});

describe('what grows on the page', () => {
  const at = {
    now: 100_000,
    version: '1',
    pid: 1,
    folder: '/d',
    startedAt: 0,
    addresses: [],
    memoryBytes: 1,
    diskBytes: 1,
  };
  const size = { name: 'SMALL', threads: 1, memoryBytes: 1 };
  const empty = { ...at, size, questions: [], running: [], workspaces: [], calls: [] };
  const ended = (id: string, sql: string) => ({
    ...{ id, sql, caller: { email: 'a@b', keyName: 'k' }, startedAt: 0, ms: 1, rows: 1, outcome: 'ok' },
  });
  const page = (recent: ReturnType<typeof ended>[]) => overviewPage({ ...empty, recent }, () => '').html;

  it('shows ten queries, and the others where somebody unfolds them', () => {
    const recent = Array.from({ length: 13 }, (_, index) => ended(`q${index}`, `SELECT ${index}`));
    const [seen = '', folded = ''] = page(recent).split('id="recent-table-rest"');
    expect(folded).toContain('>3 more</summary>');
    expect([seen.includes('SELECT 9<'), seen.includes('SELECT 10<'), folded.includes('SELECT 12<')]).toEqual([
      true,
      false,
      true,
    ]);
    expect(page(recent.slice(3))).not.toContain('more</summary>');
  });

  it('shows apart what Colloquy ran by itself for a question', () => {
    const [seen = '', own = ''] = page([ended('x', `${OWN_QUERY} SELECT 1`), ended('y', 'SELECT 2')]).split(
      'id="own-queries"',
    );
    expect(seen).toContain('SELECT 2');
    expect(seen).not.toContain('SELECT 1');
    expect(own).toContain('1 query that Colloquy ran by itself');
    expect(own).toContain('SELECT 1');
  });

  it('tells of the service in one line before all tables', () => {
    const html = page([]);
    expect(html.indexOf('This service: version 1')).toBeGreaterThan(0);
    expect(html.indexOf('This service: version 1')).toBeLessThan(html.indexOf('Running queries'));
  });
});
