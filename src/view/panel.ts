import { createChart } from './chart.ts';
import type { Condition, Sort } from './condition.ts';
import { el, set } from './dom.ts';
import { createFilter } from './filter.ts';
import type { Part } from './result.ts';
import { messageOf, type Page, type Source } from './source.ts';
import { createTable } from './table.ts';

const PAGE_ROWS = 50;

export interface Surroundings {
  title: string;
  /** The SQL that was run, if known. */
  sql: string | undefined;
  locale: string | undefined;
  /** Absent: the host shows views in only one way. */
  fullScreen: (() => void) | undefined;
  /** Announces something to people who cannot see it. */
  tell(message: string): void;
}

/** What a person has asked to see, and the page shown. */
interface State {
  condition: Condition | undefined;
  sort: Sort | undefined;
  page: Page;
}

/** Everything that is shown of a result: text, filter, chart, table and pages. */
export function createPanel(first: Part, source: Source, around: Surroundings): HTMLElement {
  const numbers = new Intl.NumberFormat(localeOf(around.locale));
  const count = (value: number) => numbers.format(value);
  const start = { rows: first.rows, offset: first.offset, total: first.total, isAtLeast: first.isAtLeast };
  let state: State = { condition: undefined, sort: undefined, page: start };
  /** The latest request: a second press builds on it even before the first is answered. */
  let asked: Omit<State, 'page'> = state;
  let asking = new AbortController();

  const counted = el('span', { class: 'count' });
  const fault = el('p', { class: 'fault', role: 'alert', hidden: true });
  const showFault = (message: string | undefined) => {
    fault.hidden = message === undefined;
    fault.textContent = message ?? '';
  };
  const table = createTable(first.columns, around.title, (column) => {
    const isAgain = asked.sort?.column === column;
    void ask({ ...asked, sort: { column, isDescending: isAgain && asked.sort?.isDescending === false } }, 0);
  });
  const chart = createChart(source, first.rows, { count, tell: around.tell });
  const pager = createPager((offset) => void ask(asked, offset));

  const present = () => {
    table.show(state.page, state.sort);
    pager.show(state.page, rowsLabel(state.page, count));
    counted.textContent = countLabel(first, state, count);
  };
  const ask = async (wanted: Omit<State, 'page'>, offset: number) => {
    asking.abort();
    asked = wanted;
    asking = new AbortController();
    const { signal } = asking;
    table.element.setAttribute('aria-busy', 'true');
    try {
      const limit = Math.min(PAGE_ROWS, Math.max(1, state.page.total - offset || PAGE_ROWS));
      const isNew = wanted.condition !== state.condition;
      const page = await source.page(wanted, offset, isNew ? PAGE_ROWS : limit, signal);
      if (signal.aborted) return;
      state = { condition: wanted.condition, sort: wanted.sort, page };
      showFault(undefined);
      present();
      around.tell(toldOf(state, first, count));
    } catch (error) {
      // The page shown stays, with its order and condition.
      if (signal.aborted) return;
      asked = state;
      showFault(`These rows could not be had, so what is shown is unchanged. ${messageOf(error)}`);
    } finally {
      if (!signal.aborted) table.element.removeAttribute('aria-busy');
    }
  };
  const filter = createFilter(first.columns, (condition) => {
    void ask({ ...asked, condition }, 0);
    if (chart.canDraw) chart.show(condition);
  });

  const isPlain = first.rows.length < 2;
  if (isPlain || !chart.canDraw) chart.element.hidden = true;
  const chartToggle =
    chart.canDraw && !isPlain
      ? toggle('Chart', chart.element, chart.isTelling, () => chart.show(asked.condition))
      : undefined;
  present();
  return el(
    'div',
    { class: 'panel' },
    headOf(around, counted, chartToggle),
    ...notesOf(first, source),
    isPlain && source.isWhole ? undefined : filter,
    fault,
    el('div', { class: 'content' }, chart.element, el('div', { class: 'rows' }, table.element, pager.element)),
    sqlOf(around),
  );
}

