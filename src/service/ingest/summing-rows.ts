import { counted } from '../../contract/in-words.ts';
import { cut, inQuotes } from '../../contract/text.ts';
import { OWN_FIELDS } from './field-mappings.ts';
import type { SeenRow, SeenRows, TableNote } from './seen-rows.ts';
import { hasSumWord, hasTotalWord, isTotal } from './total-words.ts';

/*
 * Rows that sum up others, and lines behind the last row: sums and counts take them for rows. They lack what all other rows
 * have, and say so by a word, by their numbers, or by being the last with a text alone.
 */

const SHOWN = 4;
const CHARS_MAX = 40;
/** One in so many rows may lack what nearly all have. */
const LACKING = 20;

/** What to tell of such rows, and the condition that leaves them out; undefined: there are none. */
export function summingNote({ names, first, last = [], rows: all, place }: SeenRows): TableNote | undefined {
  const end = first.at(-1)?.at ?? 0;
  const rows = [...first, ...last.filter(({ at }) => at > end)];
  const table = tableOf(names.length, rows);
  const found = new Set(rowsThatSum(rows, { ...table, isWhole: rows.length === all }));
  for (const row of endingRows(last, found, table)) found.add(rows.find(({ at }) => at === row.at) ?? row);
  if (found.size === 0) return undefined;
  const some = rows.filter((row) => found.has(row));
  const places = some.slice(0, SHOWN).map(({ at }) => at.toLocaleString('en-US'));
  const more = some.length > SHOWN ? ', …' : '';
  const label = some[0] && labelOf(some[0]);
  const said = label === undefined ? '' : ` ${JSON.stringify(cut(label.text, CHARS_MAX))}`;
  const among = rows.length < all ? ' of those looked at' : '';
  const [seem, they] = some.length === 1 ? ['seems', 'it'] : ['seem', 'them'];
  const where = conditionFor(some, { rows, names, isWhole: rows.length === all }, table);
  const text = `${counted(some.length, 'rows')}${among} (${place} ${places[0]}${said}${places.length > 1 ? `; ${places.slice(1).join(', ')}` : ''}${more}) ${seem} to sum up others, or to stand below them: leave ${they} out of sums and counts${where === undefined ? '' : `: WHERE ${where}`}.`;
  // A name may begin as a total does, and be a sum by chance.
  const isSure = some.length > 1 || (label !== undefined && isTotal(label.text));
  return isSure ? { text, where, count: rows.length < all ? undefined : some.length } : { text };
}

/** What rows of a table have. */
interface Table {
  width: number;
  /** Places that nearly all rows fill that have no word of a total. */
  always: readonly number[];
  /** Those of them that are text. */
  texts: readonly number[];
}

function tableOf(width: number, rows: readonly SeenRow[]): Table {
  const hasText = rows.map(({ forms }) => forms.includes('text'));
  const isTextual = 2 * hasText.filter(Boolean).length > rows.length;
  // What may be such a row itself is not asked.
  const plain = rows.filter((row, index) => {
    return (filledIn(row) > 1 || width < 3) && (hasText[index] || !isTextual) && !hasWord(row);
  });
  const lacking = new Array<number>(width).fill(0);
  const text = new Array<number>(width).fill(0);
  for (const { forms } of plain) {
    for (let at = 0; at < width; at++) {
      if (forms[at] === undefined) lacking[at] = (lacking[at] ?? 0) + 1;
      else if (forms[at] === 'text') text[at] = (text[at] ?? 0) + 1;
    }
  }
  const most = Math.floor(plain.length / LACKING);
  const places = lacking.map((_, at) => at);
  // Of fewer rows nobody can say what all have.
  const always = plain.length < 2 ? [] : places.filter((at) => (lacking[at] ?? 0) <= most);
  return { width, always, texts: always.filter((at) => 2 * (text[at] ?? 0) > plain.length) };
}

const filledIn = ({ forms }: SeenRow) => forms.reduce((sum, form) => sum + Number(form !== undefined), 0);
const hasWord = ({ cells, forms }: SeenRow) => cells.some((cell, at) => forms[at] === 'text' && hasTotalWord(cell));
const isPoor = ({ forms }: SeenRow, { always }: Table) => always.some((at) => forms[at] === undefined);

