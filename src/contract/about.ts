import * as z from 'zod';
import { resource } from './fields.ts';
import type { Contract } from './row.ts';

export const About = resource({
  version: z.string().describe('Version of this service'),
  build: z.string().describe('When this copy was built, ISO-8601; null: it runs from the sources'),
  trash_days: z.number().describe('How long what is deleted can be restored; 0: not at all'),
  settings: z
    .record(z.string(), z.string())
    .describe('Settings it was started with that are not the default, by the names of their flags'),
  user: z.string().describe('E-mail of the user whose API key this request has'),
  api_key: z.string().describe('Name of that key'),
  admitted_by: z
    .array(z.string())
    .describe("Names of the allowlist entries that hold the caller's address; null: it is let in without any"),
  time: z.string().describe("The service's clock as it answers, ISO-8601"),
  clock_before: z.string().describe('What it showed before it jumped ahead; null: it is not in doubt'),
});
export type About = z.infer<typeof About>;

export const about = {
  getAbout: {
    method: 'GET',
    path: '/v1/colloquy',
    title: 'Get what this service can do',
    summary: 'What this service offers beyond the API.',
    effect: 'read',
    role: 'read-only',
    result: About,
  },
  /** For the operator, at the service's machine. */
  confirmClock: {
    method: 'POST',
    path: '/v1/colloquy/clock',
    title: 'Confirm the clock',
    summary: 'Say that the clock is right although it has jumped ahead, so that what has expired is removed.',
    effect: 'update',
    role: 'admin',
    localOnly: true,
    result: About,
  },
} as const satisfies Contract;
