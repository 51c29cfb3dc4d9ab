/** Words with which a row begins that sums up those above it, in the languages of the programs that write them most. */
const TOTAL = /^(?:grand |sub)?(?:totals?|sum|summe|gesamt(?:summe)?|insgesamt|totale|somme|suma|totaal)\s*:?$/i;

/** What to tell of the last row of a table, if it seems to sum up the others; `first` is the text of its first cell. */
export function totalNote(first: string, place: string): string | undefined {
  if (!TOTAL.test(first.trim())) return undefined;
  return `The last row (${place}) begins with ${JSON.stringify(first)}: if it sums up the others, leave it out of sums and counts, or delete it.`;
}
