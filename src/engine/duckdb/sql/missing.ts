import { quoteText } from './names.ts';

/** Words that stand for a value that is missing, in small letters. */
const MISSING: ReadonlySet<string> = new Set([
  '',
  'k. a.',
  ...'- -- --- – — . .. ... ? ?? ??? \\n <na> #n/a n/a na n.a. n.a k.a. k.a nan nil none null missing unknown'.split(
    ' ',
  ),
]);
const CHARS_MAX = 10;

/** Whether a text is one of them. */
export const isMissing = (text: string): boolean => text.length <= CHARS_MAX && MISSING.has(text.trim().toLowerCase());

/** SQL condition for the same. */
export const missingSql = (sql: string): string => `lower(trim(${sql})) IN (${[...MISSING].map(quoteText).join(', ')})`;
