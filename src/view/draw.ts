import { type Axis, acrossAxis, type Box, drawAxes, leftOf, roomy, upAxis } from './axes.ts';
import { svg } from './dom.ts';
import { drawMap } from './map.ts';
import { numberLabel, timeLabel } from './scale.ts';
import { boundsOf, type Mark, type Series } from './series.ts';

const HEIGHT = 250;
const BAR_HEIGHT = 24;
const LABEL_CHARS_MAX = 24;
/** More marks than this become one path, without a text for each mark. */
const SINGLE_MARKS_MAX = 1_200;
const LINE_DOTS_MAX = 80;

type Of<S extends Series['shape']> = Extract<Series, { shape: S }>;

/** A chart of the series, `width` pixels wide: a single image to a screen reader, since `summaryOf` describes it. */
export function draw(series: Series, width: number): SVGElement {
  switch (series.shape) {
    case 'line':
      return drawLine(series, width);
    case 'bars':
      return drawBars(series, width);
    case 'histogram':
      return drawHistogram(series, width);
    case 'scatter':
      return drawScatter(series, width);
    case 'map':
      return drawMap(series.marks, width);
  }
}

function picture(width: number, height: number, ...children: (SVGElement | undefined)[]): SVGElement {
  return svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' }, ...children);
}

function frame(width: number, ups: readonly number[], fromZero: boolean): { box: Box; y: Axis } {
  const bounds = roomy(boundsOf(ups), fromZero);
  const box = { left: 0, top: 10, width: 0, height: HEIGHT - 38 };
  box.left = leftOf(upAxis(bounds, box));
  box.width = Math.max(40, width - box.left - 34);
  return { box, y: upAxis(bounds, box) };
}

function drawLine({ marks, isTime }: Of<'line'>, width: number): SVGElement {
  const { box, y } = frame(
    width,
    marks.map((mark) => mark.y),
    false,
  );
  const bounds = boundsOf(marks.map((mark) => mark.x));
  const x = acrossAxis(bounds, box, isTime);
  const path = thinned(marks, box.width)
    .map((mark, index) => `${index === 0 ? 'M' : 'L'}${at(x.place(mark.x))} ${at(y.place(mark.y))}`)
    .join('');
  const dots = marks.length > LINE_DOTS_MAX ? [] : marks;
  return picture(
    width,
    HEIGHT,
    drawAxes(box, x, y),
    svg('path', { class: 'line', d: path }),
    ...dots.map((mark) => dot(x.place(mark.x), y.place(mark.y), 2.6, told(mark, isTime, bounds))),
  );
}

/** Only the least and the greatest mark of each pixel column: looks the same, and is drawn much faster. */
function thinned(marks: readonly Mark[], width: number): readonly Mark[] {
  if (marks.length <= width * 4) return marks;
  const size = Math.ceil(marks.length / width);
  const kept: Mark[] = [];
  for (let start = 0; start < marks.length; start += size) {
    const group = marks.slice(start, start + size);
    const ups = group.map((mark) => mark.y);
    const [min, max] = boundsOf(ups);
    const ends = [ups.indexOf(min), ups.indexOf(max)].sort((a, b) => a - b);
    for (const index of ends) {
      const mark = group[index];
      if (mark !== undefined) kept.push(mark);
    }
  }
  return kept;
}

function told({ x, y }: Mark, isTime: boolean, [min, max]: [number, number]): string {
  const across = isTime ? timeLabel(x, Math.min(max - min, 86_400_000)) : numberLabel(x);
  return `${isTime ? `${new Date(x).toISOString().slice(0, 10)} ${across}` : across}: ${numberLabel(y)}`;
}

