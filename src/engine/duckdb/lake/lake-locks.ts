import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client, ClientConfig } from 'pg';
import { ApiError } from '../../../contract/errors.ts';
import { type Claim, createClaims } from '../../claims.ts';
import { createLocks, type Locks } from '../connections/locks.ts';
import { METADATA_LOCK } from '../tables/store-documents.ts';
import { connectClient } from './catalog-client.ts';
import { type Held, keysOf } from './fence.ts';
import { SERVER_KEEPALIVES } from './lake-options.ts';

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

/** A session that holds one lock, or none. */
interface LockSession {
  client: Client;
  key: string;
  isOver: boolean;
  /** Called when it is over. */
  onOver?: (() => void) | undefined;
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
/** Held in this process while claims come or go. */
const CLAIMS = 'claims';
/** How often a session is looked after, and how late it may answer, in milliseconds. */
const BEAT_MS = 3_000;
const BEAT_ANSWER_MS = 6_000;
/** So much later PostgreSQL does not even say that it waited for so long. */
const ANSWER_MS = 10_000;
const TRY_LOCKS = `SELECT pg_try_advisory_lock(key) AS is_mine
  FROM unnest($1::bigint[]) WITH ORDINALITY AS keys(key, place) ORDER BY place`;
const UNLOCK = 'SELECT pg_advisory_unlock(key) FROM unnest($1::bigint[]) AS keys(key)';
const SESSION = Object.entries(SERVER_KEEPALIVES)
  .map(([name, value]) => `SET ${name} = ${value}`)
  .join('; ');

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
  const claimHere = createClaims();
  /** What has all claims of this node, as long as there are any. */
  let claims: { session: LockSession; count: number } | undefined;
  let isClosed = false;

  async function open(): Promise<LockSession> {
    const key = String(randomBytes(8).readBigInt64BE());
    const session: { -readonly [K in keyof LockSession]?: LockSession[K] } = { key, isOver: false };
    session.client = await connectClient({ ...config, query_timeout: waitMs + ANSWER_MS }, () => {
      session.isOver = true;
      session.onOver?.();
    });
    const opened = session as LockSession;
    try {
      await opened.client.query(`${SESSION}; SET lock_timeout = ${waitMs}`);
      await opened.client.query('SELECT pg_advisory_lock($1::bigint)', [key]);
    } catch (error) {
      end(opened);
      throw error;
    }
    return opened;
  }

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
      end(session);
      throw error;
    }
    return {
      held: { ...keys, session: session.key },
      async release() {
        if (session.isOver) return;
        try {
          await session.client.query('SELECT pg_advisory_unlock($1::bigint)', [keys.lock]);
          if (isClosed || idle.length >= IDLE_MAX) end(session);
          else idle.push(session);
        } catch {
          end(session);
        }
      },
    };
  }

  /** Takes those of the names that are free on all nodes. */
  async function claimed(names: readonly string[]): Promise<{ mine: string[]; release(): Promise<void> }> {
    const keys = names.map((name) => keysOf(name).lock);
    return await local.hold([CLAIMS], async () => {
      if (claims === undefined || claims.session.isOver) claims = { session: await open(), count: 0 };
      const own = claims;
      const { rows } = await own.session.client.query(TRY_LOCKS, [keys]);
      own.count += 1;
      const mine = names.filter((_, index) => rows[index]?.['is_mine'] === true);
      return {
        mine,
        release: () =>
          local.hold([CLAIMS], async () => {
            own.count -= 1;
            try {
              // Said before the session ends: PostgreSQL gives up what an ended one held some time later.
              if (!own.session.isOver) await own.session.client.query(UNLOCK, [mine.map((name) => keysOf(name).lock)]);
            } finally {
              if (own.count === 0) end(own.session);
            }
          }),
      };
    });
  }

  const claim: Claim = (names, work) =>
    claimHere(names, async (free) => {
      if (free.length === 0) return await work([]);
      const { mine, release } = await claimed(free).catch((error: unknown) => {
        throw failed(error);
      });
      try {
        await refresh().catch((error: unknown) => {
          throw failed(error);
        });
        return await work(mine);
      } finally {
        await release().catch(() => undefined);
      }
    });

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
    const giveUp = () => end(session);
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
      end(session);
    }
  }

  /** A session whose other end is cut off does not say so by itself. */
  async function isAlive({ client }: LockSession): Promise<boolean> {
    const late = delay(BEAT_ANSWER_MS, false, { ref: false });
    return await Promise.race([
      client.query('SELECT 1').then(
        () => true,
        () => false,
      ),
      late,
    ]);
  }

  function end(session: LockSession): void {
    session.isOver = true;
    session.client.end().catch(() => undefined);
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
      for (const session of idle.splice(0)) end(session);
    },
  };
}
