import { randomInt } from 'node:crypto';
import { APPROVAL_TTL_MS } from '../../contract/approvals.ts';
import { ApiError } from '../../contract/errors.ts';
import { type Extent, growth } from '../../contract/extent.ts';
import { createSigner } from '../signatures.ts';

/** What a human is asked. */
export interface Matter {
  tool: string;
  /** Digest of what the approval is bound to. */
  binding: string;
  /** Fingerprint of the target at that time. */
  target: string;
  /** What is deleted; agreeing to less does not count. */
  extent: Extent;
  message: string;
  /** What has to be typed to approve; undefined if a plain yes is enough. */
  typedName: string | undefined;
}

/** Who asks: the answer is given to the same API key only. */
export interface AskingKey {
  keyHash: string;
  email: string;
  /** What the client calls itself, unchecked. */
  client?: string | undefined;
}

/** A question whose answer has not been fetched yet. Times are milliseconds since 1970. */
export interface Asked extends Matter {
  code: string;
  status: 'pending' | 'approved' | 'declined';
  answeredOn?: 'page' | 'terminal' | undefined;
  asker: AskingKey;
  askedAt: number;
  expiresAt: number;
  /** What was added since somebody agreed to less; undefined if this is the first time it is asked. */
  more: string | undefined;
}

/**
 * The questions of this service to humans. They are kept in memory and end with the service; whoever asked then asks
 * again.
 */
export interface ApprovalDesk {
  /**
   * Asks, or fetches the answer, which is thereby used up. While a question is pending, the same question from the same
   * key is not a second one. It counts as new for another target, if more would be deleted than somebody agreed to, or
   * if it now requires a name to be typed. Throws `resource_exceeded` if too many are waiting.
   */
  request(asker: AskingKey, question: Matter): Asked;
  /** The question with this code, regardless of letter case and dashes. */
  find(code: string): Asked | undefined;
  /** What is deleted by what a key was asked about, with this binding; undefined if no such question is open. */
  extentOf(keyHash: string, binding: string): Extent | undefined;
  /** The questions waiting for a human, oldest first. */
  pending(): Asked[];
  /** Records an answer. Throws `not_found`, or `invalid_input` if there is one already or the typed name is wrong. */
  decide(code: string, decision: 'approve' | 'decline', typedName: string | undefined, on?: Asked['answeredOn']): Asked;
  /** Proves that a form showed this question as it is now. */
  formToken(asked: Asked): string;
  isFormToken(asked: Asked, token: string): boolean;
  close(): void;
}

export interface DeskOptions {
  ttlMs?: number;
  now?: () => number;
  /** Keeps the service from exiting until the returned function is called. */
  hold: () => () => void;
}

/** Most open questions per API key, and overall. */
export const PER_KEY_MAX = 20;
export const OPEN_MAX = 200;
// Letters and digits that cannot be mistaken for each other. 12 of them have 58 random bits.
const ALPHABET = '23456789ABCDEFGHJKMNPQRSTVWXYZ';
const GROUPS = 3;
const GROUP_LENGTH = 4;
// Control, format and unassigned characters and invisible line separators: a question contains only visible text.
const INVISIBLE = /[^\P{C}\n]|[\p{Zl}\p{Zp}]/gu;

