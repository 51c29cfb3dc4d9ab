import type { InputRequiredResult } from '@modelcontextprotocol/server';
import { inputRequired, inputResponse } from '@modelcontextprotocol/server';
import { stringifyJson } from '../contract/json.ts';
import type { Approvals } from './approvals.ts';
import type { Blast } from './blast.ts';
import { visibleText } from './fence.ts';
import type { Arguments } from './relations.ts';

/** Something that needs a human's consent. */
export interface Question {
  tool: string;
  args: Arguments;
  blast: Blast;
}

export type Verdict =
  | { kind: 'approved' }
  /** Nothing was changed; `reason` says why and `next` what can be done. */
  | { kind: 'refused'; code: string; reason: string; next: string }
  /** The client has to ask its human and call again. */
  | { kind: 'asked'; result: InputRequiredResult };

/** Where a human can be asked. */
export interface Human {
  ask(question: Question): Verdict | Promise<Verdict>;
}

/** What the present request says about the client and about an earlier question. */
export interface Round {
  /** Whether the client can show a form to a human. */
  canAsk: boolean;
  /** The state as it came back, if any. Comes from the client: nothing in it is trusted before it is verified. */
  state: unknown;
  responses: Record<string, unknown> | undefined;
}

const KEY = 'approval';

/** Whether a client's capabilities let it show a form: `elicitation: {}` means that it can. */
export function canShowForms(capabilities: { elicitation?: unknown } | undefined): boolean {
  const elicitation = capabilities?.elicitation;
  if (typeof elicitation !== 'object' || elicitation === null) return false;
  return Object.keys(elicitation).length === 0 || 'form' in elicitation;
}

/**
 * A human behind an MCP client, asked through elicitation. The first round asks; the second one brings the answer
 * together with the state that binds it to the tool, its arguments and the target. Everything unclear is a refusal.
 * Where the client cannot ask, the human is told of `command`, which starts this program in a terminal.
 */
export function elicitingHuman(approvals: Approvals, round: Round, command = 'colloquy'): Human {
  return {
    ask(question) {
      if (!round.canAsk) return cannotAsk(question, command);
      const hasAnswer = round.state !== undefined || round.responses !== undefined;
      if (!hasAnswer) return ask(approvals, question);
      const settled = settle(approvals, round, question);
      if (settled !== 'valid') return refused(settled);
      const answer = inputResponse(round.responses, KEY);
      if (answer.kind !== 'elicit') return refused('unanswered');
      if (answer.action !== 'accept') return refused(answer.action === 'decline' ? 'declined' : 'cancelled');
      const { typedName } = question.blast;
      if (typedName === undefined) return answer.content?.['yes'] === true ? { kind: 'approved' } : refused('declined');
      const typed = answer.content?.['name'];
      return typeof typed === 'string' && typed.trim() === typedName ? { kind: 'approved' } : refused('mistyped');
    },
  };
}

type Field = { type: 'boolean'; title: string } | { type: 'string'; title: string };

function ask(approvals: Approvals, { tool, args, blast }: Question): Verdict {
  const requestState = approvals.open({ tool, args }, blast.target);
  const name = visibleText(blast.typedName ?? '');
  const form: Record<string, Field> =
    blast.typedName === undefined
      ? { yes: { type: 'boolean', title: 'Yes, do it' } }
      : { name: { type: 'string', title: `Type ${name} to confirm` } };
  const elicit = inputRequired.elicit({
    message: visibleText(blast.message),
    requestedSchema: { type: 'object', properties: form, required: Object.keys(form) },
  });
  return { kind: 'asked', result: inputRequired({ inputRequests: { [KEY]: elicit }, requestState }) };
}

type Settlement = 'valid' | 'unasked' | 'forged' | 'expired' | 'used' | 'changed' | 'replaced';

function settle(approvals: Approvals, { state }: Round, { tool, args, blast }: Question): Settlement {
  if (state === undefined) return 'unasked';
  if (typeof state !== 'string') return 'forged';
  const settled = approvals.settle(state, { tool, args });
  if (settled.outcome !== 'valid') return settled.outcome;
  return settled.target === blast.target ? 'valid' : 'replaced';
}

const REFUSALS = {
  declined: ['the human declined', 'Do not ask again for the same; ask the human what to do instead.'],
  cancelled: ['the human dismissed the question', 'Do not ask again unless the human wants it.'],
  mistyped: [
    'the name that was typed is not the name of what would be deleted',
    'Call again if the human still wants it.',
  ],
  unanswered: ['the answer of the human is missing', 'Call again without an answer, so that the human is asked.'],
  unasked: ['the answer belongs to no question', 'Call again without an answer, so that the human is asked.'],
  forged: ['the approval was not issued by this server', 'Call again without an answer, so that the human is asked.'],
  expired: ['the approval has expired', 'Call again, so that the human is asked anew.'],
  used: ['the approval was used before', 'Call again, so that the human is asked anew.'],
  changed: ['the approval was given for other arguments', 'Call again, so that the human is asked about these.'],
  replaced: ['the target was replaced since the human was asked', 'Call again, so that the human is asked anew.'],
} as const;

function refused(why: keyof typeof REFUSALS): Verdict {
  const [reason, next] = REFUSALS[why];
  return { kind: 'refused', code: why, reason: `Nothing was changed: ${reason}.`, next };
}

function cannotAsk({ tool, args }: Question, command: string): Verdict {
  const json = stringifyJson(args).replaceAll("'", "'\\''");
  return {
    kind: 'refused',
    code: 'cannot_ask',
    reason: 'Nothing was changed: this needs the consent of a human, and the client cannot ask one (no elicitation).',
    next: `Tell the human; in a terminal they can run: ${command} call ${tool} '${json}'`,
  };
}
