import { inQuotes } from '../text.ts';
import type { JsonObject, JsonValue } from './json.ts';

/*
 * Lines of exported files.
 */

/** A record of CSV as RFC 4180 has it: nested values as JSON text, null as an empty cell, an empty text as `""`. */
export function csvLine(row: readonly JsonValue[]): string {
  return row.map(csvCell).join(',');
}

function csvCell(value: JsonValue): string {
  if (value === null) return '';
  if (typeof value === 'string') return value === '' || /[",\r\n]|^\s|\s$/.test(value) ? inQuotes(value, '"') : value;
  return typeof value === 'object' ? inQuotes(jsonText(value), '"') : jsonText(value);
}

/**
 * An object on one line. Integers have all their digits. Doubles that JSON would write like such integers are written
 * in exponent notation, so that a reader gets the same double. Longer decimals are text, as in answers.
 */
export function jsonLine(names: readonly string[], row: readonly JsonValue[]): string {
  return `{${names.map((name, index) => `${JSON.stringify(name)}:${jsonText(row[index] ?? null)}`).join(',')}}`;
}

/** The members of a document on one line, as in `jsonLine`, without the braces around them; empty if it has none. */
export function jsonMembers(document: JsonObject): string {
  const names = Object.keys(document);
  return jsonLine(
    names,
    names.map((name) => document[name] ?? null),
  ).slice(1, -1);
}

function jsonText(value: JsonValue): string {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value))
    return value.toExponential();
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  const members = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${jsonText(item)}`);
  return `{${members.join(',')}}`;
}
