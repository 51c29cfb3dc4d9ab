import { createHash } from 'node:crypto';
import { CATALOG_SCHEMA, SERVER_KEEPALIVES } from './lake-options.ts';
import { createdOnce } from './triggers.ts';

/*
 * Nobody commits under a lock that is lost. A lock is an advisory lock of a session of its own in the catalog's PostgreSQL,
 * and a commit is a transaction of another session there: with the commit goes which locks it relies on, and a trigger of
 * the table that each commit inserts into refuses it unless these sessions still have them.
 *
 * While it is decided, the commit holds a second lock, shared: whoever takes the first one waits for this one too, so it
 * sees everything that was committed under the first before.
 */

/** A lock as the commits under it name it. */
export interface Held {
  /** The two keys of what is locked, and the session's own. */
  lock: string;
  commits: string;
  session: string;
}

/** What goes with a commit. */
export interface CommitNote {
  /** Tells it from all others. */
  commit: string;
  holds: readonly Held[];
}

/** Of an error of the trigger. */
export const LOST = 'colloquy: the lock is lost';

export function noteText({ commit, holds }: CommitNote): string {
  return JSON.stringify({ colloquy: commit, holds });
}

/** The keys of what a name stands for, signed and of 64 bits. */
export function keysOf(name: string): Pick<Held, 'lock' | 'commits'> {
  const digest = createHash('sha256').update(`colloquy ${name}`).digest();
  return { lock: String(digest.readBigInt64BE(0)), commits: String(digest.readBigInt64BE(8)) };
}

const isLock = (row: string, key: string) => `${row}.locktype = 'advisory' AND ${row}.objsubid = 1 AND ${row}.granted
        AND ${row}.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND ${row}.classid = ((${key} >> 32) & 4294967295)::oid AND ${row}.objid = (${key} & 4294967295)::oid`;

/** The transaction of a node that is cut off would be in the way of all others: how it connects is not ours to say elsewhere. */
const KEEPALIVES = Object.entries(SERVER_KEEPALIVES)
  .map(([name, value]) => `PERFORM set_config('${name}', '${value}', false);`)
  .join('\n    ');

/**
 * Creates the trigger; to be run while nobody else does. It is created once: that waits for all who use the table, and all
 * others for that. What it does is replaced without.
 */
export const FENCE = `
CREATE OR REPLACE FUNCTION ${CATALOG_SCHEMA}.colloquy_fence() RETURNS trigger LANGUAGE plpgsql AS $fence$
DECLARE
  held jsonb;
  lock_key bigint;
  session_key bigint;
BEGIN
  IF current_setting('tcp_keepalives_idle') <> '${SERVER_KEEPALIVES.tcp_keepalives_idle}' THEN
    ${KEEPALIVES}
  END IF;
  IF NEW.commit_extra_info IS NULL OR NEW.commit_extra_info NOT LIKE '{"colloquy":%' THEN
    RETURN NEW;
  END IF;
  FOR held IN SELECT * FROM jsonb_array_elements(NEW.commit_extra_info::jsonb -> 'holds') LOOP
    lock_key := (held ->> 'lock')::bigint;
    session_key := (held ->> 'session')::bigint;
    PERFORM pg_advisory_xact_lock_shared((held ->> 'commits')::bigint);
    IF NOT EXISTS (
      SELECT 1 FROM pg_locks a JOIN pg_locks b ON a.pid = b.pid
      WHERE ${isLock('a', 'lock_key')} AND ${isLock('b', 'session_key')}
    ) THEN
      RAISE EXCEPTION '${LOST}';
    END IF;
  END LOOP;
  RETURN NEW;
END
$fence$;
${createdOnce(
  'colloquy_fence',
  `${CATALOG_SCHEMA}.ducklake_snapshot_changes`,
  `CREATE TRIGGER colloquy_fence BEFORE INSERT ON ${CATALOG_SCHEMA}.ducklake_snapshot_changes
    FOR EACH ROW EXECUTE FUNCTION ${CATALOG_SCHEMA}.colloquy_fence()`,
)}
`;
