import * as z from 'zod';
import { ApiError } from '../../contract/errors.ts';
import { isObject } from '../../contract/json/json.ts';
import type { Row } from '../../contract/row.ts';
import { lowerFirst } from '../../contract/text.ts';
import { createPace } from '../../contract/turns/turns.ts';

const ISSUES_SHOWN_MAX = 3;

/** The parts of a request, unchecked. */
export interface RawInput {
  params: unknown;
  query: unknown;
  body: unknown;
}

/** How many entries of a list are checked between two looks at the clock. */
const ENTRIES_AT_ONCE = 100;

/**
 * The flat, checked input of an operation: path parameters, query-string parameters and body fields, without unknown
 * ones. Throws `invalid_input`, naming the path of each wrong field and what was expected.
 */
export async function parseInput(row: Row, raw: RawInput): Promise<Record<string, unknown>> {
  const body = await parseBody(row, raw.body);
  return { ...body, ...parseQuery(row, raw), ...parsePart(row, row.params, raw.params) };
}

/** The body's fields; null in an optional field counts as absent. Long lists are checked bit by bit. */
async function parseBody(row: Row, body: unknown): Promise<Record<string, unknown>> {
  if (row.body === undefined || body === undefined) return parsePart(row, row.body, {});
  const lists: LongList[] = [];
  const parsed = parsePart(row, row.body, withoutNulls(row.body, withShortLists(row.body, body, lists)));
  const pace = createPace();
  for (const { path, schema, entries } of lists) {
    const list = path.reduce<unknown>((part, key) => (isObject(part) ? part[key] : undefined), parsed) as unknown[];
    for (let from = ENTRIES_AT_ONCE; from < entries.length; from += ENTRIES_AT_ONCE) {
      const some = withoutNulls(schema, entries.slice(from, from + ENTRIES_AT_ONCE));
      const { success, data, error } = schema.safeParse(some, { reportInput: true });
      if (!success) {
        const issues = error.issues.map((issue) => {
          const [index, ...rest] = issue.path;
          return { ...issue, path: [...path, from + Number(index), ...rest] };
        });
        throw invalid(row, issues);
      }
      for (const entry of data) list.push(entry);
      const turn = pace();
      if (turn !== undefined) await turn;
    }
  }
  return parsed;
}

/** A list of a body that is too long to be checked in one go. */
interface LongList {
  path: string[];
  schema: z.ZodArray;
  entries: unknown[];
}

/** The value with only the first entries of long lists, which are added to `lists`. */
function withShortLists(schema: z.core.$ZodType, value: unknown, lists: LongList[], path: string[] = []): unknown {
  const inner = required(schema);
  if (inner instanceof z.ZodArray && Array.isArray(value) && value.length > ENTRIES_AT_ONCE) {
    lists.push({ path, schema: inner, entries: value });
    return value.slice(0, ENTRIES_AT_ONCE);
  }
  if (!(inner instanceof z.ZodObject) || !isObject(value)) return value;
  const short: { [key: string]: unknown } = { ...value };
  for (const [key, known] of Object.entries<z.core.$ZodType>(inner.shape)) {
    if (Object.hasOwn(value, key)) short[key] = withShortLists(known, value[key], lists, [...path, key]);
  }
  return short;
}

function required(schema: z.core.$ZodType): z.core.$ZodType {
  return schema instanceof z.ZodOptional ? schema.unwrap() : schema;
}

function parsePart(row: Row, schema: z.ZodObject | undefined, value: unknown): Record<string, unknown> {
  if (schema === undefined) return {};
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw invalid(row, parsed.error.issues);
}

function invalid(row: Row, issues: readonly z.core.$ZodIssue[]): ApiError {
  const shown = issues.slice(0, ISSUES_SHOWN_MAX).map(describeIssue);
  const more = issues.length - shown.length;
  return new ApiError(
    'invalid_input',
    `Cannot ${lowerFirst(row.title)}: ${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`,
  );
}

/** The value without null in optional fields; the same one if it has none. */
function withoutNulls(schema: z.core.$ZodType, value: unknown): unknown {
  const inner = required(schema);
  if (inner instanceof z.ZodArray && inner.element instanceof z.ZodObject && Array.isArray(value)) {
    return value.map((item) => withoutNulls(inner.element, item));
  }
  if (!(inner instanceof z.ZodObject) || !isObject(value)) return value;
  let kept = value;
  for (const [key, known] of Object.entries<z.core.$ZodType>(inner.shape)) {
    if (!Object.hasOwn(value, key)) continue;
    const isAbsent = value[key] === null && known instanceof z.ZodOptional && !known.safeParse(null).success;
    const part = isAbsent ? undefined : withoutNulls(known, value[key]);
    if (part === value[key]) continue;
    if (kept === value) kept = { ...value };
    if (isAbsent) delete kept[key];
    else kept[key] = part;
  }
  return kept;
}

function parseQuery(row: Row, raw: RawInput): Record<string, unknown> {
  if (row.query === undefined) return {};
  const fields: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(row.query.shape)) {
    const inQuery = isObject(raw.query) && Object.hasOwn(raw.query, name) ? raw.query[name] : undefined;
    const inBody = isObject(raw.body) && Object.hasOwn(raw.body, name) ? raw.body[name] : undefined;
    const value = inQuery === undefined ? (inBody ?? undefined) : fromText(schema as z.ZodType, inQuery);
    if (value !== undefined) fields[name] = value;
  }
  return parsePart(row, row.query, fields);
}

/** A query-string value, converted to the type that its schema takes. */
function fromText(schema: z.ZodType, text: unknown): unknown {
  if (typeof text !== 'string' || schema.safeParse(text).success) return text;
  const lower = text.toLowerCase();
  if (lower === 'true' || lower === 'false') return lower === 'true';
  return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const field = issue.path.length === 0 ? 'the request body' : `"${pathText(issue.path)}"`;
  if (issue.code === 'invalid_type') {
    if (issue.input === undefined) return `${field} is missing, expected ${withArticle(issue.expected)}`;
    return `${field}: expected ${withArticle(issue.expected)}, got ${typeName(issue.input)}`;
  }
  if (issue.code === 'invalid_value') {
    const values = issue.values.map((value) => JSON.stringify(value)).join(', ');
    if (issue.input === undefined) return `${field} is missing, expected one of ${values}`;
    return `${field}: expected one of ${values}, got ${shown(issue.input)}`;
  }
  if (issue.code === 'too_small' && issue.input === '') return `${field} must not be empty`;
  if (issue.code === 'invalid_format') return `${field}: ${issue.message}, got ${shown(issue.input)}`;
  if (issue.code === 'custom' && issue.input === undefined) return `${field} is missing`;
  if (issue.code === 'invalid_union') {
    const [first] = issue.errors.flat();
    return first === undefined
      ? `${field}: ${issue.message}`
      : describeIssue({ ...first, path: [...issue.path, ...first.path] });
  }
  return `${field}: ${lowerFirst(issue.message)}`;
}

function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? String(part) : `${text}.${String(part)}`;
  }, '');
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) return 'a number that is too large';
  if (typeof value === 'number' && !Number.isInteger(value)) return 'a number with a fraction';
  return withArticle(typeof value === 'bigint' ? 'integer beyond 53 bits' : typeof value);
}

function withArticle(type: string): string {
  const name = type === 'int' ? 'integer' : type === 'object' || type === 'record' ? 'JSON object' : type;
  return `${/^[aeio]/i.test(name) ? 'an' : 'a'} ${name}`;
}

function shown(value: unknown): string {
  if (typeof value !== 'string') return typeName(value);
  return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
}
