import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import { APPROVAL_TTL_MS } from '../../contract/approvals.ts';
import { Extent } from '../../contract/extent.ts';

/** What an approval is bound to; it is valid for nothing else. */
export interface Binding {
  tool: string;
  args: unknown;
  /** Who calls: an approval given to one principal is not valid for another. */
  principal: string;
}

/** What a human was asked about, as it was at that time. */
export interface Subject {
  target: string;
  extent: Extent;
  /** Whether this was the second question, asked because more would have been deleted than the first one said. */
  isAgain: boolean;
}

export type Settled = { outcome: 'valid'; subject: Subject } | { outcome: 'forged' | 'expired' | 'used' | 'changed' };

/**
 * States that travel through the client while a human is asked: signed, expiring and valid for one use.
 *
 * The key lives as long as the process, so a state from another process counts as forged.
 */
export interface Approvals {
  /** How long a human may take to answer, in milliseconds. */
  readonly ttlMs: number;
  /** Makes a state for a question about something as it is now. */
  open(binding: Binding, subject: Subject): string;
  /** What a state was made for, without using it up; undefined if it is none of this process. */
  subjectOf(state: unknown): Subject | undefined;
  /** Uses up the state, whatever the answer was; `valid` only for the same binding, once and in time. */
  settle(state: string, binding: Binding): Settled;
}

const State = z.object({
  nonce: z.string(),
  expires: z.number(),
  binding: z.string(),
  subject: z.object({ target: z.string(), extent: Extent, isAgain: z.boolean() }),
});

export function createApprovals(options: { ttlMs?: number; now?: () => number } = {}): Approvals {
  const { ttlMs = APPROVAL_TTL_MS, now = Date.now } = options;
  const key = randomBytes(32);
  const used = new Map<string, number>();
  const signatureOf = (text: string) => createHmac('sha256', key).update(text).digest('base64url');

  function read(wire: string): z.infer<typeof State> | undefined {
    const [text = '', mac = '', ...more] = wire.split('.');
    // Compared as text: different texts can mean the same bytes.
    const given = Buffer.from(mac);
    const expected = Buffer.from(signatureOf(text));
    if (more.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    return State.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
  }

  return {
    ttlMs,
    open(binding, subject) {
      for (const [nonce, expires] of used) if (expires < now()) used.delete(nonce);
      const state = {
        nonce: randomBytes(12).toString('base64url'),
        expires: now() + ttlMs,
        binding: digest(binding),
        subject,
      };
      const text = Buffer.from(JSON.stringify(state)).toString('base64url');
      return `${text}.${signatureOf(text)}`;
    },
    subjectOf: (wire) => (typeof wire === 'string' ? read(wire)?.subject : undefined),
    settle(wire, binding) {
      const state = read(wire);
      if (state === undefined) return { outcome: 'forged' };
      if (state.expires < now()) return { outcome: 'expired' };
      if (used.has(state.nonce)) return { outcome: 'used' };
      used.set(state.nonce, state.expires);
      if (state.binding !== digest(binding)) return { outcome: 'changed' };
      return { outcome: 'valid', subject: state.subject };
    },
  };
}

/** A short text that is equal for equal JSON values, regardless of the order of keys. */
export function digest(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(tagged(value)) ?? '')
    .digest('base64url');
}

/** Labels each kind of value, so that no two different values have the same text. */
function tagged(value: unknown): unknown {
  if (typeof value === 'bigint') return { bigint: String(value) };
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return { array: value.map(tagged) };
  const entries = Object.entries(value).map(([key, field]) => [key, tagged(field)] as const);
  return { object: entries.sort(([a], [b]) => (a < b ? -1 : 1)) };
}
