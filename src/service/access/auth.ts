import { hash as digest, randomInt, timingSafeEqual } from 'node:crypto';
import type { Logger } from 'pino';
import { ApiError } from '../../contract/errors.ts';
import { ROLES, type Role, type Row } from '../../contract/row.ts';
import { lowerFirst } from '../../contract/text.ts';
import { type Catalog, put } from '../catalog/catalog.ts';
import type { UserRecord } from '../catalog/records.ts';
import type { KeyAccess } from './key-access.ts';

/** Who makes a request. */
export interface Principal {
  user: UserRecord;
  keyName: string;
  /** The stored hash of the key. */
  keyHash: string;
}

export const KEY_LENGTH = 64;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const AUTHORIZATION = /^(?:apikey|bearer) +([^\s]+)$/i;
const HOW = 'Send the header "Authorization: ApiKey <key>".';

/** A new API key: 64 alphanumeric characters from the system's secure random source. */
export function newKey(): string {
  return Array.from({ length: KEY_LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
}

/** The hash stored for a key. A key has 380 random bits, so a fast hash without salt cannot be reversed. */
export function hashKey(key: string): string {
  return digest('sha256', key, 'hex');
}

/**
 * The user behind an `Authorization` header (`ApiKey K` or `Bearer K`, the scheme in any letter case). The first
 * request with one of their keys makes a new user ACTIVE. Throws `unauthorized`.
 */
export async function authenticate(
  ctx: { catalog: Catalog; keyAccess: KeyAccess; log: Logger },
  header: string | undefined,
): Promise<Principal> {
  const hash = hashKey(keyOf(header));
  const record = ctx.catalog.all('apiKey').get(hash);
  // The timing of a map lookup could only reveal something about the hash, which a caller cannot choose; the decision
  // itself takes constant time.
  const user =
    record !== undefined && timingSafeEqual(Buffer.from(record.hash, 'hex'), Buffer.from(hash, 'hex'))
      ? ctx.catalog.all('user').get(record.user)
      : undefined;
  if (record === undefined || user === undefined) throw unknownKey();
  ctx.keyAccess.used(hash);
  const caller = { user, keyName: record.name, keyHash: hash };
  return user.state === 'NEW' ? { ...caller, user: await activate(ctx, user) } : caller;
}

/** The key in an `Authorization` header. Throws `unauthorized` if there is none. */
export function keyOf(header: string | undefined): string {
  if (header === undefined) throw new ApiError('unauthorized', `The request has no API key. ${HOW}`);
  const key = AUTHORIZATION.exec(header.trim())?.[1];
  if (key !== undefined) return key;
  throw new ApiError('unauthorized', `The Authorization header holds no API key in a known form. ${HOW}`);
}

/** Throws `unauthorized` if the caller's key or user was deleted since the request began. */
export function requireCaller(catalog: Catalog, caller: Principal): void {
  if (!catalog.all('apiKey').has(caller.keyHash)) throw unknownKey();
}

function unknownKey(): ApiError {
  return new ApiError('unauthorized', 'The API key is not known here: mistyped, deleted, or of another service.');
}

async function activate(ctx: { catalog: Catalog; log: Logger }, user: UserRecord): Promise<UserRecord> {
  try {
    return await ctx.catalog.change(() => {
      const current = ctx.catalog.all('user').get(user.email);
      if (current === undefined || current.state === 'ACTIVE') return { changes: [], result: current ?? user };
      const active: UserRecord = { ...current, state: 'ACTIVE', inviteState: 'ACCEPTED' };
      return { changes: [put('user', user.email, active)], result: active };
    });
  } catch (error) {
    // This request may still succeed; the next one tries again.
    ctx.log.error({ err: error }, 'cannot store that a user became active');
    return user;
  }
}

function rank(role: Role): number {
  return ROLES.indexOf(role);
}

/** Whether one of the roles includes `needed`: each role includes all lower ones. */
export function permits(roles: readonly Role[], needed: Role): boolean {
  return roles.some((role) => rank(role) >= rank(needed));
}

/** Throws `forbidden` if the user's roles do not permit what the row requires. */
export function requireRole(user: UserRecord, row: Pick<Row, 'title' | 'role'>): void {
  if (permits(user.roles, row.role)) return;
  const has = user.roles.map((role) => `"${role}"`).join(', ') || 'none';
  throw new ApiError(
    'forbidden',
    `Cannot ${lowerFirst(row.title)}: it needs the role "${row.role}", and the user "${user.email}" of this API key has ${has}. Use a key of a user with that role, or ask an admin for it.`,
  );
}
