import { pino } from 'pino';
import type { JsonObject } from '../../src/contract/json/json.ts';
import { byBytes } from '../../src/contract/text.ts';
import type { Engine } from '../../src/engine/engine.ts';
import {
  BATCH_ITEMS_MAX,
  type RefusedItem,
  type SourceBatch,
  type SourceModule,
  type SourceOptions,
} from '../../src/service/sources/source.ts';
import { createDocs, openSmall, temporaryFolder } from '../engine/harness.ts';
import { parsedBatch } from './reading.ts';

/** What the service has of a source: documents, what it remembers, and where it goes on. */
export interface Stored {
  documents: Map<string, JsonObject>;
  /** When each document was stored last, by the number of its batch. */
  declared: Map<string, ReadonlyMap<string, string> | undefined>;
  memory: Map<string, string>;
  checkpoint: JsonObject | undefined;
  refused: RefusedItem[];
  batches: number;
  changes: number;
  phases: Set<string>;
}

export function nothingStored(): Stored {
  return {
    documents: new Map(),
    declared: new Map(),
    memory: new Map(),
    checkpoint: undefined,
    refused: [],
    batches: 0,
    changes: 0,
    phases: new Set(),
  };
}

let engine: Engine | undefined;
let folder: ReturnType<typeof temporaryFolder> | undefined;

/** An engine for the files of rows. */
export async function openRowsEngine(): Promise<void> {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine, true);
}

export async function closeRowsEngine(): Promise<void> {
  await engine?.close();
  folder?.dispose();
}

export function rowsEngine(): Engine {
  if (engine === undefined) throw new Error('openRowsEngine was not called');
  return engine;
}

export function optionsFor(
  stored: Stored,
  connection: JsonObject,
  settings: JsonObject,
  formatParams: JsonObject | null = null,
): SourceOptions {
  const files = rowsEngine();
  return {
    connection,
    settings,
    formatParams,
    createdMs: Date.now(),
    memory: {
      async after(after, max) {
        const keys = [...stored.memory.keys()].filter((key) => after === null || byBytes(key, after) > 0).sort(byBytes);
        return keys.slice(0, max).map((key) => [key, stored.memory.get(key) ?? '']);
      },
    },
    files: { takesRows: false, spool: files.spool, openRows: (rows, signal) => files.openRows('t', rows, signal) },
    log: pino({ level: 'silent' }),
  };
}

function store(stored: Stored, batch: SourceBatch): void {
  if (batch.changes.length > BATCH_ITEMS_MAX) throw new Error(`A batch has ${batch.changes.length} changes`);
  if (JSON.stringify(batch.checkpoint).length > 8_192) throw new Error('A checkpoint is large');
  for (const { id, document, declared } of batch.changes) {
    stored.changes += 1;
    if (document === null) stored.documents.delete(id);
    else if (document !== undefined) {
      stored.documents.set(id, document);
      stored.declared.set(id, declared);
    }
  }
  stored.refused.push(...batch.refused);
  for (const key of batch.memory?.forget ?? []) stored.memory.delete(key);
  for (const [key, value] of batch.memory?.put ?? []) stored.memory.set(key, value);
  stored.checkpoint = structuredClone(batch.checkpoint);
  stored.batches += 1;
  stored.phases.add(batch.progress.phase);
}

/**
 * One pass over a source, as the service would make it: a batch is read while the one before it is stored. `batchesMax`: then
 * it is killed, with the batch behind that lost. Returns whether the pass came to its end.
 */
export async function pass(
  module: SourceModule,
  stored: Stored,
  options: SourceOptions,
  batchesMax = Number.POSITIVE_INFINITY,
  onBatch?: (batch: SourceBatch) => Promise<void> | void,
): Promise<boolean> {
  const reader = await module.openSource(options);
  const ending = new AbortController();
  let left = batchesMax;
  try {
    const batches = reader.read(stored.checkpoint, ending.signal)[Symbol.asyncIterator]();
    let next = batches.next();
    try {
      for (;;) {
        const { done, value } = await next;
        if (done === true) return true;
        next = batches.next();
        next.catch(() => undefined);
        await new Promise((resolve) => setImmediate(resolve));
        if (left === 0) return false;
        left -= 1;
        store(stored, await parsedBatch(value));
        await onBatch?.(value);
      }
    } finally {
      ending.abort();
      await batches.return?.().catch(() => undefined);
    }
  } finally {
    await reader.close();
  }
}
