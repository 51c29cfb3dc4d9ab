import * as z from 'zod';
import type { JsonObject, JsonValue } from './json/json.ts';

export const Json: z.ZodType<JsonValue> = z.custom<JsonValue>(
  (value) => value !== undefined,
  'a JSON value is required',
);

/** A JSON object whose keys the API does not describe, kept as it is: `z.record` would drop a key `__proto__`. */
export const AnyObject: z.ZodType<JsonObject> = z
  .custom<JsonObject>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'expected a JSON object',
  )
  .meta({ type: 'object' });

/** A resource as returned: any field may be absent or null, and unknown fields are kept. */
export function resource<Shape extends Record<string, z.ZodType>>(shape: Shape) {
  const fields = Object.fromEntries(Object.entries(shape).map(([key, field]) => [key, field.nullish()]));
  return z.looseObject(fields as { [K in keyof Shape]: z.ZodOptional<z.ZodNullable<Shape[K]>> });
}

export const Timestamp = z.string().describe('ISO-8601 timestamp, UTC');

const NAME_RULE = 'letters, digits, "-" and "_", at most 128 characters, not starting with "_"';
const NAME = /^(?!_)[A-Za-z0-9_-]{1,128}$/;
const WORKSPACE_NAME = /^[A-Za-z0-9-][A-Za-z0-9_-]*(\.[A-Za-z0-9-][A-Za-z0-9_-]*)*$/;

const WORKSPACE_NAME_RULE = `a workspace name is ${NAME_RULE}; dots separate parent and child`;

/** A new collection's name. */
export const NewName = z.string().regex(NAME, `a name is ${NAME_RULE}`);
/** A new workspace's name; with a dot it is a child: `a.b` is in `a`. */
export const NewWorkspaceName = z.string().regex(WORKSPACE_NAME, WORKSPACE_NAME_RULE).max(128, WORKSPACE_NAME_RULE);

/** Names of things that should exist: any text is looked up, so that a wrong name is "not found". */
export const WorkspaceParam = z.string().min(1);
export const CollectionParam = z.string().min(1);
