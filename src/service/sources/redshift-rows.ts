import { inQuotes } from '../../contract/text.ts';
import type { DeclaredType } from '../../engine/engine.ts';
import { shortDecimal } from './decimals.ts';

/** A column of a table, as the catalog of PostgreSQL, and that of Redshift, has it. */
export interface Column {
  name: string;
  /** Name of the type, such as `numeric`; its category: `A` are arrays, `C` rows. */
  type: string;
  category: string;
  /** Modifier of the type; -1: none. */
  modifier: number;
}

/** How the values of a column become JSON. */
export interface ColumnReader {
  name: string;
  /** SQL for the value as text. */
  sql: string;
  /** Whether that text can be given back to the database as the value. */
  isText?: boolean;
  /** That text as JSON text. */
  json(text: string): string;
  declared?: DeclaredType | undefined;
}

const INTEGERS: ReadonlySet<string> = new Set(['int2', 'int4', 'int8', 'oid']);
const DOUBLES: ReadonlySet<string> = new Set(['float4', 'float8']);
/** `super` is Redshift's. */
const JSONS: ReadonlySet<string> = new Set(['json', 'jsonb', 'super']);

export function columnReader({ name, type, category, modifier }: Column): ColumnReader {
  const column = quoted(name);
  if (category === 'A' || category === 'C') return { name, sql: `to_json(${column})`, json: asItIs };
  if (INTEGERS.has(type)) return { name, sql: column, isText: true, json: asItIs };
  if (DOUBLES.has(type)) return { name, sql: column, json: double };
  if (type === 'bool') return { name, sql: column, json: (text) => String(text === 't' || text === 'true') };
  if (JSONS.has(type)) return { name, sql: type === 'super' ? `json_serialize(${column})` : column, json: asItIs };
  if (type === 'numeric') return { name, sql: column, json: decimal, declared: decimalType(modifier) };
  if (type === 'timestamp')
    return { name, sql: column, isText: true, json: (text) => plain(isoTime(text)), declared: 'time' };
  if (type === 'timestamptz')
    return { name, sql: column, isText: true, json: (text) => plain(isoInstant(text)), declared: 'time' };
  if (type === 'date') return { name, sql: column, json: plain, declared: 'time' };
  if (type === 'time') return { name, sql: column, json: plain, declared: 'clock' };
  if (type === 'uuid') return { name, sql: column, isText: true, json: plain, declared: 'uuid' };
  if (type === 'bytea')
    return {
      name,
      sql: `encode(${column}, 'base64')`,
      json: (text) => plain(text.replaceAll('\n', '')),
      declared: 'binary',
    };
  return { name, sql: `${column}::text`, json: JSON.stringify };
}

const asItIs = (text: string) => text;
/** Text of characters that need no escape. */
const plain = (text: string) => `"${text}"`;

function double(text: string): string {
  if (!Number.isFinite(Number(text))) return plain(text);
  // Digits alone would be an integer, with all of them.
  return /^-?\d{16,}$/.test(text) ? `${text}e0` : text;
}

/** A decimal is a number, or text where it has more digits than a double holds. */
function decimal(text: string): string {
  if (!text.includes('.')) return /^-?\d+$/.test(text) ? text : plain(text);
  return shortDecimal(text) === undefined ? plain(text) : text;
}

function decimalType(modifier: number): DeclaredType | undefined {
  // Precision and scale are in the upper and the lower half of what is behind the length of a header.
  const precision = modifier < 0 ? 0 : ((modifier - 4) >> 16) & 0xffff;
  const scale = modifier < 0 ? 0 : (modifier - 4) & 0x7ff;
  const isDeclared = precision > 0 && precision <= 38 && scale <= precision;
  return isDeclared ? `decimal ${precision} ${scale}` : undefined;
}

/** `2026-01-02 03:04:05.678` as ISO 8601; what is none, such as `infinity`, stays text. */
function isoTime(text: string): string {
  return /^\d{4}-\d{2}-\d{2} /.test(text) ? text.replace(' ', 'T') : text;
}

/** The session is in UTC. */
function isoInstant(text: string): string {
  return isoTime(text).replace(/[+]00$/, 'Z');
}

export function quoted(name: string): string {
  return inQuotes(name, '"');
}

/** Writes rows as JSON text: documents without the nulls, and without what would be their `_id`. */
export function rowWriter(readers: readonly ColumnReader[]): (row: readonly (string | null)[]) => string {
  const fields = readers.flatMap(({ name, json }, at) =>
    name === '_id' ? [] : [{ at, key: `${JSON.stringify(name)}:`, json }],
  );
  return (row) => {
    let text = '';
    for (const { at, key, json } of fields) {
      const value = row[at] ?? null;
      if (value !== null) text += `${text === '' ? '{' : ','}${key}${json(value)}`;
    }
    return text === '' ? '{}' : `${text}}`;
  };
}

/** The types of columns that JSON lacks. */
export function declaredTypes(readers: readonly ColumnReader[]): ReadonlyMap<string, DeclaredType> {
  return new Map(readers.flatMap(({ name, declared }) => (declared === undefined ? [] : [[name, declared] as const])));
}
