import type { InputRequiredResult } from '@modelcontextprotocol/server';
import { inputRequired, inputResponse } from '@modelcontextprotocol/server';
import { ApiError } from '../../contract/errors.ts';
import { growth } from '../../contract/extent.ts';
import { stringifyJson } from '../../contract/json/json.ts';
import { visibleJson, visibleText } from '../../contract/visible.ts';
import type { Client } from '../../http/client.ts';
import { lineText } from '../fence.ts';
import type { Arguments } from '../tools/relations.ts';
import type { Blast } from './blast.ts';
import { type Approvals, digest, type Subject } from './signed-states.ts';

/** Something that needs a human's consent. */
export interface Question {
  tool: string;
  args: Arguments;
  blast: Blast;
  /** The service, which can reach a human if the client cannot. */
  client?: Client | undefined;
  signal?: AbortSignal | undefined;
}

/** Where a human answers. */
export type Place = 'chat' | 'page' | 'terminal';

export type Verdict =
  /**
   * `by`: where somebody said yes. `waited`: time passed between looking up the target and the answer, so the target has
   * to be looked up again.
   */
  | { kind: 'approved'; by: Place; waited?: boolean }
  /** Nobody was asked: this server's operator has switched the guard off. */
  | { kind: 'off' }
  /** Nothing was changed; `reason` says why and `next` what can be done. */
  | { kind: 'refused'; code: string; reason: string; next: string; approval?: Pending | undefined }
  /** The client has to ask its human and call again. */
  | { kind: 'asked'; result: InputRequiredResult };

/** A question that waits for a human outside the client. */
export interface Pending {
  code: string;
  url: string | null;
  expires_at: string | null;
}

/** A way to ask a human. */
export interface Human {
  ask(question: Question): Verdict | Promise<Verdict>;
  /**
   * What stands for what this human was shown of the same call, if it may bring the answer: the id of a selection, or the
   * binding of the service's question.
   */
  shown?(call: Pick<Question, 'tool' | 'args'>): string | undefined;
}

/** What the current request says about the client and about an earlier question. */
export interface Round {
  /** Whether the client can show a form to a human. */
  canAsk: boolean;
  /** The state as returned by the client, if any. Nothing in it is trusted before it is verified. */
  state: unknown;
  responses: Record<string, unknown> | undefined;
}

/** Who is asking, and how a human reaches the question outside the client. */
export interface Asker {
  principal: string;
  /** The command that starts this program in a shell. */
  command: string;
  /** The command that answers questions in a shell on this machine; absent if the service is on another one. */
  approveCommand?: string | undefined;
  /** The client's name for itself, shown to the human who is asked. */
  clientName?: string | undefined;
}

const KEY = 'approval';

/** For `--guard=off`. */
export const nobody: Human = { ask: () => ({ kind: 'off' }) };

/** Whether a client's capabilities allow it to show a form; `elicitation: {}` means that they do. */
export function canShowForms(capabilities: { elicitation?: unknown } | undefined): boolean {
  const elicitation = capabilities?.elicitation;
  if (typeof elicitation !== 'object' || elicitation === null) return false;
  return Object.keys(elicitation).length === 0 || 'form' in elicitation;
}

/**
 * A human behind an MCP client, asked through elicitation. The first round asks; the second one brings the answer, with
 * the state that binds it to the tool, its arguments, the principal and the target. Anything unclear is a refusal. If
 * more would be deleted than the human was told, the question is asked again, once. If the client cannot ask, the
 * service does: on a page or in a terminal, out of any model's reach.
 */
