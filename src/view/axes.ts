import { svg } from './dom.ts';
import { numberLabel, ticks, timeLabel, timeTicks } from './scale.ts';

/** The rectangle to draw in, in pixels of the chart. */
export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** The numbers of an axis, and their positions. */
export interface Axis {
  place(value: number): number;
  ticks: readonly number[];
  label(value: number): string;
}

const LABEL_WIDTH = 78;
const LABEL_HEIGHT = 44;
const LETTER_WIDTH = 6.6;
/** Space to the right of the box that a label may use. */
const RIGHT_ROOM = 16;

/** The horizontal axis of a box. */
export function acrossAxis([min, max]: [number, number], box: Box, isTime: boolean): Axis {
  const range = max - min || 1;
  const count = Math.max(2, Math.floor(box.width / LABEL_WIDTH));
  return {
    place: (value) => box.left + (max === min ? 0.5 : (value - min) / range) * box.width,
    ticks: isTime ? timeTicks(min, max, count) : ticks(min, max, count),
    label: (value) => (isTime ? timeLabel(value, range) : numberLabel(value)),
  };
}

/** The vertical axis of a box. */
export function upAxis([min, max]: [number, number], box: Box): Axis {
  const range = max - min || 1;
  return {
    place: (value) => box.top + box.height - (max === min ? 0.5 : (value - min) / range) * box.height,
    ticks: ticks(min, max, Math.max(2, Math.floor(box.height / LABEL_HEIGHT))),
    label: numberLabel,
  };
}

/** Bounds that start at zero if that costs little space, and that are not a single point. */
export function roomy([min, max]: [number, number], fromZero: boolean): [number, number] {
  const isNearZero = min > 0 && min < max * 0.6;
  const low = (fromZero || isNearZero) && min > 0 ? 0 : min;
  const high = fromZero && max < 0 ? 0 : max;
  if (low === high) return [low - Math.abs(low || 1) * 0.5, high + Math.abs(high || 1) * 0.5];
  const edge = (high - low) * 0.04;
  return [low === 0 ? 0 : low - edge, high === 0 ? 0 : high + edge];
}

/** The lines and labels of both axes. */
export function drawAxes(box: Box, x: Axis | undefined, y: Axis): SVGElement {
  const bottom = box.top + box.height;
  const marks = y.ticks.flatMap((value) => [
    svg('line', { class: 'grid', x1: box.left, x2: box.left + box.width, y1: y.place(value), y2: y.place(value) }),
    svg('text', { class: 'tick', x: box.left - 6, y: y.place(value) + 3.5, 'text-anchor': 'end' }, y.label(value)),
  ]);
  for (const value of x?.ticks ?? []) {
    const at = x?.place(value) ?? 0;
    const label = x?.label(value) ?? '';
    // Keeps the last label inside the chart.
    const middle = Math.min(at, box.left + box.width + RIGHT_ROOM - label.length * (LETTER_WIDTH / 2));
    marks.push(
      svg('line', { class: 'axis', x1: at, x2: at, y1: bottom, y2: bottom + 4 }),
      svg('text', { class: 'tick', x: middle, y: bottom + 17, 'text-anchor': 'middle' }, label),
    );
  }
  marks.push(svg('line', { class: 'axis', x1: box.left, x2: box.left + box.width, y1: bottom, y2: bottom }));
  return svg('g', { 'aria-hidden': 'true' }, ...marks);
}

/** Space for the longest label of the vertical axis. */
export function leftOf(axis: Axis): number {
  const longest = axis.ticks.reduce((most, value) => Math.max(most, axis.label(value).length), 1);
  return 14 + longest * LETTER_WIDTH;
}