export function createApprovalDesk({ ttlMs = APPROVAL_TTL_MS, now = Date.now, hold }: DeskOptions): ApprovalDesk {
  const open = new Map<string, Asked>();
  const tokens = createSigner();
  let release: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;

  /** Drops expired questions; the service may exit once none is open. */
  function settle(): void {
    for (const [code, asked] of open) if (asked.expiresAt <= now()) open.delete(code);
    clearTimeout(timer);
    if (open.size === 0) {
      release?.();
      release = undefined;
      return;
    }
    release ??= hold();
    const next = Math.min(...Array.from(open.values(), ({ expiresAt }) => expiresAt));
    timer = setTimeout(settle, Math.max(1, next - now())).unref();
  }

  function live(code: string): Asked | undefined {
    settle();
    return open.get(canonical(code));
  }

  const askedBy = (keyHash: string, binding: string) =>
    [...open.values()].find((one) => one.asker.keyHash === keyHash && one.binding === binding);

  function add(asker: AskingKey, question: Matter, more?: string): Asked {
    const mine = [...open.values()].filter(({ asker: { keyHash } }) => keyHash === asker.keyHash).length;
    if (mine >= PER_KEY_MAX || open.size >= OPEN_MAX) {
      throw new ApiError(
        'resource_exceeded',
        `Cannot ask a human about ${question.tool}: ${open.size} questions wait already. They expire after ${Math.round(ttlMs / 60_000)} minutes; ask the human to answer those first.`,
      );
    }
    const asked: Asked = {
      ...question,
      message: withMore(question.message, more),
      more,
      code: newCode(),
      status: 'pending',
      asker,
      askedAt: now(),
      expiresAt: now() + ttlMs,
    };
    open.set(asked.code, asked);
    return asked;
  }

  /** The earlier question, used up, if its answer covers this one; agreement to less than is asked now does not. */
  function giveOut(earlier: Asked | undefined, question: Matter): Asked | undefined {
    if (earlier === undefined || earlier.status === 'pending' || earlier.target !== question.target) return undefined;
    const isNo = earlier.status === 'declined';
    if (!isNo && (earlier.typedName !== question.typedName || grownSince(earlier, question))) return undefined;
    open.delete(earlier.code);
    return earlier;
  }

  /** The question that waits for its human, replacing the earlier one, if any. */
  function ask(asker: AskingKey, question: Matter, earlier: Asked | undefined): Asked {
    if (earlier === undefined) return add(asker, question);
    if (earlier.status === 'pending' && earlier.target === question.target) {
      // The human sees the current facts; an answer to what was shown before is not accepted.
      const { extent, typedName } = question;
      return Object.assign(earlier, { message: withMore(question.message, earlier.more), typedName, extent });
    }
    open.delete(earlier.code);
    return add(asker, question, grownSince(earlier, question));
  }

  const shownOf = ({ code, message, typedName, target, extent }: Asked) => [
    code,
    message,
    typedName ?? null,
    target,
    extent,
  ];

  return {
    request(given, matter) {
      settle();
      const question = { ...matter, message: matter.message.replace(INVISIBLE, '') };
      const asker = { ...given, client: given.client?.replace(/\s+/g, ' ').replace(INVISIBLE, '') };
      const earlier = askedBy(asker.keyHash, question.binding);
      try {
        return giveOut(earlier, question) ?? ask(asker, question, earlier);
      } finally {
        settle();
      }
    },
    find: live,
    extentOf(keyHash, binding) {
      settle();
      return askedBy(keyHash, binding)?.extent;
    },
    pending() {
      settle();
      return [...open.values()].filter(({ status }) => status === 'pending');
    },
    decide(code, decision, typedName, on) {
      const asked = live(code);
      if (asked === undefined) throw noSuchQuestion(code);
      if (asked.status !== 'pending') {
        throw new ApiError('invalid_input', `The question ${asked.code} was ${asked.status} already.`);
      }
      if (decision === 'approve' && asked.typedName !== undefined && typedName?.trim() !== asked.typedName) {
        throw new ApiError('invalid_input', 'The name that was typed is not the name of what would be deleted.');
      }
      asked.status = decision === 'approve' ? 'approved' : 'declined';
      asked.answeredOn = on;
      // The assistant gets as much time to come back as the human had to answer.
      asked.expiresAt = now() + ttlMs;
      settle();
      return asked;
    },
    formToken: (asked) => tokens.of(shownOf(asked)),
    isFormToken: (asked, given) => tokens.isOf(shownOf(asked), given),
    close() {
      open.clear();
      settle();
    },
  };
}

/** What was added since somebody agreed to the earlier question. */
function grownSince(earlier: Asked, { target, extent }: Matter): string | undefined {
  return earlier.status === 'approved' && earlier.target === target ? growth(earlier.extent, extent) : undefined;
}

function withMore(message: string, more: string | undefined): string {
  return more === undefined ? message : `You are asked again: ${more} since you said yes.\n${message}`;
}

export function noSuchQuestion(code: string): ApiError {
  const shown = JSON.stringify(code.slice(0, 64));
  return new ApiError(
    'not_found',
    `No question has the code ${shown}: it is mistyped, has expired, or was answered. The assistant can ask again.`,
  );
}

function newCode(): string {
  const letter = () => ALPHABET.charAt(randomInt(ALPHABET.length));
  const group = () => Array.from({ length: GROUP_LENGTH }, letter).join('');
  return Array.from({ length: GROUPS }, group).join('-');
}

function canonical(code: string): string {
  const letters = code.toUpperCase().replace(/[^0-9A-Z]/g, '');
  return (letters.match(/.{1,4}/g) ?? []).join('-');
}
