import * as z from 'zod';
import { NewName, resource, Timestamp } from './fields.ts';
import type { Contract } from './row.ts';

/** An address or range that may call the service; if there are any entries, all other addresses are refused. */
export const AllowlistEntry = resource({
  name: z.string(),
  description: z.string(),
  ip_address: z.string().describe('One IPv4 or IPv6 address, or a range in CIDR notation'),
  creator_email: z.string(),
  created_at: Timestamp,
  warnings: z.array(z.string()).describe('Of what was just added: what its range holds'),
});
export type AllowlistEntry = z.infer<typeof AllowlistEntry>;

const path = '/v1/orgs/self/ip/allowlist/{name}';
const params = z.object({ name: z.string().min(1) });

export const allowlist = {
  createAllowlistEntry: {
    number: 26,
    method: 'POST',
    path: '/v1/orgs/self/ip/allowlist',
    title: 'Allow an IP address',
    summary:
      'Let an address or CIDR range in. From the first entry on all others are refused, but never this machine or the caller.',
    effect: 'create',
    role: 'admin',
    body: z.object({
      name: NewName,
      description: z.string().optional(),
      ip_address: z.string(),
    }),
    result: AllowlistEntry,
  },
  deleteAllowlistEntry: {
    number: 27,
    method: 'DELETE',
    path,
    title: 'Remove an allowed IP address',
    summary: 'Remove an entry of the IP allowlist. After the last one, every address is let in.',
    effect: 'delete',
    role: 'admin',
    refuses: { onlyForCaller: true },
    whenLast: 'It is the last entry: without it, every address is let in.',
    params,
    result: AllowlistEntry,
  },
  getAllowlistEntry: {
    number: 28,
    method: 'GET',
    path,
    title: 'Get an allowlist entry',
    summary: 'Get one entry of the IP allowlist.',
    effect: 'read',
    role: 'read-only',
    params,
    result: AllowlistEntry,
  },
  listAllowlistEntries: {
    number: 29,
    method: 'GET',
    path: '/v1/orgs/self/ip/allowlist',
    title: 'List the IP allowlist',
    summary: 'List the entries of the IP allowlist.',
    effect: 'read',
    role: 'read-only',
    result: z.array(AllowlistEntry),
  },
} as const satisfies Contract;
