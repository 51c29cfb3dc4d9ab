import * as z from 'zod';
import { isObject } from './json/json.ts';

export interface UnknownKey {
  /** Where it is: names of fields, and indexes of lists; the key is the last one. */
  path: readonly (string | number)[];
  value: unknown;
  /** The keys that are known in its place. */
  known: readonly string[];
}

/**
 * The keys of `value`, at any depth, that `schema` does not describe. Schemas drop unknown keys, or keep them, so parsing
 * alone would not find them. Any key is known where the schema takes any JSON, and in a record.
 */
export function unknownKeys(schema: unknown, value: unknown, path: UnknownKey['path'] = []): UnknownKey[] {
  if (typeof value !== 'object' || value === null) return [];
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    return unknownKeys(schema.unwrap(), value, path);
  }
  if (schema instanceof z.ZodUnion) return unknownInUnion(schema, value, path);
  if (Array.isArray(value)) {
    if (!(schema instanceof z.ZodArray)) return [];
    return value.flatMap((item, index) => unknownKeys(schema.element, item, [...path, index]));
  }
  if (schema instanceof z.ZodRecord) {
    return Object.entries(value).flatMap(([key, field]) => unknownKeys(schema.valueType, field, [...path, key]));
  }
  if (!(schema instanceof z.ZodObject)) return [];
  const known = Object.keys(schema.shape);
  return Object.entries(value).flatMap(([key, field]) =>
    Object.hasOwn(schema.shape, key)
      ? unknownKeys(schema.shape[key], field, [...path, key])
      : [{ path: [...path, key], value: field, known }],
  );
}

function unknownInUnion(schema: z.ZodUnion, value: unknown, path: UnknownKey['path']): UnknownKey[] {
  const fitting = schema.options.filter((option) => (option as z.ZodType).safeParse(value).success);
  const found = fitting.map((option) => unknownKeys(option, value, path));
  return found.sort((a, b) => a.length - b.length)[0] ?? [];
}

/** Whether anything is said: null, an empty object and an empty list say nothing, nor does what holds only these. */
export function saysSomething(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(saysSomething);
  if (isObject(value)) return Object.values(value).some(saysSomething);
  return value !== null && value !== undefined;
}

/** A place in a body for humans: `sql.parameters[0].name`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? String(part) : `${text}.${String(part)}`;
  }, '');
}
