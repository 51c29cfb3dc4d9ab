import type { Browser, Locator } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { launch } from './chromium.ts';
import { type Opening, openServer, openView, type Server, type View } from './host.ts';

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
// Whatever was shown: no network request, and no exception.
afterEach(async () => {
  expect(view.faults).toEqual([]);
  await view.close();
});

const LARGE = `SELECT i AS n, 1152921504606846976 + i AS big, 'g' || i % 3 AS grp,
  TIMESTAMPTZ '2026-01-01 00:00:00Z' + INTERVAL (i) HOUR AS at FROM range(2500) t(i)`;

async function show(opening: Omit<Opening, 'html'>): Promise<View> {
  view = await openView(browser, { html: server.html, ...opening });
  return view;
}

/** Shows the answer of a query in its view. */
async function showQuery(query: string, opening: Omit<Opening, 'html'> = {}): Promise<View> {
  const result = await server.call('run_query', { query });
  return show({ args: { query }, result, call: server.call, ...opening });
}

/** An answer in the form that this server sends. */
function answer(columns: string[], types: string[], rows: unknown[][], more: object = {}) {
  const structuredContent = {
    columns,
    types,
    rows,
    returned: rows.length,
    total: rows.length,
    truncated: false,
    ...more,
  };
  return { content: [{ type: 'text', text: 'see structuredContent' }], structuredContent };
}

const cell = (row: number, column: number): Locator =>
  view.frame.locator(`tbody tr:nth-child(${row}) td:nth-child(${column})`);
const header = (name: string | RegExp) => view.frame.locator('th button', { hasText: name });
const button = (name: string) => view.frame.getByRole('button', { name, exact: true });
const choose = (label: string, option: string) =>
  view.frame.getByRole('combobox', { name: label, exact: true }).selectOption(option);
/** Waits until a text is visible. */
const sees = (text: string | RegExp, place: Locator = view.frame.locator('body')) =>
  place.getByText(text).first().waitFor();
const columnTexts = (column: number) => view.frame.locator(`tbody td:nth-child(${column})`).allTextContents();
const chartBecomes = (words: string | RegExp) => view.frame.getByRole('img', { name: words }).waitFor();
const chartSays = () => view.frame.getByRole('img').getAttribute('aria-label');

describe('the table of a kept result', () => {
  it('pages, sorts and filters all of it, by calls of its own', async () => {
    await showQuery(LARGE);
    await sees('2,500 rows');
    expect(await cell(1, 2).textContent()).toBe('1152921504606846976');
    await button('Next page').click();
    await sees('51–100 of 2,500');
    expect(await cell(1, 1).textContent()).toBe('50');
    await header(/^big/).click();
    await sees('1–50 of 2,500');
    await header(/^big/).click();
    await cell(1, 2).getByText('1152921504606849475').waitFor();
    expect(await view.frame.getByRole('columnheader', { name: /^big/ }).getAttribute('aria-sort')).toBe('descending');
    await choose('Column', 'grp');
    await choose('Condition', 'is');
    await view.frame.getByLabel('Value').fill('g1');
    await view.frame.getByLabel('Value').press('Enter');
    await sees('833 of 2,500 rows');
    expect(new Set(await columnTexts(3))).toEqual(new Set(['g1']));
    expect(await view.frame.getByRole('status').textContent()).toBe(
      '833 of 2,500 rows. Rows 1–50 of 833, sorted by big descending.',
    );
    await button('Last page').click();
    await sees('801–833 of 833');
    expect(await columnTexts(1)).toHaveLength(33);
    await choose('Column', 'at');
    await choose('Condition', 'is less than');
    await view.frame.getByLabel('Value').fill('2026-01-01T05:00:00Z');
    await button('Filter').click();
    await sees('5 of 2,500 rows');
    await button('Clear').click();
    await sees(/^2,500 rows$/);
    expect(new Set(view.calls.map(({ name }) => name))).toEqual(new Set(['fetch_result']));
  });

  it('says what cannot be asked, and asks nothing', async () => {
    await showQuery(LARGE);
    await choose('Column', 'n');
    await view.frame.getByLabel('Value').fill('many');
    const before = view.calls.length;
    await button('Filter').click();
    await sees('Type a number, such as 4.5.');
    expect(await view.frame.getByLabel('Value').getAttribute('aria-invalid')).toBe('true');
    expect(view.calls.filter(({ arguments: args }) => 'where' in args)).toEqual([]);
    expect(before).toBeLessThanOrEqual(view.calls.length);
  });

  it('begins where fetch_result began, and keeps to its condition and order', async () => {
    const ran = (await server.call('run_query', { query: LARGE })) as { structuredContent: { query_id: string } };
    const args = {
      query_id: ran.structuredContent.query_id,
      where: "grp = 'g2'",
      order_by: 'n DESC',
      columns: ['n', 'grp'],
    };
    await show({ args, result: await server.call('fetch_result', args), call: server.call });
    await sees('833 rows');
    expect(await cell(1, 1).textContent()).toBe('2498');
    await button('Next page').click();
    await sees('51–100 of 833');
    expect(await cell(1, 1).textContent()).toBe('2348');
    await header(/^n/).click();
    await cell(1, 1).getByText('2', { exact: true }).waitFor();
    expect(new Set(await columnTexts(2))).toEqual(new Set(['g2']));
  });
});

