import type { Approval, ApprovalAnswer } from '../../contract/approvals.ts';
import type { ParsedInput } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import { isLoopback } from '../app/addresses.ts';
import type { Origin } from '../app/origin.ts';
import type { CallContext } from '../context.ts';
import { type Asked, noSuchQuestion } from './approval-desk.ts';

/**
 * Asks a human, or returns the answer, once. The page's address is for callers on this machine, since it is on
 * loopback. Throws `resource_exceeded` if too many questions are waiting.
 */
export async function requestApproval(
  ctx: CallContext,
  input: ParsedInput<'requestApproval'>,
): Promise<ApprovalAnswer> {
  const { keyHash, user } = ctx.caller;
  const { tool, binding, target, extent = {}, message, typed_name: typedName, client } = input;
  const question = { tool, binding, target, extent, message, typedName: typedName ?? undefined };
  const { status, code, expiresAt, more, answeredOn } = ctx.approvals.request(
    { keyHash, email: user.email, client: client ?? undefined },
    question,
  );
  const url = status === 'pending' && isHere(ctx.origin) ? await ctx.pageServer.urlOf(code) : undefined;
  return {
    status,
    code,
    url: url ?? null,
    expires_at: new Date(expiresAt).toISOString(),
    answered_on: answeredOn ?? null,
    asked_again: more ?? null,
  };
}

/** The waiting questions, oldest first. */
export function listApprovals(ctx: CallContext): Approval[] {
  return ctx.approvals.pending().map((asked) => toApproval(ctx, asked));
}

/** A question that is waiting, or whose answer was not fetched yet. Throws `not_found`. */
export function getApproval(ctx: CallContext, { code }: { code: string }): Approval {
  const asked = ctx.approvals.find(code);
  if (asked === undefined) throw noSuchQuestion(code);
  return toApproval(ctx, asked);
}

/**
 * Records a human's answer. Throws `not_found`, or `invalid_input` if it is already answered, the typed name is wrong,
 * or the question has changed since it was shown.
 */
export function decideApproval(ctx: CallContext, input: ParsedInput<'decideApproval'>): Approval {
  const shown = ctx.approvals.find(input.code);
  if (shown !== undefined && !ctx.approvals.isFormToken(shown, input.shown)) {
    throw new ApiError('invalid_input', 'The question has changed since you were asked. Look at it again.');
  }
  const asked = ctx.approvals.decide(input.code, input.decision, input.typed_name ?? undefined, 'terminal');
  ctx.log.info({ tool: asked.tool, answer: asked.status }, 'a human answered in a terminal');
  return toApproval(ctx, asked);
}

function isHere({ isLocal, address, isForwarded }: Origin): boolean {
  return !isForwarded && (isLocal || (address !== undefined && isLoopback(address)));
}

function toApproval(ctx: CallContext, asked: Asked): Approval {
  const { code, status, tool, message, typedName, asker, askedAt, expiresAt } = asked;
  return {
    code,
    status,
    tool,
    message,
    typed_name: typedName ?? null,
    asked_by: asker.email,
    client: asker.client ?? null,
    shown: ctx.approvals.formToken(asked),
    created_at: new Date(askedAt).toISOString(),
    expires_at: new Date(expiresAt).toISOString(),
  };
}
