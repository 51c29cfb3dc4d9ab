import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PAIRED_DAYS, PAIRING_TTL_MS } from '../../../src/contract/browsers.ts';
import { type Engine, NOT_SHARED } from '../../../src/engine/engine.ts';
import { openCatalog } from '../../../src/service/catalog/catalog.ts';
import { createPairedBrowsers, INVITATIONS_MAX, PAIRED_MAX } from '../../../src/service/pages/paired-browsers.ts';
import { startTestService } from '../harness.ts';

function scene() {
  const clock = { now: 1_000_000 };
  const state = { holds: 0 };
  const engine = { ...NOT_SHARED, records: [], commit: async () => undefined } as unknown as Engine;
  const catalog = openCatalog(engine);
  const hold = () => {
    state.holds += 1;
    return () => {
      state.holds -= 1;
    };
  };
  return {
    clock,
    state,
    catalog,
    browsers: createPairedBrowsers({ catalog, place: '/a', now: () => clock.now, hold }),
  };
}

describe('createPairedBrowsers()', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  it('pairs one browser with an invitation, whoever comes at once', async () => {
    const { browsers, catalog, state } = scene();
    const { secret } = browsers.invite();
    expect(state.holds).toBe(1);
    const tokens = await Promise.all([browsers.accept(secret), browsers.accept(secret), browsers.accept('x')]);
    expect(tokens).toEqual([expect.stringMatching(/^[\w-]{43}$/), undefined, undefined]);
    expect(browsers.isPaired(tokens[0] ?? '')).toBe(true);
    for (const wrong of ['', 'x', secret]) expect(browsers.isPaired(wrong)).toBe(false);
    expect(JSON.stringify([...catalog.all('browser')])).not.toContain(tokens[0]);
    expect(state.holds).toBe(0);
  });

  it('leaves a browser that is paired as it is, and uses the invitation up', async () => {
    const { browsers, catalog } = scene();
    const token = await browsers.accept(browsers.invite().secret);
    const { secret } = browsers.invite();
    expect(await browsers.accept(secret, token)).toBe(token);
    expect(await browsers.accept(secret, token)).toBeUndefined();
    expect(catalog.all('browser').size).toBe(1);
    expect(await browsers.accept(browsers.invite().secret, 'made up')).not.toBe('made up');
  });

  it('ends an invitation after five minutes, and a pairing after ninety days', async () => {
    const { browsers, clock, state } = scene();
    const late = browsers.invite();
    const token = (await browsers.accept(browsers.invite().secret)) ?? '';
    clock.now += PAIRING_TTL_MS;
    expect(await browsers.accept(late.secret)).toBeUndefined();
    browsers.invite();
    vi.advanceTimersByTime(PAIRING_TTL_MS);
    expect(state.holds).toBe(0);
    clock.now += PAIRED_DAYS * 86_400_000 - PAIRING_TTL_MS - 1;
    expect(browsers.isPaired(token)).toBe(true);
    clock.now += 1;
    expect(browsers.isPaired(token)).toBe(false);
  });

  it('forgets browsers and invitations', async () => {
    const { browsers, state } = scene();
    const token = (await browsers.accept(browsers.invite().secret)) ?? '';
    const { secret } = browsers.invite();
    expect(await browsers.forget()).toBe(1);
    expect(browsers.isPaired(token)).toBe(false);
    expect(await browsers.accept(secret)).toBeUndefined();
    expect(await browsers.forget()).toBe(0);
    expect(state.holds).toBe(0);
  });

  it('has bounds: the oldest make room', async () => {
    const { browsers, clock, catalog } = scene();
    const [first = { secret: '' }] = Array.from({ length: INVITATIONS_MAX + 1 }, () => browsers.invite());
    expect(await browsers.accept(first.secret)).toBeUndefined();
    const tokens: string[] = [];
    for (let n = 0; n <= PAIRED_MAX; n++) {
      clock.now += 1;
      tokens.push((await browsers.accept(browsers.invite().secret)) ?? '');
    }
    expect(tokens.map((token) => browsers.isPaired(token))).toEqual([false, ...Array(PAIRED_MAX).fill(true)]);
    expect(catalog.all('browser').size).toBe(PAIRED_MAX);
  });

  it('has a cookie of its own for each place', () => {
    const { browsers, catalog } = scene();
    const other = createPairedBrowsers({ catalog, place: '/b', hold: () => () => undefined });
    expect(browsers.cookie).toMatch(/^colloquy-[0-9a-f]{12}$/);
    expect(other.cookie).not.toBe(browsers.cookie);
  });
});

describe('a service with a paired browser', () => {
  const PATH = '/v1/colloquy/browsers';

  it('knows it after a restart, and does not wait for one that was invited when it closes', async () => {
    const first = await startTestService();
    const paired = await fetch((await first.call('POST', PATH)).body.data.url, { redirect: 'manual' });
    expect(paired.headers.get('set-cookie')).toMatch(
      /^colloquy-[0-9a-f]{12}=[\w-]{43}; Path=\/; Max-Age=7776000; HttpOnly; SameSite=Strict$/,
    );
    const cookie = paired.headers.get('set-cookie')?.split(';')[0] ?? '';
    await first.call('POST', PATH);
    await first.stop();
    const service = await startTestService({}, first.folder);
    try {
      const question = { tool: 't', binding: 'b', target: 't', message: 'm' };
      const { url } = (await service.call('POST', '/v1/colloquy/approvals', question)).body.data;
      expect((await fetch(url, { headers: { cookie } })).status).toBe(200);
      expect((await service.call('DELETE', PATH)).body.data).toEqual({ browsers: 1 });
      expect((await fetch(url, { headers: { cookie } })).status).toBe(403);
      expect(JSON.stringify(service.lines)).not.toContain(cookie.split('=')[1]);
    } finally {
      await service.remove();
    }
  });
});
