import { AsyncLocalStorage } from 'node:async_hooks';
import type { ClientConfig } from 'pg';
import { ApiError } from '../../../contract/errors.ts';
import type { Claim } from '../../claims.ts';
import { createLocks, type Locks } from '../connections/locks.ts';
import { METADATA_LOCK } from '../tables/store-documents.ts';
import { type Held, keysOf } from './fence.ts';
import { createLakeClaims } from './lake-claims.ts';
import { endSession, isAlive, type LockSession, openSession } from './lock-sessions.ts';

/** Locks over all nodes of a lake. What holds a key may take it again. */
export interface LakeLocks extends Locks {
  /** As in `Sharing`, over all nodes. Commits do not rely on it: work that has lost its claim finds what others did meanwhile. */
  claim: Claim;
  /** Those that the work now running relies on. */
  held(): readonly Held[];
  /**
   * Runs `work` while the key is held, until `signal` aborts, which that of `work` then does, too: also if the key is lost.
   * Waits for the key however long others have it. Rejects if the catalog cannot be reached, or if `work` does.
   */
  lead(name: string, work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

interface Options {
  client: ClientConfig;
  /** How long to wait for another node (default: a minute). */
  waitMs?: number;
  /** Called when a lock is taken: lets this node have what others did before. */
  refresh(): Promise<void>;
  /** The error to reject with where a lock cannot be had. */
  failed(error: unknown): unknown;
}

/** What work relies on; what it leaves behind may still know of it once that is given up. */
interface Scope {
  held: readonly Held[];
  isOver: boolean;
}

/**
 * Each session is a connection of PostgreSQL, which has few: so much of the work that held no lock before has them at once, and
 * so many are kept. Work on the metadata, for which those may wait, waits for no turn; nothing else does for longer than this.
 */
const AT_ONCE = 16;
const TURN_MS = 30_000;
const IDLE_MAX = 8;
const BUSY = () =>
  new ApiError(
    'not_ready',
    `Cannot write now: ${AT_ONCE} other collections have been written to by this node for ${TURN_MS / 1_000} seconds. Nothing of it is stored. Try again.`,
  );
/** How long to wait for another node; whoever waits behind one that waits for it waits no longer. */
const WAIT_MS = 60_000;
/** How long it is tried at least. */
const WAIT_MS_MIN = 100;
/** PostgreSQL's code for having waited so long. */
const LOCK_TIMEOUT = '55P03';
/** How often a session is looked after, in milliseconds. */
const BEAT_MS = 3_000;

/** Lets so many in at once, the others in order. Rejects for those that have waited for so long. */
function createTurns(max: number) {
  const waiting = new Set<() => void>();
  let inside = 0;
  return {
    async enter(ms: number): Promise<() => void> {
      if (inside >= max) {
        await new Promise<void>((resolve, reject) => {
          const end = (then: () => void) => () => {
            waiting.delete(go);
            clearTimeout(timer);
            then();
          };
          const go = end(resolve);
          const timer = setTimeout(
            end(() => reject(BUSY())),
            ms,
          );
          waiting.add(go);
        });
      }
      inside += 1;
      return () => {
        inside -= 1;
        const [next] = waiting;
        if (inside < max) next?.();
      };
    },
  };
}

/**
 * Each key is taken in this process first, and then, on a session of its own, in PostgreSQL. A session that ends gives its
 * lock up: what is still written under it is refused (`fence.ts`).
 */
export function createLakeLocks({ client: config, waitMs = WAIT_MS, refresh, failed }: Options): LakeLocks {
  const local = createLocks();
  const scope = new AsyncLocalStorage<Scope>();
  const idle: LockSession[] = [];
  /** By name, since when another node has a lock for which one of this node waits, or waited in vain. */
  const awaited = new Map<string, number>();
  const turns = createTurns(AT_ONCE);
  let isClosed = false;
  const open = () => openSession(config, waitMs);
  const claim = createLakeClaims({ local, open, refresh, failed });

  /** `askedAt`: since when the lock is waited for, in this process to begin with. */
  async function taken(name: string, askedAt: number): Promise<{ held: Held; release(): Promise<void> }> {
    const kept = idle.pop();
    const session = kept === undefined || kept.isOver ? await open() : kept;
    const keys = keysOf(name);
    const now = performance.now();
    const since = awaited.get(name) ?? now;
    awaited.set(name, since);
    const leftMs = Math.max(WAIT_MS_MIN, Math.ceil(waitMs - (now - Math.max(since, askedAt))));
    try {
      if (leftMs < waitMs) await session.client.query(`SET lock_timeout = ${leftMs}`);
      await session.client.query('SELECT pg_advisory_lock($1::bigint)', [keys.lock]);
      awaited.delete(name);
      if (leftMs < waitMs) await session.client.query(`SET lock_timeout = ${waitMs}`);
      // Of whoever lost the lock before.
      await session.client.query('SELECT pg_advisory_xact_lock($1::bigint)', [keys.commits]);
    } catch (error) {
      endSession(session);
      throw error;
    }
    return {
      held: { ...keys, session: session.key },
      async release() {
        if (session.isOver) return;
        try {
          await session.client.query('SELECT pg_advisory_unlock($1::bigint)', [keys.lock]);
          if (isClosed || idle.length >= IDLE_MAX) endSession(session);
          else idle.push(session);
        } catch {
          endSession(session);
        }
      },
    };
  }

  /** Resolves once the lock is this session's; others may have it for days. */
  async function waitFor({ client }: LockSession, key: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await client.query('SELECT pg_advisory_lock($1::bigint)', [key]);
        return;
      } catch (error) {
        if (signal.aborted || (error as { code?: unknown }).code !== LOCK_TIMEOUT) throw error;
      }
    }
  }

