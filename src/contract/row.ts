import type { z } from 'zod';

/**
 * What an operation does to stored data. It alone decides retry, tool annotations, guards and read-only filtering.
 *
 * - `read`: changes nothing; safe to repeat.
 * - `create`: only adds something new.
 * - `update`: changes what exists under the caller's own instruction (a document replaced, a tag moved).
 * - `delete`: takes something away; a human is asked first.
 */
export type Effect = 'read' | 'create' | 'update' | 'delete';

/** The least role that may call an operation; each role may also do what the ones before it may. */
export const ROLES = ['read-only', 'member', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** One endpoint of the API: everything that client, service, tools and documentation derive from. */
export interface Row {
  /** The endpoint's number in the interface description; absent for what this service adds to it. */
  readonly number?: number;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path template; `{name}` stands for the percent-encoded path parameter `name`. */
  readonly path: string;
  /** Three or four words for a human. */
  readonly title: string;
  /** One or two sentences for whoever decides whether to call it. */
  readonly summary: string;
  readonly effect: Effect;
  readonly role: Role;
  /** Path parameters. */
  readonly params: z.ZodObject;
  /** Query-string parameters; each is also accepted in the body. */
  readonly query?: z.ZodObject;
  /** JSON body. Absent where the endpoint takes none. */
  readonly body?: z.ZodObject;
  /** What is returned, without its envelope. */
  readonly result: z.ZodType;
  /** Of a delete: what the service refuses to delete, so that no human is asked about it in vain. */
  readonly refuses?: {
    /** Whatever still holds something: anything that is listed under its path. */
    readonly contents?: boolean;
    /** What goes by one of these names, always, and what to do instead. */
    readonly names?: { readonly [name: string]: string };
    /** The only one that is left. */
    readonly last?: boolean;
    /** What others use that stand in this field of it. */
    readonly usedIn?: string;
    /** The user that the call is made for. */
    readonly own?: boolean;
    /** The last user that has this role. */
    readonly lastOf?: Role;
  };
  /** Of a delete: so severe that the name has to be typed, even where what goes holds nothing. */
  readonly severe?: true;
  /** Of a delete: what follows, in a sentence for the human, where nothing else of its kind is left. */
  readonly whenLast?: string;
  /** Of a delete: it may take the API key away that the call is made with. */
  readonly locksOut?: true;
  /** Of a delete: what it deletes goes to the trash, where a service keeps one. */
  readonly trash?: true;
  /** Accepted over a local socket only: for the person at this machine. */
  readonly localOnly?: true;
  /** `data`: the result travels as `{"data": result}`; `bare`: as it is. */
  readonly envelope: 'data' | 'bare';
}

export type Contract = Readonly<Record<string, Row>>;
