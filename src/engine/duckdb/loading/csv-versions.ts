import { cut } from '../../../contract/text.ts';
import type { ColumnNote } from './column-notes.ts';
import type { RowColumn } from './relation.ts';

/*
 * Numbers that may be none: of versions and chapters 1.1 and 1.10 are two, and as numbers one. By their form they are told
 * from prices, which have as many decimals each, and from what programs write, which has no zero at its end.
 */

const CODE = /^-?\d{1,15}\.\d{1,15}$/;
const NAME_CHARS_MAX = 100;

/** Of columns of numbers by their first cells: what is to be told where a column becomes one of numbers. */
export function versionNotes(
  columns: readonly RowColumn[],
  first: ReadonlyMap<string, readonly unknown[]>,
): Map<string, ColumnNote> {
  const notes = new Map<string, ColumnNote>();
  for (const { name, shape, cell } of columns) {
    if (shape !== 'double' || cell === undefined || cell.given !== undefined) continue;
    const pair = mergedIn(first.get(cell.sql) ?? []);
    if (pair === undefined) continue;
    const shown = JSON.stringify(cut(name, NAME_CHARS_MAX));
    const [one, other, number] = pair;
    const what = number === one ? `in which ${one} and ${other} are one` : `in which ${other} is ${number}`;
    const text = `${shown} became numbers, ${what}: if these are versions, chapters or codes, load anew with "types": {${shown}: "STRING"}.`;
    notes.set(name, { cause: 'became numbers, and may be versions, chapters or codes', text });
  }
  return notes;
}

/** Two spellings of one number, or a number that follows another as in chapters (1.9, 1.10), and what it is as a number. */
function mergedIn(cells: readonly unknown[]): [one: string, other: string, number: string] | undefined {
  const texts = new Set<string>();
  for (const cell of cells) if (typeof cell === 'string' && CODE.test(cell)) texts.add(cell);
  for (const text of texts) {
    if (!text.endsWith('0')) continue;
    for (let shorter = text.slice(0, -1); !shorter.endsWith('.'); shorter = shorter.slice(0, -1)) {
      if (texts.has(shorter)) return [shorter, text, shorter];
      if (!shorter.endsWith('0')) break;
    }
  }
  for (const text of texts) {
    if (!text.endsWith('.9')) continue;
    const next = `${text.slice(0, -1)}10`;
    if (texts.has(next)) return [text, next, next.slice(0, -1)];
  }
  return undefined;
}
