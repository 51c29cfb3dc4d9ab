import type { Box } from './axes.ts';
import { svg } from './dom.ts';
import { numberLabel, ticks } from './scale.ts';
import { boundsOf, type Mark } from './series.ts';

/** The world's coastlines as a path in tenths of a degree, y pointing south; made by the build (`scripts/view.mjs`). */
declare const COLLOQUY_LAND: string;

const SPAN_MIN = 3;
const SIZED_MARKS_MAX = 6_000;

interface Frame {
  west: number;
  north: number;
  /** Pixels per degree. */
  perLongitude: number;
  perLatitude: number;
}

/** Points on an equirectangular map, scaled so that proportions are right in the middle. */
export function drawMap(marks: readonly Mark[], width: number): SVGElement {
  const [west, east] = padded(boundsOf(marks.map(({ x }) => x)), 180);
  const [south, north] = padded(boundsOf(marks.map(({ y }) => y)), 90);
  const stretch = Math.max(0.3, Math.cos((((south + north) / 2) * Math.PI) / 180));
  const wanted = (width * (north - south)) / ((east - west) * stretch);
  const height = Math.round(Math.min(Math.max(220, width * 0.62), Math.max(200, wanted)));
  const box = { left: 0, top: 0, width, height };
  const perLatitude = Math.min(height / (north - south), width / ((east - west) * stretch));
  const frame = {
    west: (west + east) / 2 - width / 2 / (perLatitude * stretch),
    north: (south + north) / 2 + height / 2 / perLatitude,
    perLongitude: perLatitude * stretch,
    perLatitude,
  };
  const grid = drawGrid(frame, box);
  return svg(
    'svg',
    { width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true', class: 'map' },
    drawLand(frame),
    ...grid.map(({ line }) => line),
    ...drawMarks(marks, frame),
    ...grid.map(({ label }) => label),
  );
}

function padded([min, max]: [number, number], most: number): [number, number] {
  const middle = (min + max) / 2;
  const half = Math.max(SPAN_MIN, (max - min) * 1.16) / 2;
  return [Math.max(-most, middle - half), Math.min(most, middle + half)];
}

const across = (longitude: number, { west, perLongitude }: Frame) => (longitude - west) * perLongitude;
const down = (latitude: number, { north, perLatitude }: Frame) => (north - latitude) * perLatitude;

function drawLand(frame: Frame): SVGElement {
  const { perLongitude, perLatitude } = frame;
  const place = `translate(${across(0, frame)} ${down(0, frame)}) scale(${perLongitude / 10} ${perLatitude / 10})`;
  return svg('path', { class: 'land', d: COLLOQUY_LAND, transform: place });
}

function drawGrid(frame: Frame, box: Box): { line: SVGElement; label: SVGElement }[] {
  const east = frame.west + box.width / frame.perLongitude;
  const south = frame.north - box.height / frame.perLatitude;
  const meridians = ticks(frame.west, east, Math.max(2, box.width / 110)).filter((one) => Math.abs(one) <= 180);
  const parallels = ticks(south, frame.north, Math.max(2, box.height / 80)).filter((one) => Math.abs(one) <= 90);
  return [
    ...meridians.map((value) => {
      const x = across(value, frame);
      return {
        line: svg('line', { class: 'grid', x1: x, x2: x, y1: 0, y2: box.height }),
        label: svg('text', { class: 'tick', x: x + 3, y: box.height - 5 }, degrees(value, 'E', 'W')),
      };
    }),
    ...parallels.map((value) => {
      const y = down(value, frame);
      return {
        line: svg('line', { class: 'grid', x1: 0, x2: box.width, y1: y, y2: y }),
        label: svg('text', { class: 'tick', x: 4, y: y - 3 }, degrees(value, 'N', 'S')),
      };
    }),
  ];
}

function degrees(value: number, positive: string, negative: string): string {
  if (value === 0) return '0°';
  return `${numberLabel(Math.abs(value))}°${value > 0 ? positive : negative}`;
}

/** If marks have sizes, their areas are proportional to them, and small marks are drawn on top. */
function drawMarks(marks: readonly Mark[], frame: Frame): SVGElement[] {
  const place = (mark: Mark) => [
    Math.round(across(mark.x, frame) * 10) / 10,
    Math.round(down(mark.y, frame) * 10) / 10,
  ];
  const sizes = marks.flatMap(({ size }) => size ?? []);
  if (marks.length > SIZED_MARKS_MAX) {
    const path = marks.map(place).map(([x, y]) => `M${x} ${y}h0`);
    return [svg('path', { class: 'dots', d: path.join('') })];
  }
  const [least, most] = boundsOf(sizes);
  const radius = (size: number | undefined) =>
    size === undefined || most <= least ? 3.2 : 1.8 + 8 * ((size - least) / (most - least)) ** 1.5;
  const ordered = [...marks].sort((a, b) => (b.size ?? least) - (a.size ?? least));
  return ordered.map((mark) => {
    const [x, y] = place(mark);
    const where = `${degrees(mark.y, 'N', 'S')} ${degrees(mark.x, 'E', 'W')}`;
    const words = mark.size === undefined ? where : `${where}: ${numberLabel(mark.size)}`;
    return svg('circle', { class: 'dot', cx: x, cy: y, r: radius(mark.size).toFixed(1) }, svg('title', {}, words));
  });
}
