import type * as z from 'zod';
import { inputShape } from '../contract/contract.ts';
import { ApiError } from '../contract/errors.ts';
import { stringifyJson } from '../contract/json/json.ts';
import { nearest } from '../contract/nearest.ts';
import { fillPath } from '../contract/path.ts';
import type { Row } from '../contract/row.ts';
import { messageOf } from '../contract/text.ts';
import { pathText } from '../contract/unknown-keys.ts';

/** A call's arguments as sent. */
export interface WireRequest {
  /** Percent-encoded path with its query string. */
  path: string;
  /** JSON text; absent if the row takes no body. */
  body: string | undefined;
}

/** A schema's issues on one line: the first three, each with its field. */
export function issuesText(issues: readonly z.core.$ZodIssue[]): string {
  const shown = issues.slice(0, 3).map((issue) => {
    const where = pathText(issue.path).slice(0, 200);
    const missing = issue.code === 'invalid_type' && /received undefined$/.test(issue.message);
    const why = missing ? `is missing (expected ${issue.expected})` : issue.message.slice(0, 300);
    return where === '' ? why : missing ? `field "${where}" ${why}` : `field "${where}": ${why}`;
  });
  const more = issues.length - shown.length;
  return more > 0 ? `${shown.join('; ')}; and ${more} more` : shown.join('; ');
}

function refuse(operation: string, why: string): never {
  throw new ApiError('invalid_input', `Cannot call ${operation}: ${why}`);
}

/** The path of a number that JSON cannot express (it would silently become null), or undefined. */
export function unwritable(value: unknown): PropertyKey[] | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : [];
  if (typeof value !== 'object' || value === null) return undefined;
  // The path is built only on return, since nearly every value is writable. Strings, the most frequent values, are
  // skipped.
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const below = typeof value[index] === 'string' ? undefined : unwritable(value[index]);
      if (below !== undefined) return [index, ...below];
    }
    return undefined;
  }
  // Three times as fast as `Object.keys`. JSON does not contain inherited members.
  for (const key in value) {
    const field = (value as Record<string, unknown>)[key];
    const below = typeof field === 'string' ? undefined : unwritable(field);
    if (below !== undefined && Object.hasOwn(value, key)) return [key, ...below];
  }
  return undefined;
}

function bodyText(operation: string, body: Record<string, unknown>): string {
  try {
    const at = unwritable(body);
    if (at !== undefined) refuse(operation, `field "${pathText(at)}": JSON has no such number. Send it as text.`);
    return stringifyJson(body);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    return refuse(operation, 'the body cannot be written as JSON: it is nested too deeply or refers to itself.');
  }
}

function queryText(query: Record<string, unknown>): string {
  const pairs = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) pairs.append(key, String(value));
  }
  return pairs.size === 0 ? '' : `?${pairs}`;
}

/** The fields of `input` that a schema names, checked but not replaced: the caller's own values are sent. */
function part(operation: string, schema: z.ZodObject | undefined, input: object): Record<string, unknown> {
  if (schema === undefined) return {};
  const fields = Object.fromEntries(Object.entries(input).filter(([key]) => Object.hasOwn(schema.shape, key)));
  const checked = schema.safeParse(fields);
  if (!checked.success) refuse(operation, `${issuesText(checked.error.issues)}.`);
  return fields;
}

/**
 * Splits flat arguments into path, query string and body by the row's schemas, and checks them.
 * Throws `ApiError` `invalid_input`, which names the field; unknown arguments are refused with the nearest known ones.
 */
export function wireRequest(operation: string, row: Row, input: unknown = {}): WireRequest {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    return refuse(operation, 'its arguments are one object of fields.');
  }
  const known = Object.keys(inputShape(row));
  for (const key of Object.keys(input)) {
    if (known.includes(key)) continue;
    const meant = nearest(key, known);
    const hint =
      meant.length > 0
        ? `Did you mean ${meant.map((name) => `"${name}"`).join(' or ')}?`
        : known.length > 0
          ? `It takes: ${known.join(', ')}.`
          : 'It takes none.';
    refuse(operation, `it has no argument "${key.slice(0, 100)}". ${hint}`);
  }
  const params = part(operation, row.params, input);
  const query = part(operation, row.query, input);
  const body = part(operation, row.body, input);
  let path: string;
  try {
    path = fillPath(row.path, params) + queryText(query);
  } catch (error) {
    const what = messageOf(error);
    const why = error instanceof URIError ? 'a name holds half of a character (a lone surrogate)' : what;
    return refuse(operation, `${why}.`);
  }
  return { path, body: row.body === undefined ? undefined : bodyText(operation, body) };
}