export function elicitingHuman(approvals: Approvals, round: Round, asker: Asker): Human {
  return {
    shown: (call) => (round.canAsk ? approvals.subjectOf(round.state)?.extent['documents']?.which : bindingOf(call)),
    ask(question) {
      if (!round.canAsk) return askElsewhere(question, asker);
      const hasAnswer = round.state !== undefined || round.responses !== undefined;
      if (!hasAnswer) return ask(approvals, question, asker);
      const settled = settle(approvals, round, question, asker);
      if (typeof settled === 'string') return refused(settled);
      const answer = inputResponse(round.responses, KEY);
      if (answer.kind !== 'elicit') return refused('unanswered');
      if (answer.action !== 'accept') return refused(answer.action === 'decline' ? 'declined' : 'cancelled');
      const more = growth(settled.extent, question.blast.extent);
      if (more !== undefined) return settled.isAgain ? grown(more, true) : ask(approvals, question, asker, more);
      const { typedName } = question.blast;
      const approved: Verdict = { kind: 'approved', by: 'chat' };
      if (typedName === undefined) return answer.content?.['yes'] === true ? approved : refused('declined');
      const typed = answer.content?.['name'];
      return typeof typed === 'string' && typed.trim() === typedName ? approved : refused('mistyped');
    },
  };
}

type Field = { type: 'boolean'; title: string } | { type: 'string'; title: string };

/** `more`: what was added since the human was first asked. */
function ask(approvals: Approvals, { tool, args, blast }: Question, { principal }: Asker, more?: string): Verdict {
  const { target, extent } = blast;
  const requestState = approvals.open({ tool, args, principal }, { target, extent, isAgain: more !== undefined });
  const again = more === undefined ? '' : `You are asked again: ${more} since you were asked.\n`;
  const name = lineText(blast.typedName ?? '');
  const form: Record<string, Field> =
    blast.typedName === undefined
      ? { yes: { type: 'boolean', title: 'Yes, do it' } }
      : { name: { type: 'string', title: `Type ${name} to confirm` } };
  const elicit = inputRequired.elicit({
    message: visibleText(`${again}${blast.message}`),
    requestedSchema: { type: 'object', properties: form, required: Object.keys(form) },
  });
  return { kind: 'asked', result: inputRequired({ inputRequests: { [KEY]: elicit }, requestState }) };
}

type Misfit = 'unasked' | 'forged' | 'expired' | 'used' | 'changed' | 'replaced';

function settle(
  approvals: Approvals,
  { state }: Round,
  { tool, args, blast }: Question,
  { principal }: Asker,
): Subject | Misfit {
  if (state === undefined) return 'unasked';
  if (typeof state !== 'string') return 'forged';
  const settled = approvals.settle(state, { tool, args, principal });
  if (settled.outcome !== 'valid') return settled.outcome;
  return settled.subject.target === blast.target ? settled.subject : 'replaced';
}

const ANEW = 'Call again with the same arguments, and the human is asked anew.';
const WITHOUT_ANSWER = 'Call again without an answer, so that the human is asked.';
const ASK_INSTEAD = 'Do not call it again unless the human says so; ask the human what to do instead.';

/** Why nothing was done, and the one rule for it. */
const REFUSALS = {
  declined: ['the human declined', ASK_INSTEAD],
  cancelled: ['the human dismissed the question', ASK_INSTEAD],
  mistyped: [
    'the name that was typed is not the name of what would be deleted. This is no refusal',
    'Call once more with the same arguments, and the human can try again.',
  ],
  nobody: [
    'nobody could be asked, since this command has no terminal',
    'Tell the human to run the command again in a terminal and to confirm there. For automation its operator can set --guard=off (COLLOQUY_GUARD=off), and nobody is asked.',
  ],
  unanswered: ['the answer of the human is missing', WITHOUT_ANSWER],
  unasked: ['the answer belongs to no question', WITHOUT_ANSWER],
  forged: ['the approval was not issued by this server', WITHOUT_ANSWER],
  expired: ['the question has expired before it was answered. This is no refusal', ANEW],
  used: ['the approval was used before', ANEW],
  changed: ['the approval was given for other arguments, or to somebody else', ANEW],
  replaced: ['the target was replaced since the human was asked', ANEW],
} as const;

export function refused(why: keyof typeof REFUSALS): Verdict {
  const [reason, next] = REFUSALS[why];
  return { kind: 'refused', code: why, reason: `Nothing was changed: ${reason}.`, next };
}

const STOP_WRITERS =
  'tell the human that something keeps writing to it: that has to stop first, or a yes never fits. Then call again.';

