import type { Client } from '../http/client.ts';
import type { Logger } from './logger.ts';
import type { Look } from './resources/resource-kinds.ts';
import type { Arguments } from './tools/relations.ts';
import type { ToolCard } from './tools/tool.ts';

/** Reads the state of resources; loaded at the first poll. */
type State = Pick<typeof import('./resources/resource-state.ts'), 'resourceState' | 'listState' | 'mayConcern'>;

/** Receives notifications. One `Notify` object is told of a change once, however many of its subscriptions match. */
export interface Notify {
  resourceUpdated(uri: string): void;
  /** The list of resources has changed. */
  resourcesChanged(): void;
}

export interface Listening {
  uris: readonly string[];
  /**
   * Whether to tell of changes to the list of resources. `written`: only if a tool of this process made them, for which
   * the service need not be polled.
   */
  list: boolean | 'written';
}

/** Tells subscribers what has changed: at once if a tool of this process changed it, otherwise by polling. */
export interface Changes {
  /**
   * Subscribes; `stop` ends it. `ready` resolves as soon as any later change will be noticed, and rejects if the
   * service cannot be reached. Addresses beyond `URIS_MAX` are not watched.
   */
  listen(wanted: Listening, notify: Notify): { stop: () => void; ready: Promise<void> };
  /** Number of addresses with a subscriber. */
  count(): number;
  /**
   * To be called before a tool changes something, and the returned function afterwards. Subscribers whose first poll
   * may have come in between are told in any case.
   */
  writing(tool: ToolCard, args: Arguments): () => void;
  /** Polls at once. */
  look(): void;
  close(): void;
}

export interface ChangesOptions {
  connect: () => Promise<Client>;
  log: Logger;
  /** The `Changes` of all principals in this process; each polls at once after a write of any of them. */
  peers?: Set<Changes> | undefined;
  /** Pause between polls while there are subscribers, in milliseconds (default 3,000). */
  everyMs?: number | undefined;
}

/** How many addresses one principal can have watched; each adds to the cost of every poll. */
export const URIS_MAX = 100;

const EVERY_MS = 3_000;
const EVERY_MS_MAX = 60_000;
const LIST = 'list';
const LISTED = /^(?:(?:create|delete)_(?:workspace|collection|lambda)|restore_from_trash)$/;

const loadState = () => import('./resources/resource-state.ts');

/**
 * Watches the resources that have subscribers. Without subscribers the service is never called; as long as there are
 * any, the polls keep a local service awake.
 */
export function createChanges({ connect, log, peers, everyMs = EVERY_MS }: ChangesOptions): Changes {
  const watch = createWatch();
  const looking = createLooking({
    look: async () => {
      const state = await loadState();
      await watch.compare(state, state.lookAt(await connect()));
    },
    isNeeded: () => watch.keys().length > 0,
    everyMs,
    log,
  });
  const changes: Changes = {
    listen(wanted, notify) {
      const remove = watch.add({ wanted, notify });
      const ready = wanted.list === true || wanted.uris.length > 0 ? looking.now() : Promise.resolve();
      ready.catch(() => undefined);
      return {
        ready,
        stop: () => {
          remove();
          looking.rest();
        },
      };
    },
    count: watch.count,
    writing(tool, args) {
      const unseen = watch.unseen();
      return () => {
        if (LISTED.test(tool.listing.name) || args['create'] === true) watch.tellWritten();
        watch.tellAnyway(unseen, args);
        for (const one of peers ?? [changes]) one.look();
      };
    },
    look: () => void looking.inBackground(),
    close() {
      watch.clear();
      peers?.delete(changes);
      looking.rest();
    },
  };
  peers?.add(changes);
  return changes;
}

interface Listener {
  wanted: Listening;
  notify: Notify;
}

