import { expect, it } from 'vitest';
import { TableLook } from '../../../src/service/ingest/table-look.ts';

it('neither looks at a row that is too long to be seen, nor keeps it', () => {
  const kept: number[] = [];
  const look = new TableLook<number>({
    charsOf: (chars) => chars,
    kept: (chars) => {
      kept.push(chars);
      return chars;
    },
    seen: (chars) => ({ at: chars, cells: [], forms: [] }),
  });
  for (const chars of [1, 100_000, 2]) look.take(chars, 1);
  const { first, last, rows } = look.seen({ names: [], header: undefined, place: 'row' }, true);
  expect(kept).toEqual([1, 2]);
  expect([first, last].map((some) => some?.map(({ at }) => at))).toEqual([
    [1, 2],
    [1, 2],
  ]);
  expect(rows).toBe(3);
});
