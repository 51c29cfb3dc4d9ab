import * as z from 'zod';
import { ApiError } from '../../contract/errors.ts';
import { quotedList } from '../../contract/in-words.ts';
import { isObject, jsonIn } from '../../contract/json/json.ts';
import { nearest } from '../../contract/nearest.ts';
import { secrecyOf } from '../../contract/secret.ts';
import { ended } from '../../contract/text.ts';
import { pathText, unknownKeys } from '../../contract/unknown-keys.ts';
import type { CallSecrets } from '../secrets.ts';
import type { Argument } from './catalog.ts';
import type { Arguments } from './relations.ts';

const ISSUES_MAX = 5;

/**
 * Checks what a model sent and converts it to what the client takes. Throws `ApiError` `invalid_input`, whose message
 * names every wrong argument.
 *
 * Unknown arguments, and unknown fields in them, are refused with the nearest known ones; free-form values such as
 * documents are not checked for them. Slips that models make are corrected: null for an absent argument, or what is empty
 * and cannot be meant; an array or object sent as JSON text; and flattened fields sent inside the object that the API has
 * for them. `secrets`, for tools that take any, replaces references to them.
 */
export function readArguments(
  tool: string,
  known: readonly Argument[],
  given: Arguments,
  secrets?: CallSecrets,
): Arguments {
  const sent = asListed(known, given);
  const problems = unknownArguments(known, sent);
  const input: Record<string, unknown> = {};
  for (const argument of known) {
    const settled = settle(argument.schema, sent[argument.name]);
    const path = argument.name;
    problems.push(...unknownFields(argument.schema, settled, path));
    if (secrets !== undefined) problems.push(...misplaced(argument.schema, settled, path));
    // What a reference stands for may be the JSON of an object, too.
    const value = secrets === undefined ? settled : settle(argument.schema, secrets.resolve(argument.schema, settled));
    const parsed = argument.schema.safeParse(value);
    if (!parsed.success) {
      problems.push(...describeIssues(argument, parsed.error.issues, sent[argument.name] === undefined));
    } else if (parsed.data !== undefined) {
      place(input, argument, parsed.data);
    }
  }
  if (problems.length > 0) {
    const more = problems.length > ISSUES_MAX ? ` (and ${problems.length - ISSUES_MAX} more)` : '';
    throw new ApiError(
      'invalid_input',
      ended(`Cannot call ${tool}: ${problems.slice(0, ISSUES_MAX).join('; ')}${more}`),
    );
  }
  return input;
}

/** The arguments under the names that are listed: the API's own forms of them are understood as well. */
export function asListed(known: readonly Argument[], given: Arguments): Arguments {
  return listed(known, flattened(known, underOwnNames(known, given)));
}

/** Which arguments were sent under another name than the listed one, in words. */
export function renamedIn(known: readonly Argument[], given: Arguments): string[] {
  return renamings(known, given).map(([alias, name]) => `"${alias}" is "${name}"`);
}

function underOwnNames(known: readonly Argument[], given: Arguments): Arguments {
  const names = new Map(renamings(known, given));
  if (names.size === 0) return given;
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [names.get(name) ?? name, value]));
}

/**
 * Aliases that were sent, and what they stand for. One whose place is taken stays, to be refused, and one that is the name
 * of another argument is it only where its value can be no other.
 */
function renamings(known: readonly Argument[], given: Arguments): [string, string][] {
  const moved = known.flatMap(({ name, alias, schema }): [string, string][] => {
    if (alias === undefined || !Object.hasOwn(given, alias)) return [];
    const other = known.find((one) => one.name === alias);
    const fits = (one: Argument['schema']) => one.safeParse(given[alias]).success;
    return other === undefined || (fits(schema) && !fits(other.schema)) ? [[alias, name]] : [];
  });
  return moved.filter(([, name]) => !Object.hasOwn(given, name) || moved.some(([alias]) => alias === name));
}

/** The arguments, with the API's object taken apart into its flattened fields, if none of what it has was sent beside it. */
function flattened(known: readonly Argument[], sent: Arguments): Arguments {
  const wrapper = known.find(({ into }) => into !== undefined && Object.hasOwn(sent, into))?.into;
  if (wrapper === undefined || known.some(({ name }) => name === wrapper)) return sent;
  const inside = known.filter(({ into }) => into === wrapper);
  const { [wrapper]: whole, ...rest } = sent;
  const shape = Object.fromEntries(inside.map(({ field, schema }) => [field, schema]));
  const fields = typeof whole === 'string' ? objectIn(shape, whole) : whole;
  if (!isObject(fields)) return sent;
  const named = Object.entries(fields).map(([field, value]) => {
    return [inside.find((argument) => argument.field === field)?.name ?? field, value] as const;
  });
  if (named.some(([name]) => Object.hasOwn(rest, name))) return sent;
  return { ...rest, ...Object.fromEntries(named) };
}