function rowsThatSum(rows: readonly SeenRow[], table: Table & { isWhole: boolean }): SeenRow[] {
  if (!rows.some((row) => isPoor(row, table) || hasWord(row))) return [];
  const above = [new Sums(), new Sums()];
  const [sinceLast] = above;
  /** Sums of one row alone, which may be equal by chance. */
  const weak: SeenRow[] = [];
  const found = rows.filter((row, index) => {
    const numbers = numbersIn(row);
    const isSaid = numbers.length > 0 && hasWord(row);
    const isLast = index === rows.length - 1;
    const isSum =
      (isLast && isTotal(row.cells[0] ?? '')) ||
      (isPoor(row, table)
        ? (isSaid && !(table.isWhole && isNoSum(row, numbers, above))) || isSumOf(row, numbers, table, above)
        : isSaid && areSums(numbers, above));
    const isWeak = !isSum && isSaid && areSums(numbers, above, 1);
    if (isWeak) weak.push(row);
    if (isSum || isWeak) sinceLast?.clear();
    else for (const one of above) one.add(numbers);
    return isSum;
  });
  // The word that a sum of several rows has says the same of these.
  const labels = new Set(found.filter(hasWord).map(labelKey));
  return [...found, ...weak.filter((row) => labels.has(labelKey(row)))];
}

type Numbers = readonly (readonly [at: number, value: number])[];

/** Whether all numbers of a row are sums of those above it, and it has no text of its own, or several such. */
function isSumOf({ forms }: SeenRow, numbers: Numbers, { texts }: Table, above: readonly Sums[]): boolean {
  return (numbers.length > 1 || texts.every((at) => forms[at] === undefined)) && areSums(numbers, above);
}

/** Whether a row whose word says that it is a sum has no number that is near to one: it may be a name, such as a brand's. */
function isNoSum({ cells, forms }: SeenRow, numbers: Numbers, above: readonly Sums[]): boolean {
  const isOfSum = cells.some((cell, at) => forms[at] === 'text' && hasSumWord(cell));
  return isOfSum && !above.some((sums) => sums.mayBe(numbers));
}

/** Whether numbers are sums of so many rows, or more. */
function areSums(numbers: Numbers, above: readonly Sums[], least = 2): boolean {
  return numbers.some(([, value]) => value !== 0) && above.some((sums) => sums.are(numbers, least));
}

/** Sums of the numbers of rows, by place. */
class Sums {
  #rows = 0;
  #sums = new Map<number, number>();

  add(numbers: Numbers): void {
    if (numbers.length > 0) this.#rows += 1;
    for (const [at, value] of numbers) this.#sums.set(at, (this.#sums.get(at) ?? 0) + value);
  }

  clear(): void {
    this.#rows = 0;
    this.#sums.clear();
  }

  /** Whether one of them is about a sum, or nothing is known that it could be the sum of. */
  mayBe(numbers: Numbers): boolean {
    const isNear = ([at, value]: Numbers[number]) => {
      const sum = this.#sums.get(at) ?? 0;
      return Math.abs(sum - value) <= NEARLY * Math.max(Math.abs(sum), Math.abs(value));
    };
    return this.#rows === 0 || numbers.some(isNear);
  }

  are(numbers: Numbers, least: number): boolean {
    return (
      this.#rows >= least && numbers.every(([at, value]) => Math.abs((this.#sums.get(at) ?? 0) - value) < TOLERANCE)
    );
  }
}

const TOLERANCE = 0.005;
/** Sums that were rounded, or are of a row more or less. */
const NEARLY = 0.05;
const PLAIN = /^[+-]?\d{1,15}(?:\.\d{1,15})?$/;
const DECIMAL_COMMA = /^[+-]?\d{1,3}(?:\.?\d{3}){0,4},\d{1,4}$/;
const THOUSANDS = /^[+-]?\d{1,3}(?:,\d{3}){1,4}(?:\.\d{1,4})?$/;

