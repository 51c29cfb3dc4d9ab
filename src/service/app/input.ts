import * as z from 'zod';
import { clientKeyAt, providerKey } from '../../contract/client-keys.ts';
import { ApiError } from '../../contract/errors.ts';
import { quotedList } from '../../contract/in-words.ts';
import { isObject } from '../../contract/json/json.ts';
import { nearest } from '../../contract/nearest.ts';
import type { Row } from '../../contract/row.ts';
import { cut, ended, lowerFirst } from '../../contract/text.ts';
import { createPace } from '../../contract/turns/turns.ts';
import { pathText, saysSomething, type UnknownKey, unknownKeys } from '../../contract/unknown-keys.ts';

const ISSUES_SHOWN_MAX = 3;
const KEY_CHARS_SHOWN = 80;

/** The parts of a request, unchecked. */
export interface RawInput {
  params: unknown;
  query: unknown;
  body: unknown;
}

const NO_QUERY = z.object({});

/** How many entries of a list are checked between two looks at the clock. */
const ENTRIES_AT_ONCE = 100;

/**
 * The flat, checked input of an operation: path parameters, query-string parameters and body fields. Throws
 * `invalid_input`, naming the path of each wrong field and what was expected, and of each unknown one that has a value: an
 * option that is asked for and silently left out would be worse than an error.
 */
export async function parseInput(row: Row, raw: RawInput): Promise<Record<string, unknown>> {
  const body = await parseBody(row, raw.body);
  return { ...body, ...parseQuery(row, raw), ...parsePart(row, row.params, raw.params) };
}

/** The body's fields; null in an optional field counts as absent. Long lists are checked bit by bit. */
async function parseBody(row: Row, body: unknown): Promise<Record<string, unknown>> {
  if (row.body === undefined || body === undefined) return parsePart(row, row.body, {});
  const lists: LongList[] = [];
  const short = prepared(row.body, withShortLists(row.body, body, lists));
  // Parameters of the query string are accepted in the body, too.
  const known = row.query === undefined ? row.body : z.object({ ...row.query.shape, ...row.body.shape });
  const parsed = parsePart(row, row.body, short, refusedKeys(row, unknownKeys(known, short)));
  const pace = createPace();
  for (const { path, schema, entries } of lists) {
    const list = path.reduce<unknown>((part, key) => (isObject(part) ? part[key] : undefined), parsed) as unknown[];
    for (let from = ENTRIES_AT_ONCE; from < entries.length; from += ENTRIES_AT_ONCE) {
      const some = prepared(schema, entries.slice(from, from + ENTRIES_AT_ONCE));
      const pathOf = ([index, ...rest]: readonly PropertyKey[]) => [...path, from + Number(index), ...rest];
      const unknown = unknownKeys(schema, some).map((key) => ({
        ...key,
        path: pathOf(key.path) as UnknownKey['path'],
      }));
      const refused = refusedKeys(row, unknown);
      const { success, data, error } = schema.safeParse(some, { reportInput: true });
      if (!success || refused.length > 0) {
        const issues = error?.issues.map((issue) => ({ ...issue, path: pathOf(issue.path) })) ?? [];
        throw invalid(row, refused, issues);
      }
      for (const entry of data) list.push(entry);
      const turn = pace();
      if (turn !== undefined) await turn;
    }
  }
  return parsed;
}

/** What is wrong with unknown keys: nothing, if they have no value or clients send them for what changes no answer. */
function refusedKeys(row: Row, unknown: readonly UnknownKey[]): (() => string)[] {
  return unknown.flatMap(({ path, value, known }) => {
    if (!saysSomething(value)) return [];
    const listed = clientKeyAt(row, path);
    if (listed?.ignored !== undefined || (listed?.unless !== undefined && listed.unless === value)) return [];
    const refusal = listed?.refused;
    return [
      () =>
        `"${pathText(path.map((step) => (typeof step === 'number' ? step : cut(step, KEY_CHARS_SHOWN))))}" ${refusal === undefined ? unknownHint(path, known) : `is not possible: ${refusal}`}`,
    ];
  });
}

function unknownHint(path: UnknownKey['path'], known: readonly string[]): string {
  const close = nearest(String(path.at(-1)), known);
  if (close.length > 0) return `is not known; did you mean ${quotedList(close)}?`;
  return `is not known; ${known.length === 0 ? 'nothing is taken here' : `known here: ${quotedList(known)}`}`;
}

/** A list of a body that is too long to be checked in one go. */
interface LongList {
  path: string[];
  schema: z.ZodArray;
  entries: unknown[];
}

/** The value with only the first entries of long lists, which are added to `lists`. */
function withShortLists(schema: z.core.$ZodType, value: unknown, lists: LongList[], path: string[] = []): unknown {
  const inner = present(schema);
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

function parsePart(
  row: Row,
  schema: z.ZodObject | undefined,
  value: unknown,
  refused: readonly (() => string)[] = [],
): Record<string, unknown> {
  if (schema === undefined) return {};
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success && refused.length === 0) return parsed.data;
  throw invalid(row, refused, parsed.error?.issues ?? []);
}

/** The first problems in words; of many, the others are only counted. */
function invalid(row: Row, refused: readonly (() => string)[], issues: readonly z.core.$ZodIssue[]): ApiError {
  const problems = [...refused, ...issues.map((issue) => () => describeIssue(issue))];
  const shown = problems.slice(0, ISSUES_SHOWN_MAX).map((describe) => describe());
  const more = problems.length - shown.length;
  return new ApiError(
    'invalid_input',
    ended(`Cannot ${lowerFirst(row.title)}: ${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}`),
  );
}

/**
 * The value without null in optional fields, and with the names that docs/api.md has for those of the provider; the same
 * one if there is nothing to change.
 */
function prepared(schema: z.core.$ZodType, value: unknown): unknown {
  const inner = present(schema);
  if (inner instanceof z.ZodArray && inner.element instanceof z.ZodObject && Array.isArray(value)) {
    return value.map((item) => prepared(inner.element, item));
  }
  if (!(inner instanceof z.ZodObject) || !isObject(value)) return value;
  let kept = value;
  const change = (key: string, part: unknown) => {
    if (kept === value) kept = { ...value };
    if (part === undefined) delete kept[key];
    else kept[key] = part;
  };
  for (const [key, known] of Object.entries<z.core.$ZodType>(inner.shape)) {
    const sent = Object.hasOwn(value, key) ? key : providerKey(key);
    if (sent === undefined || !Object.hasOwn(value, sent)) continue;
    const isAbsent = value[sent] === null && known instanceof z.ZodOptional && !known.safeParse(null).success;
    const part = isAbsent ? undefined : prepared(known, value[sent]);
    if (sent !== key) change(sent, undefined);
    if (sent !== key || part !== value[sent]) change(key, part);
  }
  return kept;
}

/** The schema of a value that is there. */
function present(schema: z.core.$ZodType): z.core.$ZodType {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable ? present(schema.unwrap()) : schema;
}

function parseQuery(row: Row, raw: RawInput): Record<string, unknown> {
  const refused = unknownKeys(row.query ?? NO_QUERY, raw.query).flatMap(({ path, value, known }) =>
    value === ''
      ? []
      : [() => `"${cut(String(path[0]), KEY_CHARS_SHOWN)}" in the query string ${unknownHint(path, known)}`],
  );
  if (refused.length > 0) throw invalid(row, refused, []);
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
