import * as z from 'zod';
import { counted } from './in-words.ts';

/**
 * What a delete removes, by the plural noun of its kind: how many and, if it matters which ones or as what, a digest of
 * them and a mark of their state. What could not be counted is absent.
 */
export const Extent = z.record(
  z.string().min(1).max(64),
  z.object({
    count: z.int().min(0),
    which: z.string().max(128).optional(),
    /** Changes when one of them does; fewer of them are the same. */
    state: z.string().max(128).optional(),
  }),
);
export type Extent = z.infer<typeof Extent>;

/**
 * What would now be deleted beyond what somebody agreed to, as a clause ("3 documents came"); undefined if the consent
 * still covers it. It covers fewer things, but not others.
 */
export function growth(agreed: Extent, now: Extent): string | undefined {
  const found: string[] = [];
  for (const kind of new Set([...Object.keys(agreed), ...Object.keys(now)])) {
    const [before, after] = [agreed[kind], now[kind]];
    const more = (after?.count ?? 0) - (before?.count ?? 0);
    if (after === undefined) found.push(`its ${kind} cannot be counted any more`);
    else if (more > 0) found.push(`${counted(more, kind)} came`);
    else if (before !== undefined && before.which !== after.which) found.push(`it has other ${kind} than before`);
    else if (before !== undefined && before.state !== after.state) found.push(`its ${kind} were changed`);
  }
  return found.length === 0 ? undefined : found.join(' and ');
}
