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

/** A word of a value that lies between the others. */
const AVERAGE = /average|avg|mean|schnitt|mittel|moyenne|promedio/i;
export const hasSumWord = (cell: string | null): boolean => hasTotalWord(cell) && !AVERAGE.test(cell ?? '');

/** Whether a row that begins with this text seems to sum up others. */
export const isTotal = (first: string) => first.length <= TOTAL_CHARS_MAX && TOTAL.test(first.trim());

const BALANCE =
  /\bbalance (?:brought|carried)(?: forward| down)?$|^(?:opening|closing|starting|beginning|ending|previous) balance\b|^brought forward$|^carried forward$|(?:anfangs|end|schluss)saldo$|^(?:alter|neuer) (?:saldo|kontostand)|^übertrag$|^saldo (?:inicial|final|iniziale|finale|anterior)$|^(?:ancien|nouveau) solde\b/i;

/** Whether a text says that its row has the balance of an account, and no entry. */
export const isBalance = (text: string | null) =>
  text !== null && text.length <= TOTAL_CHARS_MAX && BALANCE.test(text.trim());
