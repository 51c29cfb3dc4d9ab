import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client, ClientConfig } from 'pg';
import { connectClient } from './catalog-client.ts';
import { SERVER_KEEPALIVES } from './lake-options.ts';

/** A session that holds one lock, or none. */
export interface LockSession {
  client: Client;
  key: string;
  isOver: boolean;
  /** Called when it is over. */
  onOver?: (() => void) | undefined;
}

/** How late a session may answer, in milliseconds. */
const BEAT_ANSWER_MS = 6_000;
/** So much later PostgreSQL does not even say that it waited for so long. */
const ANSWER_MS = 10_000;
const SESSION = Object.entries(SERVER_KEEPALIVES)
  .map(([name, value]) => `SET ${name} = ${value}`)
  .join('; ');

/** `waitMs`: how long a statement of it waits for a lock. */
export async function openSession(config: ClientConfig, waitMs: number): Promise<LockSession> {
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
    endSession(opened);
    throw error;
  }
  return opened;
}

/** A session whose other end is cut off does not say so by itself. */
export async function isAlive({ client }: LockSession): Promise<boolean> {
  const late = delay(BEAT_ANSWER_MS, false, { ref: false });
  return await Promise.race([
    client.query('SELECT 1').then(
      () => true,
      () => false,
    ),
    late,
  ]);
}

export function endSession(session: LockSession): void {
  session.isOver = true;
  session.client.end().catch(() => undefined);
}
