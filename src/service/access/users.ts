import type { ParsedInput } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import { mapInTurns } from '../../contract/turns/turns.ts';
import type { User } from '../../contract/users.ts';
import { put, remove } from '../catalog/catalog.ts';
import { findUser, keysOf, requireUser } from '../catalog/not-found.ts';
import type { UserRecord } from '../catalog/records.ts';
import type { CallContext } from '../context.ts';
import { requireCaller } from './auth.ts';
import { getOrganization } from './organization.ts';

/** The longest e-mail address that mail servers accept. */
const EMAIL_LENGTH_MAX = 254;

/** Creates a user without keys (docs/api.md #51). Throws `already_exists`, also if e-mails differ only in letter case. */
export function createUser(ctx: CallContext, input: ParsedInput<'createUser'>): Promise<User> {
  const { catalog } = ctx;
  const { email } = input;
  if (email.length > EMAIL_LENGTH_MAX) {
    throw new ApiError(
      'invalid_input',
      `Cannot create a user: "email" has ${email.length} characters, and at most ${EMAIL_LENGTH_MAX} are allowed.`,
    );
  }
  return catalog.change(() => {
    const taken = findUser(catalog, email);
    if (taken !== undefined) {
      throw new ApiError(
        'already_exists',
        `Cannot create user "${email}": user "${taken.email}" exists already. Use it, or delete it first to change its roles.`,
      );
    }
    const record: UserRecord = {
      email,
      createdAt: new Date().toISOString(),
      roles: [...new Set(input.roles)],
      state: 'NEW',
      inviteState: 'PENDING',
    };
    return { changes: [put('user', email, record)], result: toUser(ctx, record) };
  });
}

/**
 * Deletes a user and its keys (docs/api.md #52), but nothing that it created. Throws `not_found`, or `dependent_resources`
 * for the calling user itself and for the last admin.
 */
export function deleteUser(ctx: CallContext, input: { user: string }): Promise<User> {
  const { catalog, caller } = ctx;
  return catalog.change(() => {
    // If two admins delete each other at once, the second one's key is gone by now, so one admin remains.
    requireCaller(catalog, caller);
    const record = input.user === 'self' ? caller.user : requireUser(catalog, input.user);
    if (record.email === caller.user.email) {
      throw new ApiError(
        'dependent_resources',
        `Cannot delete user "${record.email}": the API key of this request belongs to it. Use the key of another admin.`,
      );
    }
    const admins = [...catalog.all('user').values()].filter((user) => user.roles.includes('admin'));
    if (admins.every((admin) => admin.email === record.email)) {
      throw new ApiError(
        'dependent_resources',
        `Cannot delete user "${record.email}": it is the last admin. Create another one first.`,
      );
    }
    const keys = keysOf(catalog, record.email).map((key) => remove('apiKey', key.hash));
    return { changes: [remove('user', record.email), ...keys], result: toUser(ctx, record) };
  });
}

/** All users, by e-mail (docs/api.md #54). */
export function listUsers(ctx: CallContext): Promise<User[]> {
  const users = [...ctx.catalog.all('user').values()];
  users.sort((a, b) => (a.email < b.email ? -1 : 1));
  return mapInTurns(users, (record) => toUser(ctx, record));
}

/** The user of the calling API key (docs/api.md #53). */
export function getCurrentUser(ctx: CallContext): User {
  return toUser(ctx, ctx.caller.user);
}

function toUser(ctx: CallContext, record: UserRecord): User {
  const organization = getOrganization(ctx);
  return {
    created_at: record.createdAt,
    email: record.email,
    first_name: null,
    last_name: null,
    roles: record.roles,
    state: record.state,
    org: organization.display_name,
    invite_state: record.inviteState,
    orgs: [organization],
    org_memberships: [{ organization, roles: record.roles, expires_at: null, created_at: record.createdAt }],
  };
}
