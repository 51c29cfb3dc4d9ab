import type { Client } from '../http/client.ts';
import type { Logger } from './assistant.ts';
import type { Look } from './resources/resource-kinds.ts';
import type { Arguments } from './tools/relations.ts';
import type { ToolCard } from './tools/tool-cards.ts';

/** How a resource is looked at, which is loaded at the first look. */
type State = Pick<typeof import('./resources/resource-state.ts'), 'resourceState' | 'listState' | 'mayConcern'>;

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
  writing(tool: ToolCard, args: Arguments): () => void;
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

const loadState = () => import('./resources/resource-state.ts');

/**
 * Watches the resources that somebody listens for. While nobody does, it asks nothing of the service; a local service
 * stays awake as long as somebody does.
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

/** Who listens for what, and what was seen of it last. */
function createWatch() {
  const listeners = new Set<Listener>();
  /** What was seen of each address last, and of the list. */
  const seen = new Map<string, string | undefined>();
  /** What is told at the next look, whatever that sees, if one of these calls concerns it. */
  const due = new Map<string, Arguments[]>();

  const listened = () => new Set([...listeners].flatMap(({ wanted }) => wanted.uris));
  const watched = () => [...listened()].slice(0, URIS_MAX);
  const listIsWatched = () => [...listeners].some(({ wanted }) => wanted.list === true);
  const keys = () => [...watched(), ...(listIsWatched() ? [LIST] : [])];

  // Whoever listens anew is not told of what was before.
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
    /** What is watched and was not looked at yet. */
    unseen: () => keys().filter((key) => !seen.has(key)),
    tellAnyway(unseen: readonly string[], args: Arguments): void {
      for (const key of unseen) due.set(key, [...(due.get(key) ?? []), args]);
    },
    tellWritten: () => tellList('written'),
    /** Looks at all that is watched, and tells what differs from the last time. */
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

/** When it is looked: one look after the other, now and then while it is needed, more rarely after failures. */
function createLooking({ look, isNeeded, everyMs, log }: LookingOptions) {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let again: Promise<void> | undefined;
  let failures = 0;

  /** A look that begins after now: one that runs may have passed by what has just changed. */
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
    /** Ends the waiting for the next look where nobody needs it any more. */
    rest: () => {
      if (!isNeeded()) restart();
    },
  };
}