/** More would be deleted than a human agreed to; `more` says what. */
function grown(more: string, isAgain: boolean): Verdict {
  return {
    kind: 'refused',
    code: 'grown',
    reason: `Nothing was changed: ${more} since the human was asked, whose yes was for less.`,
    next: isAgain
      ? `Do not call again at once: ${STOP_WRITERS}`
      : `Call again, so that the human is asked anew. If it happens again, ${STOP_WRITERS}`,
  };
}

/** Why an approval of what was `asked` does not cover what it is `now`; undefined if it does. */
export function outgrown(asked: Blast, now: Blast): Verdict | undefined {
  if (asked.target !== now.target) return refused('replaced');
  const more = growth(asked.extent, now.extent);
  return more === undefined ? undefined : grown(more, false);
}

/** Not to this process, of which there may be one for each call: the service gives the answer to the key that asked. */
function bindingOf({ tool, args }: Pick<Question, 'tool' | 'args'>): string {
  return digest({ tool, args });
}

/**
 * Asks through the service, which holds the question until a human has answered on its page or in a terminal. Does not
 * wait: the answer is fetched by calling again.
 */
async function askElsewhere(question: Question, asker: Asker): Promise<Verdict> {
  const { tool, args, blast, client, signal } = question;
  if (client === undefined) return cannotAsk(question, asker);
  try {
    const { status, code, url, expires_at, asked_again, answered_on } = await client.requestApproval(
      {
        tool,
        binding: bindingOf({ tool, args }),
        target: blast.target,
        extent: blast.extent,
        message: visibleText(blast.message),
        typed_name: blast.typedName ?? null,
        ...(asker.clientName === undefined ? {} : { client: lineText(asker.clientName, 80) }),
      },
      { signal },
    );
    if (status === 'approved') return { kind: 'approved', by: answered_on === 'terminal' ? 'terminal' : 'page' };
    if (status === 'declined') return refused('declined');
    if (status !== 'pending' || !code) return cannotAsk(question, asker);
    const approval = { code, url: url ?? null, expires_at: expires_at ?? null };
    return pending(question, asker, approval, asked_again ?? undefined);
  } catch (error) {
    // A service without this feature cannot ask anybody.
    if (error instanceof ApiError && (error.code === 'not_found' || error.code === 'method_not_allowed')) {
      return cannotAsk(question, asker);
    }
    throw error;
  }
}

function pending(question: Question, asker: Asker, approval: Pending, more: string | undefined): Verdict {
  const { code, url, expires_at } = approval;
  const { approveCommand } = asker;
  const terminal =
    approveCommand === undefined
      ? `in a terminal on the machine of the service: colloquy approve ${code}`
      : `in a terminal: ${approveCommand} ${code}`;
  const ways =
    url === null
      ? terminal
      : `${url} in a browser on the machine where Colloquy runs (the first time it says how to pair it), or ${terminal}`;
  const until = expires_at === null ? '' : ` It waits until ${expires_at}; after that the call asks anew.`;
  const why =
    more === undefined
      ? 'this needs the consent of a human, whom the client cannot ask'
      : `${more} since the human said yes, who is asked again`;
  const stop = more === undefined ? '' : ` If it happens again, ${STOP_WRITERS}`;
  return {
    kind: 'refused',
    code: 'pending',
    reason: `Nothing was changed: ${why}. The question waits: ${visibleText(question.blast.message)}`,
    next: `Tell the human to answer it: ${ways}.${until} Then call ${question.tool} again with the same arguments; do not answer it yourself.${stop}`,
    approval,
  };
}

function cannotAsk({ tool, args }: Question, { command }: Asker): Verdict {
  const json = visibleJson(stringifyJson(args)).replaceAll("'", "'\\''");
  return {
    kind: 'refused',
    code: 'cannot_ask',
    // The arguments may be copied from data, so they stay inside the fence.
    reason: `Nothing was changed: this needs the consent of a human, and the client cannot ask one (no elicitation). In a terminal a human can run: ${command} call ${tool} '${json}'`,
    next: 'Nobody was asked. Tell the human the command that is named there, to run it in a terminal; do not run it yourself, and calling again does not help.',
  };
}
