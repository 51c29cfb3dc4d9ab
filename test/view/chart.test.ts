import { describe, expect, it } from 'vitest';
import { fieldsOf, numberAt, placeFields, pointAt } from '../../src/view/fields.ts';
import { defaultPlan, kindsFor, planOf } from '../../src/view/plan.ts';
import type { Column } from '../../src/view/result.ts';
import { ticks, timeTicks } from '../../src/view/scale.ts';
import { seriesOf } from '../../src/view/series.ts';
import { kindOf } from '../../src/view/values.ts';

type Rows = unknown[][];

function columnsOf(names: string, rows: Rows): Column[] {
  return names.split(' ').map((name, index) => {
    return {
      name,
      type: null,
      kind: kindOf(
        null,
        rows.map((row) => row[index]),
      ),
    };
  });
}

function defaultOf(names: string, rows: Rows) {
  const fields = fieldsOf(columnsOf(names, rows), rows);
  const plan = defaultPlan(fields, rows.length);
  return plan && { kind: plan.kind, x: plan.x?.label, y: plan.y?.label, aggregate: plan.aggregate };
}

const days: Rows = [
  ['2026-01-01', 5],
  ['2026-01-02', 7],
  ['2026-01-03', 6],
];

describe('defaultPlan()', () => {
  it('draws a line over time, each row where a time comes once, else the average', () => {
    expect(defaultOf('day sales', days)).toEqual({ kind: 'line', x: 'day', y: 'sales', aggregate: 'each row' });
    const twice = [...days, ...days];
    expect(defaultOf('day sales', twice)).toMatchObject({ kind: 'line', aggregate: 'average' });
  });

  it('draws bars over categories: their value where each comes once, else how often they come', () => {
    const once: Rows = [
      ['a', 1],
      ['b', 2],
    ];
    expect(defaultOf('group n', once)).toEqual({ kind: 'bars', x: 'group', y: 'n', aggregate: 'sum' });
    expect(defaultOf('group n', [...once, ...once])).toEqual({
      kind: 'bars',
      x: 'group',
      y: undefined,
      aggregate: 'count',
    });
  });

  it('draws a histogram of one number, and two numbers against each other', () => {
    expect(defaultOf('n', [[1], [2]])).toMatchObject({ kind: 'histogram', x: 'n' });
    expect(
      defaultOf('a b', [
        [1, 3],
        [2, 4],
      ]),
    ).toMatchObject({ kind: 'scatter', x: 'a', y: 'b' });
  });

  it('draws a map of coordinates, by name, in GeoJSON, and inside of documents', () => {
    expect(
      defaultOf('lat lon mag', [
        [1, 2, 3],
        [4, 5, 6],
      ]),
    ).toMatchObject({ kind: 'map', y: 'mag' });
    const point = { type: 'Point', coordinates: [10, 60, 5] };
    expect(defaultOf('geometry', [[point], [point]])).toMatchObject({ kind: 'map' });
    expect(defaultOf('doc', [[{ place: { lat: 1, lng: 2 } }], [{ place: { lat: 3, lng: 4 } }]])).toMatchObject({
      kind: 'map',
    });
    expect(
      defaultOf('lat lon', [
        [1000, 2000],
        [3000, 4000],
      ]),
    ).toMatchObject({ kind: 'map' });
  });

  it('draws nothing of one row, of names alone, and of nested values alone', () => {
    expect(defaultOf('n', [[1]])).toBeUndefined();
    expect(
      defaultOf(
        'id',
        Array.from({ length: 100 }, (_, index) => [`id${index}`]),
      ),
    ).toBeUndefined();
    expect(defaultOf('list', [[[1]], [[2]]])).toBeUndefined();
  });
});

