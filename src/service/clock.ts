import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import type { Logger } from 'pino';
import { isoOf } from '../contract/moment.ts';
import { type Catalog, put } from './catalog/catalog.ts';
import type { RecordOf } from './catalog/records.ts';
import { SELF } from './catalog/records.ts';

/**
 * The time by which something is removed for good. The system's clock may be wrong for a while, and what was removed
 * because of that is gone, while what is only hidden comes back. So a jump forward that no other clock confirms is
 * doubted, and nothing is removed until it has held for a day of that other clock, or a person has confirmed it.
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
  /** How much time has surely passed since the jump, in which the clock went on as it should. */
  heldMs: number;
}

/**
 * In milliseconds. `steadyMs` goes on while the machine sleeps, and nobody sets it; it begins anew with each start of a
 * machine, so only readings of one start can be compared: `boot` tells them apart.
 */
export interface Watches {
  wallMs(): number;
  steadyMs(): number;
  boot(): string;
}

const SYSTEM: Watches = { wallMs: () => Date.now(), steadyMs: () => uptime() * 1_000, boot: bootOfMachine };

/** Where the system does not tell, each process counts as a start of its own. */
const OWN_BOOT = randomUUID();

function bootOfMachine(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return OWN_BOOT;
  }
}

/** What the clock may gain at once: corrections of a clock that is synchronized are smaller. */
const SLACK_MS = 60_000;
/** And what it may gain all the time: the worst clocks drift by a tenth of that. */
const DRIFT = 0.001;
/** How long a service may plausibly have been switched off. */
const OFF_MS_MAX = 7 * 86_400_000;
/** How long a jump has to hold. */
const HOLD_MS = 86_400_000;
/** How often the time is stored, if nothing else changes. */
const STORE_EVERY_MS = 3_600_000;

interface Reading {
  wallMs: number;
  steadyMs: number;
  boot: string;
}

/** A reading that others are compared with. */
interface Base extends Reading {
  /** How long the machine may have been off since. */
  offMsMax: number;
}

/** How much time has passed since a reading at least. */
function passedMs(now: Reading, then: Reading): number {
  return now.boot === then.boot ? Math.max(0, now.steadyMs - then.steadyMs) : 0;
}

/** Whether the clock shows more than the time since a reading can account for. */
function isAhead(now: Reading, then: Base): boolean {
  const plausibleMs = Math.max(then.offMsMax, passedMs(now, then) * (1 + DRIFT) + SLACK_MS);
  return now.wallMs - then.wallMs > plausibleMs;
}

export function createClock(catalog: Catalog, log: Logger, { wallMs, steadyMs, boot }: Watches = SYSTEM): Clock {
  /** The record that what follows relies on: another node that has the same data may have stored one since. */
  let known: RecordOf<'clock'> | undefined;
  let doubt: Doubt | undefined;
  /** The last look; at first, that of an earlier start. */
  let last: Reading;
  /** An earlier look, so that gains add up, however small each is. */
  let base: Base;
  /** The same from before the doubted jump. */
  let before: Base;
  let latestMs: number;
  let storedMs: number | undefined;

  function begin(): void {
    known = catalog.all('clock').get(SELF);
    doubt = known?.doubt ?? undefined;
    last = {
      wallMs: known?.seenMs ?? wallMs(),
      steadyMs: known?.steadyMs ?? 0,
      boot: known?.boot ?? '',
    };
    base = { ...last, offMsMax: OFF_MS_MAX };
    before = doubt === undefined ? base : { ...base, wallMs: doubt.beforeMs };
    latestMs = before.wallMs;
    storedMs = known?.seenMs;
  }
  begin();

  function catchUp(): void {
    if (catalog.all('clock').get(SELF) !== known) begin();
  }

  const read = (): Reading => ({ wallMs: wallMs(), steadyMs: steadyMs(), boot: boot() });

  async function store(): Promise<void> {
    const { wallMs: seenMs, ...steady } = last;
    const record: RecordOf<'clock'> = { seenMs, ...steady, doubt: doubt ?? null };
    await catalog.change(() => ({ changes: [put('clock', SELF, record)], result: undefined }));
    known = catalog.all('clock').get(SELF);
    storedMs = record.seenMs;
  }

  /** Takes a look; returns whether the doubt changed. */
  function judge(now: Reading): boolean {
    const was = doubt;
    const own = { ...now, offMsMax: 0 };
    const isBack = doubt !== undefined && now.wallMs < doubt.sinceMs;
    if (isAhead(now, isBack ? before : base)) {
      if (doubt === undefined) before = base;
      doubt = { sinceMs: now.wallMs, beforeMs: doubt?.beforeMs ?? last.wallMs, heldMs: 0 };
      base = own;
    } else if (doubt !== undefined) {
      const heldMs = doubt.heldMs + Math.min(passedMs(now, last), Math.max(0, now.wallMs - last.wallMs));
      doubt = isBack || heldMs >= HOLD_MS ? undefined : { ...doubt, heldMs };
    }
    if (isBack || base.offMsMax > 0 || now.wallMs - base.wallMs < passedMs(now, base)) base = own;
    last = now;
    if (doubt === undefined) latestMs = Math.max(latestMs, now.wallMs);
    return doubt?.sinceMs !== was?.sinceMs;
  }

  return {
    get doubt() {
      catchUp();
      return doubt;
    },
    notBefore() {
      catchUp();
      return doubt === undefined ? Math.max(wallMs(), latestMs) : wallMs();
    },
    async look() {
      catchUp();
      const now = read();
      const isChanged = judge(now);
      if (isChanged) {
        const details = { doubt: doubt && { since: isoOf(doubt.sinceMs), before: isoOf(doubt.beforeMs) } };
        if (doubt === undefined) log.info({}, 'the clock is no longer in doubt');
        else log.warn(details, 'the clock has jumped ahead; nothing expired is removed until that has held for a day');
      }
      if (isChanged || storedMs === undefined || Math.abs(now.wallMs - storedMs) >= STORE_EVERY_MS) {
        await store().catch((error: unknown) => log.info({ err: error }, 'the time could not be stored'));
      }
      return doubt === undefined ? now.wallMs : undefined;
    },
    async confirm() {
      last = read();
      base = { ...last, offMsMax: 0 };
      doubt = undefined;
      latestMs = last.wallMs;
      await store();
    },
  };
}
