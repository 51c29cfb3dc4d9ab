import { homedir } from 'node:os';
import { delimiter, resolve } from 'node:path';
import * as z from 'zod';
import { type Choice, readToolsets } from './mcp/tools/toolsets.ts';
import { parseRange } from './service/app/addresses.ts';

/** What the text of a flag or variable may be, and the value that it becomes. */

/** Text that is a whole number in this range. */
export function integer(min: number, max: number) {
  const rule = `expected a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, rule)
    .transform(Number)
    .refine((value) => value >= min && value <= max, rule);
}

export const addresses = z
  .string()
  .transform((text) => text.split(/[,\s]+/).filter((part) => part !== ''))
  .refine(
    (parts) => parts.length > 0 && parts.every((part) => parseRange(part) !== undefined),
    'expected IP addresses or CIDR ranges, separated by commas',
  )
  .optional();

export const toolsets = z
  .string()
  .transform((text, context): Choice[] => {
    const read = readToolsets(text);
    if ('choices' in read) return read.choices;
    context.addIssue({ code: 'custom', message: read.problem });
    return z.NEVER;
  })
  .optional();

export const onOff = z
  .string()
  .regex(/^(true|false|1|0|yes|no|on|off)$/i, 'expected true or false')
  .transform((text) => /^(true|1|yes|on)$/i.test(text));

/** Names that each match `rule`, separated by commas. */
export function names(rule: RegExp, message: string) {
  return z
    .string()
    .transform((text) => text.split(/[,\s]+/).filter((part) => part !== ''))
    .refine((parts) => parts.length > 0 && parts.every((part) => rule.test(part)), message)
    .optional();
}

/** A tag of lambdas, by the rule for new names. */
export const tag = z
  .string()
  .regex(/^[A-Za-z0-9-][A-Za-z0-9_-]{0,127}$/, 'expected one tag, such as production')
  .optional();

export const folders = z
  .string()
  .transform((text) => {
    const parts = text
      .replaceAll(delimiter, ',')
      .split(',')
      .map((part) => part.trim());
    return parts.filter((part) => part !== '').map(folder);
  })
  .optional();

/** An absolute path; `~` is the home folder. */
export function folder(text: string): string {
  // MCP clients start the server without a shell that would expand it.
  return resolve(text.replace(/^~(?=$|[\\/])/, () => homedir()));
}

export const file = z.string().min(1, 'expected a file').transform(folder).optional();
