import * as z from 'zod';
import { resource, Timestamp } from './fields.ts';
import type { Contract } from './row.ts';

/** The container of users and collections that owns the calling key. */
export const Organization = resource({
  id: z.string(),
  created_at: Timestamp,
  display_name: z.string(),
  company_name: z.string(),
  external_id: z.string().describe('Unique within the service'),
  service_user: z.string(),
  state: z.string().describe('TRIAL is one value'),
  deletionScheduledAt: z.string(),
  clusters: z.array(
    resource({
      id: z.string(),
      cluster_type: z.string(),
      cloud_region: z.string(),
      domain: z.string(),
      top_level_domain: z.string(),
      apiserver_url: z.string(),
    }),
  ),
  num_dedicated_pods: z.int(),
});
export type Organization = z.infer<typeof Organization>;

export const organization = {
  getOrganization: {
    number: 34,
    method: 'GET',
    path: '/v1/orgs/self',
    title: 'Get the organization',
    summary: 'Get the organization of the calling user.',
    effect: 'read',
    role: 'read-only',
    result: Organization,
  },
} as const satisfies Contract;
