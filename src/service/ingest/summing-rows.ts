import { counted } from '../../contract/in-words.ts';
import { cut, inQuotes } from '../../contract/text.ts';
import { balanceRows } from './balance-rows.ts';
import { OWN_FIELDS } from './field-mappings.ts';
import { type Numbers, numbersIn, RowSums } from './row-sums.ts';
import type { SeenRow, SeenRows, TableNote } from './seen-rows.ts';
import { hasSumWord, hasTotalWord, isBalance, isTotal } from './total-words.ts';

/*
 * Rows that sum up others, and lines behind the last row: sums and counts take them for rows. They lack what all other rows
 * have, and say so by a word, by their numbers, or by being the last with a text alone.
 */

const SHOWN = 4;
const CHARS_MAX = 40;
/** One in so many rows may lack what nearly all have. */
const LACKING = 20;
/** Digits that agree in a row without a word that says what it is; one such row alone may still be one by chance. */
const DIGITS_MIN = 2;
/** Texts that a condition leaves out. */
const TEXTS_MAX = 12;

/** What to tell of such rows, and the condition that leaves them out; undefined: there are none. */
export function summingNote(seen: SeenRows): TableNote | undefined {
  const { names, first, last = [], rows: all, isLoose = false } = seen;
  const end = first.at(-1)?.at ?? 0;
  const rows = [...first, ...last.filter(({ at }) => at > end)];
  const table = tableOf(names.length, rows);
  const { found: summing, exact } = rowsThatSum(rows, { ...table, isWhole: rows.length === all }, isLoose);
  const found = new Set(summing);
  const balances = balanceRows(rows, found);
  for (const row of balances) found.add(row);
  const ending = isLoose ? [] : endingRows(last, found, table);
  for (const row of ending) found.add(rows.find(({ at }) => at === row.at) ?? row);
  if (found.size === 0) return undefined;
  const some = rows.filter((row) => found.has(row));
  const label = some[0] && labelOf(some[0]);
  const isWhole = rows.length === all;
  const where = conditionFor(some, { rows, names, isWhole }, table);
  const text = `${placesOf(some, seen, isWhole)} ${toldOf(some, balances.length)}${where === undefined ? '' : `: WHERE ${where}`}.${isWhole && isShort(some, rows) ? OTHERS_LEFT : ''}`;
  // A name may begin as a total does, or be one, and be a sum by chance: of one row two signs are asked.
  const isAtEnd = some.some((row) => row === rows[0] || row === rows.at(-1));
  const signs = [isTotal(label?.text ?? ''), isAtEnd, some.some((row) => exact.has(row))];
  const isSure = some.length > 1 || signs.filter(Boolean).length > 1;
  return isSure ? { text, where, count: isWhole ? some.length : undefined } : { text };
}

const OTHERS_LEFT = ' The numbers of the last are not the sums of the others: other rows may sum up some, too.';

function placesOf(some: readonly SeenRow[], { place }: SeenRows, isWhole: boolean): string {
  const places = some.slice(0, SHOWN).map(({ at }) => at.toLocaleString('en-US'));
  const label = some[0] && labelOf(some[0]);
  const said = label === undefined ? '' : ` ${JSON.stringify(cut(label.text, CHARS_MAX))}`;
  const more = some.length > SHOWN ? ', …' : '';
  const rest = places.length > 1 ? `; ${places.slice(1).join(', ')}` : '';
  return `${counted(some.length, 'rows')}${isWhole ? '' : ' of those looked at'} (${place} ${places[0]}${said}${rest}${more})`;
}

function toldOf({ length }: readonly SeenRow[], balances: number): string {
  const [seem, they] = length === 1 ? ['seems', 'it'] : ['seem', 'them'];
  const carry = balances === 0 ? '' : ', or to carry a balance';
  return `${seem} to sum up others, or to stand below them${carry}: leave ${they} out of sums and counts`;
}

/** Whether the last row is a total by its word, and none of its numbers is the sum of all rows but those that were found. */
function isShort(some: readonly SeenRow[], rows: readonly SeenRow[]): boolean {
  const total = some.at(-1);
  if (total === undefined || total !== rows.at(-1) || !isTotal(labelOf(total)?.text ?? '')) return false;
  const numbers = numbersIn(total).filter(([, value]) => value !== 0);
  const sums = new RowSums();
  for (const row of rows) if (!some.includes(row)) sums.add(numbersIn(row));
  return numbers.length > 0 && numbers.every((one) => sums.startOf([one]) === undefined) && isOther(some, total);
}

