import { exactNumber, type JsonObject, type JsonValue, parseJson, setField } from '../../contract/json/json.ts';
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
  /** SQL for the value as text that `read` understands. */
  sql: string;
  read(text: string): JsonValue;
  declared?: DeclaredType | undefined;
}

const INTEGERS: ReadonlySet<string> = new Set(['int2', 'int4', 'int8', 'oid']);
const DOUBLES: ReadonlySet<string> = new Set(['float4', 'float8']);
/** `super` is Redshift's. */
const JSONS: ReadonlySet<string> = new Set(['json', 'jsonb', 'super']);

export function columnReader({ name, type, category, modifier }: Column): ColumnReader {
  const column = quoted(name);
  if (category === 'A' || category === 'C') return { name, sql: `to_json(${column})`, read: parseJson };
  if (INTEGERS.has(type)) return { name, sql: column, read: exactNumber };
  if (DOUBLES.has(type))
    return { name, sql: column, read: (text) => (Number.isFinite(Number(text)) ? Number(text) : text) };
  if (type === 'bool') return { name, sql: column, read: (text) => text === 't' || text === 'true' };
  if (JSONS.has(type)) return { name, sql: type === 'super' ? `json_serialize(${column})` : column, read: parseJson };
  if (type === 'numeric') return { name, sql: column, ...decimal(modifier) };
  if (type === 'timestamp') return { name, sql: column, read: isoTime, declared: 'time' };
  if (type === 'timestamptz') return { name, sql: column, read: isoInstant, declared: 'time' };
  if (type === 'date') return { name, sql: column, read: (text) => text, declared: 'time' };
  if (type === 'time') return { name, sql: column, read: (text) => text, declared: 'clock' };
  if (type === 'uuid') return { name, sql: column, read: (text) => text, declared: 'uuid' };
  if (type === 'bytea')
    return { name, sql: `encode(${column}, 'base64')`, read: (text) => text.replaceAll('\n', ''), declared: 'binary' };
  return { name, sql: `${column}::text`, read: (text) => text };
}

/** A decimal is a number, or text where it has more digits than a double holds. */
function decimal(modifier: number): Pick<ColumnReader, 'read' | 'declared'> {
  // Precision and scale are in the upper and the lower half of what is behind the length of a header.
  const precision = modifier < 0 ? 0 : ((modifier - 4) >> 16) & 0xffff;
  const scale = modifier < 0 ? 0 : (modifier - 4) & 0x7ff;
  const isDeclared = precision > 0 && precision <= 38 && scale <= precision;
  return {
    declared: isDeclared ? `decimal ${precision} ${scale}` : undefined,
    read(text) {
      if (!text.includes('.')) return /^-?\d+$/.test(text) ? exactNumber(text) : text;
      return shortDecimal(text) ?? text;
    },
  };
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
  return `"${name.replaceAll('"', '""')}"`;
}

/** A row as a document without the nulls, and the types that JSON lacks. */
export function rowDocument(readers: readonly ColumnReader[], row: readonly (string | null)[]) {
  const document: JsonObject = {};
  for (const [at, reader] of readers.entries()) {
    const text = row[at];
    if (text === null || text === undefined) continue;
    setField(document, reader.name, reader.read(text));
  }
  return document;
}

/** The types of columns that JSON lacks. */
export function declaredTypes(readers: readonly ColumnReader[]): ReadonlyMap<string, DeclaredType> {
  return new Map(readers.flatMap(({ name, declared }) => (declared === undefined ? [] : [[name, declared] as const])));
}
