import type { InputRequiredResult } from '@modelcontextprotocol/server';
import { ApiError } from '../contract/errors.ts';
import { nearest } from '../contract/nearest.ts';
import type { Client } from '../http/client.ts';
import { type Audit, type Caller, openRecord } from './audit.ts';
import { presentError, toApiError } from './errors.ts';
import { type Fenced, fence, lineText, type ToolResult } from './fence.ts';
import type { Blast } from './guard/blast.ts';
import { type Human, nobody, outgrown, type Question } from './guard/guard.ts';
import type { Means } from './means.ts';
import type { Hidden } from './offer.ts';
import { type Progress, pacedReports } from './progress.ts';
import { secretsOfCall } from './secrets.ts';
import type { Arguments } from './tools/relations.ts';
import type { Tool } from './tools/tool.ts';
import { tools } from './tools/tools.ts';

export interface Run {
  tool: Tool;
  args: Arguments;
  /** Called once the arguments have been checked. */
  connect: () => Promise<Client>;
  human: Human;
  signal: AbortSignal | undefined;
  /** Receives progress reports, if the caller wants them. */
  progress?: Progress | undefined;
  means?: Means | undefined;
  /** Records the call; absent: it is not recorded. */
  audit?: Audit | undefined;
  caller?: Caller | undefined;
  /** Called with errors that are this server's own fault. */
  onFault: (error: unknown) => void;
}

/**
 * Runs a tool: checks the arguments, asks a human if it deletes, calls the service and presents the answer. Errors
 * become results. May be run twice for one delete, so nothing is changed before the approval.
 */
export async function runTool(run: Run): Promise<ToolResult | InputRequiredResult> {
  if (run.audit === undefined) return runOnce(run);
  const record = openRecord(run.tool, run.args, run.caller ?? { principal: '' }, run.audit);
  const result = await runOnce({ ...run, human: record.watched(run.human) });
  record.end(result);
  return result;
}

async function runOnce({
  tool,
  args,
  connect,
  human,
  signal,
  progress: send,
  means = {},
  onFault,
}: Run): Promise<ToolResult | InputRequiredResult> {
  const { name } = tool.listing;
  let input: Arguments = {};
  const reports = send === undefined ? undefined : pacedReports(send, name, signal);
  const progress = reports?.report ?? (() => undefined);
  let client: Client | undefined;
  let blast: Blast | undefined;
  const secrets = tool.secretArguments?.length ? secretsOfCall(means.secretOf) : undefined;
  const hide = secrets?.hide ?? ((answer: Fenced) => answer);
  try {
    input = tool.read(args, secrets);
    client = await connect();
    const context = { client, signal, progress, means };
    if (tool.blast !== undefined) {
      blast = await tool.blast(context, input);
      let verdict = await human.ask({ tool: name, args, blast, client, signal });
      if (verdict.kind === 'approved' && verdict.waited === true) {
        const asked = blast;
        blast = await tool.blast(context, input);
        verdict = outgrown(asked, blast) ?? verdict;
      }
      if (verdict.kind === 'asked') return verdict.result;
      if (verdict.kind === 'refused') {
        const { code, reason, next, approval } = verdict;
        const data = { error: { tool: name, code, message: reason }, ...(approval === undefined ? {} : { approval }) };
        return fence({ data, text: `${name} was refused (${code}): ${reason}`, next, isError: true });
      }
    }
    return fence(hide(await tool.run(context, input, blast)));
  } catch (error) {
    const apiError = toApiError(error);
    if (apiError !== error) onFault(error);
    const suggestions =
      client === undefined ? [] : await tool.nearest({ client, signal, progress, means }, input, apiError);
    return fence(hide(presentError(name, apiError, { suggestions, next: tool.next?.(apiError), input: args })));
  } finally {
    reports?.end();
  }
}

const NAME_CHARS_MAX = 100;

