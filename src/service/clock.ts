import { uptime } from 'node:os';
import type { Logger } from 'pino';
import { type Catalog, put } from './catalog.ts';
import { SELF } from './organization.ts';
import type { RecordOf } from './records.ts';

/**
 * The time by which something is removed for good. The system's clock may be wrong for a while, and what was removed
 * because of that is gone, while what is only hidden comes back. So a jump forward that no other clock confirms is
 * doubted, and nothing is removed until it has held for a day, or a person has confirmed it.
 */
export interface Clock {
  /** Compares the clocks. Resolves to the time, in milliseconds since 1970; undefined while it is in doubt. */
  look(): Promise<number | undefined>;
  /** Now, or the latest time that was seen without doubt: the clock may have been set back. */
  notBefore(): number;
  /** Since when the clock is in doubt, and what it showed before; undefined if it is not. */
  readonly doubt: Doubt | undefined;
  /** A person says that the clock is right. */
  confirm(): Promise<void>;
}

export interface Doubt {
  /** What the clock showed after the jump, in milliseconds since 1970. */
  sinceMs: number;
  /** What it showed last before. */
  beforeMs: number;
}

/** In milliseconds. `steadyMs` goes on while the machine sleeps, and nobody sets it. */
export interface Watches {
  wallMs(): number;
  steadyMs(): number;
}

const SYSTEM: Watches = { wallMs: () => Date.now(), steadyMs: () => uptime() * 1_000 };

/** What the clock may gain from one look to the next: corrections of a clock that is synchronized are smaller. */
const SLACK_MS = 60_000;
/** How long a service may plausibly have been switched off. */
const OFF_MS_MAX = 7 * 86_400_000;
/** How long a jump has to hold. */
const HOLD_MS = 86_400_000;
/** How often the time is stored, if nothing else changes. */
const STORE_EVERY_MS = 3_600_000;

export function createClock(catalog: Catalog, log: Logger, { wallMs, steadyMs }: Watches = SYSTEM): Clock {
  const stored = catalog.all('clock').get(SELF);
  let doubt: Doubt | undefined = stored?.doubt ?? undefined;
  /** The last look; `steadyMs` is absent if it was before this start. */
  let seen: { wallMs: number; steadyMs?: number } = { wallMs: stored?.seenMs ?? lastChangeMs(catalog) ?? wallMs() };
  /** The last look before the doubted jump. */
  let before = doubt === undefined ? seen : { wallMs: doubt.beforeMs };
  let latestMs = before.wallMs;
  let storedMs = stored?.seenMs;

  /** Whether `now` is later than the time since `then` can account for. */
  const isAhead = (now: number, then: typeof seen) =>
    now - then.wallMs > (then.steadyMs === undefined ? OFF_MS_MAX : steadyMs() - then.steadyMs + SLACK_MS);

  async function store(): Promise<void> {
    const record: RecordOf<'clock'> = { seenMs: seen.wallMs, doubt: doubt ?? null };
    await catalog.change(() => ({ changes: [put('clock', SELF, record)], result: undefined }));
    storedMs = record.seenMs;
  }

  /** Takes a look; returns whether the doubt changed. */
  function judge(now: number): boolean {
    const was = doubt;
    if (doubt === undefined ? isAhead(now, seen) : now < doubt.sinceMs ? isAhead(now, before) : isAhead(now, seen)) {
      if (doubt === undefined) before = seen;
      doubt = { sinceMs: now, beforeMs: before.wallMs };
    } else if (doubt !== undefined && (now < doubt.sinceMs || now - doubt.sinceMs >= HOLD_MS)) {
      doubt = undefined;
    }
    seen = { wallMs: now, steadyMs: steadyMs() };
    if (doubt === undefined) latestMs = Math.max(latestMs, now);
    return doubt?.sinceMs !== was?.sinceMs;
  }

  return {
    get doubt() {
      return doubt;
    },
    notBefore: () => (doubt === undefined ? Math.max(wallMs(), latestMs) : wallMs()),
    async look() {
      const now = wallMs();
      const isChanged = judge(now);
      if (isChanged) {
        const details = { doubt: doubt && { since: isoOf(doubt.sinceMs), before: isoOf(doubt.beforeMs) } };
        if (doubt === undefined) log.info({}, 'the clock is no longer in doubt');
        else log.warn(details, 'the clock has jumped ahead; nothing expired is removed until that has held for a day');
      }
      if (isChanged || storedMs === undefined || Math.abs(now - storedMs) >= STORE_EVERY_MS) {
        await store().catch((error: unknown) => log.info({ err: error }, 'the time could not be stored'));
      }
      return doubt === undefined ? now : undefined;
    },
    async confirm() {
      seen = { wallMs: wallMs(), steadyMs: steadyMs() };
      doubt = undefined;
      latestMs = seen.wallMs;
      await store();
    },
  };
}

/** When something was last changed, as far as data of an earlier version tells. */
function lastChangeMs(catalog: Catalog): number | undefined {
  const times = [
    ...[...catalog.all('usage').values()].map((usage) => usage.lastUpdatedMs),
    ...[...catalog.all('trash').values()].map(({ deletedAt }) => Date.parse(deletedAt)),
  ].filter((time) => time > 0);
  return times.length === 0 ? undefined : times.reduce((latest, time) => Math.max(latest, time));
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
