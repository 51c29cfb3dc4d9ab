import type { SeenRows } from './seen-rows.ts';

/* Columns that are aligned with spaces, as reports and terminals have them, have no separator and become one. */

const ROWS_MIN = 2;
const SHARE_MIN = 0.9;
const GAP = / {2,}/;

/** What to tell of a table of one column whose cells are several, with spaces between them; undefined: it is none. */
export function alignedNote({ names, first }: SeenRows): string | undefined {
  const [name = ''] = names;
  const isDivided = (text: string | null | undefined) => GAP.test((text ?? '').trim());
  if (names.length !== 1 || first.length < ROWS_MIN || !isDivided(name)) return undefined;
  if (first.filter(({ cells }) => isDivided(cells[0])).length < SHARE_MIN * first.length) return undefined;
  return 'The file has one column, in which spaces align several: replace each run of two or more spaces by a tab in the file, and load that.';
}
