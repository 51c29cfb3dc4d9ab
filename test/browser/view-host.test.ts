import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { launch, picture } from './chromium.ts';
import { addEarthquakes, type Opening, openServer, openView, type Server, type View } from './host.ts';

/** How the view reacts to what its host provides, refuses, or takes away. */

let server: Server;
let browser: Browser;
let view: View;

beforeAll(async () => {
  [server, browser] = await Promise.all([openServer(), launch()]);
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
});
afterEach(async () => {
  expect(view.faults).toEqual([]);
  await view.close();
});

const LARGE = 'SELECT i AS n, i % 5 AS five FROM range(500) t(i)';
const SMALL = `SELECT i AS n, 'name ' || i AS name FROM range(5) t(i)`;

async function showQuery(query: string, opening: Partial<Opening> = {}): Promise<void> {
  const result = await server.call('run_query', { query });
  view = await openView(browser, { html: server.html, args: { query }, result, call: server.call, ...opening });
  await view.frame.locator('.panel, .fault').first().waitFor();
}

const sees = (text: string | RegExp) => view.frame.getByText(text).first().waitFor();
const button = (name: string) => view.frame.getByRole('button', { name, exact: true });
const style = (selector: string, property: string) =>
  view.frame
    .locator(selector)
    .first()
    .evaluate((node, name) => getComputedStyle(node).getPropertyValue(name), property);

describe('where something is missing, the view', () => {
  it('shows what it was given if the host allows no calls', async () => {
    await showQuery(LARGE, { call: undefined });
    await sees('This host lets a view ask for nothing, so only the rows that came with the answer are here.');
    await view.frame.locator('th button', { hasText: /^n/ }).click();
    await sees('Rows 1–50 of 50, sorted by n ascending.');
    expect(await view.frame.locator('tbody tr').count()).toBe(50);
  });

  it('says that a result is no longer kept, and keeps what it shows', async () => {
    const expired = (_: string, args: object) => server.call('fetch_result', { ...args, query_id: 'no-such-result' });
    await showQuery(LARGE, { call: expired });
    await button('Next page').click();
    await sees(/These rows could not be had, so what is shown is unchanged\. .*no longer kept/);
    expect(await view.frame.locator('tbody tr').count()).toBe(50);
    await sees('1–50 of 500');
    expect(await view.frame.locator('figure svg').count()).toBe(1);
  });

  it('says that the server is gone', async () => {
    await showQuery(LARGE, { call: () => Promise.reject(new Error('Not connected')) });
    await button('Last page').click();
    await sees(/could not be had.*Not connected/);
  });

  it('says that the whole is not kept', async () => {
    const structuredContent = {
      columns: ['n'],
      types: ['BIGINT'],
      rows: [[1], [2]],
      returned: 2,
      total: 9,
      not_kept: 'the disk is full',
    };
    view = await openView(browser, {
      html: server.html,
      result: { content: [], structuredContent },
      call: server.call,
    });
    await sees('The whole result is not kept, so only the rows that came with the answer are here.');
    await sees('The whole result is not kept: the disk is full');
  });

  it('shows an error as the server says it', async () => {
    await showQuery('SELECT nope FROM range(3)');
    expect(await view.frame.getByRole('alert').textContent()).toMatch(/nope/);
  });

  it('reads the text where a host drops the structured form', async () => {
    const { content } = (await server.call('run_query', { query: SMALL })) as { content: object };
    view = await openView(browser, { html: server.html, result: { content } });
    await sees('5 rows');
    await view.frame.getByRole('cell', { name: 'name 4' }).waitFor();
  });

  it('says that a call was cancelled', async () => {
    view = await openView(browser, { html: server.html });
    await sees('Waiting for the result…');
    await view.page.evaluate(`bridge.sendToolCancelled({ reason: 'by hand' })`);
    await sees('The call was cancelled: by hand');
  });
});

