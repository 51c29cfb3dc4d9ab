import * as z from 'zod';
import { Extent } from './extent.ts';
import { resource, Timestamp } from './fields.ts';
import type { Contract } from './row.ts';

/** How long a human may take to answer, and how long an approval waits to be used. */
export const APPROVAL_TTL_MS = 10 * 60 * 1_000;

/** The outcome of a question. `approved` and `declined` are returned once, to the API key that asked. */
export const ApprovalAnswer = resource({
  status: z.string().describe('pending, approved or declined'),
  code: z.string().describe('Names the question while it is pending'),
  url: z.string().describe('Page on this machine at which a human answers; null for callers on another one'),
  expires_at: Timestamp,
  answered_on: z.string().describe('page or terminal; null: not answered'),
  asked_again: z.string().describe('Why a question that somebody said yes to is asked again; null otherwise'),
});
export type ApprovalAnswer = z.infer<typeof ApprovalAnswer>;

/** A question as shown to its human. */
export const Approval = resource({
  code: z.string(),
  status: z.string().describe('pending, approved or declined'),
  tool: z.string(),
  message: z.string().describe('The question'),
  typed_name: z.string().describe('What has to be typed to approve; null: a plain yes is enough'),
  asked_by: z.string().describe('E-mail of the user whose API key asked'),
  client: z.string().describe('What the asking client calls itself, which nobody has checked; null where not known'),
  shown: z.string().describe('Stands for the question as it is shown here'),
  created_at: Timestamp,
  expires_at: Timestamp,
});
export type Approval = z.infer<typeof Approval>;

const path = '/v1/colloquy/approvals';
const params = z.object({ code: z.string().min(1).max(64).describe('Code of the question') });
const digest = z.string().min(1).max(128);

/** Questions to a human, for assistants whose client cannot ask. */
export const approvals = {
  requestApproval: {
    method: 'POST',
    path,
    title: 'Ask a human for approval',
    summary:
      'Put a question to a human at this machine, or get the answer to it. An answer is given out once; the same question while it is pending is the same one.',
    effect: 'update',
    role: 'read-only',
    body: z.object({
      tool: z.string().min(1).max(64),
      binding: digest.describe('Digest of what the approval is for; it holds for nothing else'),
      target: digest.describe('Fingerprint of the target as it is now; another one is another question'),
      extent: Extent.optional().describe('How much goes; a yes to less than that is none'),
      message: z.string().min(1).max(20_000).describe('The question, one sentence per line'),
      typed_name: z.string().min(1).max(1_000).nullish().describe('What the human has to type instead of a plain yes'),
      client: z.string().max(200).nullish().describe('What the asking client calls itself'),
    }),
    result: ApprovalAnswer,
  },
  listApprovals: {
    method: 'GET',
    path,
    title: 'List questions to a human',
    summary: 'The questions that wait for a human, oldest first.',
    effect: 'read',
    role: 'admin',
    result: z.array(Approval),
    localOnly: true,
  },
  getApproval: {
    method: 'GET',
    path: `${path}/{code}`,
    title: 'Get a question to a human',
    summary: 'One question that waits for a human.',
    effect: 'read',
    role: 'admin',
    params,
    result: Approval,
    localOnly: true,
  },
  decideApproval: {
    method: 'POST',
    path: `${path}/{code}`,
    title: 'Answer a question',
    summary: "Record a human's answer to a question.",
    effect: 'update',
    role: 'admin',
    params,
    body: z.object({
      decision: z.enum(['approve', 'decline']),
      typed_name: z.string().max(1_000).nullish().describe('As the human typed it, where the question asks for it'),
      shown: z.string().max(128).describe('What the human was shown; refused where the question has changed since'),
    }),
    result: Approval,
    localOnly: true,
  },
} as const satisfies Contract;