/** The arguments, with the API's list of objects as the list of values that stands for it. */
function listed(known: readonly Argument[], sent: Arguments): Arguments {
  const list = known.find(({ field, itemField }) => itemField !== undefined && Object.hasOwn(sent, field));
  if (list?.itemField === undefined || Object.hasOwn(sent, list.name)) return sent;
  const { [list.field]: given, ...rest } = sent;
  const { itemField } = list;
  const items = typeof given === 'string' ? structureIn(given) : given;
  const valueIn = (item: unknown) =>
    isObject(item) && Object.keys(item).length === 1 ? (item[itemField] ?? item) : item;
  return { ...rest, [list.name]: Array.isArray(items) ? items.map(valueIn) : given };
}

function unknownArguments(known: readonly Argument[], sent: Arguments): string[] {
  const names = known.map((argument) => argument.name);
  return Object.keys(sent)
    .filter((name) => !names.includes(name))
    .map((name) => {
      const inside = known.filter((argument) => argument.into === name).map((argument) => argument.name);
      if (inside.length > 0) return `there is no argument "${name}": its fields are arguments, ${quotedList(inside)}`;
      const close = nearest(name, names);
      if (close.length > 0) return `there is no argument "${name}"; did you mean ${quotedList(close)}?`;
      return `there is no argument "${name}"; it takes ${names.length === 0 ? 'none' : quotedList(names)}`;
    });
}

/** The fields, at any depth, that the schema does not know. */
function unknownFields(schema: unknown, value: unknown, argument: string): string[] {
  return unknownKeys(schema, value, [argument]).map(({ path, known }) => {
    const name = String(path.at(-1));
    const close = nearest(name, known);
    const hint = close.length > 0 ? `did you mean ${quotedList(close)}?` : `it takes ${quotedList(known)}`;
    return `there is no field "${name}" in "${pathText(path.slice(0, -1))}"; ${hint}`;
  });
}

/** References where no secret belongs: they would be stored as literal text. */
function misplaced(schema: unknown, value: unknown, path: string): string[] {
  const takers = secretFields(schema);
  // A description may begin with "file:"; the name of a variable for secrets cannot be meant otherwise.
  const meant = takers.length > 0 ? /^(env|file):\S+$/ : /^env:COLLOQUY_SECRET_/;
  const look = (inside: unknown, found: unknown, at: string): string[] => {
    if (secrecyOf(inside) !== undefined) return [];
    const inner = unwrapped(inside);
    if (inner instanceof z.ZodArray && Array.isArray(found)) {
      return found.flatMap((item, index) => look(inner.element, item, `${at}[${index}]`));
    }
    if (inner instanceof z.ZodObject && isObject(found)) {
      const shape = inner.shape as Record<string, unknown>;
      // A field that there is not is told as such: it may be a secret's name, misspelled.
      const fields = Object.entries(found).filter(([name]) => Object.hasOwn(shape, name));
      return fields.flatMap(([name, field]) => look(shape[name], field, `${at}.${name}`));
    }
    if (typeof found !== 'string' || !meant.test(found)) return [];
    const others = takers.length > 0 ? `in "${path}" only ${quotedList(takers)} takes one` : 'only a secret takes one';
    return [`argument "${at}" takes no reference to a secret: ${others}; give its value itself`];
  };
  return look(schema, value, path);
}

/** The names of the fields, at any depth, that take references. */
function secretFields(schema: unknown): string[] {
  const inner = unwrapped(schema);
  if (inner instanceof z.ZodArray) return secretFields(inner.element);
  if (!(inner instanceof z.ZodObject)) return [];
  const found = Object.entries(inner.shape as Record<string, unknown>).flatMap(([name, field]) =>
    secrecyOf(field) === 'given' ? [name] : secretFields(field),
  );
  return [...new Set(found)];
}

function place(input: Record<string, unknown>, { field, into, itemField }: Argument, given: unknown): void {
  const isList = itemField !== undefined && Array.isArray(given);
  const value = isList ? given.map((item: unknown) => ({ [itemField]: item })) : given;
  if (into === undefined) {
    input[field] = value;
    return;
  }
  const inner = (input[into] ?? {}) as Record<string, unknown>;
  inner[field] = value;
  input[into] = inner;
}