/** Whether no other row that was found has the word of a total: a total of groups may leave out what is in none. */
const isOther = (some: readonly SeenRow[], total: SeenRow) => some.every((row) => row === total || !hasWord(row));

/** What rows of a table have. */
export interface Table {
  width: number;
  /** Places that nearly all rows fill that have no word of a total. */
  always: readonly number[];
  /** Those of them that are text. */
  texts: readonly number[];
}

export function tableOf(width: number, rows: readonly SeenRow[]): Table {
  const hasText = rows.map(({ forms }) => forms.includes('text'));
  const isTextual = 2 * hasText.filter(Boolean).length > rows.length;
  // What may be such a row itself is not asked, nor what may stand below the table.
  const end = rows.findLastIndex((row) => filledIn(row) > 1);
  const plain = rows.slice(0, end < 0 ? rows.length : end + 1).filter((row, index) => {
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

/** The rows that sum up others, or say so, and those of them whose numbers are these sums. */
function rowsThatSum(rows: readonly SeenRow[], table: Table & { isWhole: boolean }, isLoose: boolean) {
  const exact = new Set<SeenRow>();
  const sums = new RowSums();
  /** Sums of one row alone, which may be equal by chance. */
  const weak: SeenRow[] = [];
  /** Without a word. */
  const bare: SeenRow[] = [];
  const often = labelsOften(rows);
  const found = rows.filter((row, index) => {
    const numbers = numbersIn(row);
    // Formulas of which a program stored no value leave the word alone.
    const isSaid = hasWord(row) && (numbers.length > 0 || (filledIn(row) === 1 && table.always.length > 1));
    const isLast = index === rows.length - 1;
    const poor = isPoor(row, table);
    const isNamed = isSaid || row.cells.some((cell, at) => row.forms[at] === 'text' && isBalance(cell));
    const start = isNamed || (poor && mayBeSum(row, numbers, table)) ? sums.startOf(numbers) : undefined;
    if (start !== undefined) exact.add(row);
    const isSaidAlone = poor && isSaid && !isLoose && !(table.isWhole && isNoSum(row, numbers, sums));
    const isSum = (isLast && isTotal(row.cells[0] ?? '')) || isSaidAlone || start !== undefined;
    const weakStart = !isSum && isSaid ? sums.startOf(numbers, 1) : undefined;
    const byDigits = isSum || isSaid || often.has(labelKey(row)) ? undefined : sums.startByDigits(numbers);
    if (weakStart !== undefined) weak.push(row);
    else if (byDigits !== undefined && byDigits.digits >= DIGITS_MIN) bare.push(row);
    else if (!isSum) {
      sums.add(numbers);
      return false;
    }
    sums.close(start ?? weakStart ?? byDigits?.start);
    return isSum;
  });
  // The word that a sum of several rows has says the same of these.
  const labels = new Set(found.filter(hasWord).map(labelKey));
  const alike = weak.filter((row) => labels.has(labelKey(row)));
  return { found: [...found, ...alike, ...(found.length + bare.length > 1 ? bare : [])], exact };
}

/** Whether a row whose word says that it is a sum has no number that is near to one: it may be a name, such as a brand's. */
function isNoSum({ cells, forms }: SeenRow, numbers: Numbers, sums: RowSums): boolean {
  return (
    numbers.length > 0 && cells.some((cell, at) => forms[at] === 'text' && hasSumWord(cell)) && !sums.mayBe(numbers)
  );
}

/** Whether a row has no text of its own, or several numbers: what all its numbers say is no chance then. */
const mayBeSum = ({ forms }: SeenRow, numbers: Numbers, { texts }: Table) =>
  numbers.length > 1 || texts.every((at) => forms[at] === undefined);

/** The rows at the end that are a line of text, each in one cell of several, or empty behind what sums up others. */
function endingRows(last: readonly SeenRow[], sums: ReadonlySet<SeenRow>, table: Table): SeenRow[] {
  const places = new Set([...sums].map(({ at }) => at));
  const found: SeenRow[] = [];
  for (const row of last.toReversed()) {
    if (places.has(row.at)) continue;
    if (!isLine(row, table, sums.size > 0)) break;
    found.push(row);
  }
  // If all that there is are such lines, they are the rows.
  return found.length < last.length || sums.size > 0 ? found : [];
}

const MARK = /^[^\p{L}\d]/u;

/** Whether a text begins with a mark, or has three words. */
const isSentence = (text: string) => MARK.test(text) || text.split(/\s/).length > 2;

function isLine(row: SeenRow, table: Table, isBelowSums: boolean): boolean {
  const filled = filledIn(row);
  if (filled > 1 || table.always.length < 2 || !isPoor(row, table)) return false;
  if (filled === 0) return isBelowSums;
  const { text = '' } = labelOf(row) ?? {};
  return text !== '' && (table.width > 2 || isBelowSums || isSentence(cut(text.trim(), CHARS_MAX)));
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

/** The labels that several rows have: those of groups, of which no sum has the name of one. */
function labelsOften(rows: readonly SeenRow[]): ReadonlySet<string | undefined> {
  const [met, often] = [new Set<string | undefined>(), new Set<string | undefined>()];
  for (const row of rows) {
    if (labelOf(row) === undefined) continue;
    const key = labelKey(row);
    if (met.has(key)) often.add(key);
    met.add(key);
  }
  return often;
}

/** The rows that are looked at, and whether they are all that there are. */
export interface Looked {
  rows: readonly SeenRow[];
  names: readonly string[];
  isWhole: boolean;
}

/** SQL that is true of other rows only: that they have what these lack, or that they are none of these texts. */
export function conditionFor(
  some: readonly SeenRow[],
  { rows, names, isWhole }: Looked,
  { always }: Table,
): string | undefined {
  const nameAt = (at: number) => inQuotes(names[at] ?? '', '"');
  const others = rows.filter((row) => !some.includes(row));
  const isField = (at: number) => at < names.length && !OWN_FIELDS.has(names[at] ?? '');
  const lacks = ({ cells }: SeenRow, at: number) => (cells[at] ?? null) === null;
  const bare = some.filter((row) => labelOf(row) === undefined);
  // Where not all lack one, those without a text have to.
  const lackedBy = (rows: readonly SeenRow[]) =>
    always.find(
      (at) =>
        isField(at) && rows.every((row) => lacks(row, at)) && others.every(({ forms }) => forms[at] !== undefined),
    );
  const lacked = lackedBy(some) ?? (bare.length > 0 ? lackedBy(bare) : undefined);
  const present = lacked === undefined ? [] : [`${nameAt(lacked)} IS NOT NULL`];
  const texts = new Map<number, Set<string>>();
  for (const row of some) {
    if (lacked !== undefined && lacks(row, lacked)) continue;
    const label = labelOf(row);
    if (label === undefined || !isField(label.at)) return undefined;
    // Of rows that nobody has looked at, one may have the text as others have theirs.
    const { at, text } = label;
    if (others.some(({ cells }) => cells[at] === text)) return undefined;
    if (!isWhole && !hasTotalWord(text) && !isSentence(text)) return undefined;
    texts.set(at, (texts.get(at) ?? new Set()).add(text));
  }
  const columns = [...texts].sort(([one], [other]) => one - other);
  if (columns.some(([, all]) => all.size > TEXTS_MAX)) return undefined;
  // A column of numbers or times has NULL in place of such a text, if it is no text for its sake.
  const isTyped = (at: number) => others.every(({ forms }) => forms[at] !== undefined && forms[at] !== 'text');
  // So may have rows that nobody has looked at.
  if (!isWhole && columns.some(([at]) => isTyped(at))) return undefined;
  const noneOf = ([at, all]: readonly [number, ReadonlySet<string>]) => {
    const listed = [...all].map((text) => inQuotes(text, "'"));
    const value = isTyped(at) ? `CAST(${nameAt(at)} AS VARCHAR), ${listed[0]}` : `${nameAt(at)}, ''`;
    return `coalesce(${value}) NOT IN (${listed.join(', ')})`;
  };
  return [...present, ...columns.map(noneOf)].join(' AND ');
}
