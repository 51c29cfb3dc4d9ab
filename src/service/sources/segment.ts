import type { Logger } from 'pino';
import { ApiError } from '../../contract/errors.ts';
import { collectionKey } from '../catalog/not-found.ts';
import { collectionsUsing } from '../collections/dependents.ts';
import { BATCH_BYTES_MAX, BATCH_ITEMS_MAX, type RefusedItem, type SourceChange } from './source.ts';
import { isGone, type PlacedSource, sourceKey, sourcesOf, standStill, stateOf } from './states.ts';
import { RefusedError, type StoringContext, storeChanges } from './store-changes.ts';

/** What one request sends. */
export interface Messages {
  changes: readonly SourceChange[];
  refused: readonly RefusedItem[];
  /** Size of what they came from. */
  bytes: number;
}

/** The sources that are not read: what they are sent is stored. */
export interface Segment {
  /**
   * Stores messages in every collection with a source of this integration; resolves when they are durable. Rejects
   * `not_ready` with `retryAfterMs` if one of them does not take them now, or there is none, `resource_exceeded`, and
   * `aborted` if the signal aborts before they are begun with: their sender does not wait, and sends them again.
   */
  take(integration: string, messages: Messages, signal: AbortSignal): Promise<void>;
  /** Runs `work` while nothing is stored for a source. */
  between<T>(placed: PlacedSource, work: () => Promise<T>): Promise<T>;
  /** Resolves when nothing of it runs any more. */
  close(): Promise<void>;
}

/**
 * What keeps messages with their sender, with the time to wait before another try. Segment's libraries try again after 429
 * and 5xx, and give up a message after any other error. After a 429 they wait as long as they are told, and count such
 * tries apart, so that they keep messages for a quarter of an hour; after a 503 for four minutes, whatever they are told.
 */
const LATER = { status: 429, retryAfterMs: 30_000 };
/** Requests that wait for one source, and bytes of theirs: they are in memory. */
const WAITING_MAX = 2_000;
const WAITING_BYTES_MAX = 32 * 1024 * 1024;

interface Delivery extends Messages {
  signal: AbortSignal;
  stored(isThere: boolean): void;
  failed(error: unknown): void;
}

/** The work for one source, one thing after the other: two that store would overwrite each other's counts. */
interface Line {
  last: Promise<unknown>;
  waiting: Delivery[];
}

export function createSegment(context: StoringContext & { log: Logger }): Segment {
  const { catalog, log } = context;
  const lines = new Map<string, Line>();
  const closing = new AbortController();

  function lineOf(placed: PlacedSource): Line {
    const key = sourceKey(placed);
    const line = lines.get(key) ?? { last: Promise.resolve(), waiting: [] };
    lines.set(key, line);
    return line;
  }

  function inTurn<T>(placed: PlacedSource, work: (line: Line) => Promise<T>): Promise<T> {
    const line = lineOf(placed);
    const done = line.last.then(() => work(line));
    const last = done
      .catch(() => undefined)
      .then(() => {
        if (line.last === last) lines.delete(sourceKey(placed));
      });
    line.last = last;
    return done;
  }

  /** Resolves to whether the collection was there. */
  function deliver(placed: PlacedSource, messages: Messages, signal: AbortSignal): Promise<boolean> {
    const line = lineOf(placed);
    const bytes = line.waiting.reduce((sum, one) => sum + one.bytes, 0);
    if (line.waiting.length >= WAITING_MAX || bytes >= WAITING_BYTES_MAX) {
      const why = `Too much waits to be stored in ${nameOf(placed)}. Send again later.`;
      throw new ApiError('resource_exceeded', why, { retryAfterMs: 1_000 });
    }
    return new Promise((stored, failed) => {
      line.waiting.push({ ...messages, signal, stored, failed });
      void inTurn(placed, () => storeWaiting(line, placed));
    });
  }

  /** Stores what waits, as much of it in one step as makes a batch. */
  async function storeWaiting(line: Line, placed: PlacedSource): Promise<void> {
    const deliveries = nextOf(line.waiting).filter(isAwaited);
    if (deliveries.length === 0) return;
    try {
      if (!isGone(catalog, placed)) await store(placed, deliveries);
      for (const { stored } of deliveries) stored(true);
    } catch (error) {
      const isThere = !isGone(catalog, placed);
      const failure = isThere ? failureOf(error, placed) : undefined;
      for (const { stored, failed } of deliveries)
        if (isThere) failed(failure);
        else stored(false);
    }
  }

  async function store(placed: PlacedSource, deliveries: readonly Messages[]): Promise<void> {
    const { isPaused, stopped } = stateOf(catalog, placed);
    if (isPaused || stopped !== null) {
      const what = isPaused ? 'is paused' : `stands still: ${stopped?.reason}`;
      throw new ApiError(
        'not_ready',
        `The source of ${nameOf(placed)} ${what}. Keep the messages and send again later.`,
        LATER,
      );
    }
    const changes = deliveries.flatMap((one) => one.changes);
    const refused = deliveries.flatMap((one) => one.refused);
    const batch = { changes, refused, checkpoint: {}, progress: { phase: 'changes' as const } };
    try {
      await storeChanges(context, placed, batch, closing.signal);
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      log.warn({ collection: nameOf(placed), why: error.message }, 'a source stands still');
      await standStill(catalog, placed, error.message, error.item);
      throw new ApiError('not_ready', `The source of ${nameOf(placed)} stands still: ${error.message}.`, LATER);
    }
  }

  return {
    async take(integration, messages, signal) {
      const targets = collectionsUsing(catalog, integration)
        .flatMap(sourcesOf)
        .filter(({ source }) => source.kind === 'segment' && source.integrationName === integration);
      // To those that take them now, whatever the others do: repeating a message changes nothing.
      const outcomes = await Promise.allSettled(targets.map(async (placed) => deliver(placed, messages, signal)));
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
      if (outcomes.some((one) => one.status === 'fulfilled' && one.value)) return;
      const why = `No collection has a source of the integration "${integration}". Keep the messages and send again when there is one.`;
      throw new ApiError('not_ready', why, LATER);
    },
    between: (placed, work) => inTurn(placed, work),
    async close() {
      closing.abort();
      await Promise.all([...lines.values()].map(({ last }) => last));
    },
  };
}

/** Takes deliveries out of those that wait: the first, and with it as many more as fit a batch. */
function nextOf(waiting: Delivery[]): Delivery[] {
  let items = 0;
  let size = 0;
  const count = waiting.findIndex(({ changes, refused, bytes }, index) => {
    items += changes.length + refused.length;
    size += bytes;
    return index > 0 && (items > BATCH_ITEMS_MAX || size > BATCH_BYTES_MAX);
  });
  return waiting.splice(0, count < 0 ? waiting.length : count);
}

function isAwaited({ signal, failed }: Delivery): boolean {
  if (signal.aborted) failed(new ApiError('aborted', 'The request was given up by its sender.'));
  return !signal.aborted;
}

/** An error after which the sender tries again: what is wrong is not the message. */
function failureOf(error: unknown, placed: PlacedSource): unknown {
  if (!(error instanceof ApiError)) return error;
  const { status = 500 } = error;
  if (status >= 500 || status === 429) return error;
  return new ApiError('not_ready', `The messages cannot be stored in ${nameOf(placed)} now: ${error.message}`, {
    ...LATER,
    cause: error,
  });
}

function nameOf({ collection: { workspace, name } }: PlacedSource): string {
  return `"${collectionKey(workspace, name)}"`;
}
