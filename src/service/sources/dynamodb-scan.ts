import { setTimeout as delay } from 'node:timers/promises';
import type { ScanCommandOutput } from '@aws-sdk/client-dynamodb';
import { isObject, type JsonObject, type JsonValue } from '../../contract/json/json.ts';
import { type Item, keyFromJson, keyToJson } from './dynamodb-values.ts';
import { type Collecting, createCollecting } from './items.ts';
import type { SourceBatch, SourceError } from './source.ts';

/*
 * Reads a whole table in segments, each of which goes on behind its last key, at no more read capacity than it may take.
 */

/** How far a scan is; in the checkpoint. */
export interface ScanState {
  /** Behind which key each segment goes on; null: it is not begun. `done`: it is through. */
  segments: (JsonObject | null | 'done')[];
  scanned: number;
  /** As many items as the table said to have when the scan began. */
  total: number;
  startMs: number;
  endMs?: number;
}

export interface TableScan {
  /** Reads a page; `busy`: not now. */
  page(
    from: { segment: number; segments: number; after: Item | undefined; max: number },
    signal: AbortSignal,
  ): Promise<ScanCommandOutput | 'busy'>;
  take(item: Item, bytes: number, into: Collecting): void;
  /** The batch with what was collected. */
  batch(from: Collecting): SourceBatch;
  busy(): SourceError;
  /** Units of read capacity a second; undefined: as fast as it goes. */
  rcu: number | undefined;
}

const SEGMENTS = 4;
const PAGE_ITEMS_MAX = 2_000;
/** Until it is known how many units an item takes. */
const FIRST_ITEMS = 50;
const BATCH_MS = 500;
const BUSY_MAX = 6;
const BUSY_MS = 500;
const BUSY_MS_MAX = 5_000;
/** What a unit reads, where a read may be a second behind. */
const UNIT_BYTES = 8_192;

export function newScan(total: number): ScanState {
  return { segments: Array.from({ length: SEGMENTS }, () => null), scanned: 0, total, startMs: Date.now() };
}

export function scanFrom(value: JsonValue | undefined): ScanState | undefined {
  return isObject(value) && Array.isArray(value['segments'])
    ? (structuredClone(value) as unknown as ScanState)
    : undefined;
}

/** Reads what is left of a scan; `state` is brought up to date. */
export async function* scanTable(table: TableScan, state: ScanState, outer: AbortSignal): AsyncGenerator<SourceBatch> {
  const stopping = new AbortController();
  const signal = AbortSignal.any([outer, stopping.signal]);
  const collecting = createCollecting();
  const pace = createPace(table.rcu);
  const asked = new Map<number, Promise<{ segment: number; answer: ScanCommandOutput } | { error: unknown }>>();
  let saidAt = performance.now();
  const ask = (segment: number) => {
    const place = state.segments[segment];
    if (place === undefined || place === 'done') return;
    const after = place === null ? undefined : keyFromJson(place);
    const from = { segment, segments: state.segments.length, after };
    const work = pageOf(table, from, pace, signal).then((answer) => ({ segment, answer }));
    asked.set(
      segment,
      work.catch((error: unknown) => ({ error })),
    );
  };
  try {
    for (let segment = 0; segment < state.segments.length; segment++) ask(segment);
    while (asked.size > 0) {
      const got = await Promise.race(asked.values());
      if ('error' in got) throw got.error;
      const { segment, answer } = got;
      asked.delete(segment);
      const { Items: items = [], LastEvaluatedKey: last } = answer;
      const bytes = (unitsOf(answer) * UNIT_BYTES) / Math.max(1, items.length);
      for (const item of items) {
        table.take(item, bytes, collecting);
        if (!collecting.isFull) continue;
        yield table.batch(collecting);
        saidAt = performance.now();
      }
      state.scanned += items.length;
      state.segments[segment] = last === undefined ? 'done' : keyToJson(last);
      ask(segment);
      if (performance.now() - saidAt < BATCH_MS) continue;
      yield table.batch(collecting);
      saidAt = performance.now();
    }
    state.endMs = Date.now();
    yield table.batch(collecting);
  } finally {
    stopping.abort();
  }
}

async function pageOf(
  table: TableScan,
  from: { segment: number; segments: number; after: Item | undefined },
  pace: Pace,
  signal: AbortSignal,
): Promise<ScanCommandOutput> {
  for (let busy = 0; ; busy++) {
    await pace.turn(signal);
    const answer = await table.page({ ...from, max: pace.max }, signal);
    if (answer !== 'busy') {
      pace.took(unitsOf(answer), answer.Items?.length ?? 0);
      return answer;
    }
    if (busy === BUSY_MAX) throw table.busy();
    await delay(Math.min(BUSY_MS * 2 ** busy, BUSY_MS_MAX), undefined, { signal });
  }
}

function unitsOf({ ConsumedCapacity: consumed, Items: items = [] }: ScanCommandOutput): number {
  return consumed?.CapacityUnits ?? items.length / 2;
}

interface Pace {
  /** How many items a page may have. */
  readonly max: number;
  /** Resolves when there are units again. */
  turn(signal: AbortSignal): Promise<void>;
  took(units: number, items: number): void;
}

/** What a page took is known only after it, and is made up for before the next. */
function createPace(rcu: number | undefined): Pace {
  let freeAt = 0;
  let itemUnits: number | undefined;
  return {
    get max() {
      if (rcu === undefined) return PAGE_ITEMS_MAX;
      if (itemUnits === undefined) return Math.max(1, Math.min(FIRST_ITEMS, rcu));
      // Each segment has its share of a second.
      return Math.max(1, Math.min(PAGE_ITEMS_MAX, Math.floor(rcu / SEGMENTS / itemUnits)));
    },
    async turn(signal) {
      for (;;) {
        const wait = freeAt - performance.now();
        if (wait <= 0) return;
        await delay(Math.ceil(wait), undefined, { signal });
      }
    },
    took(units, items) {
      if (rcu === undefined) return;
      if (items > 0) itemUnits = units / items;
      freeAt = Math.max(freeAt, performance.now()) + (units / rcu) * 1_000;
    },
  };
}
