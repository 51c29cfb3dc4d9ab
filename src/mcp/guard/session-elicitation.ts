import { type InputRequiredResult, SdkError, SdkErrorCode, type ServerContext } from '@modelcontextprotocol/server';
import type { Round } from './guard.ts';

/**
 * Asks the human behind a client of the 2025 era by a request inside the client's own call, and resolves to what the
 * second round of the call needs. Undefined if the client claimed that it can ask but brought no answer.
 *
 * The SDK would do the same for a handler that returns `inputRequired`, but ends an unanswered question with a bare
 * text; here the human can then be asked in another way. Rejects if the call was cancelled or its client is gone.
 */
export async function askInSession(
  ctx: ServerContext,
  { inputRequests = {}, requestState }: InputRequiredResult,
  timeoutMs: number,
): Promise<Round | undefined> {
  const { id, signal } = ctx.mcpReq;
  try {
    const responses: Record<string, unknown> = {};
    for (const [key, { method, params }] of Object.entries(inputRequests)) {
      if (method !== 'elicitation/create') throw new Error(`there is no ${method} in a session`);
      responses[key] = await ctx.mcpReq.send(
        { method, params: { mode: 'form', ...params } },
        { relatedRequestId: id, signal, timeout: timeoutMs },
      );
    }
    return { canAsk: true, state: requestState, responses };
  } catch (error) {
    const isGone = error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed;
    if (signal.aborted || isGone) throw error;
    return undefined;
  }
}
