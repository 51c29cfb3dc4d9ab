import { createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { APPROVAL_TTL_MS } from '../../contract/approvals.ts';
import { ApiError } from '../../contract/errors.ts';
import { type Extent, growth } from '../../contract/extent.ts';

/** What a human is asked. */
export interface Matter {
  tool: string;
  /** Digest of what the approval is for. */
  binding: string;
  /** Fingerprint of the target at the time. */
  target: string;
  /** What goes with it; a yes to less is none. */
  extent: Extent;
  message: string;
  /** What has to be typed to approve; undefined: a plain yes is enough. */
  typedName: string | undefined;
}

/** Who asks: an answer is given to the same API key only. */
export interface AskingKey {
  keyHash: string;
  email: string;
  /** What the client calls itself, which nobody has checked. */
  client?: string | undefined;
}

/** A question that was asked and whose answer was not given out yet. Times are milliseconds since 1970. */
export interface Asked extends Matter {
  code: string;
  status: 'pending' | 'approved' | 'declined';
  asker: AskingKey;
  askedAt: number;
  expiresAt: number;
  /** What came since somebody said yes to less; undefined: it is asked for the first time. */
  more: string | undefined;
}

/**
 * The questions of this service to its humans. They live in memory: with the service they are gone, and whoever asked
 * asks again.
 */
export interface ApprovalDesk {
  /**
   * Asks, or gets the answer: one that was given is used up by this. The same question of the same key while it is
   * pending is the same one; about another target, with more that goes than somebody said yes to, or with a name to type
   * that was not asked for, it is a new one.
   * Throws `resource_exceeded` where too many wait.
   */
  request(asker: AskingKey, question: Matter): Asked;
  /** The question with this code, whatever its letter case and dashes. */
  find(code: string): Asked | undefined;
  /** What waits for a human, oldest first. */
  pending(): Asked[];
  /** Records a human's answer. Throws `not_found`, and `invalid_input` where it is answered or the name is another. */
  decide(code: string, decision: 'approve' | 'decline', typedName: string | undefined): Asked;
  /** Drops a question, or its answer, of this key; false where there is none. */
  withdraw(code: string, keyHash: string): boolean;
  /** Proves that a form showed this question as it is now. */
  formToken(asked: Asked): string;
  isFormToken(asked: Asked, token: string): boolean;
  close(): void;
}

export interface DeskOptions {
  ttlMs?: number;
  now?: () => number;
  /** Keeps the service from leaving until the function that it returns is called. */
  hold: () => () => void;
}

/** Questions that one API key, and all together, may have open. */
export const PER_KEY_MAX = 20;
export const OPEN_MAX = 200;
// Letters and digits that nobody mistakes for another. 12 of them are 58 random bits.
const ALPHABET = '23456789ABCDEFGHJKMNPQRSTVWXYZ';
const GROUPS = 3;
const GROUP_LENGTH = 4;
// Control, format and unassigned characters, and the invisible separators of lines: a question has only what is seen.
const INVISIBLE = /[^\P{C}\n]|[\p{Zl}\p{Zp}]/gu;

export function createApprovalDesk({ ttlMs = APPROVAL_TTL_MS, now = Date.now, hold }: DeskOptions): ApprovalDesk {
  const open = new Map<string, Asked>();
  const key = randomBytes(32);
  let release: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;

  /** Drops what has expired; the service may leave once nothing is open. */
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

  /** The earlier question, used up, where its answer is one to this question; a yes to less than is asked now is none. */
  function giveOut(earlier: Asked | undefined, question: Matter): Asked | undefined {
    if (earlier === undefined || earlier.status === 'pending' || earlier.target !== question.target) return undefined;
    const isNo = earlier.status === 'declined';
    if (!isNo && (earlier.typedName !== question.typedName || grownSince(earlier, question))) return undefined;
    open.delete(earlier.code);
    return earlier;
  }

  /** The question as it waits for its human, in the place of the earlier one, if any. */
  function ask(asker: AskingKey, question: Matter, earlier: Asked | undefined): Asked {
    if (earlier === undefined) return add(asker, question);
    if (earlier.status === 'pending' && earlier.target === question.target) {
      // What the human sees is what is true now; an answer to what was shown before is not accepted.
      const { extent, typedName } = question;
      return Object.assign(earlier, { message: withMore(question.message, earlier.more), typedName, extent });
    }
    open.delete(earlier.code);
    return add(asker, question, grownSince(earlier, question));
  }

  const token = ({ code, message, typedName, target, extent }: Asked) =>
    createHmac('sha256', key)
      .update(JSON.stringify([code, message, typedName ?? null, target, extent]))
      .digest('base64url');

  return {
    request(given, matter) {
      settle();
      const question = { ...matter, message: matter.message.replace(INVISIBLE, '') };
      const asker = { ...given, client: given.client?.replace(/\s+/g, ' ').replace(INVISIBLE, '') };
      const earlier = [...open.values()].find(
        (one) => one.asker.keyHash === asker.keyHash && one.binding === question.binding,
      );
      try {
        return giveOut(earlier, question) ?? ask(asker, question, earlier);
      } finally {
        settle();
      }
    },
    find: live,
    pending() {
      settle();
      return [...open.values()].filter(({ status }) => status === 'pending');
    },
    decide(code, decision, typedName) {
      const asked = live(code);
      if (asked === undefined) throw noSuchQuestion(code);
      if (asked.status !== 'pending') {
        throw new ApiError('invalid_input', `The question ${asked.code} was ${asked.status} already.`);
      }
      if (decision === 'approve' && asked.typedName !== undefined && typedName?.trim() !== asked.typedName) {
        throw new ApiError('invalid_input', 'The name that was typed is not the name of what would be deleted.');
      }
      asked.status = decision === 'approve' ? 'approved' : 'declined';
      // The assistant needs as much time to come back as the human had.
      asked.expiresAt = now() + ttlMs;
      settle();
      return asked;
    },
    withdraw(code, keyHash) {
      const asked = live(code);
      if (asked?.asker.keyHash !== keyHash) return false;
      open.delete(asked.code);
      settle();
      return true;
    },
    formToken: token,
    isFormToken(asked, given) {
      const [a, b] = [Buffer.from(token(asked)), Buffer.from(given)];
      return a.length === b.length && timingSafeEqual(a, b);
    },
    close() {
      open.clear();
      settle();
    },
  };
}

/** What came since somebody said yes to the earlier question. */
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