function numbersIn({ cells, forms }: SeenRow): Numbers {
  const found: [number, number][] = [];
  for (const [at, form] of forms.entries()) {
    if (form !== 'number') continue;
    const text = (cells[at] ?? '').trim();
    if (PLAIN.test(text)) found.push([at, Number(text)]);
    else if (DECIMAL_COMMA.test(text)) found.push([at, Number(text.replaceAll('.', '').replace(',', '.'))]);
    else if (THOUSANDS.test(text)) found.push([at, Number(text.replaceAll(',', ''))]);
  }
  return found;
}

/** The rows at the end that are a line of text, each in one cell of several. */
function endingRows(last: readonly SeenRow[], sums: ReadonlySet<SeenRow>, table: Table): SeenRow[] {
  const places = new Set([...sums].map(({ at }) => at));
  const found: SeenRow[] = [];
  for (const row of last.toReversed()) {
    if (places.has(row.at)) continue;
    if (!isLine(row, table)) break;
    found.push(row);
  }
  // If all that there is are such lines, they are the rows.
  return found.length < last.length || sums.size > 0 ? found : [];
}

const MARK = /^[^\p{L}\d]/u;

/** Whether a text begins with a mark, or has three words. */
const isSentence = (text: string) => MARK.test(text) || text.split(/\s/).length > 2;

function isLine(row: SeenRow, table: Table): boolean {
  if (filledIn(row) !== 1 || table.always.length < 2 || !isPoor(row, table)) return false;
  const { text = '' } = labelOf(row) ?? {};
  return text !== '' && (table.width > 2 || isSentence(cut(text.trim(), CHARS_MAX)));
}

interface Label {
  at: number;
  text: string;
}

/** What a row calls itself: the cell with a total's word, or its first text. */
function labelOf({ cells, forms }: SeenRow): Label | undefined {
  const word = cells.findIndex((cell, at) => forms[at] === 'text' && hasTotalWord(cell));
  const at = word < 0 ? forms.indexOf('text') : word;
  const text = cells[at];
  return typeof text === 'string' ? { at, text } : undefined;
}

const labelKey = (row: SeenRow) => JSON.stringify(labelOf(row));

/** The rows that are looked at, and whether they are all that there are. */
interface Looked {
  rows: readonly SeenRow[];
  names: readonly string[];
  isWhole: boolean;
}

/** SQL that is true of other rows only: that they have what these lack, or that they are none of these texts. */
function conditionFor(
  some: readonly SeenRow[],
  { rows, names, isWhole }: Looked,
  { always }: Table,
): string | undefined {
  const nameAt = (at: number) => inQuotes(names[at] ?? '', '"');
  const others = rows.filter((row) => !some.includes(row));
  const isField = (at: number) => at < names.length && !OWN_FIELDS.has(names[at] ?? '');
  const lacked = always.find(
    (at) =>
      isField(at) &&
      some.every(({ cells }) => (cells[at] ?? null) === null) &&
      others.every(({ forms }) => forms[at] !== undefined),
  );
  if (lacked !== undefined) return `${nameAt(lacked)} IS NOT NULL`;
  const texts = new Map<number, Set<string>>();
  for (const row of some) {
    const label = labelOf(row);
    if (label === undefined || !isField(label.at)) return undefined;
    // Of rows that nobody has looked at, one may have the text as others have theirs.
    const { at, text } = label;
    if (others.some(({ cells }) => cells[at] === text)) return undefined;
    if (!isWhole && !hasTotalWord(text) && !isSentence(text)) return undefined;
    texts.set(at, (texts.get(at) ?? new Set()).add(text));
  }
  const columns = [...texts].sort(([one], [other]) => one - other);
  if (columns.some(([, all]) => all.size > SHOWN)) return undefined;
  const listed = (all: ReadonlySet<string>) => [...all].map((text) => inQuotes(text, "'")).join(', ');
  return columns.map(([at, all]) => `coalesce(${nameAt(at)}, '') NOT IN (${listed(all)})`).join(' AND ');
}