describe('a cell', () => {
  const HOSTILE = [
    '<img src=x onerror="window.pwned = 1">',
    '<script>window.pwned = 1</script>',
    'javascript:alert(1)',
    '"><svg onload=alert(1)>',
    'user\u202egnp.exe',
    '{{7*7}}',
  ];

  it('is text, whatever it holds, and so are names and types', async () => {
    const name = '<b onclick=alert(1)>name</b>';
    const rows = HOSTILE.map((text) => [text, { [text]: [text] }]);
    await show({
      result: answer([name, 'nested'], ['<i>', 'JSON'], rows, { warnings: [HOSTILE[0]] }),
      args: { query: HOSTILE[1] },
    });
    expect(await columnTexts(1)).toEqual(HOSTILE);
    expect(await header(name).textContent()).toContain(name);
    await view.frame.locator('details').first().locator('summary').click();
    expect(await view.frame.locator('pre').first().textContent()).toContain('onerror');
    expect(await view.frame.locator('img, a, b, i, td script, td svg').count()).toBe(0);
    const isolated = await cell(5, 1).evaluate((node) => getComputedStyle(node).unicodeBidi);
    expect(isolated).toContain('isolate');
    expect(await view.frame.locator('body').evaluate(() => 'pwned' in window)).toBe(false);
  });

  it('comes through the server as text, too', async () => {
    await showQuery(`SELECT '<img src=x onerror=alert(1)>' AS a, 'user' || chr(8238) || 'gnp.exe' AS b`);
    expect(await columnTexts(1)).toEqual(['<img src=x onerror=alert(1)>']);
    expect(await columnTexts(2)).toEqual(['user\\u202egnp.exe']);
  });

  it('tells NULL from an empty text, keeps digits, and sorts them as numbers', async () => {
    const rows = [
      ['9007199254740993', ''],
      ['9007199254740992', null],
      [10, ' a'],
      ['9', 'b'],
    ];
    await show({ result: answer(['n', 's'], ['HUGEINT', 'VARCHAR'], rows) });
    await header(/^n/).click();
    expect(await columnTexts(1)).toEqual(['9', '10', '9007199254740992', '9007199254740993']);
    expect(await columnTexts(2)).toEqual(['b', ' a', 'NULL', 'empty text']);
    expect(view.calls).toEqual([]);
  });
});

describe('the chart', () => {
  it('says that it shows a part, and draws more when asked', async () => {
    await showQuery(`SELECT i AS n, 'group ' || i % 7 AS grp FROM range(100000) t(i)`);
    await sees('Drawn are the first 2,000 of 100,000 rows.');
    await chartBecomes('Rows by grp, 7 bars; the most is 286 for group 0.');
    await button('Draw 10,000 more rows').click();
    await sees('Drawn are the first 12,000 of 100,000 rows.');
    await chartBecomes('the most is 1715 for group 0.');
  });

  it('follows the types, the choices of a person, and the filter', async () => {
    await showQuery(LARGE);
    await sees(/Drawn are the first 2,000/);
    await chartBecomes(/^n along at, 2,000 points; from 0 to 1999/);
    await choose('Combine rows by', 'average');
    await chartBecomes(/^Average of n per 2 days along at/);
    await choose('Chart', 'Histogram');
    await chartBecomes(/^How often values of n occur/);
    await choose('Chart', 'Bars');
    await chartBecomes('Rows by grp, 3 bars; the most is 667 for g0.');
    await choose('Length', 'n');
    await choose('Combine rows by', 'greatest');
    await chartBecomes('Greatest n by grp, 3 bars; the most is 1999 for g1.');
    await view.frame.getByLabel('Value').fill('g2');
    await button('Filter').click();
    await view.frame.getByRole('img', { name: 'Greatest n by grp, 1 bars' }).waitFor();
    await button('Chart').click();
    expect(await view.frame.getByRole('img').count()).toBe(0);
  });

  it('draws each kind of chart with its own shapes', async () => {
    const rows = Array.from({ length: 30 }, (_, index) => [
      index,
      index ** 2,
      index - 15,
      index * 2 - 30,
      `c${index % 4}`,
    ]);
    await show({
      result: answer(['a', 'b', 'lat', 'lon', 'c'], ['BIGINT', 'BIGINT', 'DOUBLE', 'DOUBLE', 'VARCHAR'], rows),
    });
    const shapes = {
      Map: 'circle.dot',
      Line: 'path.line',
      Bars: 'rect.bar',
      Histogram: 'rect.bar',
      Scatter: 'circle.dot',
    };
    for (const [kind, shape] of Object.entries(shapes)) {
      await choose('Chart', kind);
      expect(await view.frame.locator(`figure svg ${shape}`).count(), kind).toBeGreaterThan(0);
      expect(await chartSays(), kind).toMatch(/\w+ .*\.$/);
    }
    await choose('Chart', 'Map');
    expect(await view.frame.locator('path.land').count()).toBe(1);
  });
});
