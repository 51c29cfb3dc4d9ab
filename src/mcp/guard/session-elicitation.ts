import { type InputRequiredResult, SdkError, SdkErrorCode, type ServerContext } from '@modelcontextprotocol/server';
import type { Round } from './guard.ts';

/**
 * Asks the human behind a client of the 2025 era, which is asked by a request inside its own call, and resolves to what
 * the second round of the call brings. Undefined: the client said that it can ask, and did not bring an answer.
 *
 * The SDK would do the same for a handler that returns `inputRequired`, but it ends a question that nobody answers with
 * a bare text; here the human is left another way. Rejects where the call was cancelled or its client has gone.
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
