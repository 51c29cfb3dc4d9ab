import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { APPROVAL_TTL_MS } from '../../../src/contract/approvals.ts';
import {
  type Asked,
  createApprovalDesk,
  type Matter,
  OPEN_MAX,
  PER_KEY_MAX,
} from '../../../src/service/approvals/approval-desk.ts';
import {
  answeredPage,
  cameFromElsewherePage,
  questionPage,
  unpairedPage,
} from '../../../src/service/pages/approve-page.ts';
import { failurePage } from '../../../src/service/pages/html.ts';
import { startTestService, type TestService } from '../harness.ts';
import { addUser } from '../people.ts';
import { pairAt, sendTo } from './browser.ts';

const ME = { keyHash: 'me', email: 'me@example.com' };
const YOU = { keyHash: 'you', email: 'you@example.com' };
const QUESTION: Matter = {
  tool: 'delete_x',
  binding: 'b',
  target: 't',
  extent: {},
  message: 'Delete x?',
  typedName: undefined,
};

function desk() {
  const clock = { now: 1_000_000 };
  const state = { holds: 0 };
  const hold = () => {
    state.holds += 1;
    return () => {
      state.holds -= 1;
    };
  };
  return { clock, state, desk: createApprovalDesk({ now: () => clock.now, hold }) };
}

describe('createApprovalDesk()', () => {
  it('asks the same question once, and gives its answer out once, to whoever asked', () => {
    const { desk: at } = desk();
    const { code } = at.request(ME, QUESTION);
    expect(code).toMatch(/^[2-9A-HJKMNP-TV-Z]{4}(-[2-9A-HJKMNP-TV-Z]{4}){2}$/);
    expect(at.request(ME, QUESTION)).toMatchObject({ code, status: 'pending' });
    expect(at.pending()).toHaveLength(1);
    at.decide(code.toLowerCase().replaceAll('-', ''), 'approve', undefined);
    expect(at.request(YOU, QUESTION).status).toBe('pending');
    expect(at.request(ME, QUESTION).status).toBe('approved');
    expect(at.request(ME, QUESTION)).toMatchObject({ status: 'pending', code: expect.not.stringMatching(code) });
  });

  it('returns a refusal once', () => {
    const { desk: at } = desk();
    at.decide(at.request(ME, QUESTION).code, 'decline', undefined);
    expect(at.request(ME, QUESTION).status).toBe('declined');
    expect(at.request(ME, QUESTION).status).toBe('pending');
  });

  it.each([
    ['another target', { target: 'u' }],
    ['a name to type that was not asked for', { typedName: 'x' }],
    ['more than was asked about', { extent: { documents: { count: 1 } } }],
    ['other ones than were asked about', { extent: { documents: { count: 0 }, tags: { count: 1, which: 'x' } } }],
  ])('a yes does not count for %s', (_, change) => {
    const { desk: at } = desk();
    at.decide(at.request(ME, QUESTION).code, 'approve', undefined);
    expect(at.request(ME, { ...QUESTION, ...change }).status).toBe('pending');
    expect(at.pending()).toHaveLength(1);
  });

  it('an approval covers less than was asked about; for more, it asks again and says what was added', () => {
    const { desk: at } = desk();
    const about = (count: number) => ({ ...QUESTION, extent: { documents: { count } } });
    at.decide(at.request(ME, about(3)).code, 'approve', undefined);
    expect(at.request(ME, about(2)).status).toBe('approved');
    at.decide(at.request(ME, about(3)).code, 'approve', undefined);
    const again = at.request(ME, about(5));
    expect(again).toMatchObject({ status: 'pending', more: '2 documents came' });
    expect(again.message).toBe('You are asked again: 2 documents came since you said yes.\nDelete x?');
    expect(at.request(ME, about(6))).toMatchObject({ code: again.code, message: again.message });
    at.decide(again.code, 'approve', undefined);
    expect(at.request(ME, about(6)).status).toBe('approved');
  });

  it('asks for the name, and keeps asking while it is another', () => {
    const { desk: at } = desk();
    const { code } = at.request(ME, { ...QUESTION, typedName: 'orders' });
    for (const typed of [undefined, '', 'order', 'Orders']) {
      expect(() => at.decide(code, 'approve', typed)).toThrow('is not the name');
    }
    expect(at.decide(code, 'approve', ' orders ').status).toBe('approved');
    expect(() => at.decide(code, 'decline', undefined)).toThrow('approved already');
  });

  it('forgets what has expired, and what was approved and not used in time', () => {
    const { desk: at, clock, state } = desk();
    const { code } = at.request(ME, QUESTION);
    expect(state.holds).toBe(1);
    clock.now += APPROVAL_TTL_MS - 1;
    at.decide(code, 'approve', undefined);
    clock.now += APPROVAL_TTL_MS;
    expect(at.find(code)).toBeUndefined();
    expect(state.holds).toBe(0);
    expect(() => at.decide(code, 'approve', undefined)).toThrow('No question has the code');
    expect(at.request(ME, QUESTION).status).toBe('pending');
  });

  it('shows the name of a client on one line, without what is invisible', () => {
    const { desk: at } = desk();
    const { code } = at.request({ ...ME, client: 'a\u0000 chat\nof mine' }, QUESTION);
    expect(at.find(code)?.asker.client).toBe('a chat of mine');
  });

  it('has bounds for one key and for all', () => {
    const { desk: at } = desk();
    const ask = (keyHash: string, n: number) => at.request({ ...ME, keyHash }, { ...QUESTION, binding: `b${n}` });
    for (let n = 0; n < PER_KEY_MAX; n++) ask('me', n);
    expect(() => ask('me', PER_KEY_MAX)).toThrow('questions wait already');
    expect(ask('me', 0).status).toBe('pending');
    for (let n = PER_KEY_MAX; n < OPEN_MAX; n++) ask(`key${n}`, n);
    expect(() => ask('another', 0)).toThrow(`${OPEN_MAX} questions wait already`);
  });

  it('a form is valid only for the question that it showed', () => {
    const { desk: at } = desk();
    const asked = at.request(ME, QUESTION);
    const token = at.formToken(asked);
    expect(at.isFormToken(asked, token)).toBe(true);
    for (const wrong of ['', 'x', `${token}x`]) expect(at.isFormToken(asked, wrong)).toBe(false);
    at.request(ME, { ...QUESTION, message: 'Delete more?' });
    expect(at.isFormToken(asked, token)).toBe(false);
  });

  it('removes invisible characters from a question', () => {
    const { desk: at } = desk();
    expect(at.request(ME, { ...QUESTION, message: 'a\u202eb\u0000c\u2028d\u200be\nf' }).message).toBe('abcde\nf');
  });
});

