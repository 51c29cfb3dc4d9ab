import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { ApiError } from '../../contract/errors.ts';
import { sentence } from '../../contract/text.ts';
import { collectionKey } from '../catalog/not-found.ts';
import { readAhead } from './read-ahead.ts';
import { type SourceBatch, SourceError, type SourceReader } from './source.ts';
import { isGone, type PlacedSource, standStill, stateOf } from './states.ts';
import { MovedError, type Place, RefusedError, type StoringContext, storeChanges } from './store-changes.ts';
import { itemsIn } from './text-rows.ts';

/** What a source is doing, as long as the service runs. */
export interface LiveSource {
  state: 'INITIALIZING' | 'SCANNING' | 'ACTIVE' | 'WAITING';
  since: string;
  /** Why it waits; null: it does not. */
  message: string | null;
  /** The last failure to read it. */
  lastError: { at: string; reason: string } | null;
  behindItems: number | null;
  behindMs: number | null;
}

/** Reads one source, until it is stopped, or stands still by itself. */
export interface Runner {
  readonly live: Readonly<LiveSource>;
  /** Resolves when nothing of it runs any more. */
  stop(): Promise<void>;
}

export interface RunnerContext extends StoringContext {
  /** Connects to a source, with the integration's details as they are now. Rejects the signal's reason. */
  open(placed: PlacedSource, signal: AbortSignal): Promise<SourceReader>;
  log: Logger;
  /** Called when it stands still by itself. */
  onEnd(): void;
}

/** After a failure it waits this long, then twice as long, and so on, in milliseconds. */
const RETRY_MS = 500;
const RETRY_MS_MAX = 30_000;
/** Where a person has to change something first. */
const RETRY_DENIED_MS_MAX = 120_000;
/** A connection that held so long was a good one, even if nothing came, in milliseconds. */
const HELD_MS = 60_000;
/** A batch that only moves the checkpoint is stored no more often: each is a durable step. */
const CHECKPOINT_MS = 10_000;

function liveAt({ checkpoint, phase }: ReturnType<typeof stateOf>): LiveSource {
  const state = checkpoint === null ? 'INITIALIZING' : stateFor(phase);
  const since = new Date().toISOString();
  return { state, since, message: null, lastError: null, behindItems: null, behindMs: null };
}

