import { cut } from '../../../contract/text.ts';
import { type Reading, readingFor } from '../sql/corrections/readings.ts';
import { isMissing } from '../sql/missing.ts';
import { quoteName } from '../sql/names.ts';
import type { ColumnNote } from './column-notes.ts';
import type { RowColumn } from './relation.ts';

/* Numbers and days that are text, since people or their spreadsheets spell them otherwise: what reads them is told. */

const ROWS = 500;
/** How many columns are told of. */
const NOTES_MAX = 20;
const TEXT_CHARS = 40;
/** As many of the cells have to look like one of these. */
const SHARE_MIN = 0.9;
const NUMBER = /^[+-]?[$€£¥]?\s?[+-]?\d[\d.,\s'’]*\s?[$€£¥%]?$/;
/** Without any of these it is a code, or the engine reads it. */
const SPELLED = /[,$€£¥%]/;
const DAY = /^\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b/;
const PLAIN = /^[+-]?\d+(?:\.\d+)?$/;

/** Adds to the notes by column what reads the values of those columns of text that have none, given the first cells of each. */
export function noteSpellings(
  columns: readonly RowColumn[],
  first: ReadonlyMap<string, readonly unknown[]>,
  notes: Map<string, ColumnNote>,
): void {
  let told = 0;
  for (const { name, shape, cell } of columns) {
    if (told === NOTES_MAX) return;
    if (shape !== 'string' || cell?.given !== undefined || notes.has(name)) continue;
    const cells = first.get(cell?.sql ?? '') ?? [];
    const texts = cells.slice(0, ROWS).flatMap((text) => {
      return typeof text === 'string' && !isMissing(text) ? [text] : [];
    });
    const trimmed = texts.map((text) => text.trim());
    const spaced = texts.find((text, at) => text !== trimmed[at]);
    const note = noteOf(name, trimmed) ?? (spaced === undefined ? undefined : spacedNote(name, spaced));
    if (note === undefined) continue;
    // Each has a reading of its own.
    notes.set(name, { cause: note, text: note });
    told += 1;
  }
}

function noteOf(name: string, texts: readonly string[]): string | undefined {
  const isMost = (is: (text: string) => boolean) => texts.filter(is).length >= SHARE_MIN * texts.length;
  if (texts.length === 0) return undefined;
  const operand = quoteName(name);
  const values = texts.map((text) => ({ text, isRead: PLAIN.test(text) }));
  if (isMost((text) => NUMBER.test(text)) && texts.some((text) => SPELLED.test(text)))
    return inWords(name, texts, readingFor({ operand, type: 'DOUBLE' }, values));
  if (!isMost((text) => DAY.test(text))) return undefined;
  const days = texts.map((text) => ({ text, isRead: false }));
  return inWords(name, texts, readingFor({ operand, type: 'TIMESTAMP' }, days));
}

function spacedNote(name: string, text: string): string {
  return `${JSON.stringify(name)} is text with spaces around it, such as ${JSON.stringify(cut(text, TEXT_CHARS))}, which no comparison leaves out: trim(${quoteName(name)}) does.`;
}

function inWords(name: string, texts: readonly string[], reading: Reading | 'right'): string | undefined {
  if (reading === 'right') return undefined;
  if (reading.sql === undefined) return reading.said;
  return `${JSON.stringify(name)} is text such as ${JSON.stringify(texts[0])}: ${reading.sql} reads it.`;
}
