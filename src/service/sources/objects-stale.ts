import { createPace } from '../../contract/turns/turns.ts';
import { idsPrefix, readIds, readIdsKey, sortedEntries, staleKey } from './objects-memory.ts';
import type { SourceMemory } from './source.ts';

/*
 * Documents with ids of their own, of objects that are gone or were read again without them. Another object may have the same
 * id: then the document stays, and if what is stored of it came from the object that lost it, the other one is read again.
 */

/** What is dealt with at once. */
export interface StaleRound {
  /** Some of the documents that objects had, with the key in the memory that is not needed when these are dealt with. */
  chunks: { entry: string; ids: string[] }[];
  /** Ids among them that no object has any more. */
  gone: Map<string, Stale>;
  /** Objects that are to be read again. */
  again: Set<string>;
  /** Keys of the memory that are not needed after that. */
  ends: string[];
}

interface Stale {
  /** The object that had it. */
  key: string;
  /** The last reading that had it, of all objects. */
  reading: number;
}

const IDS_MAX = 250_000;
const ENTRIES_MAX = 5_000;

/** Some of the documents that may have to go; undefined: there are none left. */
export async function staleRound(memory: SourceMemory, signal: AbortSignal): Promise<StaleRound | undefined> {
  const round: StaleRound = { chunks: [], gone: new Map(), again: new Set(), ends: [] };
  const stale = sortedEntries(memory, staleKey(''));
  for (;;) {
    const entry = await stale.peek();
    if (entry === undefined) break;
    const key = entry[0].slice(staleKey('').length);
    const isAll = await collect(memory, key, Number(entry[1]), round, signal);
    if (isAll) round.ends.push(entry[0]);
    if (!isAll || isFull(round)) break;
    stale.skip();
  }
  if (round.chunks.length + round.ends.length === 0) return undefined;
  if (round.gone.size > 0) await keepOthers(memory, round, signal);
  return round;
}

function isFull({ gone, chunks, ends }: StaleRound): boolean {
  return gone.size >= IDS_MAX || chunks.length + ends.length >= ENTRIES_MAX;
}

/** The ids that readings of an object had before the current one, and that has not; false: there are more of them. */
async function collect(
  memory: SourceMemory,
  key: string,
  current: number,
  round: StaleRound,
  signal: AbortSignal,
): Promise<boolean> {
  let isAll = true;
  const pace = createPace();
  let found = 0;
  for (const entries = sortedEntries(memory, idsPrefix(key)); ; entries.skip()) {
    signal.throwIfAborted();
    const entry = await entries.peek();
    if (entry === undefined) break;
    const { reading } = readIdsKey(entry[0]);
    if (reading === current) continue;
    isAll = !isFull(round);
    if (!isAll) break;
    const ids = readIds(entry[1]);
    round.chunks.push({ entry: entry[0], ids });
    found += ids.length;
    for (const id of ids) {
      if ((round.gone.get(id)?.reading ?? -1) < reading) round.gone.set(id, { key, reading });
    }
    await pace();
  }
  if (found === 0 || current < 0) return isAll;
  for (const entries = sortedEntries(memory, idsPrefix(key)); ; entries.skip()) {
    signal.throwIfAborted();
    const entry = await entries.peek();
    if (entry === undefined) break;
    if (readIdsKey(entry[0]).reading !== current) continue;
    for (const id of readIds(entry[1])) if ((round.gone.get(id)?.reading ?? current) < current) round.gone.delete(id);
    await pace();
  }
  return isAll;
}

/** Takes out the ids that other readings have, and finds the objects whose documents have to take the place of those stored. */
async function keepOthers(
  memory: SourceMemory,
  { gone, again, chunks }: StaleRound,
  signal: AbortSignal,
): Promise<void> {
  const own = new Set(chunks.map(({ entry }) => entry));
  const others = new Map<string, Stale>();
  const pace = createPace();
  for (const entries = sortedEntries(memory, idsPrefix('').slice(0, 2)); ; entries.skip()) {
    signal.throwIfAborted();
    const entry = await entries.peek();
    if (entry === undefined) break;
    if (own.has(entry[0])) continue;
    const other = readIdsKey(entry[0]);
    for (const id of readIds(entry[1])) {
      if (gone.has(id) && (others.get(id)?.reading ?? -1) < other.reading) others.set(id, other);
    }
    await pace();
  }
  for (const [id, { key, reading }] of others) {
    if (reading < (gone.get(id)?.reading ?? 0)) again.add(key);
    gone.delete(id);
  }
}