describe('in its host, the view', () => {
  it('wears the theme and the colours of the host, also when they change', async () => {
    const context = { theme: 'dark', styles: { variables: { '--color-text-primary': 'rgb(1, 200, 3)' } } };
    await showQuery(SMALL, { context });
    expect(await style('html', 'color-scheme')).toBe('dark');
    expect(await style('html', 'background-color')).toBe('rgb(28, 28, 27)');
    expect(await style('h1', 'color')).toBe('rgb(1, 200, 3)');
    await view.page.evaluate(`bridge.setHostContext({ theme: 'light' })`);
    await view.frame.locator('html[style*="light"]').waitFor();
    expect(await style('html', 'background-color')).toBe('rgb(255, 255, 255)');
  });

  it('follows the machine where the host says nothing of a theme', async () => {
    await showQuery(SMALL, { context: {} });
    expect(await style('html', 'background-color')).toBe('rgb(255, 255, 255)');
    await view.page.emulateMedia({ colorScheme: 'dark' });
    expect(await style('html', 'background-color')).toBe('rgb(28, 28, 27)');
  });

  it('tells its height, fits into a narrow frame, and asks for the full screen', async () => {
    await showQuery(LARGE, {
      width: 360,
      context: { availableDisplayModes: ['inline', 'fullscreen'], displayMode: 'inline' },
    });
    const overflow = await view.frame.locator('html').evaluate((node) => node.scrollWidth - node.clientWidth);
    expect(overflow).toBe(0);
    await button('Full screen').click();
    await view.frame.locator('html.fills').waitFor();
    expect(await view.page.evaluate('wantedMode')).toBe('fullscreen');
    expect(await view.page.evaluate('heights.at(-1) > 300')).toBe(true);
    expect(await view.page.evaluate('bridge.teardownResource({})')).toEqual({});
  });

  it('is used with the keyboard alone', async () => {
    await showQuery(LARGE);
    const focused = () =>
      view.frame.locator(':focus').evaluate((node) => node.getAttribute('aria-label') ?? node.textContent?.trim());
    await view.frame.getByRole('combobox', { name: 'Column', exact: true }).focus();
    const order: unknown[] = [];
    for (let step = 0; step < 14; step++) {
      await view.page.keyboard.press('Tab');
      order.push(await focused());
    }
    const wanted = [
      'Value',
      'Filter',
      'Clear',
      'Table, scrollable',
      'nbigint',
      'fivebigint',
      'First page',
      'Next page',
    ];
    expect(order.filter((name) => wanted.includes(String(name)))).toEqual(wanted);
    await view.frame.locator('th button', { hasText: 'five' }).focus();
    await view.page.keyboard.press('Enter');
    await view.page.keyboard.press('Enter');
    await view.frame.locator('th[aria-sort="descending"]').waitFor();
    expect(await focused()).toBe('fivebigint');
    expect(await style(':focus-visible', 'outline-style')).toBe('solid');
  });

  it('is told by a screen reader: every control and picture has a name, the table its parts', async () => {
    await showQuery(LARGE);
    await view.frame.getByRole('img').waitFor();
    const snapshot = await view.frame.locator('main').ariaSnapshot();
    for (const line of snapshot.split('\n')) {
      if (/- (button|combobox|searchbox|img|table|region|navigation|search)\b/.test(line))
        expect(line).toMatch(/"[^"]+"/);
    }
    expect(snapshot).toMatch(/table "Query result"/);
    const table = view.frame.getByRole('table');
    expect(await table.getAttribute('aria-rowcount')).toBe('501');
    expect(await table.locator('tbody tr').first().getAttribute('aria-rowindex')).toBe('2');
    expect(await table.locator('th:not([scope=col])').count()).toBe(0);
  });

  it('shows the earthquakes of the demo on a map', async () => {
    await addEarthquakes(server);
    const query = `SELECT _event_time AS time, properties.mag AS mag, properties.place AS place,
  geometry.coordinates[1] AS lon, geometry.coordinates[2] AS lat
FROM commons.earthquakes ORDER BY mag DESC`;
    await showQuery(query, { width: 840, height: 700 });
    await view.frame
      .getByRole('img', { name: 'Map with a point for each of 1,707 rows, larger for more mag.' })
      .waitFor();
    expect(await view.frame.locator('circle.dot').count()).toBe(1_707);
    await picture(view.page, 'result-view');
  });
});
