import { pino } from 'pino';
import type { JsonObject } from '../../src/contract/json/json.ts';
import { openSource } from '../../src/service/sources/mongodb.ts';
import {
  BATCH_BYTES_MAX,
  BATCH_ITEMS_MAX,
  type RefusedItem,
  type SourceBatch,
  type SourceChange,
  type SourceReader,
} from '../../src/service/sources/source.ts';

/** Plays the runner: stores batches, in order, and goes on from the last checkpoint. */
export interface Player {
  readonly documents: Map<string, SourceChange>;
  readonly refused: RefusedItem[];
  readonly checkpoints: JsonObject[];
  readonly batches: SourceBatch[];
  checkpoint: JsonObject | undefined;
  /** Reads until this is true, or rejects what the source rejects; `each` is called after each batch. */
  play(until: (player: Player) => boolean, each?: (batch: SourceBatch) => void | Promise<void>): Promise<void>;
  /** The same, again after each error that trying again helps against. Returns these. */
  playOn(until: (player: Player) => boolean): Promise<string[]>;
  check(): Promise<void>;
}

const LIMIT_MS = 40_000;

export function open(uri: string, settings: JsonObject, more: JsonObject = {}): Promise<SourceReader> {
  return openSource({
    connection: { connection_uri: uri, ...more },
    settings: { database_name: 'shop', ...settings },
    formatParams: null,
    createdMs: Date.now(),
    memory: { after: async () => [] },
    log: pino({ enabled: false }),
  });
}

export function createPlayer(uri: string, settings: JsonObject, more: JsonObject = {}): Player {
  const player: Player = {
    documents: new Map(),
    refused: [],
    checkpoints: [],
    batches: [],
    checkpoint: undefined,
    async play(until, each) {
      const stopping = AbortSignal.timeout(LIMIT_MS);
      const enough = new AbortController();
      const reader = await open(uri, settings, more);
      try {
        const signal = AbortSignal.any([stopping, enough.signal]);
        for await (const batch of reader.read(player.checkpoint, signal)) {
          store(player, batch);
          await each?.(batch);
          if (until(player)) break;
        }
      } finally {
        enough.abort();
        await reader.close();
      }
    },
    async playOn(until) {
      const errors: string[] = [];
      while (!until(player)) {
        await player.play(until).catch((error: Error & { fault?: string }) => {
          if (error.fault !== 'unreachable') throw error;
          errors.push(error.message);
        });
      }
      return errors;
    },
    async check() {
      const reader = await open(uri, settings, more);
      try {
        await reader.check(AbortSignal.timeout(LIMIT_MS));
      } finally {
        await reader.close();
      }
    },
  };
  return player;
}

function store(player: Player, batch: SourceBatch): void {
  const text = JSON.stringify(batch.checkpoint);
  if (text.length > 4_096) throw new Error(`a checkpoint of ${text.length} characters`);
  if (batch.changes.length > BATCH_ITEMS_MAX) throw new Error(`${batch.changes.length} changes in a batch`);
  const size = batch.changes.reduce((sum, { document }) => sum + (document === null ? 0 : sizeOf(document)), 0);
  if (size > 2 * BATCH_BYTES_MAX + 10 * 1024 * 1024) throw new Error(`${size} bytes in a batch`);
  for (const change of batch.changes) {
    if (change.document === null) player.documents.delete(change.id);
    else player.documents.set(change.id, change);
  }
  player.refused.push(...batch.refused);
  // As it is stored.
  player.checkpoint = JSON.parse(text) as JsonObject;
  player.checkpoints.push(player.checkpoint);
  player.batches.push(batch);
}

function sizeOf(document: JsonObject): number {
  return Object.values(document).reduce<number>(
    (sum, value) => sum + (typeof value === 'string' ? value.length : 8),
    0,
  );
}

/** Whether what was there at the beginning is read. */
export function isScanned({ checkpoint }: Player): boolean {
  return (checkpoint?.['scan'] as JsonObject | undefined)?.['ended'] !== null && checkpoint !== undefined;
}