/** In strict mode, models have to send every argument: what they leave out is null, or, where null is refused, empty. */
function settle(schema: z.ZodType, value: unknown): unknown {
  if (value === null && !schema.safeParse(null).success) return undefined;
  const isEmpty = value === '' || (Array.isArray(value) && value.length === 0);
  if (isEmpty && schema.safeParse(undefined).success && !schema.safeParse(value).success) return undefined;
  return withStructures(schema, value);
}

/**
 * The value with JSON text parsed if only an array or object can be meant: where the schema takes no text, and for the
 * items of an array of any JSON, which are documents. Other text stays text, even if it consists of digits.
 */
function withStructures(schema: unknown, value: unknown): unknown {
  const inner = unwrapped(schema);
  if (typeof value === 'string') {
    const takesText = inner instanceof z.ZodType && inner.safeParse(value).success;
    const shape = inner instanceof z.ZodObject ? (inner.shape as Record<string, unknown>) : {};
    const parsed = takesText ? undefined : objectIn(shape, value);
    return parsed === undefined ? value : withStructures(inner, parsed);
  }
  if (inner instanceof z.ZodArray && Array.isArray(value)) {
    if (!isAnyJson(unwrapped(inner.element))) return value.map((item) => withStructures(inner.element, item));
    return value.map((item) => (typeof item === 'string' ? (structureIn(item) ?? item) : item));
  }
  if (!(inner instanceof z.ZodObject) || !isObject(value)) return value;
  const shape = inner.shape as Record<string, unknown>;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, withStructures(shape[name], field)]));
}

/** The schema inside optional and nullable wrappers. */
export function unwrapped(schema: unknown): unknown {
  let inner = schema;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable) inner = inner.unwrap();
  return inner;
}

/** Whether a schema takes any JSON: a document, or the value of a parameter. */
export function isAnyJson(schema: unknown): boolean {
  return schema instanceof z.ZodCustom && schema.safeParse('').success;
}

/** The array or object in a JSON text; of another text the object whose only field that must be there takes it. */
function objectIn(shape: Readonly<Record<string, unknown>>, text: string): unknown {
  const structure = structureIn(text);
  if (structure !== undefined) return structure;
  const takes = (schema: unknown, value: unknown) => schema instanceof z.ZodType && schema.safeParse(value).success;
  const needed = Object.keys(shape).filter((field) => !takes(shape[field], undefined));
  const [field = ''] = needed;
  return needed.length === 1 && takes(shape[field], text) ? { [field]: text } : undefined;
}

/** The array or object in a JSON text; undefined if it is anything else. */
export function structureIn(text: string): unknown {
  return /^\s*[[{]/.test(text) ? jsonIn(text) : undefined;
}

function describeIssues(argument: Argument, issues: readonly z.core.$ZodIssue[], isMissing: boolean): string[] {
  if (isMissing) {
    const inner = unwrapped(argument.schema);
    const choices = inner instanceof z.ZodEnum ? `: one of ${quotedList(inner.options.map(String))}` : '';
    return [`argument "${argument.name}" is missing${choices}`];
  }
  return issues.map((issue) => {
    const what = `argument "${pathText([argument.name, ...issue.path])}"`;
    if (issue.code === 'too_small' && issue.origin === 'string') return `${what} must not be empty`;
    const said = issue.message.replace(/^Invalid input: /, '');
    const got = /, received (\w+)/.exec(said)?.[1];
    if (issue.code !== 'invalid_type' || got === undefined) return `${what}: ${said}`;
    const fields = fieldsAt(argument.schema, issue.path);
    const wanted = fields.length > 0 ? `an object with ${quotedList(fields)}` : issue.expected;
    return got === 'undefined' ? `${what} is missing: ${wanted}` : `${what}: expected ${wanted}, received ${got}`;
  });
}

/** The fields of the object that the schema takes at `path`; none where it takes something else. */
function fieldsAt(schema: unknown, path: readonly PropertyKey[]): string[] {
  const [step, ...rest] = path;
  const inner = unwrapped(schema);
  if (inner instanceof z.ZodArray && step !== undefined) return fieldsAt(inner.element, rest);
  if (!(inner instanceof z.ZodObject)) return [];
  const shape = inner.shape as Record<PropertyKey, unknown>;
  return step === undefined ? Object.keys(shape) : fieldsAt(shape[step], rest);
}
