import { type Claim, createClaims } from '../../claims.ts';
import type { Locks } from '../connections/locks.ts';
import { keysOf } from './fence.ts';
import { endSession, type LockSession } from './lock-sessions.ts';

interface Options {
  /** The locks of this process. */
  local: Locks;
  open(): Promise<LockSession>;
  /** Lets this node have what others did before. */
  refresh(): Promise<void>;
  /** The error to reject with where nothing can be claimed. */
  failed(error: unknown): unknown;
}

/** Held in this process while claims come or go. */
const CLAIMS = 'claims';
const TRY_LOCKS = `SELECT pg_try_advisory_lock(key) AS is_mine
  FROM unnest($1::bigint[]) WITH ORDINALITY AS keys(key, place) ORDER BY place`;
const UNLOCK = 'SELECT pg_advisory_unlock(key) FROM unnest($1::bigint[]) AS keys(key)';

/** Claims over all nodes of a lake: in this process first, and then on one session for all. */
export function createLakeClaims({ local, open, refresh, failed }: Options): Claim {
  const claimHere = createClaims();
  /** What has all claims of this node, as long as there are any. */
  let claims: { session: LockSession; count: number } | undefined;

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
              if (own.count === 0) endSession(own.session);
            }
          }),
      };
    });
  }

  return (names, work) =>
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
}