describe('the pages', () => {
  const hostile = `</p><script>alert(1)</script>"'&`;
  const asked: Asked = {
    ...QUESTION,
    tool: hostile,
    message: hostile,
    typedName: hostile,
    code: hostile,
    status: 'pending',
    asker: { keyHash: '', email: hostile },
    askedAt: 0,
    expiresAt: 0,
    more: undefined,
  };

  it('escape everything', () => {
    const pages = [
      questionPage(asked, hostile, hostile),
      answeredPage({ ...asked, status: 'approved' }),
      failurePage(400, hostile, hostile),
      unpairedPage(hostile),
      cameFromElsewherePage(hostile),
    ];
    for (const { html } of pages) {
      expect(html).not.toContain('<script');
      expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;');
    }
  });
});

describe('a question over HTTP', () => {
  let service: TestService;
  let member: string;
  let cookie: string;
  let count = 0;
  const pairing = async () => (await service.call('POST', '/v1/colloquy/browsers')).body.data.url as string;
  beforeAll(async () => {
    service = await startTestService();
    cookie = await pairAt(await pairing());
    member = await addUser(service, 'member@example.com', 'member');
  });
  afterAll(() => service.remove());

  const PATH = '/v1/colloquy/approvals';
  let asked: { code: string; url: string };
  const body = () => ({ tool: 'delete_x', binding: `b${count}`, target: 't', message: 'Delete <x>?' });
  const ask = async (key = member) => (await service.call('POST', PATH, body(), { key })).body.data;
  beforeEach(async () => {
    count += 1;
    asked = await ask();
  });

  /** Sends a request as a paired browser would. */
  const send = (method: string, at: string, more: Record<string, string> = {}, text = '') =>
    sendTo(asked.url, method, at, { cookie, ...more }, text);
  const path = () => new URL(asked.url).pathname;
  const origin = () => new URL(asked.url).origin;
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const post = (headers: Record<string, string>, fields: Record<string, string>) =>
    send('POST', path(), { ...form, ...headers }, new URLSearchParams(fields).toString());
  const tokenIn = (html: string) => /name="token" value="([^"]+)"/.exec(html)?.[1] ?? '';

  it('shows the page with its defences', async () => {
    const { status, html, headers } = await send('GET', path());
    expect(status).toBe(200);
    expect(html).toContain('Delete &lt;x&gt;?');
    expect(html).not.toContain('<script');
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy': expect.stringMatching(/^default-src 'none'.*frame-ancestors 'none'/),
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
    });
  });

  it('takes an answer from the form on the page itself only', async () => {
    const token = tokenIn((await send('GET', path())).html);
    const fields = { token, decision: 'approve' };
    const own = { origin: origin() };
    const wrong: [string, Record<string, string>, Record<string, string>, number][] = [
      ['no origin', {}, fields, 403],
      ['another origin', { origin: 'http://evil.example' }, fields, 403],
      ['an opaque origin', { origin: 'null' }, fields, 403],
      ['another port', { origin: 'http://127.0.0.1:1' }, fields, 403],
      ['another site', { ...own, 'sec-fetch-site': 'cross-site' }, fields, 403],
      ['the same site', { ...own, 'sec-fetch-site': 'same-site' }, fields, 403],
      ['no pairing', { ...own, cookie: '' }, fields, 403],
      ['the pairing of another place', { ...own, cookie: `x-${cookie}` }, fields, 403],
      ['a pairing that was made up', { ...own, cookie: `${cookie.split('=')[0]}=AAAA` }, fields, 403],
      ['another host', { ...own, host: 'evil.example' }, fields, 403],
      ['through a proxy', { ...own, 'x-forwarded-for': '203.0.113.9' }, fields, 403],
      ['JSON', { ...own, 'content-type': 'application/json' }, fields, 415],
      ['no token', own, { decision: 'approve' }, 422],
      ['another token', own, { ...fields, token: 'x' }, 422],
      ['no decision', own, { token }, 400],
      ['another decision', own, { token, decision: 'yes' }, 400],
      ['a large form', own, { ...fields, name: 'x'.repeat(9_000) }, 413],
    ];
    for (const [name, headers, sent, status] of wrong) {
      expect([name, (await post(headers, sent)).status]).toEqual([name, status]);
      expect(await ask()).toMatchObject({ status: 'pending', code: asked.code });
    }
    expect((await post({ ...own, 'sec-fetch-site': 'same-origin' }, fields)).status).toBe(200);
    expect((await post(own, fields)).status).toBe(409);
    expect(await ask()).toMatchObject({ status: 'approved' });
    expect((await send('GET', path())).status).toBe(404);
  });

  it('is served under its own host name and path only', async () => {
    expect((await send('GET', path(), { host: 'rebound.example' })).status).toBe(403);
    expect((await send('GET', path(), { host: `localhost:${new URL(asked.url).port}` })).html).toContain(
      `Open this page at http://127.0.0.1:${new URL(asked.url).port}.`,
    );
    for (const other of ['/v1/orgs/self', '/?x', '//', '/ready', '/health', '/approve/', `${path()}/x`, '/mcp']) {
      expect([other, (await send('GET', other)).status]).toEqual([other, 404]);
    }
    expect((await send('DELETE', path())).status).toBe(405);
    expect((await send('OPTIONS', path(), { origin: 'http://evil.example' })).headers).not.toHaveProperty(
      'access-control-allow-origin',
    );
  });

  it('gives the answer to the key that asked', async () => {
    const { shown } = (await service.call('GET', `${PATH}/${asked.code}`)).body.data;
    await service.call('POST', `${PATH}/${asked.code}`, { decision: 'approve', shown });
    expect(await ask(service.key)).toMatchObject({ status: 'pending' });
    expect(await ask()).toMatchObject({ status: 'approved', url: null });
  });

  it('takes an answer in a terminal to the question that was shown only', async () => {
    const look = async () => (await service.call('GET', `${PATH}/${asked.code}`)).body.data;
    const answer = (shown?: string) =>
      service.call('POST', `${PATH}/${asked.code}`, { decision: 'approve', ...(shown === undefined ? {} : { shown }) });
    const { shown } = await look();
    await service.call('POST', PATH, { ...body(), message: 'Delete <y>?' }, { key: member });
    expect(await look()).toMatchObject({ code: asked.code, message: 'Delete <y>?' });
    for (const other of [undefined, '', 'x', shown]) expect((await answer(other)).status).toBe(400);
    expect(await look()).toMatchObject({ status: 'pending' });
    expect((await answer((await look()).shown)).status).toBe(200);
  });

  it('lets only an admin at this machine list and answer', async () => {
    for (const [method, at] of [
      ['GET', PATH],
      ['GET', `${PATH}/${asked.code}`],
      ['POST', `${PATH}/${asked.code}`],
    ] as const) {
      const sent = method === 'POST' ? { decision: 'approve', shown: '' } : undefined;
      expect((await service.call(method, at, sent, { key: member })).status).toBe(403);
    }
    expect(await ask()).toMatchObject({ status: 'pending', code: asked.code });
    expect((await service.call('GET', `${PATH}/${asked.code}`)).body.data).toMatchObject({
      message: 'Delete <x>?',
      typed_name: null,
      asked_by: 'member@example.com',
    });
    expect((await service.call('GET', `${PATH}/AAAA-BBBB-CCCC`)).status).toBe(404);
  });

  it('shows nothing to somebody who only has the address, like the model', async () => {
    const answers = [];
    for (const at of [path(), '/approve/AAAA-BBBB-CCCC']) {
      const { status, html } = await send('GET', at, { cookie: '' });
      expect(status).toBe(403);
      expect(html).toContain('colloquy open');
      expect(html).not.toMatch(/<form|token|Delete/);
      answers.push(html.replaceAll(at.slice('/approve/'.length), ''));
    }
    expect(answers[0]).toBe(answers[1]);
  });

  it('is not locked by wrong codes', async () => {
    for (let n = 0; n < 50; n++) expect((await send('GET', '/approve/WRONG')).status).toBe(404);
    expect((await send('GET', path())).status).toBe(200);
  });

  it.each(['cross-site', 'same-site'])(
    'shows nothing to whom a page of another origin leads here: %s',
    async (site) => {
      const from = { 'sec-fetch-site': site };
      const { status, html } = await send('GET', path(), from);
      expect(status).toBe(403);
      expect(html).not.toMatch(/<form|Delete/);
      expect(html).toContain(`<a href="${path()}">`);
      const { pathname } = new URL(await pairing());
      const led = await send('GET', pathname, from);
      expect(led.status).toBe(403);
      expect(led.headers).not.toHaveProperty('set-cookie');
      // Neither that nor a HEAD request uses up the invitation.
      expect((await send('HEAD', pathname)).status).toBe(405);
      expect((await send('GET', pathname, { 'sec-fetch-site': 'none' })).status).toBe(303);
      expect((await send('GET', pathname)).status).toBe(404);
    },
  );

  it('pairs browsers only for an admin at this machine', async () => {
    for (const method of ['POST', 'DELETE']) {
      expect((await service.call(method, '/v1/colloquy/browsers', undefined, { key: member })).status).toBe(403);
    }
    expect((await send('GET', path())).status).toBe(200);
  });
});

