import type { JsonObject } from '../../../contract/json/json.ts';
import { cut } from '../../../contract/text.ts';
import { ofShape, units } from '../sql/corrections/quantities.ts';
import { hasDigit, numbersIn, type Reading, readingFor } from '../sql/corrections/readings.ts';
import { isMissing } from '../sql/missing.ts';
import { quoteName, quoteText } from '../sql/names.ts';
import { type ColumnNote, groupedNotes } from './column-notes.ts';
import { BEGINNING_CHARS } from './csv-types.ts';

/*
 * Numbers and days that are text, since people or their spreadsheets spell them otherwise, and texts with spaces around them:
 * what reads them is told of a file of any format.
 */

/** Rows whose texts are looked at, and texts of all columns: a thousand take some milliseconds. */
const TEXT_ROWS = 500;
const TEXTS_MAX = 20_000;
const FEW_ROWS = 20;
/** How many columns are told of. */
const NOTES_MAX = 20;
const TEXT_CHARS = 40;
const CURRENCY = '[$€£¥]|EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK|HUF|BRL';
const NUMBER = new RegExp(`^[+−-]?(?:${CURRENCY})?\\s?[+−-]?\\d[\\d.,\\s'’]*[−-]?\\s?(?:%|${CURRENCY})?$`);
const BRACKETED = /^\((.+)\)$/;
/** Without any of these it is a code, or the engine reads it. */
const SPELLED = /[,$€£¥%()A-Z]|^[+-]?[1-9]\d{0,2}(?:\.\d{3}){2,}$|\.\d*[−-]$/;
const AMOUNT = /^[+−-]?\d[\d.,'’]*\s?[\p{L}°/$€£¥]*$/u;
const DAY = /^\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b/;
const PLAIN = /^[+-]?\d+(?:\.\d+)?$/;

/** A format of days whose year has two digits, and from which on they are of the century before. */
const SHORT_YEAR = /%y.%m.%d|%[dm].%[dm].%y/;
const PIVOT = 69;

/** A column of text, and its first values. */
export interface TextColumn {
  name: string;
  texts: readonly unknown[];
}

/** What reads the values of columns of text, by their names, added to notes of which none is replaced. */
export function textNotesOf(
  columns: Iterable<TextColumn>,
  notes: Map<string, ColumnNote> = new Map(),
): Map<string, ColumnNote> {
  let [told, seen] = [0, 0];
  const all = [...columns];
  const rows = Math.max(FEW_ROWS, Math.min(TEXT_ROWS, Math.floor(TEXTS_MAX / all.length)));
  for (const { name, texts } of all) {
    if (told === NOTES_MAX || seen >= TEXTS_MAX) break;
    if (notes.has(name)) continue;
    const some = texts.slice(0, rows);
    seen += some.length;
    const note = textNote(name, some);
    if (note === undefined) continue;
    // Each has a reading of its own.
    notes.set(name, { cause: note, text: note });
    told += 1;
  }
  return notes;
}

/** The same of the fields of some documents. */
export function documentNotes(documents: readonly JsonObject[], isText: (field: string) => boolean): string[] {
  const fields = new Map<string, unknown[]>();
  for (const document of documents) {
    for (const [name, value] of Object.entries(document)) {
      if (typeof value !== 'string' || !isText(name)) continue;
      const texts = fields.get(name) ?? [];
      fields.set(name, texts);
      texts.push(value.slice(0, BEGINNING_CHARS));
    }
  }
  return groupedNotes(textNotesOf([...fields].map(([name, texts]) => ({ name, texts }))));
}

function textNote(name: string, values: readonly unknown[]): string | undefined {
  const all = values.filter((text) => typeof text === 'string');
  const texts = all.filter((text) => !isMissing(text));
  const trimmed = texts.map((text) => text.trim());
  // A longer one was cut, maybe behind a space.
  const spaced = texts.find((text) => text !== (text.length < BEGINNING_CHARS ? text.trim() : text.trimStart()));
  const read = readNote(name, trimmed, texts.length < all.length);
  if (read !== undefined) return read;
  const notes = [noValueNote(name, all), spaced === undefined ? undefined : spacedNote(name, spaced)];
  return notes.filter((note) => note !== undefined).join(' ') || undefined;
}

/** As programs and people write that there is no value; words that are values of some columns, such as none or NA, are none. */
const NO_VALUE = new Set(
  'NULL null (null) <NULL> N/A n/a #N/A <NA> NaN (blank) (empty) (leer) \\N #DIV/0! #REF! #VALUE! #NAME? #NUM! n.a. k.A. - -- —'
    .split(' ')
    .concat('k. A.'),
);
const NO_VALUES_MAX = 4;
const HAS_WORD = /[\p{L}\d]{2}/u;

/** What to tell of texts that stand for no value among others: undefined where there are none, or others are marks as well. */
function noValueNote(name: string, all: readonly string[]): string | undefined {
  const found = new Set(all.filter((text) => NO_VALUE.has(text)));
  const isAmongWords =
    all.some((text) => !isMissing(text)) && all.every((text) => isMissing(text) || HAS_WORD.test(text));
  if (found.size === 0 || found.size > NO_VALUES_MAX || !isAmongWords) return undefined;
  const listed = [...found].map(quoteText).join(', ');
  const field = quoteName(name);
  const sql =
    found.size === 1 ? `NULLIF(${field}, ${listed})` : `CASE WHEN ${field} NOT IN (${listed}) THEN ${field} END`;
  return `${JSON.stringify(name)} has texts that say that there is no value (${listed}), which are no NULL: ${sql} makes them NULL.`;
}

const isNumber = (text: string) =>
  NUMBER.test(BRACKETED.exec(text)?.[1] ?? text) && numbersIn(text).some((number) => number !== undefined);

/** `hasMissing`: whether there are words for missing values, too. */
function readNote(name: string, present: readonly string[], hasMissing: boolean): string | undefined {
  const operand = quoteName(name);
  const numbers = ofShape(present, isNumber);
  const missing = hasMissing ? [{ text: '', isRead: false }] : [];
  const such = `${JSON.stringify(name)} is text such as `;
  const inWords = (reading: Reading | 'right', [text]: readonly string[]) => {
    if (reading === 'right') return undefined;
    return reading.sql === undefined ? reading.said : `${such}${JSON.stringify(text)}: ${reading.sql} reads it.`;
  };
  if (numbers.some((text) => SPELLED.test(text))) {
    const values = [...present.map((text) => ({ text, isRead: PLAIN.test(text) })), ...missing];
    const reading = readingFor({ operand, type: 'DOUBLE' }, values);
    if (reading === 'right' || reading.sql !== undefined || reading.ways !== undefined)
      return inWords(reading, numbers);
    return unitNote(name, present, hasMissing) ?? reading.said;
  }
  const days = ofShape(present, (text) => DAY.test(text));
  if (days.length === 0) return unitNote(name, present, hasMissing);
  const values = [...present.map((text) => ({ text, isRead: false })), ...missing];
  const reading = readingFor({ operand, type: 'TIMESTAMP' }, values);
  const note = inWords(reading, days);
  return note === undefined || reading === 'right' ? note : note + centuryNote(reading.sql, days);
}

/** What to say where years of two digits would be in the future, as those of births are not. */
function centuryNote(sql: string | undefined, days: readonly string[]): string {
  const [format] = SHORT_YEAR.exec(sql ?? '') ?? [];
  // Of several formats in a list each may be another one.
  if (format === undefined || !sql?.includes('strptime(') || sql.includes('[')) return '';
  const thisYear = new Date().getFullYear() % 100;
  const years = days.map((day) => Number(day.split(/\D+/, 3)[format.startsWith('%y') ? 0 : 2]));
  if (!years.some((year) => year > thisYear && year < PIVOT)) return '';
  return ` %y reads years below ${PIVOT} as 20..: for days that are never in the future, CASE WHEN ${sql} > today() THEN ${sql} - INTERVAL 100 YEAR ELSE ${sql} END.`;
}

function unitNote(name: string, present: readonly string[], hasMissing: boolean): string | undefined {
  // A number alone stands before the unit: `12 Main St` is none.
  if (ofShape(present, (text) => AMOUNT.test(text)).length === 0) return undefined;
  const found = units({ operand: quoteName(name), present, hasMissing });
  if (found === undefined || found.said === '') return undefined;
  const first = present.find((text) => hasDigit({ text })) ?? '';
  return `${JSON.stringify(name)} is text such as ${JSON.stringify(cut(first, TEXT_CHARS))}. ${found.said}`;
}

function spacedNote(name: string, text: string): string {
  return `${JSON.stringify(name)} is text with spaces around it, such as ${JSON.stringify(cut(text, TEXT_CHARS))}, which no comparison leaves out: trim(${quoteName(name)}) does.`;
}