function headOf(
  { title, fullScreen }: Surroundings,
  counted: HTMLElement,
  chartToggle: HTMLElement | undefined,
): HTMLElement {
  const fill =
    fullScreen === undefined ? undefined : el('button', { type: 'button', on: { click: fullScreen } }, 'Full screen');
  return el('header', {}, el('h1', { dir: 'auto' }, title), counted, el('span', { class: 'tools' }, chartToggle, fill));
}

function notesOf({ notes }: Part, { whyNoMore }: Source): HTMLElement[] {
  const sentences = whyNoMore === undefined ? notes : [whyNoMore, ...notes];
  return sentences.map((note) => el('p', { class: 'note', dir: 'auto' }, note));
}

function sqlOf({ sql }: Surroundings): HTMLElement | undefined {
  if (sql === undefined) return undefined;
  return el('details', { class: 'sql' }, el('summary', {}, 'SQL'), el('pre', { dir: 'ltr' }, sql));
}

function localeOf(locale: string | undefined): string | undefined {
  try {
    return locale === undefined ? undefined : Intl.getCanonicalLocales(locale)[0];
  } catch {
    return undefined;
  }
}

/** A button that shows and hides an element, which `shown` fills when it first appears. */
function toggle(name: string, part: HTMLElement, isOn: boolean, shown: () => void): HTMLButtonElement {
  let isFilled = false;
  const turn = (on: boolean) => {
    part.hidden = !on;
    set(button, 'aria-pressed', String(on));
    if (on && !isFilled) shown();
    isFilled ||= on;
  };
  const button = el('button', { type: 'button', on: { click: () => turn(part.hidden !== false) } }, name);
  turn(isOn);
  return button;
}

interface Pager {
  element: HTMLElement;
  show(page: Page, label: string): void;
}

function createPager(want: (offset: number) => void): Pager {
  let page: Page = { rows: [], offset: 0, total: 0, isAtLeast: false };
  const last = () => Math.max(0, Math.floor((page.total - 1) / PAGE_ROWS) * PAGE_ROWS);
  const button = (sign: string, name: string, offset: () => number) =>
    el(
      'button',
      { type: 'button', class: 'turn', 'aria-label': name, title: name, on: { click: () => want(offset()) } },
      sign,
    );
  const back = [
    button('«', 'First page', () => 0),
    button('‹', 'Previous page', () => Math.max(0, page.offset - PAGE_ROWS)),
  ];
  const forth = [button('›', 'Next page', () => page.offset + page.rows.length), button('»', 'Last page', last)];
  const label = el('span', { class: 'where' });
  const element = el('nav', { class: 'pager', 'aria-label': 'Pages' }, ...back, label, ...forth);
  return {
    element,
    show(next, text) {
      page = next;
      label.textContent = text;
      // A focused button must not lose the focus, so it is not disabled but marked.
      for (const one of back) set(one, 'aria-disabled', page.offset === 0 ? 'true' : undefined);
      const isEnd = page.offset + page.rows.length >= page.total;
      for (const one of forth) set(one, 'aria-disabled', isEnd ? 'true' : undefined);
      element.hidden = page.offset === 0 && isEnd;
    },
  };
}

function rowsLabel({ rows, offset, total, isAtLeast }: Page, count: (value: number) => string): string {
  if (rows.length === 0) return 'No rows';
  return `${count(offset + 1)}–${count(offset + rows.length)} of ${count(total)}${isAtLeast ? '+' : ''}`;
}

function countLabel(first: Part, { condition, page }: State, count: (value: number) => string): string {
  const all = `${first.isAtLeast ? 'more than ' : ''}${count(first.total)} ${first.total === 1 ? 'row' : 'rows'}`;
  return condition === undefined ? all : `${count(page.total)} of ${all}`;
}

function toldOf(state: State, first: Part, count: (value: number) => string): string {
  const { sort } = state;
  const order =
    sort === undefined
      ? ''
      : `, sorted by ${first.columns[sort.column]?.name ?? ''} ${sort.isDescending ? 'descending' : 'ascending'}`;
  return `${countLabel(first, state, count)}. Rows ${rowsLabel(state.page, count)}${order}.`;
}
