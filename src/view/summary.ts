import type { Plan } from './plan.ts';
import { numberLabel } from './scale.ts';
import { boundsOf, type Series } from './series.ts';

/** What a chart shows, in words, as its text alternative. */
export function summaryOf(plan: Plan, series: Series, count: (value: number) => string): string {
  const [x, y] = [plan.x?.label ?? '', measureOf(plan)];
  const rows = (value: number) => `${count(value)} ${value === 1 ? 'row' : 'rows'}`;
  switch (series.shape) {
    case 'map': {
      const sized = plan.y === undefined ? '' : `, larger for more ${plan.y.label}`;
      return `Map with a point for each of ${rows(series.marks.length)}${sized}.`;
    }
    case 'histogram': {
      const most = series.bins.reduce((top, bin) => (bin.rows > top.rows ? bin : top), { from: 0, to: 0, rows: 0 });
      const where = `${numberLabel(most.from)} to ${numberLabel(most.to)}`;
      return most.rows === 0
        ? `No values of ${x}.`
        : `How often values of ${x} occur; most, ${rows(most.rows)}, from ${where}.`;
    }
    case 'bars': {
      const isOnce = series.bars.every((bar) => bar.rows === 1);
      const what = isOnce && plan.y !== undefined ? plan.y.label : y;
      const [first] = [...series.bars].sort((a, b) => b.value - a.value);
      if (first === undefined) return `No values of ${x}.`;
      return `${what} by ${x}, ${count(series.bars.length)} bars; the most is ${numberLabel(first.value)} for ${first.label}.`;
    }
    default: {
      const [least, most] = boundsOf(series.marks.map((mark) => mark.y)).map(numberLabel);
      const bucket = series.shape === 'line' && series.bucket !== undefined ? ` per ${series.bucket}` : '';
      const range = series.marks.length === 0 ? 'no values' : `from ${least} to ${most}`;
      return `${y}${bucket} ${series.shape === 'line' ? 'along' : 'against'} ${x}, ${count(series.marks.length)} points; ${range}.`;
    }
  }
}

function measureOf({ y, aggregate }: Plan): string {
  if (y === undefined) return 'Rows';
  const words = {
    'each row': '',
    count: 'Rows of ',
    sum: 'Sum of ',
    average: 'Average of ',
    least: 'Least ',
    greatest: 'Greatest ',
  };
  return `${words[aggregate]}${y.label}`;
}
