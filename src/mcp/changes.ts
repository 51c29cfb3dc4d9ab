import type { AnyOperation } from '../contract/contract.ts';
import { ApiError } from '../contract/errors.ts';
import type { Client } from '../http/client.ts';
import type { Logger } from './assistant.ts';
import type { Arguments } from './relations.ts';
import type { Look } from './resource-kinds.ts';
import { parseUri } from './resources.ts';
import type { Tool } from './tools.ts';

/** Where somebody is told of changes. The same object is told once, however often it listens for the same. */
export interface Notify {
  resourceUpdated(uri: string): void;
  /** What is listed has changed. */
  resourcesChanged(): void;
}

export interface Listening {
  uris: readonly string[];
  /**
   * `false`: not of what is listed. `written`: only where a tool of this process has changed it, for which nothing has to be
   * looked after.
   */
  list: boolean | 'written';
}

/** Tells who listens what has changed: at once where a tool of this process did it, otherwise by looking now and then. */
export interface Changes {
  /**
   * Begins to listen; what is returned ends it. `ready` resolves when changes from then on are noticed, and rejects where
   * the service cannot be reached. Addresses beyond `URIS_MAX` are not looked after.
   */
  listen(wanted: Listening, notify: Notify): { stop: () => void; ready: Promise<void> };
  /** Addresses that are listened for. */
  count(): number;
  /**
   * A tool that changes something begins; what is returned is called when it has. Listeners whose first look may have
   * come in between are told in any case.
   */
  writing(tool: Tool, args: Arguments): () => void;
  /** Looks at once. */
  look(): void;
  close(): void;
}

export interface ChangesOptions {
  connect: () => Promise<Client>;
  log: Logger;
  /** Those of other principals in this process, who are told of its writes at once as well. */
  peers?: Set<Changes> | undefined;
  /** How often it is looked while somebody listens, in milliseconds (default 3,000). */
  everyMs?: number | undefined;
}

/** Addresses that one principal can have looked after; each costs a part of a call at each look. */
export const URIS_MAX = 100;

const EVERY_MS = 3_000;
const EVERY_MS_MAX = 60_000;
const LIST = 'list';
const LISTED = /^(create|delete)_(workspace|collection|lambda)$/;

/**
 * Watches the resources that somebody listens for. While nobody does, it asks nothing of the service; a local service
 * stays awake as long as somebody does.
 */
