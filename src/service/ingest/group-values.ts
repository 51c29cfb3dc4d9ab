import { counted } from '../../contract/in-words.ts';
import { cut, inQuotes } from '../../contract/text.ts';
import type { SeenRow, SeenRows } from './seen-rows.ts';

/*
 * Some exports have what belongs to a group, such as an order, on its first row only: the others lack it, and whoever groups
 * by it leaves them out.
 */

const KEYS_MAX = 20;
const SHOWN = 4;
const CHARS_MAX = 60;
/** Groups, rows behind the first of one, and values, without which it may be chance. */
const GROUPS_MIN = 2;
const REPEATS_MIN = 2;
const VALUES_MIN = 2;
/** One in so many rows may be otherwise. */
const EXCEPTIONS = 50;

/** What to tell of columns with values on the first row of each group only, and how to fill them; undefined: there are none. */
export function groupNote({ names, first }: SeenRows): string | undefined {
  const most = Math.floor(first.length / EXCEPTIONS);
  const partly = names.flatMap((_, at) => (isPartly(first, at) && !isOpenEnd(names, first, at) ? [at] : []));
  if (partly.length === 0) return undefined;
  const full = names.flatMap((_, at) => (first.every(({ forms }) => forms[at] !== undefined) ? [at] : []));
  for (const key of full.slice(0, KEYS_MAX)) {
    const repeats = repeatsOf(first, key);
    if (repeats === undefined) continue;
    const fits = partly.map((at) => ({ at, ...fitOf(first, at, repeats) }));
    // Each group has one of these; of others, which only some have, that is no sign by itself.
    if (!fits.some(({ behind, missing }) => behind + missing <= most)) continue;
    const found = fits.filter(({ behind, values }) => behind === 0 && values >= VALUES_MIN).map(({ at }) => at);
    if (found.length > 0) return noteOf(names, key, found);
  }
  return undefined;
}

function isPartly(rows: readonly SeenRow[], at: number): boolean {
  let filled = 0;
  for (const { forms } of rows) if (forms[at] !== undefined) filled += 1;
  return filled >= VALUES_MIN && filled < rows.length;
}

/** `valid_to`, `endDate`, `to_year`: only the row of a history that still holds has none. */
const AN_END =
  /(?:^|[^a-z])(?:to|until|till|end|ended|bis)(?:[_ -]?(?:date|day|time|timestamp|month|year|at|on|datum|jahr))?$/;

function isOpenEnd(names: readonly string[], rows: readonly SeenRow[], at: number): boolean {
  const name = cut(names[at] ?? '', CHARS_MAX)
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase();
  return AN_END.test(name) && rows.every(({ forms }) => [undefined, 'number', 'time'].includes(forms[at]));
}

/** Whether each row has the key of the row above; undefined: it is no key of groups of rows that stand together. */
function repeatsOf(rows: readonly SeenRow[], key: number): readonly boolean[] | undefined {
  const repeats = rows.map(({ cells }, index) => index > 0 && cells[key] === rows[index - 1]?.cells[key]);
  const behind = repeats.filter(Boolean).length;
  const groups = rows.length - behind;
  if (behind < REPEATS_MIN || groups < GROUPS_MIN) return undefined;
  return new Set(rows.map(({ cells }) => cells[key])).size === groups ? repeats : undefined;
}

function fitOf(rows: readonly SeenRow[], at: number, repeats: readonly boolean[]) {
  let [behind, missing, values] = [0, 0, 0];
  for (const [index, { forms }] of rows.entries()) {
    const isFilled = forms[at] !== undefined;
    if (repeats[index]) behind += Number(isFilled);
    else if (isFilled) values += 1;
    else missing += 1;
  }
  return { behind, missing, values };
}

function noteOf(names: readonly string[], key: number, found: readonly number[]): string {
  const shown = (at: number) => inQuotes(cut(names[at] ?? '', CHARS_MAX), '"');
  const [one = 0] = found;
  const more = found.length > SHOWN ? ` and ${counted(found.length - SHOWN, 'others')}` : '';
  const have = found.length === 1 ? 'has a value' : 'have values';
  const each = found.length === 1 ? 'it' : 'the first of them';
  return `${found.slice(0, SHOWN).map(shown).join(', ')}${more} ${have} only on the first row of each ${shown(key)}: max(${shown(one)}) OVER (PARTITION BY ${shown(key)}) has ${each} on every row, to group and filter by, not to sum.`;
}