/** Says that there is no such tool, with the nearest names. */
export function unknownTool(name: string, offered: ReadonlyMap<string, unknown> = tools()): string {
  const close = nearest(name, offered.keys());
  const hint = close.length > 0 ? `did you mean ${close.map((tool) => `"${tool}"`).join(', ')}?` : 'list the tools.';
  return `Cannot call tool "${lineText(name, NAME_CHARS_MAX)}": it does not exist; ${hint}`;
}

const SETTINGS_NEXT =
  'A human can change that: the settings --toolsets, --profile and --read-only of this server, then a restart; "colloquy doctor" shows what is hidden and why.';
const ROLE_NEXT = 'A human can change that, with an API key of that role.';

/** The answer to a call of a tool that exists but is not offered; undefined for any other name. */
export function notOffered(name: string, hidden: readonly Hidden[]): ToolResult | undefined {
  const found = hidden.find(({ tool }) => tool === name);
  if (found === undefined) return undefined;
  const message = `Cannot call tool "${name}": this server does not offer it, since ${found.why}.`;
  const { by, remedy } = found;
  const settings =
    remedy === undefined ? SETTINGS_NEXT : `A human can change that, and restart this server: ${remedy}.`;
  const next = by === 'role' ? ROLE_NEXT : settings;
  return fence({ ...presentError(name, new ApiError('forbidden', message)), next });
}

/** One call from outside MCP. */
export interface CallRequest {
  client: Client;
  /** Tool name, e.g. `run_query`. */
  name: string;
  args: Arguments;
  /**
   * Asks the human at the terminal before anything is deleted; false refuses. `typedName` is set if the human has to
   * type that name instead of a plain yes. It must ask on a TTY and refuse if there is none; otherwise a model with a
   * shell could approve its own calls.
   */
  confirm: (message: string, typedName: string | undefined) => Promise<boolean>;
  /** `off`: nobody is asked, by the operator's choice (default `ask`). */
  guard?: 'ask' | 'off';
  signal?: AbortSignal;
  /** Receives progress reports of calls that take longer than a second. */
  progress?: Progress;
  means?: Means;
  audit?: Audit | undefined;
}

export interface CallAnswer {
  /** The text that a model would read. */
  text: string;
  structured: Record<string, unknown>;
  isError: boolean;
}

/**
 * Calls a tool as the MCP server would, for `colloquy call <tool> '<json>'`. Errors of the call are answers with
 * `isError`; rejects only if there is no such tool (`not_found`).
 */
export async function callTool(request: CallRequest): Promise<CallAnswer> {
  const { client, name, args, confirm, guard = 'ask', signal, progress, means, audit } = request;
  const tool = tools().get(name);
  if (tool === undefined) throw new ApiError('not_found', unknownTool(name));
  let fault: unknown;
  const atTerminal: Human = {
    ask: async ({ blast }: Question) =>
      (await confirm(blast.message, blast.typedName))
        ? { kind: 'approved', waited: true }
        : {
            kind: 'refused',
            code: 'declined',
            reason: 'Nothing was changed: the deletion was not confirmed.',
            next: 'A human can run the command again in a terminal and confirm. For automation its operator can set --guard=off (COLLOQUY_GUARD=off), and nobody is asked.',
          },
  };
  const onFault = (error: unknown) => {
    fault = error;
  };
  const caller = { principal: 'terminal' };
  const connect = async () => client;
  const human = guard === 'off' ? nobody : atTerminal;
  const result = await runTool({ tool, args, connect, human, signal, progress, means, audit, caller, onFault });
  if (fault !== undefined) throw fault;
  if (!('structuredContent' in result)) throw new ApiError('internal', `The call of ${name} asked for more input.`);
  const { content, structuredContent, isError } = result as ToolResult;
  return {
    text: content
      .map((part) => ('text' in part ? part.text : ''))
      .join('\n')
      .trimEnd(),
    structured: structuredContent,
    isError: isError === true,
  };
}
