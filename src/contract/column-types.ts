import { ApiError } from './errors.ts';
import { someOf } from './in-words.ts';
import { isObject, jsonIn } from './json/json.ts';
import { nearest } from './nearest.ts';

/** How the cells of CSV and of sheets become values. */

export const COLUMN_TYPES = ['BOOLEAN', 'INTEGER', 'FLOAT', 'STRING'] as const;
export type ColumnType = (typeof COLUMN_TYPES)[number];

/** The types of all columns: found from the cells, or text; or those of some, by name. */
export type ColumnTypes = 'infer' | 'text' | Readonly<Record<string, ColumnType>>;

const NAMES_SHOWN = 20;
const CHARS_SHOWN = 100;
const EXPECTED = 'expected "infer", "text", or types of columns by name such as {"zip": "STRING", "n": "INTEGER"}';

/** What was given as types, an object also as JSON, or why it is none. */
export function readColumnTypes(given: unknown): { types: ColumnTypes } | { problem: string } {
  if (given === 'infer' || given === 'text') return { types: given };
  const found = typeof given === 'string' ? jsonIn(given) : given;
  if (!isObject(found)) return { problem: EXPECTED };
  const types: [string, ColumnType][] = [];
  for (const [name, type] of Object.entries(found)) {
    const known = COLUMN_TYPES.find((one) => typeof type === 'string' && one === type.toUpperCase());
    if (known === undefined) {
      const said = cut(JSON.stringify(type) ?? 'nothing');
      return { problem: `the type of ${shown(name)} is ${said}, and not one of ${COLUMN_TYPES.join(', ')}` };
    }
    types.push([name, known]);
  }
  return { types: Object.fromEntries(types) };
}

/** The types by place; undefined: found from the cells. Throws `invalid_input` for a name that is no column. */
export function typesByPlace(types: ColumnTypes, columns: readonly string[]): (ColumnType | undefined)[] {
  if (typeof types === 'string') return columns.map(() => (types === 'text' ? 'STRING' : undefined));
  const known = new Set(columns);
  const wrong = Object.keys(types).find((name) => !known.has(name));
  if (wrong !== undefined) {
    const close = nearest(wrong, columns).map(shown).join(' or ');
    const all = `The columns are ${someOf(columns.map(shown), NAMES_SHOWN)}.`;
    const meant = close === '' ? '' : ` Did you mean ${close}?`;
    throw new ApiError(
      'invalid_input',
      `"types" names ${shown(wrong)}, which is no column of the file. ${all}${meant}`,
    );
  }
  return columns.map((name) => (Object.hasOwn(types, name) ? types[name] : undefined));
}

/** Throws `invalid_input` unless the values of a format that has types of its own are to keep them. */
export function requireOwnTypes(types: ColumnTypes, format: string): void {
  if (types === 'infer') return;
  throw new ApiError(
    'invalid_input',
    `"types" says what the cells of CSV and xlsx are, and the values of ${format} have types of their own. Leave it out.`,
  );
}

const cut = (text: string) => text.slice(0, CHARS_SHOWN);
const shown = (name: string) => JSON.stringify(cut(name));
