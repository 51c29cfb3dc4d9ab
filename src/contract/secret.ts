import * as z from 'zod';

/**
 * Who may know the value of a field.
 *
 * - `given`: a caller sends it, and nobody gets it back. In an argument it may be a reference to the secret; in a
 *   result it is masked.
 * - `issued`: the service creates it and returns it once, in this answer.
 */
export type Secrecy = 'given' | 'issued';

const secrecies = z.registry<{ secrecy: Secrecy }>();

/** The schema of a field that only the service may know. Apply it last: schemas derived from it are not marked. */
export function secret<Schema extends z.ZodType>(schema: Schema): Schema {
  return marked(schema, 'given');
}

/** The schema of a result field with a secret that is returned only this once. */
export function issued<Schema extends z.ZodType>(schema: Schema): Schema {
  return marked(schema, 'issued');
}

function marked<Schema extends z.ZodType>(schema: Schema, secrecy: Secrecy): Schema {
  // A copy: other fields may share the schema.
  const own = schema.clone() as Schema;
  secrecies.add(own, { secrecy });
  return own;
}

/** The mark of a schema, also inside `optional` and `nullable`; undefined if everybody may know the value. */
export function secrecyOf(schema: unknown): Secrecy | undefined {
  if (!(schema instanceof z.ZodType)) return undefined;
  const own = secrecies.get(schema)?.secrecy;
  if (own !== undefined) return own;
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable ? secrecyOf(schema.unwrap()) : undefined;
}

/** Whether a value of this schema can contain a marked field, at any depth. */
export function holdsSecret(schema: unknown, secrecy: Secrecy = 'given'): boolean {
  if (secrecyOf(schema) === secrecy) return true;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return holdsSecret(schema.unwrap(), secrecy);
  if (schema instanceof z.ZodArray) return holdsSecret(schema.element, secrecy);
  if (schema instanceof z.ZodObject) return Object.values(schema.shape).some((field) => holdsSecret(field, secrecy));
  return false;
}

/** A copy of `value` in which `replace` has replaced the contents of the fields with this mark. */
export function mapSecrets(
  schema: unknown,
  value: unknown,
  secrecy: Secrecy,
  replace: (value: unknown, schema: unknown) => unknown,
): unknown {
  if (value === undefined || value === null) return value;
  if (secrecyOf(schema) === secrecy) return replace(value, schema);
  const inner = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable ? schema.unwrap() : schema;
  if (inner !== schema) return mapSecrets(inner, value, secrecy, replace);
  if (schema instanceof z.ZodArray && Array.isArray(value)) {
    return value.map((item) => mapSecrets(schema.element, item, secrecy, replace));
  }
  if (!(schema instanceof z.ZodObject) || typeof value !== 'object' || Array.isArray(value)) return value;
  const shape = schema.shape as Record<string, unknown>;
  const fields = Object.entries(value).map(([name, field]) => {
    return [name, Object.hasOwn(shape, name) ? mapSecrets(shape[name], field, secrecy, replace) : field] as const;
  });
  return Object.fromEntries(fields);
}
