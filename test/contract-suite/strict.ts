import { z } from 'zod';

/**
 * The keys of `value`, at any depth, that `schema` does not describe, as paths. Schemas of answers keep unknown keys,
 * so parsing alone would not find them. Any key is known where the schema allows any JSON, and in a record.
 */
export function unknownKeys(schema: unknown, value: unknown, path = ''): string[] {
  if (value === null || value === undefined) return [];
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    return unknownKeys(schema.unwrap(), value, path);
  }
  if (schema instanceof z.ZodUnion) return unknownInUnion(schema, value, path);
  if (schema instanceof z.ZodArray && Array.isArray(value)) {
    return value.flatMap((item, index) => unknownKeys(schema.element, item, `${path}[${index}]`));
  }
  if (typeof value !== 'object' || Array.isArray(value)) return [];
  if (schema instanceof z.ZodRecord) {
    return Object.entries(value).flatMap(([key, field]) => unknownKeys(schema.valueType, field, join(path, key)));
  }
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(value).flatMap(([key, field]) =>
    Object.hasOwn(schema.shape, key) ? unknownKeys(schema.shape[key], field, join(path, key)) : [join(path, key)],
  );
}

/** Every way in which `value` differs from what `schema` describes; empty if there is none. */
export function deviations(schema: z.ZodType, value: unknown): string[] {
  const parsed = schema.safeParse(value);
  const issues = parsed.success ? [] : parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  return [...issues, ...unknownKeys(schema, value).map((key) => `${key}: is not in the schema`)];
}

function unknownInUnion(schema: z.ZodUnion, value: unknown, path: string): string[] {
  const fitting = schema.options.filter((option) => (option as z.ZodType).safeParse(value).success);
  const found = fitting.map((option) => unknownKeys(option, value, path));
  return found.sort((a, b) => a.length - b.length)[0] ?? [];
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
