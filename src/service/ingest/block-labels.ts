import { cut, inQuotes } from '../../contract/text.ts';
import type { SeenRows } from './seen-rows.ts';

/* Reports have a label once, on the first row of its block: whoever filters by it finds that row alone. */

/** So few rows are no blocks. */
const ROWS_MIN = 4;
const LABELS_MIN = 2;
const CHARS_MAX = 60;

/** What to tell of a first column with a label above each block, and how to fill it down; undefined: it has none. */
export function blockNote({ names, first }: SeenRows): string | undefined {
  const [column = ''] = names;
  if (column === '_id' || first.length < ROWS_MIN) return undefined;
  const labels = first.flatMap(({ cells, forms }) =>
    forms[0] === undefined ? [] : [{ text: cells[0], form: forms[0] }],
  );
  const isLabels = labels.every(({ text, form }, at) => form === 'text' && text !== labels[at - 1]?.text);
  const empty = first.length - labels.length;
  if (first[0]?.forms[0] === undefined || !isLabels || labels.length < LABELS_MIN || empty < labels.length)
    return undefined;
  const name = inQuotes(cut(column, CHARS_MAX), '"');
  return `${name} is empty in most rows, as where a label stands once above a block. If they mean the label above: last_value(${name} IGNORE NULLS) OVER (ORDER BY _id ROWS UNBOUNDED PRECEDING) is that, while the collection has this one file and its _id was made by the load.`;
}
