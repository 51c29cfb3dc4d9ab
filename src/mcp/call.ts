import type { InputRequiredResult } from '@modelcontextprotocol/server';
import { ApiError } from '../contract/errors.ts';
import { nearest } from '../contract/nearest.ts';
import type { Client } from '../http/client.ts';
import { type Audit, type Caller, openRecord } from './audit.ts';
import { presentError, toApiError } from './errors.ts';
import { type Fenced, fence, lineText, type ToolResult } from './fence.ts';
import type { Blast } from './guard/blast.ts';
import { type Human, nobody, outgrown, type Question, refused, type Verdict } from './guard/guard.ts';
import { withReceipt } from './guard/receipt.ts';
import { inTrash } from './in-trash.ts';
import { askOwner, type KeyOwner, ownerBehind } from './key-owner.ts';
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
  /** The tools that the caller has; absent: none, and answers name commands instead. */
  offered?: ReadonlyMap<string, unknown> | undefined;
  /** As in `ToolContext`. */
  isGuarded?: boolean | undefined;
  /** Records the call; absent: it is not recorded. */
  audit?: Audit | undefined;
  caller?: Caller | undefined;
  /** Whose API key it is made with; absent: the service is asked. */
  owner?: KeyOwner | undefined;
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
  let owner = run.owner === undefined ? ownerBehind(run.connect) : Promise.resolve(run.owner);
  const connect = async () => {
    const client = await run.connect();
    owner ??= askOwner(run.connect, client);
    return client;
  };
  const result = await runOnce({ ...run, connect, human: record.watched(run.human) });
  const written = record.end(result, await owner);
  // Only of what deletes somebody has to know before it is forgotten; nothing else waits for the file.
  if (run.tool.blast === undefined || !('structuredContent' in result) || result['isError'] === true) return result;
  return (await written) ? result : unrecorded(result as ToolResult);
}

const UNRECORDED = 'This call could not be written to the audit log; is the disk full? Tell the human.';

function unrecorded(result: ToolResult): ToolResult {
  const [{ text }, ...links] = result.content;
  return {
    ...result,
    content: [{ type: 'text', text: `${text}\n${UNRECORDED}` }, ...links],
    structuredContent: { ...result.structuredContent, not_recorded: UNRECORDED },
  };
}

/** Answers of a human that are a no; all others leave the question open. */
const DECLINED: readonly string[] = ['declined', 'cancelled'];

async function runOnce({
  tool,
  args,
  connect,
  human,
  signal,
  progress: send,
  means = {},
  offered,
  isGuarded,
  onFault,
}: Run): Promise<ToolResult | InputRequiredResult> {
  const { name } = tool.listing;
  let input: Arguments = {};
  const reports = send === undefined ? undefined : pacedReports(send, name, signal);
  const progress = reports?.report ?? (() => undefined);
  let client: Client | undefined;
  let blast: Blast | undefined;
  let consent: Verdict | undefined;
  const secrets = tool.secretArguments?.length ? secretsOfCall(means.secretOf) : undefined;
  const hide = secrets?.hide ?? ((answer: Fenced) => answer);
  try {
    input = tool.read(args, secrets);
    client = await connect();
    const context = { client, signal, progress, means, offered, isGuarded };
    if (tool.blast !== undefined) {
      blast = await tool.blast(context, input, human.shown?.({ tool: name, args }));
      let verdict = await human.ask({ tool: name, args, blast, client, signal });
      if (verdict.kind === 'approved' && verdict.waited === true) {
        const asked = blast;
        blast = await tool.blast(context, input, asked.selection);
        verdict = outgrown(asked, blast) ?? verdict;
      }
      if (verdict.kind === 'asked') return verdict.result;
      if (verdict.kind === 'refused') {
        const { code, reason, next, approval } = verdict;
        const data = { error: { tool: name, code, message: reason }, ...(approval === undefined ? {} : { approval }) };
        const what = DECLINED.includes(code) ? 'was refused' : 'was not carried out';
        return fence({ data, text: `${name} ${what} (${code}): ${reason}`, next, isError: true });
      }
      consent = verdict;
    }
    const answer = withNames(hide(await tool.run(context, input, blast)), tool.renamed?.(args) ?? []);
    return fence(blast === undefined ? answer : withReceipt(answer, { blast, consent, offered }));
  } catch (error) {
    const apiError = toApiError(error);
    if (apiError !== error) onFault(error);
    const context = client === undefined ? undefined : { client, signal, progress, means };
    const mayRestore = offered === undefined || offered.has('restore_from_trash');
    const deleted = context && mayRestore ? await inTrash(context, apiError, input) : undefined;
    const suggestions =
      context === undefined || deleted !== undefined ? [] : await tool.nearest?.(context, input, apiError);
    const next = tool.next?.(apiError, input);
    return fence(hide(presentError(name, apiError, { suggestions, deleted, next, input: args })));
  } finally {
    reports?.end();
  }
}

/** Says which arguments have other names. */
function withNames(answer: Fenced, renamed: readonly string[]): Fenced {
  if (renamed.length === 0) return answer;
  const names = `These names were understood, but are others: ${renamed.join(', ')}.`;
  return { ...answer, next: answer.next === undefined ? names : `${names} ${answer.next}` };
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

/** What a human at the terminal answered; `nobody`: there is no terminal to ask at. */
export type Confirmation = boolean | 'mistyped' | 'nobody';

/** One call from outside MCP. */
export interface CallRequest {
  client: Client;
  /** Tool name, e.g. `run_query`. */
  name: string;
  args: Arguments;
  /**
   * Asks the human at the terminal before anything is deleted. `typedName` is set if the human has to type that name
   * instead of a plain yes. It must ask on a TTY; otherwise a model with a shell could approve its own calls.
   */
  confirm: (message: string, typedName: string | undefined) => Promise<Confirmation>;
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
    async ask({ blast }: Question) {
      const said = await confirm(blast.message, blast.typedName);
      if (said === true) return { kind: 'approved', by: 'terminal', waited: true };
      return refused(said === false ? 'declined' : said);
    },
  };
  const onFault = (error: unknown) => {
    fault = error;
  };
  const caller = { principal: 'terminal' };
  const connect = async () => client;
  const human = guard === 'off' ? nobody : atTerminal;
  const isGuarded = guard !== 'off';
  const run = { tool, args, connect, human, signal, progress, means, isGuarded, audit, caller, onFault };
  const result = await runTool(run);
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