/** Begins to read a source from where it is. */
export function startRunner(context: RunnerContext, placed: PlacedSource): Runner {
  const { catalog, log } = context;
  const { collection, source } = placed;
  const stopping = new AbortController();
  const { signal } = stopping;
  const live = liveAt(stateOf(catalog, placed));
  const told = { collection: collectionKey(collection.workspace, collection.name), kind: source.kind };
  let failures = 0;
  let openedAt = 0;

  const enter = (state: LiveSource['state'], message: string | null = null) => {
    if (live.state !== state) live.since = new Date().toISOString();
    live.state = state;
    live.message = message;
  };

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        await readAll();
      } catch (error) {
        if (signal.aborted || isGone(catalog, placed)) return;
        if (error instanceof MovedError) continue;
        if (await stands(error)) return;
        await wait(error);
      }
    }
  }

  async function readAll(): Promise<void> {
    const reader = await context.open(placed, signal);
    openedAt = performance.now();
    try {
      if (failures > 0) {
        // It may have nothing to tell for long, and is no longer away.
        await reader.check(signal);
        enter(stateFor(stateOf(catalog, placed).phase));
      }
      while (!signal.aborted) {
        await readOnce(reader);
        await delay(reader.pollMs ?? 0, undefined, { signal });
      }
    } finally {
      await reader
        .close()
        .catch((error: unknown) => log.debug({ ...told, err: error }, 'a source did not close cleanly'));
    }
  }

  /** While a batch is stored, the next one is looked at, and that behind it read. */
  async function readOnce(reader: SourceReader): Promise<void> {
    const from: Place = { checkpoint: stateOf(catalog, placed).checkpoint };
    let unstored: SourceBatch | undefined;
    let storedAt = performance.now();
    const store = async (batch: SourceBatch, before: Promise<void>) => {
      if (!hasContent(batch)) await before;
      const isDue = isWorthStoring(batch) || performance.now() - storedAt > CHECKPOINT_MS;
      if (isDue) await storeChanges(context, placed, batch, signal, { after: before, from });
      unstored = isDue ? undefined : batch;
      if (isDue) storedAt = performance.now();
      see(batch);
    };
    try {
      await readAhead((until) => reader.read(from.checkpoint ?? undefined, until), store, signal);
    } finally {
      // It moves the checkpoint alone, and what follows it is read again without it.
      if (unstored !== undefined && !isGone(catalog, placed)) {
        await storeChanges(context, placed, unstored, new AbortController().signal, { from }).catch((error: unknown) =>
          log.warn({ ...told, err: error }, 'a checkpoint of a source was not stored'),
        );
      }
    }
    failures = 0;
    enter(stateFor(stateOf(catalog, placed).phase));
  }

  function isWorthStoring(batch: SourceBatch): boolean {
    if (hasContent(batch)) return true;
    const { phase, checkpoint } = stateOf(catalog, placed);
    return phase !== batch.progress.phase || checkpoint === null;
  }

  function see({ progress }: SourceBatch): void {
    failures = 0;
    enter(stateFor(progress.phase));
    live.behindItems = progress.behind ?? null;
    live.behindMs = progress.itemTimeMs === undefined ? null : Math.max(0, Date.now() - progress.itemTimeMs);
  }

  /** Whether this is an error after which only a person can let it go on; says so where it is seen. */
  async function stands(error: unknown): Promise<boolean> {
    const isRefused = error instanceof RefusedError;
    if (!isRefused && !(error instanceof SourceError && error.fault === 'lost')) return false;
    log.warn({ ...told, why: error.message }, 'a source stands still');
    await standStill(catalog, placed, error.message, isRefused ? error.item : undefined);
    return true;
  }

  async function wait(error: unknown): Promise<void> {
    if (performance.now() - openedAt > HELD_MS) failures = 0;
    failures += 1;
    const reason = reasonOf(error);
    const ms = waitMs(error, failures);
    live.lastError = { at: new Date().toISOString(), reason };
    enter('WAITING', `${reason} It is tried again in ${Math.ceil(ms / 1_000)} s.`);
    log.warn({ ...told, why: reason, failures }, 'a source cannot be read for now');
    if (!(error instanceof SourceError) && !(error instanceof ApiError))
      log.error({ ...told, err: error }, 'an unexpected error of a source');
    await delay(ms, undefined, { signal }).catch(() => undefined);
  }

  const ended = run()
    .catch((error: unknown) => log.error({ ...told, err: error }, 'a source ended'))
    .finally(() => {
      if (!signal.aborted) context.onEnd();
    });
  return {
    live,
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}

/** How long to wait after so many failures, of which this is the last. */
function waitMs(error: unknown, failures: number): number {
  const isForPerson = error instanceof SourceError && (error.fault === 'denied' || error.fault === 'settings');
  const most = isForPerson ? RETRY_DENIED_MS_MAX : RETRY_MS_MAX;
  // Not all at once, after an outage that met many.
  return Math.min(RETRY_MS * 2 ** (failures - 1), most) * (0.75 + Math.random() / 2);
}

function hasContent(batch: SourceBatch): boolean {
  return itemsIn(batch) > 0 || batch.memory !== undefined;
}

function stateFor(phase: 'scan' | 'changes'): LiveSource['state'] {
  return phase === 'scan' ? 'SCANNING' : 'ACTIVE';
}

/** Errors that are not meant for a reader may quote what is secret. */
function reasonOf(error: unknown): string {
  if (error instanceof SourceError || error instanceof ApiError) return sentence(error.message);
  return 'The source failed in a way that is not known; the log of the service says more.';
}