/** The subscriptions, and the state that was last seen of what they are for. */
function createWatch() {
  const listeners = new Set<Listener>();
  /** The state last seen, by address, and that of the list. */
  const seen = new Map<string, string | undefined>();
  /** Calls by address: the next poll tells of the address, whatever it sees, if one of its calls concerns it. */
  const due = new Map<string, Arguments[]>();

  const listened = () => new Set([...listeners].flatMap(({ wanted }) => wanted.uris));
  const watched = () => [...listened()].slice(0, URIS_MAX);
  const listIsWatched = () => [...listeners].some(({ wanted }) => wanted.list === true);
  const keys = () => [...watched(), ...(listIsWatched() ? [LIST] : [])];

  // A new subscriber is not told of changes before its subscription.
  function forgetUnwatched(): void {
    const kept = new Set(keys());
    for (const key of [...seen.keys(), ...due.keys()]) {
      if (kept.has(key)) continue;
      seen.delete(key);
      due.delete(key);
    }
  }

  function tell(wants: (wanted: Listening) => boolean, what: (notify: Notify) => void): void {
    const told = new Set([...listeners].filter(({ wanted }) => wants(wanted)).map(({ notify }) => notify));
    for (const notify of told) what(notify);
  }
  const tellList = (list: Listening['list']) =>
    tell(
      (wanted) => wanted.list === list,
      (notify) => notify.resourcesChanged(),
    );

  function hasChanged(key: string, state: string | undefined, concerns: State['mayConcern']): boolean {
    const differs = seen.has(key) && seen.get(key) !== state;
    seen.set(key, state);
    const calls = due.get(key) ?? [];
    due.delete(key);
    return differs || calls.some((args) => concerns(key, args));
  }

  return {
    keys,
    count: () => listened().size,
    add(listener: Listener): () => void {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        forgetUnwatched();
      };
    },
    clear: () => listeners.clear(),
    /** What is watched and was not polled yet. */
    unseen: () => keys().filter((key) => !seen.has(key)),
    tellAnyway(unseen: readonly string[], args: Arguments): void {
      for (const key of unseen) due.set(key, [...(due.get(key) ?? []), args]);
    },
    tellWritten: () => tellList('written'),
    /** Polls everything that is watched, and tells of what differs from the last poll. */
    async compare({ resourceState, listState, mayConcern }: State, look: Look): Promise<void> {
      for (const uri of watched()) {
        if (!hasChanged(uri, await resourceState(look, uri), mayConcern)) continue;
        tell(
          ({ uris }) => uris.includes(uri),
          (notify) => notify.resourceUpdated(uri),
        );
      }
      if (listIsWatched() && hasChanged(LIST, await listState(look), mayConcern)) tellList(true);
      forgetUnwatched();
    },
  };
}

interface LookingOptions {
  look: () => Promise<void>;
  isNeeded: () => boolean;
  everyMs: number;
  log: Logger;
}

/** Schedules the polls: one after the other, periodically while they are needed, less often after failures. */
function createLooking({ look, isNeeded, everyMs, log }: LookingOptions) {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let again: Promise<void> | undefined;
  let failures = 0;

  /** A poll that begins after this call: one already running may have missed the latest change. */
  function now(): Promise<void> {
    if (running === undefined) {
      running = look().then(
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
        return now();
      });
    return again;
  }

  function settle(failed: number): void {
    running = undefined;
    failures = failed;
    restart();
  }

  function restart(): void {
    clearTimeout(timer);
    timer = undefined;
    if (!isNeeded()) return;
    const delay = Math.min(everyMs * 2 ** failures, EVERY_MS_MAX);
    timer = setTimeout(() => void inBackground(), delay).unref();
  }

  async function inBackground(): Promise<void> {
    if (!isNeeded()) return;
    try {
      await now();
    } catch (error) {
      log.warn({ err: error }, 'could not look for changes of resources that are subscribed to');
    }
  }

  return {
    now,
    inBackground,
    /** Cancels the next poll if nobody needs it any more. */
    rest: () => {
      if (!isNeeded()) restart();
    },
  };
}
