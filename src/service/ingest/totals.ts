import { counted } from '../../contract/in-words.ts';
import { inQuotes } from '../../contract/text.ts';

const TOTAL_CHARS_MAX = 64;
/** Words with which a row begins that sums up those above it, in the languages of the programs that write them most. */
const TOTAL = /^(?:grand |sub)?(?:totals?|sum|summe|gesamt(?:summe)?|insgesamt|totale|somme|suma|totaal)\s*:?$/i;

const WORDS = new Set(
  `total totals subtotal sub-total subtotals sum summe zwischensumme gesamt gesamtsumme gesamtergebnis insgesamt totale somme
  suma totaal average avg mean durchschnitt mittelwert moyenne promedio`.split(/\s+/),
);

/** What all of them have in them: most texts need no other look. */
const PART = /tota|sum|som|gesamt|average|avg|mean|schnitt|mittel|moyenne|promedio/i;

/** Whether a text begins or ends with a word that says that it is of several: a total, an average. */
export function hasTotalWord(cell: string | null): boolean {
  if (cell === null || cell.length > TOTAL_CHARS_MAX || !PART.test(cell)) return false;
  const words = cell
    .toLowerCase()
    .trim()
    .split(/[\s:]+/)
    .filter((word) => word !== '');
  return WORDS.has(words[0] ?? '') || WORDS.has(words.at(-1) ?? '');
}

/** Whether a row that begins with this text seems to sum up others. */
export const isTotal = (first: string) => first.length <= TOTAL_CHARS_MAX && TOTAL.test(first.trim());

/** What to tell of the last row of a table, if it seems to sum up the others; `first` is the text of its first cell. */
function totalNote(first: string, place: string): string | undefined {
  if (!isTotal(first)) return undefined;
  return `The last row (${place}) begins with ${JSON.stringify(first)}: if it sums up the others, leave it out of sums and counts, or delete it.`;
}

const SHOWN = 5;

/** Rows among others that seem to sum up some of them. */
export class Totals {
  #count = 0;
  readonly #rows: number[] = [];
  readonly #texts = new Set<string>();
  readonly #names = new Set<string>();

  /** Takes a row, of which the first cell, in the column `name`, is such a text. */
  add(row: number, name: string, first: string): void {
    this.#count += 1;
    if (this.#rows.length < SHOWN) this.#rows.push(row);
    if (this.#texts.size <= SHOWN) this.#texts.add(first);
    if (this.#names.size < 2) this.#names.add(name);
  }

  /** What to tell of them; `lastRow` alone is told as such. */
  note(lastRow: number): string | undefined {
    const [text = ''] = this.#texts;
    if (this.#count === 0 || (this.#count === 1 && this.#rows[0] === lastRow)) return totalNote(text, `row ${lastRow}`);
    const [name = ''] = this.#names;
    const rows = this.#rows.map((row) => row.toLocaleString('en-US')).join(', ') + (this.#count > SHOWN ? ', …' : '');
    const texts = [...this.#texts].slice(0, SHOWN).map((one) => inQuotes(one, "'"));
    const isSimple = this.#names.size === 1 && this.#texts.size <= SHOWN;
    const where = isSimple ? `: WHERE coalesce(${inQuotes(name, '"')}, '') NOT IN (${texts.join(', ')})` : '';
    return `${counted(this.#count, 'rows')} (${rows}) begin with words such as ${JSON.stringify(text)}: if they sum up others, leave them out of sums and counts${where}.`;
  }
}