function drawScatter({ marks, isTime }: Of<'scatter'>, width: number): SVGElement {
  const { box, y } = frame(
    width,
    marks.map((mark) => mark.y),
    false,
  );
  const bounds = boundsOf(marks.map((mark) => mark.x));
  const x = acrossAxis(isTime ? bounds : roomy(bounds, false), box, isTime);
  return picture(
    width,
    HEIGHT,
    drawAxes(box, x, y),
    ...dotsOf(
      marks,
      (mark) => [x.place(mark.x), y.place(mark.y)],
      (mark) => told(mark, isTime, bounds),
    ),
  );
}

/** Dots with texts if they are few, otherwise one path. */
function dotsOf(
  marks: readonly Mark[],
  place: (mark: Mark) => [number, number],
  words: (mark: Mark) => string,
): SVGElement[] {
  if (marks.length > SINGLE_MARKS_MAX) {
    const path = marks.map((mark) => place(mark).map(at)).map(([x, y]) => `M${x} ${y}h0`);
    return [svg('path', { class: 'dots', d: path.join('') })];
  }
  return marks.map((mark) => dot(...place(mark), 3.2, words(mark)));
}

function dot(x: number, y: number, radius: number, words: string): SVGElement {
  return svg('circle', { class: 'dot', cx: at(x), cy: at(y), r: radius }, svg('title', {}, words));
}

function drawBars({ bars }: Of<'bars'>, width: number): SVGElement {
  const labels = bars.map(({ label }) => short(label));
  const longest = labels.reduce((most, label) => Math.max(most, label.length), 1);
  const left = Math.min(width * 0.42, 16 + longest * 6.7);
  const box = { left, top: 4, width: Math.max(40, width - left - 64), height: bars.length * BAR_HEIGHT };
  const [min, max] = boundsOf([0, ...bars.map(({ value }) => value)]);
  const x = acrossAxis([min, max === min ? 1 : max], box, false);
  const zero = x.place(0);
  return picture(
    width,
    box.height + 10,
    ...bars.map(({ label, value, rows }, index) => {
      const [top, end] = [box.top + index * BAR_HEIGHT, x.place(value)];
      const isBack = value < 0;
      return svg(
        'g',
        {},
        svg('title', {}, `${label}: ${numberLabel(value)} (${rows === 1 ? '1 row' : `${rows} rows`})`),
        svg('text', { class: 'name', x: left - 8, y: top + 15.5, 'text-anchor': 'end' }, labels[index]),
        svg('rect', {
          class: 'bar',
          x: at(Math.min(zero, end)),
          y: top + 3,
          width: at(Math.max(1, Math.abs(end - zero))),
          height: BAR_HEIGHT - 6,
          rx: 2,
        }),
        svg('text', { class: 'tick', x: at(isBack ? zero + 6 : end + 6), y: top + 15.5 }, numberLabel(value)),
      );
    }),
    svg('line', { class: 'axis', x1: zero, x2: zero, y1: box.top, y2: box.top + box.height }),
  );
}

function short(label: string): string {
  const letters = [...label];
  return letters.length <= LABEL_CHARS_MAX ? label : `${letters.slice(0, LABEL_CHARS_MAX - 1).join('')}…`;
}

function drawHistogram({ bins }: Of<'histogram'>, width: number): SVGElement {
  const { box, y } = frame(width, [0, ...bins.map(({ rows }) => rows)], true);
  const x = acrossAxis([bins[0]?.from ?? 0, bins.at(-1)?.to ?? 1], box, false);
  return picture(
    width,
    HEIGHT,
    drawAxes(box, x, y),
    ...bins.map(({ from, to, rows }) =>
      svg(
        'rect',
        {
          class: 'bar',
          x: at(x.place(from) + 0.75),
          y: at(y.place(rows)),
          width: at(Math.max(1, x.place(to) - x.place(from) - 1.5)),
          height: at(y.place(0) - y.place(rows)),
        },
        svg('title', {}, `${numberLabel(from)} to ${numberLabel(to)}: ${rows} rows`),
      ),
    ),
  );
}

function at(value: number): number {
  return Math.round(value * 10) / 10;
}
