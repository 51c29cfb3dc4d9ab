import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type InputRequiredResult,
  isInputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Assistant } from '../assistant.ts';
import { type Caller, refusedCall } from '../audit.ts';
import { notOffered, runTool, unknownTool } from '../call.ts';
import { canShowForms, elicitingHuman, nobody, type Round } from '../guard/guard.ts';
import { askInSession } from '../guard/session-elicitation.ts';
import { ownerBehind } from '../key-owner.ts';
import { type Progress, reportedWait } from '../progress.ts';
import { tellAfter } from '../resources/subscriptions.ts';
import type { Tool, ToolCard } from './tool.ts';
import { tools } from './tools.ts';

/** In the 2025 era a call carries no human's answer; this server asks for it during the call. */
const FIRST_ROUND = { state: undefined, responses: undefined };

/** Registers tool calls. `server` is the connection's server, which knows its client. */
export function registerToolCalls(
  on: Pick<Server, 'setRequestHandler'>,
  assistant: Assistant,
  { server, era }: { server: Server; era: 'legacy' | 'modern' },
): void {
  const { hidden = [], approvals, connect, log, means, guard, audit, changes } = assistant;
  const capabilitiesOf = (ctx: ServerContext): { elicitation?: unknown } | undefined => {
    if (era === 'legacy') return server.getClientCapabilities();
    return envelopeOf(ctx)?.[CLIENT_CAPABILITIES_META_KEY];
  };

  const callerOf = (ctx: ServerContext): Caller => ({
    principal: assistant.principal,
    client: era === 'legacy' ? server.getClientVersion() : envelopeOf(ctx)?.[CLIENT_INFO_META_KEY],
    era,
  });

  const nameOf = (ctx: ServerContext): string | undefined => {
    const name = callerOf(ctx).client?.name;
    return typeof name === 'string' && name.trim() !== '' ? name : undefined;
  };

  on.setRequestHandler('tools/call', async ({ params }, ctx) => {
    const offered = await assistant.tools;
    const tool = toolBehind(offered.get(params.name));
    if (tool === undefined) {
      const refusal = notOffered(params.name, await hidden);
      const outcome = refusal === undefined ? 'unknown_tool' : 'not_offered';
      if (audit !== undefined) {
        const who = { caller: callerOf(ctx), owner: assistant.owner ?? (await ownerBehind(connect)) };
        audit.observe(refusedCall(params.name, outcome, who, audit));
      }
      if (refusal !== undefined) return refusal;
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, unknownTool(params.name, offered));
    }
    const asks = tool.blast !== undefined && guard !== 'off';
    const run = (round: Round) =>
      runTool({
        tool,
        args: params.arguments ?? {},
        connect,
        human: asks ? elicitingHuman(approvals, round, { ...assistant, clientName: nameOf(ctx) }) : nobody,
        signal: ctx.mcpReq.signal,
        progress: progressOf(ctx),
        means,
        offered,
        isGuarded: guard !== 'off',
        audit,
        caller: callerOf(ctx),
        owner: assistant.owner,
        onFault: (error) => log.error({ err: error, tool: params.name }, 'a tool call failed inside the server'),
      }).then(tellAfter(changes, tool, params.arguments));
    const canAsk = asks && canShowForms(capabilitiesOf(ctx));
    if (era === 'modern') {
      return run({ canAsk, state: ctx.mcpReq.requestState(), responses: ctx.mcpReq.inputResponses });
    }
    const ask = (asked: InputRequiredResult) =>
      reportedWait(progressOf(ctx), params.name, ctx.mcpReq.signal, () => askInSession(ctx, asked, approvals.ttlMs));
    let result = await run({ ...FIRST_ROUND, canAsk });
    // The guard limits how often a human is asked again.
    while (isInputRequiredResult(result)) {
      result = await run((await ask(result)) ?? { ...FIRST_ROUND, canAsk: false });
    }
    return result;
  });
}

/** The tool of a card that is offered; those of lambdas are tools themselves. */
function toolBehind(card: ToolCard | Tool | undefined): Tool | undefined {
  if (card === undefined) return undefined;
  return 'run' in card ? card : tools().get(card.listing.name);
}

/** Reports a call's progress to the client; undefined if the client did not ask for it. */
function progressOf(ctx: ServerContext): Progress | undefined {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return (progress, total, message) => {
    const params = { progressToken, progress, ...(total === undefined ? {} : { total }), message };
    // A client that is gone needs no report.
    ctx.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
  };
}

type Envelope = Readonly<Record<string, { elicitation?: unknown; name?: unknown; version?: unknown } | undefined>>;

/** What a request of the modern era says about the client. */
function envelopeOf(ctx: ServerContext): Envelope | undefined {
  return ctx.mcpReq.envelope as Envelope | undefined;
}
