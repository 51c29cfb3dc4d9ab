import { type Reading, readingFor } from '../sql/corrections/readings.ts';
import { quoteName } from '../sql/names.ts';
import { isMissing } from './csv-mixed.ts';
import { AT_ONCE } from './csv-types.ts';
import type { Ask, RowColumn } from './relation.ts';

/* Numbers and days that are text, since people or their spreadsheets spell them otherwise: what reads them is told. */

const ROWS = 500;
const CELL_CHARS = 64;
/** How many columns are told of. */
const NOTES_MAX = 20;
/** As many of the cells have to look like one of these. */
const SHARE_MIN = 0.9;
const NUMBER = /^[+-]?[$€£¥]?\s?[+-]?\d[\d.,\s'’]*\s?[$€£¥%]?$/;
/** Without any of these it is a code, or the engine reads it. */
const SPELLED = /[,$€£¥%]/;
const DAY = /^\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b/;
const PLAIN = /^[+-]?\d+(?:\.\d+)?$/;

/** Adds to the notes by column what reads the values of those columns of text that have none. */
export async function noteSpellings(
  ask: Ask,
  from: string,
  columns: readonly RowColumn[],
  notes: Map<string, string>,
): Promise<void> {
  const open = columns.filter(
    ({ name, shape, cell }) => shape === 'string' && cell?.given === undefined && !notes.has(name),
  );
  const some = open.slice(0, AT_ONCE);
  if (some.length === 0) return;
  const cells = some.map(({ cell }) => `left(${cell?.sql}, ${CELL_CHARS})`);
  const rows = await ask(`SELECT ${cells.join(', ')} FROM ${from} LIMIT ${ROWS}`);
  let told = 0;
  for (const [index, { name }] of some.entries()) {
    const texts = rows.flatMap((row) => {
      const text = row[index];
      return typeof text === 'string' && !isMissing(text) ? [text.trim()] : [];
    });
    const note = told < NOTES_MAX ? noteOf(name, texts) : undefined;
    if (note === undefined) continue;
    notes.set(name, note);
    told += 1;
  }
}

function noteOf(name: string, texts: readonly string[]): string | undefined {
  const isMost = (is: (text: string) => boolean) => texts.filter(is).length >= SHARE_MIN * texts.length;
  if (texts.length === 0) return undefined;
  const operand = quoteName(name);
  const values = texts.map((text) => ({ text, isRead: PLAIN.test(text) }));
  if (isMost((text) => NUMBER.test(text)) && texts.some((text) => SPELLED.test(text)))
    return inWords(name, texts, readingFor({ operand, type: 'DOUBLE', range: [0, 0] }, values));
  if (!isMost((text) => DAY.test(text))) return undefined;
  const days = texts.map((text) => ({ text, isRead: false }));
  return inWords(name, texts, readingFor({ operand, type: 'TIMESTAMP', range: [0, 0] }, days));
}

function inWords(name: string, texts: readonly string[], reading: Reading | 'right'): string | undefined {
  if (reading === 'right') return undefined;
  if (reading.sql === undefined) return reading.said;
  return `${JSON.stringify(name)} is text such as ${JSON.stringify(texts[0])}: ${reading.sql} reads it.`;
}
