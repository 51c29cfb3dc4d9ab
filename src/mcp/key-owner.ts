import { ApiError } from '../contract/errors.ts';
import type { Client } from '../http/client.ts';

/** Whose API key makes a call, as the service says. */
export interface KeyOwner {
  /** E-mail. */
  user: string;
  /** Name of the key; absent where the service does not tell it. */
  key?: string | undefined;
}

type Connect = () => Promise<Client>;

/** A call waits no longer to be recorded with a name. */
const WAIT_MS = 1_000;

const owners = new WeakMap<Connect, Promise<KeyOwner | undefined>>();

/** As was found by `askOwner`; undefined where nothing has been connected to yet. */
export function ownerBehind(connect: Connect): Promise<KeyOwner | undefined> | undefined {
  return owners.get(connect);
}

/** Asks, once, whose key the client that `connect` gave calls with. Undefined if the service does not say so soon. */
export function askOwner(connect: Connect, client: Client): Promise<KeyOwner | undefined> {
  const known = owners.get(connect);
  if (known !== undefined) return known;
  const asked = ownerOf(client).catch(() => {
    // Of the next call it may be known.
    owners.delete(connect);
    return undefined;
  });
  owners.set(connect, asked);
  return asked;
}

async function ownerOf(client: Client): Promise<KeyOwner | undefined> {
  try {
    const { user, api_key: key } = await client.getAbout({}, { timeoutMs: WAIT_MS });
    if (user) return { user, key: key ?? undefined };
  } catch (error) {
    // Another implementation of the API has no such endpoint.
    if (!(error instanceof ApiError) || error.code !== 'not_found') throw error;
  }
  const { email } = await client.getCurrentUser({}, { timeoutMs: WAIT_MS });
  return email ? { user: email } : undefined;
}
