import type { Cell } from '../../contract/json/csv-cells.ts';
import { cut } from '../../contract/text.ts';
import { type Form, formOf, type SeenRows } from './seen-rows.ts';

/* A file without a line of names loses its first row to them. */

const SHOWN = 4;
const CHARS_MAX = 30;
/** As many of the cells of a column have to be of one form. */
const SHARE_MIN = 0.95;
/** Of the columns that are no text, as many have to be headed by a value of their own, if only numbers or only days are. */
const VALUES_MIN = 0.8;

/** What to tell of a file whose first line is one of values, as those below it are; undefined: it is not. */
export function headerlessNote({ header, names, first }: SeenRows): string | undefined {
  if (header === undefined || first.length === 0) return undefined;
  const forms = names.map((_, at) => formOfColumn(first.map(({ forms: own }) => own[at])));
  const typed = forms.filter((form) => form !== undefined).length;
  const values = forms.flatMap((form, at) => (form !== undefined && formOf(header[at]) === form ? [{ form, at }] : []));
  const kinds = new Set(values.map(({ form }) => form));
  if (values.length === 0 || (kinds.size < 2 && values.length < VALUES_MIN * typed)) return undefined;
  const places = values.map(({ at }) => at);
  if (kinds.size === 1 && isSeries(header, places)) return undefined;
  const shown = places.slice(0, SHOWN).map((at) => JSON.stringify(cut(String(header[at]), CHARS_MAX)));
  const more = places.length > SHOWN ? ', …' : '';
  const count = names.length;
  return `The first line became the names of the columns, and it looks like a row (${shown.join(', ')}${more} are values as those below are). If it is one, load the file anew with "format_params": {"firstLineAsColumnNames": false}, which calls the columns column_1${count > 1 ? ` … column_${count}` : ''}, or with their ${count} names as "columnNames".`;
}

function formOfColumn(forms: readonly (Form | undefined)[]): Form | undefined {
  const filled = forms.filter((form) => form !== undefined);
  const [first] = filled;
  if (first === 'text') return undefined;
  return filled.filter((form) => form === first).length >= SHARE_MIN * filled.length ? first : undefined;
}

const YEAR = /^(?:19|20)\d\d$/;

/** Whether values beside one another name a series: years, ages, days, numbers of columns. */
function isSeries(header: readonly Cell[], places: readonly number[]): boolean {
  const texts = places.map((at) => (header[at] ?? '').trim());
  if (texts.every((text) => YEAR.test(text))) return true;
  const isBeside = places.every((at, index) => index === 0 || at === (places[index - 1] ?? 0) + 1);
  if (!isBeside || places.length < 2) return false;
  const steps = texts.slice(1).map((text, index) => compared(texts[index] ?? '', text));
  return steps.every((step) => step > 0) || steps.every((step) => step < 0);
}

function compared(one: string, other: string): number {
  const [a, b] = [Number(one), Number(other)];
  return Number.isNaN(a) || Number.isNaN(b) ? Number(one < other) - Number(one > other) : b - a;
}
