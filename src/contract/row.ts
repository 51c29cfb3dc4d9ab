import type * as z from 'zod';

/**
 * What an operation does to stored data. It alone decides retries, tool annotations, guards and read-only filtering.
 *
 * - `read`: changes nothing; safe to repeat.
 * - `create`: only adds something new.
 * - `update`: changes what exists on the caller's explicit instruction (a document replaced, a tag moved).
 * - `delete`: removes something; a human is asked first.
 */
export type Effect = 'read' | 'create' | 'update' | 'delete';

/** The roles, from least to most privileged; each includes the ones before it. */
export const ROLES = ['read-only', 'member', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** The place in `ROLES` of the strongest of the known roles; undefined if none is known. */
export function rankOf(roles: readonly string[] | null | undefined): number | undefined {
  const ranks = (roles ?? []).map((role) => (ROLES as readonly string[]).indexOf(role)).filter((rank) => rank >= 0);
  return ranks.length === 0 ? undefined : Math.max(...ranks);
}

/** One endpoint of the API: the source from which client, service, tools and documentation are derived. */
export interface Row {
  /** The endpoint's number in the API; absent for this service's own additions. */
  readonly number?: number;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path template; `{name}` stands for the percent-encoded path parameter `name`. */
  readonly path: string;
  /** Three or four words for humans. */
  readonly title: string;
  /** One or two sentences for deciding whether to call it. */
  readonly summary: string;
  readonly effect: Effect;
  readonly role: Role;
  /** Path parameters; absent if the path has none. */
  readonly params?: z.ZodObject;
  /** Query-string parameters; each is also accepted in the body. */
  readonly query?: z.ZodObject;
  /** JSON body. Absent if the endpoint takes none. */
  readonly body?: z.ZodObject;
  /** The result, without its envelope. */
  readonly result: z.ZodType;
  /** For a delete: what the service refuses to delete, so that no human is asked about it in vain. */
  readonly refuses?: {
    /** Anything that is not empty, i.e. something is listed under its path. */
    readonly contents?: boolean;
    /** Anything with one of these names; the value says what to do instead. */
    readonly names?: { readonly [name: string]: string };
    /** The last remaining one. */
    readonly last?: boolean;
    /** Anything in use; this field of it lists its users. */
    readonly usedIn?: string;
    /** The calling user. */
    readonly own?: boolean;
    /** The only one, of several, that lets the caller's address in. */
    readonly onlyForCaller?: boolean;
    /** The last user with this role. */
    readonly lastOf?: Role;
  };
  /** For a delete: severe enough that the name has to be typed even if what is deleted is empty. */
  readonly severe?: true;
  /** For a delete: a sentence that tells the human the consequence if none of its kind remains. */
  readonly whenLast?: string;
  /** For a delete: it may remove the API key of the call itself. */
  readonly locksOut?: true;
  /** For a delete: what is deleted goes to the trash, if the service has one. */
  readonly trash?: true;
  /** Accepted only over the local socket: for the person at this machine. */
  readonly localOnly?: true;
  /** The result is sent as it is, and not as `{"data": result}`. */
  readonly isBare?: true;
}

export type Contract = Readonly<Record<string, Row>>;