export function createChanges({ connect, log, peers, everyMs = EVERY_MS }: ChangesOptions): Changes {
  const listeners = new Set<{ wanted: Listening; notify: Notify }>();
  /** What was seen of each address last, and of the list. */
  const seen = new Map<string, string | undefined>();
  /** What is told at the next look, whatever that sees. */
  const due = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let again: Promise<void> | undefined;
  let failures = 0;

  const watched = () => [...new Set([...listeners].flatMap(({ wanted }) => wanted.uris))].slice(0, URIS_MAX);
  const listIsWatched = () => [...listeners].some(({ wanted }) => wanted.list === true);
  const keys = () => [...watched(), ...(listIsWatched() ? [LIST] : [])];
  const isNeeded = () => keys().length > 0;
  // Whoever listens anew is not told of what was before.
  const forgetUnwatched = () => {
    const kept = new Set(keys());
    for (const key of [...seen.keys(), ...due]) {
      if (kept.has(key)) continue;
      seen.delete(key);
      due.delete(key);
    }
  };

  function tell(wants: (wanted: Listening) => boolean, what: (notify: Notify) => void): void {
    const told = new Set([...listeners].filter(({ wanted }) => wants(wanted)).map(({ notify }) => notify));
    for (const notify of told) what(notify);
  }

  function hasChanged(key: string, state: string | undefined): boolean {
    const differs = seen.has(key) && seen.get(key) !== state;
    seen.set(key, state);
    return due.delete(key) || differs;
  }

  async function lookOnce(): Promise<void> {
    const look = lookAt(await connect());
    for (const uri of watched()) {
      if (hasChanged(uri, await resourceState(look, uri))) {
        tell(
          ({ uris }) => uris.includes(uri),
          (notify) => notify.resourceUpdated(uri),
        );
      }
    }
    if (listIsWatched() && hasChanged(LIST, await listState(look))) {
      tell(
        ({ list }) => list === true,
        (notify) => notify.resourcesChanged(),
      );
    }
    forgetUnwatched();
  }

  /** A look that begins after now: one that runs may have passed by what has just changed. */
  function lookNow(): Promise<void> {
    if (running === undefined) {
      running = lookOnce().then(
        () => settle(0),
        (error: unknown) => {
          settle(failures + 1);
          throw error;
        },
      );
      return running;
    }
    again ??= running
      .catch(() => undefined)
      .then(() => {
        again = undefined;
        return lookNow();
      });
    return again;
  }

  function settle(failed: number): void {
    running = undefined;
    failures = failed;
    schedule();
  }

  function schedule(): void {
    clearTimeout(timer);
    timer = undefined;
    if (!isNeeded()) return;
    const delay = Math.min(everyMs * 2 ** failures, EVERY_MS_MAX);
    timer = setTimeout(() => void inBackground(), delay).unref();
  }

  async function inBackground(): Promise<void> {
    if (!isNeeded()) return;
    try {
      await lookNow();
    } catch (error) {
      log.warn({ err: error }, 'could not look for changes of resources that are subscribed to');
    }
  }

  const changes: Changes = {
    listen(wanted, notify) {
      const listener = { wanted, notify };
      listeners.add(listener);
      const ready = wanted.list === true || wanted.uris.length > 0 ? lookNow() : Promise.resolve();
      ready.catch(() => undefined);
      return {
        ready,
        stop: () => {
          listeners.delete(listener);
          forgetUnwatched();
          if (!isNeeded()) schedule();
        },
      };
    },
    count: () => new Set([...listeners].flatMap(({ wanted }) => wanted.uris)).size,
    writing(tool, args) {
      const unseen = keys().filter((key) => !seen.has(key) && mayConcern(key, args));
      return () => {
        if (LISTED.test(tool.listing.name) || args['create'] === true) {
          tell(
            ({ list }) => list === 'written',
            (notify) => notify.resourcesChanged(),
          );
        }
        for (const key of unseen) due.add(key);
        for (const one of peers ?? [changes]) one.look();
      };
    },
    look: () => void inBackground(),
    close() {
      listeners.clear();
      peers?.delete(changes);
      schedule();
    },
  };
  peers?.add(changes);
  return changes;
}

/** Whether a call with these arguments can change a resource: not where it names another thing of the same place. */
function mayConcern(key: string, args: Arguments): boolean {
  const names = parseUri(key)?.names ?? {};
  const { workspace, collection, queryLambda: lambda } = args;
  if (names['workspace'] !== undefined && workspace !== undefined && names['workspace'] !== workspace) return false;
  const [wanted, given] = [names['collection'] ?? names['lambda'], collection ?? lambda];
  const isSameKind = (names['collection'] === undefined) === (collection === undefined);
  return wanted === undefined || given === undefined || (isSameKind && wanted === given);
}

/** Calls of the service, each made once however often it is asked for. */
export function lookAt(client: Client): Look {
  const made = new Map<string, Promise<unknown>>();
  const look = (operation: AnyOperation, input: object): Promise<unknown> => {
    const key = JSON.stringify([operation, input]);
    const known = made.get(key);
    if (known !== undefined) return known;
    const call = (client[operation] as unknown as (input: object) => Promise<unknown>)(input);
    made.set(key, call);
    return call;
  };
  return look as Look;
}

/** What differs once a resource has changed; undefined while there is none. */
export async function resourceState(look: Look, uri: string): Promise<string | undefined> {
  const parsed = parseUri(uri);
  if (parsed?.kind.fingerprint === undefined) return '';
  try {
    return await parsed.kind.fingerprint(look, parsed.names);
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') return undefined;
    throw error;
  }
}

async function listState(look: Look): Promise<string> {
  const [workspaces, collections, lambdas] = await Promise.all([
    look('listWorkspaces', {}),
    look('listCollections', {}),
    look('listLambdas', {}),
  ]);
  const named = ({ workspace, name }: { workspace?: unknown; name?: unknown }) => [workspace, name];
  return JSON.stringify([workspaces.map(named), collections.map(named), lambdas.map(named)]);
}