describe('a service that has a question open', () => {
  const PATH = '/v1/colloquy/approvals';
  const body = { tool: 't', binding: 'b', target: 't', message: 'm' };

  it('leaves for being idle once the answer was fetched', async () => {
    const service = await startTestService({ idleMs: 2_000 });
    const { code } = (await service.call('POST', PATH, body)).body.data;
    const { shown } = (await service.call('GET', `${PATH}/${code}`)).body.data;
    await service.call('POST', `${PATH}/${code}`, { decision: 'decline', shown });
    expect((await service.call('POST', PATH, body)).body.data.status).toBe('declined');
    await service.service.closed;
    await service.remove();
  });

  it('closes at once when it is asked to', async () => {
    const service = await startTestService({ idleMs: 10_000 });
    const { url } = (await service.call('POST', PATH, body)).body.data;
    await service.remove();
    await expect(fetch(url)).rejects.toThrow();
  });

  it('shows no page to callers on another machine', async () => {
    const service = await startTestService({ listen: [{ host: '127.0.0.1', port: 0 }] });
    try {
      const [address] = service.service.addresses;
      const headers = { authorization: `ApiKey ${service.key}`, 'content-type': 'application/json' };
      const ask = async (more: Record<string, string>) => {
        const answer = await fetch(`${address}${PATH}`, {
          method: 'POST',
          body: JSON.stringify(body),
          headers: { ...headers, ...more },
        });
        return ((await answer.json()) as { data: { url: string | null } }).data.url;
      };
      expect(await ask({})).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/approve\//);
      expect(await ask({ 'x-forwarded-for': '203.0.113.9' })).toBeNull();
      const listed = await fetch(`${address}${PATH}`, { headers });
      expect(listed.status).toBe(403);
    } finally {
      await service.remove();
    }
  });
});
