import * as z from 'zod';
import { resource, Timestamp } from './fields.ts';
import type { Contract } from './row.ts';

/** Sizes of a virtual instance, smallest first. */
export const SIZES = [
  'FREE',
  'NANO',
  'XSMALL',
  'SMALL',
  'MEDIUM',
  'LARGE',
  'XLARGE',
  'XLARGE2',
  'XLARGE4',
  'XLARGE8',
  'XLARGE16',
] as const;
export type Size = (typeof SIZES)[number];

/** The compute of the organization; for the local service, a share of this machine. */
export const VirtualInstance = resource({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  state: z.string(),
  current_size: z.string(),
  desired_size: z.string(),
  current_type: z.string(),
  desired_type: z.string(),
  default_vi: z.boolean(),
  created_at: Timestamp,
  created_by: z.string(),
  monitoring_enabled: z.boolean(),
});
export type VirtualInstance = z.infer<typeof VirtualInstance>;

const path = '/v1/orgs/self/virtualinstances/{virtualInstanceId}';
const params = z.object({ virtualInstanceId: z.string().min(1).describe('UUID, or main') });

export const virtualInstances = {
  getVirtualInstance: {
    number: 55,
    method: 'GET',
    path,
    title: 'Get a virtual instance',
    summary: 'Get one virtual instance with its size.',
    effect: 'read',
    role: 'read-only',
    params,
    result: VirtualInstance,
  },
  listVirtualInstances: {
    number: 56,
    method: 'GET',
    path: '/v1/orgs/self/virtualinstances',
    title: 'List virtual instances',
    summary: 'List the virtual instances of the organization.',
    effect: 'read',
    role: 'read-only',
    result: z.array(VirtualInstance),
  },
  updateVirtualInstance: {
    number: 57,
    method: 'POST',
    path,
    title: 'Resize a virtual instance',
    summary: 'Change the size of a virtual instance, at once.',
    effect: 'update',
    role: 'admin',
    params,
    body: z.object({
      new_size: z.enum(SIZES),
      new_type: z.string().optional(),
    }),
    result: VirtualInstance,
  },
} as const satisfies Contract;
