import type { NotFoundKey } from '../../src/contract/errors.ts';

/** How a failure looks on the wire, according to the interface description's table. */
export const UNKNOWN_KEY = { as: 'nobody', status: 401, type: 'AUTHEXCEPTION' } as const;
export const READER = { as: 'read-only', status: 403, type: 'FORBIDDEN' } as const;
export const INVALID = { status: 400, type: 'INVALIDINPUT' } as const;
export const BAD_QUERY = { status: 400, type: 'QUERY_ERROR' } as const;
export const TAKEN = { status: 409, type: 'ALREADYEXISTS' } as const;
export const IN_USE = { status: 409, type: 'DEPENDENTRESOURCES' } as const;

export function missing<K extends NotFoundKey>(key: K) {
  return { status: 404, type: 'NOTFOUND', key } as const;
}