  async function lead(name: string, work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    const session = await open();
    const ending = new AbortController();
    const stop = () => ending.abort();
    session.onOver = stop;
    const giveUp = () => endSession(session);
    signal.addEventListener('abort', giveUp);
    let beat: NodeJS.Timeout | undefined;
    const inside: Scope = { held: [], isOver: false };
    try {
      signal.throwIfAborted();
      const keys = keysOf(name);
      await waitFor(session, keys.lock, signal);
      // What `work` is about to store it may store.
      signal.removeEventListener('abort', giveUp);
      // Of whoever lost the lock before.
      await session.client.query('SELECT pg_advisory_xact_lock($1::bigint)', [keys.commits]);
      beat = setInterval(() => void isAlive(session).then((is) => is || stop()), BEAT_MS).unref();
      await refresh();
      inside.held = [{ ...keys, session: session.key }];
      if (!session.isOver) await scope.run(inside, () => work(AbortSignal.any([signal, ending.signal])));
    } finally {
      inside.isOver = true;
      clearInterval(beat);
      signal.removeEventListener('abort', giveUp);
      endSession(session);
    }
  }

  const held = () => {
    const around = scope.getStore();
    return around === undefined || around.isOver ? [] : around.held;
  };

  async function hold<T>(all: readonly string[], work: () => Promise<T>): Promise<T> {
    const outer = held();
    const names = all.filter((name) => !outer.some(({ lock }) => lock === keysOf(name).lock));
    if (names.length === 0) return await work();
    const askedAt = performance.now();
    return await local.hold(names, async () => {
      const distinct = [...new Set(names)].sort();
      const own: Awaited<ReturnType<typeof taken>>[] = [];
      const isFree = outer.length > 0 || names.includes(METADATA_LOCK);
      const leave = isFree ? undefined : await turns.enter(TURN_MS);
      const inside: Scope = { held: [], isOver: false };
      try {
        try {
          for (const name of distinct) own.push(await taken(name, askedAt));
          await refresh();
        } catch (error) {
          throw failed(error);
        }
        inside.held = [...outer, ...own.map((one) => one.held)];
        return await scope.run(inside, work);
      } finally {
        inside.isOver = true;
        for (const { release } of own) await release();
        leave?.();
      }
    });
  }

  return {
    claim,
    held,
    hold,
    lead,
    idle: () => local.idle(),
    async close() {
      isClosed = true;
      await local.idle();
      for (const session of idle.splice(0)) endSession(session);
    },
  };
}
