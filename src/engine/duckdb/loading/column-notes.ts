import { cut } from '../../../contract/text.ts';

/** What is to be told of one column of a file. */
export interface ColumnNote {
  /** What is so of all columns with such a note: it follows "12 columns". */
  cause: string;
  text: string;
}

/** Columns of one cause that are told of one by one, and that are named where there are more. */
const ALONE_MAX = 5;
const NAMES_SHOWN = 3;
const NAME_CHARS_MAX = 60;

/** The notes of columns, in order: one for each, and one for many of the same cause. */
export function groupedNotes(notes: Iterable<readonly [name: string, note: ColumnNote]>): string[] {
  const byCause = new Map<string, (readonly [name: string, note: ColumnNote])[]>();
  for (const note of notes) {
    const { cause } = note[1];
    const all = byCause.get(cause) ?? [];
    byCause.set(cause, all);
    all.push(note);
  }
  return [...byCause].flatMap(([cause, all]) => {
    const texts = all.map(([, { text }]) => text);
    if (texts.length <= ALONE_MAX) return texts;
    const names = all.slice(0, NAMES_SHOWN).map(([name]) => JSON.stringify(cut(name, NAME_CHARS_MAX)));
    const count = texts.length.toLocaleString('en-US');
    const more = (texts.length - names.length).toLocaleString('en-US');
    return [`${count} columns ${cause}: ${names.join(', ')} and ${more} more. The first: ${texts[0]}`];
  });
}
