import type { Condition } from './condition.ts';
import { el, select } from './dom.ts';
import { draw } from './draw.ts';
import { type Field, fieldsOf, placeFields } from './fields.ts';
import {
  AGGREGATES,
  aggregatesFor,
  type ChartKind,
  defaultPlan,
  kindsFor,
  type Plan,
  planOf,
  xFields,
  yFields,
} from './plan.ts';
import { seriesOf } from './series.ts';
import { messageOf, type Page, type Source } from './source.ts';
import { summaryOf } from './summary.ts';

/** Rows drawn without being asked for, and rows added with each request for more. */
const ROWS_FIRST = 2_000;
const ROWS_MORE = 10_000;
const WIDTH_MIN = 260;
/** While rows arrive, the chart is redrawn at most this often. */
const REPAINT_MS = 400;

const KIND_NAMES: Readonly<Record<ChartKind, string>> = {
  line: 'Line',
  bars: 'Bars',
  histogram: 'Histogram',
  scatter: 'Scatter',
  map: 'Map',
};

export interface Chart {
  element: HTMLElement;
  /** Whether anything in the rows can be drawn. */
  canDraw: boolean;
  /** Whether a chart tells more than the table. */
  isTelling: boolean;
  /** Draws the rows that meet the condition. */
  show(condition: Condition | undefined): void;
}

interface Words {
  count(value: number): string;
  tell(message: string): void;
}

/** The chart of a result; `first` are the rows that came with the answer, which decide what can be drawn. */
export function createChart(source: Source, first: Page['rows'], words: Words): Chart {
  const fields = fieldsOf(source.columns, first);
  const telling = defaultPlan(fields, first.length);
  const kinds = kindsFor(fields);
  let plan = telling ?? kinds.map((kind) => planOf(kind, fields, first.length)).find((one) => one !== undefined);
  let condition: Condition | undefined;
  let page: (Page & { fault?: string }) | undefined;
  let looking = new AbortController();

  const parts = createFigure(() => wantMore());
  const { figure, controls, canvas, caption } = parts;
  const paint = () => {
    if (plan !== undefined && page !== undefined) paintInto(parts, { plan, fields, page, source, words });
  };

  /** Gets rows and draws them; `had` are the first of them, if already here. */
  const look = async (had: Page['rows'] = []) => {
    if (plan === undefined) return;
    looking.abort();
    looking = new AbortController();
    const { signal } = looking;
    const wanted = {
      condition,
      columns: columnsOf(plan, fields),
      had,
      rowsMax: had.length + (had.length > 0 ? ROWS_MORE : ROWS_FIRST),
      signal,
    };
    figure.setAttribute('aria-busy', 'true');
    let paintedAt = performance.now();
    const paintPart = (part: Page) => {
      page = part;
      if (performance.now() - paintedAt < REPAINT_MS) return;
      paint();
      paintedAt = performance.now();
    };
    try {
      const found = await source.sample(wanted, paintPart);
      if (signal.aborted) return;
      page = found;
      figure.removeAttribute('aria-busy');
      paint();
    } catch (error) {
      if (signal.aborted) return;
      figure.removeAttribute('aria-busy');
      caption.replaceChildren(messageOf(error));
    }
  };
  const wantMore = () => {
    words.tell('More rows are being drawn.');
    void look(page?.rows);
  };
  const change = (next: Plan | undefined) => {
    if (next === undefined || plan === undefined) return;
    const isFurther = columnsOf(next, fields).some((column) => !columnsOf(plan as Plan, fields).includes(column));
    plan = next;
    controls.replaceChildren(...controlsOf(plan, fields, kinds, first.length, change));
    if (isFurther) void look();
    else paint();
  };
  if (plan !== undefined) controls.replaceChildren(...controlsOf(plan, fields, kinds, first.length, change));
  whenWidthChanges(canvas, paint);
  return {
    element: figure,
    canDraw: plan !== undefined,
    isTelling: telling !== undefined,
    show(wanted) {
      condition = wanted;
      void look();
    },
  };
}

function whenWidthChanges(element: HTMLElement, act: () => void): void {
  let width = 0;
  new ResizeObserver(() => {
    if (Math.abs(element.clientWidth - width) < 2) return;
    width = element.clientWidth;
    act();
  }).observe(element);
}

/** The elements of the chart on the screen. */
function createFigure(wantMore: () => void) {
  const controls = el('div', { class: 'controls' });
  const canvas = el('div', { class: 'canvas' });
  const caption = el('figcaption', { class: 'note' });
  const more = el('button', { type: 'button', class: 'quiet', hidden: true, on: { click: wantMore } });
  const under = el('div', { class: 'under' }, caption, more);
  const figure = el('figure', { role: 'group', 'aria-label': 'Chart' }, controls, canvas, under);
  return { figure, controls, canvas, caption, more };
}

