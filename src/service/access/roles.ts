import { ApiError } from '../../contract/errors.ts';
import { ROLES, type Role, type Row } from '../../contract/row.ts';
import type { UserRecord } from '../catalog/records.ts';

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

/** A row's title for use after "Cannot": `Add documents` becomes `add documents`. */
export function lowerFirst(title: string): string {
  return title.charAt(0).toLowerCase() + title.slice(1);
}
