import * as z from 'zod';
import { resource, Timestamp } from './fields.ts';
import type { Contract } from './row.ts';

/** How long a pairing address works, and how long a browser stays paired. */
export const PAIRING_TTL_MS = 5 * 60 * 1_000;
export const PAIRED_DAYS = 90;

/** An address that pairs the browser that opens it, so that questions can be answered there. */
export const Pairing = resource({
  url: z.string().describe('Works once; for the eyes of the person at this machine only'),
  expires_at: Timestamp,
});
export type Pairing = z.infer<typeof Pairing>;

const path = '/v1/colloquy/browsers';

/** The browsers in which humans answer questions; the page of questions is shown in no others. */
export const browsers = {
  pairBrowser: {
    method: 'POST',
    path,
    title: 'Pair a browser',
    summary: 'An address that, opened once, makes a browser one that questions are answered in.',
    effect: 'create',
    role: 'admin',
    result: Pairing,
    localOnly: true,
  },
  forgetBrowsers: {
    method: 'DELETE',
    path,
    title: 'Forget the paired browsers',
    summary: 'No browser is paired after this; addresses to pair one with that are open end as well.',
    effect: 'delete',
    role: 'admin',
    result: resource({ browsers: z.int().describe('How many were paired') }),
    localOnly: true,
  },
} as const satisfies Contract;