describe('fieldsOf()', () => {
  it('finds numbers and times inside documents, and times that are counts since 1970', () => {
    const rows = [[{ mag: 4.5, time: 1_517_400_000_000 }], [{ mag: '5', time: 1_517_500_000_000 }]];
    const fields = fieldsOf(columnsOf('properties', rows), rows);
    expect(fields.map(({ label, kind }) => [label, kind])).toEqual([
      ['properties.mag', 'number'],
      ['properties.time', 'time'],
    ]);
    const [mag, time] = fields;
    if (mag === undefined || time === undefined) throw new Error('both are there');
    expect(rows.map((row) => numberAt(mag, row))).toEqual([4.5, 5]);
    expect(numberAt(time, rows[0] ?? [])).toBe(1_517_400_000_000);
  });

  it('takes no number outside of the globe for a place', () => {
    const fields = fieldsOf(columnsOf('lat lon', [[1, 2]]), [[1, 2]]);
    const place = placeFields(fields);
    expect(place && pointAt(place, [91, 0])).toBeUndefined();
    expect(place && pointAt(place, ['-33.5', 151])).toEqual({ latitude: -33.5, longitude: 151 });
  });
});

describe('seriesOf()', () => {
  const make = (names: string, rows: Rows, kind: Parameters<typeof planOf>[0]) => {
    const fields = fieldsOf(columnsOf(names, rows), rows);
    const plan = planOf(kind, fields, rows.length);
    if (plan === undefined) throw new Error(`no ${kind}`);
    return seriesOf(plan, fields, rows);
  };

  it('counts rows that have no value', () => {
    expect(
      make(
        'a b',
        [
          [1, 2],
          [null, 3],
          [4, null],
        ],
        'scatter',
      ),
    ).toMatchObject({ marks: [{ x: 1, y: 2 }], skipped: 2 });
  });

  it('puts each value into one bin of a histogram, the ends included', () => {
    const rows = Array.from({ length: 101 }, (_, index) => [index / 10]);
    const series = make('n', rows, 'histogram');
    if (series.shape !== 'histogram') throw new Error('no histogram');
    expect(series.bins.reduce((sum, bin) => sum + bin.rows, 0)).toBe(101);
    expect(series.bins[0]?.from).toBe(0);
  });

  it('draws the largest categories, and says how many it does not', () => {
    const rows = Array.from({ length: 60 }, (_, index) => [`c${index % 30}`]);
    const series = make('c', rows, 'bars');
    expect(series).toMatchObject({ shape: 'bars', others: 10 });
  });

  it('gathers many times into buckets', () => {
    const rows = Array.from({ length: 5_000 }, (_, index) => [new Date(index * 600_000).toISOString(), index % 2]);
    const fields = fieldsOf(columnsOf('at n', rows), rows);
    const plan = planOf('line', fields, rows.length);
    if (plan === undefined) throw new Error('no line');
    const series = seriesOf({ ...plan, aggregate: 'average' }, fields, rows);
    expect(series).toMatchObject({ shape: 'line', bucket: 'day' });
    if (series.shape !== 'line') throw new Error('no line');
    expect(series.marks.every(({ y }) => Math.abs(y - 0.5) < 0.1)).toBe(true);
  });

  it('offers no kind that nothing can be drawn as', () => {
    expect(kindsFor(fieldsOf(columnsOf('t', [['a']]), [['a']]))).toEqual(['bars']);
  });
});

describe('ticks() and timeTicks()', () => {
  it('are round numbers and begins of units in UTC', () => {
    expect(ticks(0, 1, 5)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
    const years = timeTicks(Date.UTC(2000, 0, 1), Date.UTC(2010, 0, 1), 5).map((time) => new Date(time).toISOString());
    expect(years[0]).toBe('2000-01-01T00:00:00.000Z');
    expect(years.every((text) => text.endsWith('-01-01T00:00:00.000Z'))).toBe(true);
  });

  it('end, whatever the range', () => {
    for (const range of [0, 1e-300, 1e300, Infinity, Number.NaN]) expect(ticks(0, range, 5).length).toBeLessThan(101);
    expect(timeTicks(-8.64e15, 8.64e15, 6).length).toBeLessThan(101);
  });
});
