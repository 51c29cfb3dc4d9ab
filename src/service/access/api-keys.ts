import { API_KEYS_MAX, type ApiKey } from '../../contract/api-keys.ts';
import { ApiError } from '../../contract/errors.ts';
import { type Catalog, put, remove } from '../catalog/catalog.ts';
import { byName, keysOf, requireApiKey, requireUser } from '../catalog/not-found.ts';
import type { ApiKeyRecord, UserRecord } from '../catalog/records.ts';
import type { CallContext } from '../context.ts';
import { ADMIN_EMAIL, isLocalKeyName } from './admin-key.ts';
import { hashKey, KEY_LENGTH, newKey, requireCaller } from './auth.ts';

/** Stands for the calling user in place of an e-mail. */
const SELF = 'self';
// Blank, a step in a path, or with characters that nobody can type or read.
const UNUSABLE_NAME = /^\s*$|^\.{1,2}$|\p{Cc}/u;

/** Creates a key of the calling user (docs/api.md #6). Throws `invalid_input`, `already_exists`, `resource_exceeded`. */
export function createApiKey(ctx: CallContext, input: { name: string }): Promise<ApiKey> {
  return createKey(ctx, SELF, input.name);
}

/** Creates a key of any user (docs/api.md #7). Throws like `createApiKey`, or `not_found`. */
export function createUserApiKey(ctx: CallContext, input: { user: string; name: string }): Promise<ApiKey> {
  return createKey(ctx, input.user, input.name);
}

/** Deletes a key of the calling user (docs/api.md #8), even the one in use, which is refused from the next request on. */
export function deleteApiKey(ctx: CallContext, input: { name: string }): Promise<ApiKey> {
  return deleteKey(ctx, SELF, input.name);
}

/** Deletes a key of any user (docs/api.md #9). */
export function deleteUserApiKey(ctx: CallContext, input: { user: string; name: string }): Promise<ApiKey> {
  return deleteKey(ctx, input.user, input.name);
}

/** The keys of the calling user, by name (docs/api.md #10). */
export function listApiKeys(ctx: CallContext): ApiKey[] {
  return listKeys(ctx, SELF);
}

/** The keys of any user, by name (docs/api.md #11). */
export function listUserApiKeys(ctx: CallContext, input: { user: string }): ApiKey[] {
  return listKeys(ctx, input.user);
}

function createKey(ctx: CallContext, email: string, name: string): Promise<ApiKey> {
  const { catalog } = ctx;
  if (UNUSABLE_NAME.test(name) || !name.isWellFormed()) {
    throw new ApiError(
      'invalid_input',
      `Cannot create API key ${JSON.stringify(name)}: "name" must be readable text, and not "." or "..". Choose another name.`,
    );
  }
  return catalog.change(() => {
    const user = userOf(ctx, email);
    refuseTakenName(catalog, user, name);
    const count = keysOf(catalog, user.email).length;
    if (count >= API_KEYS_MAX) {
      throw new ApiError(
        'resource_exceeded',
        `Cannot create API key "${name}" for user "${user.email}": it has ${count} keys, and at most ${API_KEYS_MAX} are allowed. Delete one first.`,
      );
    }
    const key = newKey();
    const record: ApiKeyRecord = {
      hash: hashKey(key),
      user: user.email,
      name,
      prefix: key.slice(0, 4),
      createdAt: new Date().toISOString(),
      createdBy: ctx.caller.user.email,
    };
    const result = { ...toApiKey(ctx, record), key };
    return { changes: [put('apiKey', record.hash, record)], result };
  });
}

function refuseTakenName(catalog: Catalog, user: UserRecord, name: string): void {
  const what = `Cannot create API key "${name}" for user "${user.email}"`;
  if (keysOf(catalog, user.email).some((key) => key.name === name)) {
    throw new ApiError(
      'already_exists',
      `${what}: a key of that name exists already. Delete it first, or choose another name.`,
    );
  }
  // The service's next start would take this key for its own old one, and delete it.
  if (user.email === ADMIN_EMAIL && isLocalKeyName(name)) {
    throw new ApiError(
      'already_exists',
      `${what}: the service keeps that name for the key in its data folder. Choose another name.`,
    );
  }
}

function deleteKey(ctx: CallContext, email: string, name: string): Promise<ApiKey> {
  const { catalog } = ctx;
  return catalog.change(() => {
    const record = requireApiKey(catalog, userOf(ctx, email).email, name);
    return { changes: [remove('apiKey', record.hash)], result: toApiKey(ctx, record) };
  });
}

function listKeys(ctx: CallContext, email: string): ApiKey[] {
  return keysOf(ctx.catalog, userOf(ctx, email).email)
    .sort(byName)
    .map((record) => toApiKey(ctx, record));
}

function userOf(ctx: CallContext, email: string): UserRecord {
  if (email !== SELF) return requireUser(ctx.catalog, email);
  requireCaller(ctx.catalog, ctx.caller);
  return ctx.caller.user;
}

/** A key as listed: masked, since only its hash is stored. */
function toApiKey(ctx: CallContext, record: ApiKeyRecord): ApiKey {
  return {
    created_at: record.createdAt,
    name: record.name,
    key: record.prefix.padEnd(KEY_LENGTH, '*'),
    last_access_time: ctx.keyAccess.lastOf(record),
    state: 'ACTIVE',
    role: null,
    created_by: record.createdBy ?? record.user,
    expiry_time: null,
  };
}
