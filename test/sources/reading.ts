import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import type { JsonObject } from '../../src/contract/json/json.ts';
import { documentOfText, refusedItem } from '../../src/service/sources/items.ts';
import {
  BATCH_BYTES_MAX,
  BATCH_ITEMS_MAX,
  type RefusedItem,
  type SourceBatch,
  type SourceChange,
  SourceError,
  type SourceModule,
  type SourceOptions,
} from '../../src/service/sources/source.ts';
import { changesOf } from '../../src/service/sources/text-rows.ts';

/** What was stored of a source, read as the service reads it. */
export interface Reading {
  readonly documents: Map<string, JsonObject>;
  readonly batches: SourceBatch[];
  readonly refused: RefusedItem[];
  /** Failures that it went on from, in order. */
  readonly errors: SourceError[];
  /** Resolves once the condition holds; rejects with what ended the reading, or when it takes too long. */
  until(condition: () => boolean, ms?: number): Promise<void>;
  /** Resolves with the error after which it stands still. */
  end(): Promise<SourceError>;
  stop(): Promise<void>;
}

/** For a source that reads no files. */
export const NO_FILES: SourceOptions['files'] = {
  takesRows: false,
  spool: '',
  openRows: async () => {
    throw new Error('no rows are read here');
  },
};

/** Options of a source, with nothing remembered. */
export function optionsOf(
  connection: JsonObject,
  settings: JsonObject,
  more: Partial<SourceOptions> = {},
): SourceOptions {
  return {
    connection,
    settings,
    formatParams: null,
    createdMs: Date.now(),
    memory: { after: async () => [] },
    files: NO_FILES,
    log: pino({ level: 'silent' }),
    ...more,
  };
}

/**
 * Reads a source from behind the batches that were stored before, one batch ahead of what is stored; after an error again,
 * from what was stored last. `storeMs`: how long storing a batch takes.
 */
export function startReading(
  module: SourceModule,
  options: SourceOptions,
  { stored = [], storeMs = 0 }: { stored?: readonly SourceBatch[]; storeMs?: number } = {},
): Reading {
  const documents = new Map<string, JsonObject>();
  const batches: SourceBatch[] = [];
  const refused: RefusedItem[] = [];
  const errors: SourceError[] = [];
  const stopping = new AbortController();
  const { signal } = stopping;
  let ended: unknown;
  const store = (batch: SourceBatch) => {
    if (batch.changes.length > BATCH_ITEMS_MAX) throw new Error(`A batch has ${batch.changes.length} changes`);
    if (JSON.stringify(batch.checkpoint).length > 8_192) throw new Error('A checkpoint is large');
    for (const { id, document } of batch.changes) {
      if (document === null) documents.delete(id);
      else if (document !== undefined) documents.set(id, document);
    }
    refused.push(...batch.refused);
    batches.push(batch);
  };
  for (const batch of stored) store(batch);

  async function readOnce(): Promise<void> {
    const reader = await module.openSource(options);
    try {
      const iterator = reader.read(batches.at(-1)?.checkpoint, signal)[Symbol.asyncIterator]();
      try {
        let next = iterator.next();
        for (;;) {
          const { done, value } = await next;
          if (done === true) break;
          next = iterator.next();
          next.catch(() => undefined);
          await delay(storeMs);
          signal.throwIfAborted();
          store(await parsedBatch(value));
        }
      } finally {
        iterator.return?.(undefined).catch(() => undefined);
      }
      await delay(reader.pollMs ?? 0, undefined, { signal });
    } finally {
      await reader.close();
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        await readOnce();
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof SourceError) || error.fault === 'lost') throw error;
        errors.push(error);
        await delay(100);
      }
    }
  }
  const running = run().catch((error: unknown) => {
    ended = error;
  });

  return {
    documents,
    batches,
    refused,
    errors,
    async until(condition, ms = 30_000) {
      const end = performance.now() + ms;
      while (!condition()) {
        if (ended !== undefined) throw ended;
        if (performance.now() > end)
          throw new Error(`Not in ${ms} ms: ${documents.size} documents, ${errors.map(String).slice(-3).join('; ')}`);
        await delay(10);
      }
    },
    async end() {
      await running;
      if (ended instanceof SourceError) return ended;
      throw ended ?? new Error('It was stopped');
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** A batch whose documents are parsed, if they are given as text. */
export async function parsedBatch(batch: SourceBatch): Promise<SourceBatch> {
  const changes: SourceChange[] = [];
  const refused = [...batch.refused];
  for (const change of [...batch.changes, ...(batch.rows ?? []).flatMap(changesOf)]) {
    if (change.text === undefined) {
      changes.push(change);
      continue;
    }
    const { id, item, declared, text, isOrGone } = change;
    const read = await documentOfText(change);
    if ('document' in read) changes.push({ id, item, declared, document: read.document });
    else {
      refused.push(refusedItem(item, read.reason, text));
      if (isOrGone === true) changes.push({ id, item, document: null });
    }
  }
  return { ...batch, changes, rows: undefined, refused };
}

/** The largest batch, by the size of its documents; below the bound but for its last item. */
export function largestBatch(batches: readonly SourceBatch[]): number {
  return Math.max(...batches.map(({ changes }) => JSON.stringify(changes.map(({ document }) => document)).length));
}

/** What `largestBatch` may be, with items of at most a megabyte. */
export const LARGEST_MAX = BATCH_BYTES_MAX + 1024 * 1024;
