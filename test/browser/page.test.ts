import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../service/harness.ts';
import { launch, picture } from './chromium.ts';

const SLOW = `SELECT count(*) FROM generate_series(1, 100000000) a(x), generate_series(1, 100000) b(y) WHERE x * y % 7 = 3`;
const HOSTILE = `"</script><script>document.title='owned'</script><b>bold</b>\u202Egnp.exe"`;
const PAIRING = '/v1/colloquy/browsers';
const QUERIES = '/v1/orgs/self/queries';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
}, 60_000);
afterAll(() => browser.close());

let service: TestService;
let context: BrowserContext;
let page: Page;
/** Errors of the page's script, and what its security policy refused. */
let complaints: string[];
beforeEach(async () => {
  const recentCalls = async () => [
    {
      time: '2026-01-01T00:00:00Z',
      tool: 'delete_collection',
      outcome: 'ok',
      guard: 'approved',
      arguments: { name: HOSTILE },
    },
  ];
  service = await startTestService({ recentCalls });
  await open();
});
afterEach(async () => {
  await context.close();
  await service.remove();
});

async function open(options: Parameters<Browser['newContext']>[0] = {}) {
  context = await browser.newContext(options);
  page = await context.newPage();
  complaints = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
}

const pairing = async (): Promise<string> => (await service.call('POST', PAIRING)).body.data.url;
const query = (sql: string) => service.call('POST', QUERIES, { sql: { query: sql } });

describe('the page of the service', () => {
  it('opens by a link that works once, and shows nothing to a browser that was not paired', async () => {
    const url = await pairing();
    const home = new URL('/', url).href;
    await page.goto(home);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toMatch(/not paired/);
    expect(await page.content()).not.toContain(service.folder);
    await page.goto(url);
    expect(page.url()).toBe(home);
    await page.getByText(service.folder).first().waitFor();
    expect(await context.cookies()).toMatchObject([{ httpOnly: true, sameSite: 'Strict' }]);
    const other = await browser.newContext();
    const second = await other.newPage();
    expect((await second.goto(url))?.status()).toBe(404);
    expect((await second.goto(home))?.status()).toBe(403);
    expect(await second.content()).not.toContain(service.folder);
    await other.close();
    expect(complaints.filter((text) => !/403/.test(text))).toEqual([]);
  });

  it('shows a slow query by itself, and stops it in the engine', async () => {
    await page.goto(await pairing());
    await page.getByText('No query runs.').waitFor();
    const running = query(SLOW);
    const stop = page.getByRole('button', { name: 'Stop this query' });
    await stop.waitFor();
    await picture(page, 'page-running');
    await stop.click();
    const answer = await running;
    expect(answer.body).toMatchObject({ type: 'QUERY_STOPPED', message: expect.stringMatching(/ended by a person/) });
    const row = page.getByRole('row').filter({ hasText: 'generate_series' });
    await row.filter({ hasText: 'stopped' }).waitFor();
    await page.getByText('No query runs.').waitFor();
    // The engine's place is free again.
    expect((await query('SELECT 1 AS x')).body.results).toEqual([{ x: 1 }]);
    expect(complaints).toEqual([]);
  });

  it('takes the answer to a question, which it announces to screen readers and in its title', async () => {
    await page.goto(await pairing());
    const asked = {
      tool: 'delete_x',
      binding: 'b',
      target: 't',
      message: 'Delete the collection?',
      typed_name: 'orders',
    };
    const { code } = (await service.call('POST', '/v1/colloquy/approvals', asked)).body.data;
    await page.getByRole('link', { name: /Read and answer/ }).waitFor();
    expect(await page.content()).not.toContain(code);
    await expect.poll(() => page.getByRole('status').textContent()).toBe('1 question of an assistant waits for you.');
    expect(await page.title()).toBe('(1) Colloquy');
    await page.getByRole('link', { name: /Read and answer/ }).click();
    await page.getByLabel('Code').fill(code);
    await page.getByRole('button', { name: 'Read it' }).click();
    await page.getByLabel('To approve, type orders').fill('orders');
    await picture(page, 'page-question');
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('heading', { name: 'Approved' }).waitFor();
    expect((await service.call('POST', '/v1/colloquy/approvals', asked)).body.data.status).toBe('approved');
    await page.getByRole('link', { name: 'What else is going on' }).click();
    await page.getByText('No query runs.').waitFor();
    expect(await page.title()).toBe('Colloquy');
    expect(complaints).toEqual([]);
  });

  it('shows hostile text as text', async () => {
    await service.call('POST', QUERIES, { sql: { query: `SELECT 1 AS ${HOSTILE}` } });
    await page.goto(await pairing());
    const row = page.getByRole('row').filter({ hasText: 'SELECT 1 AS' });
    expect(await row.textContent()).toContain(`<script>document.title='owned'</script><b>bold</b>\\u202egnp.exe`);
    await page.getByRole('row').filter({ hasText: 'delete_collection' }).waitFor();
    expect(await page.title()).toBe('Colloquy');
    expect(await page.locator('main b').count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it('does not disturb a reader: focus, unfolded parts and selection stay', async () => {
    await query(`SELECT 1 AS one,\n 2 AS two`);
    await page.goto(await pairing());
    await page.locator('#queries summary').click();
    const running = query(SLOW);
    const stop = page.getByRole('button', { name: 'Stop this query' });
    await stop.focus();
    await query('SELECT 3 AS three');
    await page.getByRole('row').filter({ hasText: 'three' }).waitFor();
    expect(await page.locator('#queries details[open] pre').textContent()).toBe(`SELECT 1 AS one,\n 2 AS two`);
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Stop');
    await page.keyboard.press('Enter');
    expect((await running).status).toBe(409);
    // Chromium can take a minute to close a page that is still navigating.
    await page.getByRole('row').filter({ hasText: 'stopped' }).waitFor();
  });

  it('says when the service is gone', async () => {
    await page.goto(await pairing());
    await service.stop();
    await page.getByRole('alert').filter({ hasText: 'colloquy open' }).waitFor();
    await picture(page, 'page-gone');
  });

  it('works without a script', async () => {
    await context.close();
    await open({ javaScriptEnabled: false });
    const running = query(SLOW);
    await page.goto(await pairing());
    const stop = page.getByRole('button', { name: 'Stop this query' });
    const again = page.getByRole('link', { name: 'Look again' });
    while ((await stop.count()) === 0) await again.click();
    await stop.click();
    expect((await running).status).toBe(409);
    await page.getByRole('row').filter({ hasText: 'stopped' }).waitFor();
  });

  it.each(['light', 'dark'] as const)('is readable in %s mode, and on a narrow screen', async (colorScheme) => {
    await context.close();
    await open({ colorScheme, viewport: { width: 360, height: 740 } });
    await service.call('POST', '/v1/orgs/self/ws/commons/collections', { name: 'orders' });
    await query('SELECT count(*) FROM orders');
    await page.goto(await pairing());
    await page.getByRole('table', { name: /Workspace commons/ }).waitFor();
    await picture(page, `page-narrow-${colorScheme}`);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    const lightness = async (of: 'color' | 'backgroundColor') => {
      const text = await page.evaluate<string>(`getComputedStyle(document.body).${of}`);
      return Number(/\d+/.exec(text)?.[0]);
    };
    const difference = (await lightness('backgroundColor')) - (await lightness('color'));
    expect(colorScheme === 'dark' ? -difference : difference).toBeGreaterThan(180);
    await page.setViewportSize({ width: 1_200, height: 900 });
    await picture(page, `page-wide-${colorScheme}`);
  });
});