interface Picture {
  plan: Plan;
  fields: readonly Field[];
  page: Page & { fault?: string };
  source: Source;
  words: Words;
}

function paintInto({ figure, canvas, caption, more }: ReturnType<typeof createFigure>, picture: Picture): void {
  const { plan, fields, page, source, words } = picture;
  const series = seriesOf(plan, fields, page.rows);
  const summary = summaryOf(plan, series, words.count);
  const drawing =
    series.skipped === page.rows.length
      ? el('p', { class: 'empty' }, 'No row has a value to draw.')
      : draw(series, Math.max(WIDTH_MIN, canvas.clientWidth));
  canvas.replaceChildren(el('div', { role: 'img', 'aria-label': summary }, drawing));
  caption.replaceChildren([summary, ...notesOf(series, page, words)].join(' '));
  const rest = page.total - page.rows.length;
  more.hidden = source.isWhole || source.whyNoMore !== undefined || rest <= 0 || figure.hasAttribute('aria-busy');
  more.textContent =
    page.fault === undefined ? `Draw ${words.count(Math.min(rest, ROWS_MORE))} more rows` : 'Try again';
}

/** What the chart does not show, in sentences. */
function notesOf(series: ReturnType<typeof seriesOf>, page: Page & { fault?: string }, { count }: Words): string[] {
  const drawn = page.rows.length;
  const isPart = drawn < page.total || page.isAtLeast;
  const ofAll = page.isAtLeast ? `more than ${count(page.total)}` : count(page.total);
  return [
    page.fault === undefined ? '' : `No more rows could be had: ${page.fault}`,
    isPart ? `Drawn are the first ${count(drawn)} of ${ofAll} rows.` : '',
    series.skipped > 0 ? `${count(series.skipped)} rows have no value to draw.` : '',
    series.shape === 'bars' && series.others > 0 ? `${count(series.others)} more categories are not drawn.` : '',
  ].filter((note) => note !== '');
}

function columnsOf({ kind, x, y }: Plan, fields: readonly Field[]): number[] {
  const place = kind === 'map' ? placeFields(fields) : undefined;
  const used = [x, y, ...(place === undefined ? [] : Object.values(place))] as (Field | undefined)[];
  return [...new Set(used.flatMap((field) => field?.column ?? []))];
}

function controlsOf(
  plan: Plan,
  fields: readonly Field[],
  kinds: readonly ChartKind[],
  rowCount: number,
  change: (plan: Plan | undefined) => void,
): HTMLElement[] {
  const names = kinds.map((kind) => KIND_NAMES[kind]);
  const controls = [
    select('Chart', names, kinds.indexOf(plan.kind), (index) => {
      change(planOf(kinds[index] ?? plan.kind, fields, rowCount));
    }),
  ];
  const xs = xFields(plan.kind, fields);
  if (plan.x !== undefined) {
    const label = plan.kind === 'bars' ? 'Categories' : plan.kind === 'histogram' ? 'Values' : 'Across';
    controls.push(
      select(
        label,
        xs.map((field) => field.label),
        xs.indexOf(plan.x),
        (index) => change(fitting({ ...plan, x: xs[index] })),
      ),
    );
  }
  const ys: (Field | undefined)[] = yFields(plan.kind, fields);
  if (plan.kind !== 'scatter') ys.unshift(undefined);
  if (plan.kind !== 'histogram' && ys.length > 1) {
    const none = plan.kind === 'map' ? 'one size' : 'number of rows';
    const label = plan.kind === 'bars' ? 'Length' : plan.kind === 'map' ? 'Size' : 'Up';
    controls.push(
      select(
        label,
        ys.map((field) => field?.label ?? none),
        ys.indexOf(plan.y),
        (index) => change(fitting({ ...plan, y: ys[index] })),
      ),
    );
  }
  const aggregates = aggregatesFor(plan);
  if (aggregates.length > 1) {
    controls.push(
      select('Combine rows by', aggregates, aggregates.indexOf(plan.aggregate), (index) =>
        change({ ...plan, aggregate: aggregates[index] ?? plan.aggregate }),
      ),
    );
  }
  return controls;
}

/** The plan with an aggregate that is valid for it. */
function fitting(plan: Plan): Plan {
  const possible = aggregatesFor(plan);
  if (possible.length === 0 || possible.includes(plan.aggregate)) return plan;
  return { ...plan, aggregate: possible[0] ?? AGGREGATES[0] };
}
