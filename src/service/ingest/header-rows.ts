import { counted } from '../../contract/in-words.ts';
import { cut } from '../../contract/text.ts';
import { AGAIN_MAX, type SeenRow, type SeenRows, seenRow, type TableNote } from './seen-rows.ts';
import { conditionFor, tableOf } from './summing-rows.ts';

/* Names of columns among the rows: of files that were joined each has its own, and a sheet may have another table below. */

const SHOWN = 4;
const CHARS_MAX = 30;
/** In what is kept of a load: that it is of such rows. */
export const REPEATS_NAMES = 'the names of the columns';

/** What to tell of rows that have the names of the columns again, and the condition that leaves them out; undefined: there are none. */
export function namesAgainNote(seen: SeenRows): TableNote | undefined {
  const { names, header = names, first, again, place, rows: all } = seen;
  const [some, rows] = [first.filter((row) => isHeader(row, header)), first.filter((row) => !isHeader(row, header))];
  const places = [...new Set([...some.map(({ at }) => at), ...(again ?? [])])].sort((a, b) => a - b);
  if (header.length < 2 || places[0] === undefined) return undefined;
  const row = seenRow(places[0], header);
  const isWhole = first.length === all;
  // Of a column of numbers, the condition is sure only where it was seen that no row lacks one.
  const isTold = (at: number) => isWhole || (rows.some(({ forms }) => forms[at] === 'text') && !isTyped(rows, at));
  const one = { ...row, forms: row.forms.map((form, at) => (isTold(at) ? form : undefined)) };
  const where = conditionFor([one], { rows, names, isWhole: true }, tableOf(names.length, rows));
  const shown = places.slice(0, SHOWN).map((at) => at.toLocaleString('en-US'));
  const [repeat, it] = places.length === 1 ? ['repeats', 'it'] : ['repeat', 'them'];
  const isMore = places.length >= AGAIN_MAX;
  const least = isMore ? 'at least ' : '';
  const text = `${least}${counted(places.length, 'rows')} (${place} ${shown.join('; ')}${places.length > SHOWN ? ', …' : ''}) ${repeat} ${REPEATS_NAMES}, as where files were joined: leave ${it} out of sums and counts${where === undefined ? '' : `: WHERE ${where}`}.`;
  return { text, where, count: isMore || (again === undefined && !isWhole) ? undefined : places.length };
}

const isHeader = ({ cells }: SeenRow, header: readonly unknown[]) =>
  header.every((name, at) => String(name ?? '').trim() === String(cells[at] ?? '').trim());

/** What to tell of the line of names of another table, below an empty row; undefined: there is none. */
export function otherTableNote({ names, header = names, first, place }: SeenRows): string | undefined {
  // What has no rows has none that are empty.
  if (place === 'document') return undefined;
  const below = belowGaps(first);
  const found = first.find((_, index) => below[index] === true && isOtherHeader(first, index, header));
  if (found === undefined) return undefined;
  const shown = found.cells.filter((cell) => cell !== null).slice(0, SHOWN);
  const called = shown.map((cell) => JSON.stringify(cut(String(cell).trim(), CHARS_MAX))).join(', ');
  const at = found.at.toLocaleString('en-US');
  return `Below an empty row, ${place} ${at} (${called}) looks like the names of another table, whose rows are below it: "header_row": ${found.at} in "format_params" loads that one, into a collection of its own. The first one by itself takes a file without what is below ${place} ${at}.`;
}

function isOtherHeader(rows: readonly SeenRow[], index: number, header: readonly unknown[]): boolean {
  const row = rows[index];
  if (row === undefined) return false;
  const filled = row.forms.flatMap((form, place) => (form === undefined ? [] : [place]));
  const texts = new Set(filled.map((place) => String(row.cells[place]).trim()));
  const isNames = filled.every((place) => row.forms[place] === 'text') && texts.size === filled.length;
  if (!isNames || filled.length < 2 || isHeader(row, header)) return false;
  const typed = filled.filter((place) => isTyped(rows.slice(0, index), place));
  // One word above numbers may be that for a missing value.
  const isSure = typed.length > 1 || (typed.length === 1 && header.some((name) => texts.has(String(name).trim())));
  const below = rows[index + 1]?.forms ?? [];
  return isSure && typed.some((place) => below[place] !== undefined && below[place] !== 'text');
}

/** Of each row whether it is below an empty one, or below a title that is. */
function belowGaps(rows: readonly SeenRow[]): boolean[] {
  let isBelow = false;
  return rows.map((row, index) => {
    const above = rows[index - 1];
    if (above === undefined) return false;
    const filled = above.forms.filter((form) => form !== undefined).length;
    const isNext = row.at === above.at + 1 || above.cells.some((cell) => cell?.includes('\n'));
    isBelow = filled === 0 || !isNext || (filled === 1 && isBelow);
    return isBelow;
  });
}

/** Whether most values of a column are no text. */
function isTyped(rows: readonly SeenRow[], place: number): boolean {
  const filled = rows.flatMap(({ forms }) => forms[place] ?? []);
  return filled.length > 0 && 2 * filled.filter((form) => form !== 'text').length > filled.length;
}
