import type { Approval, ApprovalAnswer } from '../contract/approvals.ts';
import type { ParsedInput } from '../contract/contract.ts';
import { isLoopback } from './addresses.ts';
import { type Asked, noSuchQuestion } from './approval-desk.ts';
import type { CallContext } from './context.ts';
import type { Origin } from './origin.ts';

/**
 * Puts a question to a human, or gives its answer out, once. The page's address is for callers on this machine: it is on
 * loopback. Throws `resource_exceeded` where too many questions wait.
 */
export async function requestApproval(
  ctx: CallContext,
  input: ParsedInput<'requestApproval'>,
): Promise<ApprovalAnswer> {
  const { keyHash, user } = ctx.caller;
  const { tool, binding, target, message, typed_name: typedName } = input;
  const question = { tool, binding, target, message, typedName: typedName ?? undefined };
  const { status, code, expiresAt } = ctx.approvals.request({ keyHash, email: user.email }, question);
  const url = status === 'pending' && isHere(ctx.origin) ? await ctx.approvePage.urlOf(code) : undefined;
  return { status, code, url: url ?? null, expires_at: new Date(expiresAt).toISOString() };
}

/** The questions that wait, oldest first. */
export function listApprovals(ctx: CallContext): Approval[] {
  return ctx.approvals.pending().map(toApproval);
}

/** One question that waits or whose answer was not fetched yet. Throws `not_found`. */
export function getApproval(ctx: CallContext, { code }: { code: string }): Approval {
  const asked = ctx.approvals.find(code);
  if (asked === undefined) throw noSuchQuestion(code);
  return toApproval(asked);
}

/** Records a human's answer. Throws `not_found`, and `invalid_input` where it is answered or the name is another. */
export function decideApproval(ctx: CallContext, input: ParsedInput<'decideApproval'>): Approval {
  const asked = ctx.approvals.decide(input.code, input.decision, input.typed_name ?? undefined);
  ctx.log.info({ tool: asked.tool, answer: asked.status }, 'a human answered in a terminal');
  return toApproval(asked);
}

function isHere({ isLocal, address, isForwarded }: Origin): boolean {
  return !isForwarded && (isLocal || (address !== undefined && isLoopback(address)));
}

function toApproval({ code, status, tool, message, typedName, asker, askedAt, expiresAt }: Asked): Approval {
  return {
    code,
    status,
    tool,
    message,
    typed_name: typedName ?? null,
    asked_by: asker.email,
    created_at: new Date(askedAt).toISOString(),
    expires_at: new Date(expiresAt).toISOString(),
  };
}
