import type { z } from 'zod';
import { pathText, unknownKeys } from '../../src/contract/unknown-keys.ts';

/** Every way in which `value` differs from what `schema` describes; empty if there is none. */
export function deviations(schema: z.ZodType, value: unknown): string[] {
  const parsed = schema.safeParse(value);
  const issues = parsed.success ? [] : parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  return [...issues, ...unknownKeys(schema, value).map(({ path }) => `${pathText(path)}: is not in the schema`)];
}
