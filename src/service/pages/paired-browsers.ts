import { createHash, randomBytes } from 'node:crypto';
import { PAIRED_DAYS, PAIRING_TTL_MS } from '../../contract/browsers.ts';
import { type Catalog, put, remove } from '../catalog/catalog.ts';

/** The browsers in which humans answer questions, and the invitations to pair one. */
export interface PairedBrowsers {
  /** Name of the cookie of paired browsers: one per service, since all servers on 127.0.0.1 share cookies. */
  readonly cookie: string;
  /** A new secret that pairs one browser, once, within five minutes. Times are milliseconds since 1970. */
  invite(): { secret: string; expiresAt: number };
  /**
   * Uses up an invitation and returns the browser's token: `known` if that is paired already, otherwise a new one.
   * Undefined if there is no such invitation.
   */
  accept(secret: string, known?: string): Promise<string | undefined>;
  isPaired(token: string): boolean;
  /** Ends every pairing and invitation; resolves to the number of browsers that were paired. */
  forget(): Promise<number>;
  close(): void;
}

export interface PairingOptions {
  catalog: Catalog;
  /** Distinguishes the services of one machine; the same after a restart. */
  place: string;
  now?: () => number;
  /** Keeps the service from exiting until the returned function is called. */
  hold: () => () => void;
}

/** Most browsers paired at once; one more replaces the one paired first. */
export const PAIRED_MAX = 20;
/** Most open invitations at once; one more ends the oldest. */
export const INVITATIONS_MAX = 20;
const SECRET_BYTES = 32;
const DAY_MS = 86_400_000;

/**
 * Pairings are stored in the metadata, so that they outlive the service, as hashes of the tokens. A token has 256
 * random bits, so a fast hash without salt cannot be reversed, and the timing of its lookup reveals nothing.
 */
export function createPairedBrowsers({ catalog, place, now = Date.now, hold }: PairingOptions): PairedBrowsers {
  const invitations = new Map<string, { expiresAt: number; end: () => void }>();

  function endInvitation(hash: string): boolean {
    const found = invitations.get(hash);
    found?.end();
    return invitations.delete(hash);
  }

  function isPaired(token: string): boolean {
    const found = catalog.all('browser').get(hashed(token));
    return found !== undefined && expiryOf(found.pairedAt) > now();
  }

  return {
    cookie: `colloquy-${hashed(place).slice(0, 12)}`,
    invite() {
      const secret = newSecret();
      const hash = hashed(secret);
      const release = hold();
      const timer = setTimeout(() => endInvitation(hash), PAIRING_TTL_MS).unref();
      const end = () => {
        clearTimeout(timer);
        release();
      };
      const [oldest] = invitations.keys();
      if (oldest !== undefined && invitations.size >= INVITATIONS_MAX) endInvitation(oldest);
      const expiresAt = now() + PAIRING_TTL_MS;
      invitations.set(hash, { expiresAt, end });
      return { secret, expiresAt };
    },
    async accept(secret, known) {
      const hash = hashed(secret);
      const found = invitations.get(hash);
      // Before the first await, so that one invitation cannot let in two browsers.
      if (!endInvitation(hash) || found === undefined || found.expiresAt <= now()) return undefined;
      if (known !== undefined && isPaired(known)) return known;
      const token = newSecret();
      await catalog.change(() => {
        const all = [...catalog.all('browser')].sort(([, a], [, b]) => a.pairedAt - b.pairedAt);
        const isOver = ([, { pairedAt }]: (typeof all)[number]) => expiryOf(pairedAt) <= now();
        const current = all.filter((one) => !isOver(one));
        const surplus = current.slice(0, Math.max(0, current.length + 1 - PAIRED_MAX));
        const gone = [...all.filter(isOver), ...surplus].map(([key]) => remove('browser', key));
        return { changes: [...gone, put('browser', hashed(token), { pairedAt: now() })], result: undefined };
      });
      return token;
    },
    isPaired,
    forget() {
      for (const hash of [...invitations.keys()]) endInvitation(hash);
      return catalog.change(() => {
        const keys = [...catalog.all('browser').keys()];
        return { changes: keys.map((key) => remove('browser', key)), result: keys.length };
      });
    },
    close() {
      for (const hash of [...invitations.keys()]) endInvitation(hash);
    },
  };
}

function expiryOf(pairedAt: number): number {
  return pairedAt + PAIRED_DAYS * DAY_MS;
}

function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

function hashed(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
