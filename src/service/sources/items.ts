import { isUtf8 } from 'node:buffer';
import { isObject, type JsonObject, parseJson, parseJsonInTurns } from '../../contract/json/json.ts';
import { NUMBER_CHARS_MAX } from '../../contract/json/json-reader.ts';
import { endOfItem, ITEM_BYTES_MAX } from '../../contract/json/json-scan.ts';
import {
  BATCH_BYTES_MAX,
  BATCH_ITEMS_MAX,
  REFUSED_TEXT_MAX,
  type RefusedItem,
  type SourceBatch,
  type SourceChange,
  type SourceProgress,
  type TextChange,
  type TextRows,
} from './source.ts';
import { changesOf } from './text-rows.ts';

/** Longer ones are parsed while others get their turn. */
const AT_ONCE_BYTES = 64 * 1024;
const OPEN = 0x7b;

/**
 * The JSON object that an item's bytes are, at once: a promise for each of many small ones takes as long as parsing it.
 * Undefined: `documentOf` says what it is, or why not.
 */
export function documentAtOnce(bytes: Buffer): JsonObject | undefined {
  if (bytes.length > AT_ONCE_BYTES || bytes[0] !== OPEN || !isUtf8(bytes)) return undefined;
  // Fewer bytes hold nothing that is over a limit.
  if (bytes.length > NUMBER_CHARS_MAX && endOfItem(bytes, 0) <= 0) return undefined;
  try {
    const value = parseJson(bytes.toString());
    return isObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined;
    throw error;
  }
}

/** What an item's bytes are: one JSON object, or why not, as a clause. Bounded before it is parsed. */
export async function documentOf(bytes: Buffer): Promise<{ document: JsonObject } | { reason: string }> {
  if (bytes.length > ITEM_BYTES_MAX)
    return { reason: `has ${bytes.length} bytes, and one document may have ${ITEM_BYTES_MAX}` };
  const document = documentAtOnce(bytes);
  if (document !== undefined) return { document };
  if (!isUtf8(bytes)) return { reason: 'is not text in UTF-8' };
  const text = bytes.toString().trim();
  if (text.startsWith('{') && endOfItem(bytes, bytes.indexOf(OPEN)) < 0)
    return { reason: 'does not end, or is nested too deeply, or holds too many values' };
  try {
    const value = await parseJsonInTurns(text);
    return isObject(value) ? { document: value } : { reason: 'is no JSON object' };
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return { reason: `is no JSON: ${error.message}` };
    throw error;
  }
}

/** The document of a change that is given as text, or why it is none. */
export async function documentOfText({
  text,
  timeMs,
}: TextChange): Promise<{ document: JsonObject } | { reason: string }> {
  const read = await documentOf(typeof text === 'string' ? Buffer.from(text) : text);
  if ('reason' in read) return read;
  const { _id, ...document } = read.document;
  if (timeMs !== undefined) document['_event_time'] ??= new Date(timeMs).toISOString();
  return { document };
}

/** Whether bytes may be given on as text: nothing is known of what is wrong with them. */
export function isUnparsed(bytes: Buffer): boolean {
  return bytes[0] === OPEN && bytes.length <= ITEM_BYTES_MAX;
}

const ID_KEY = Buffer.from('"_id"');
/** Letters of it, written as escapes. */
const ESCAPED = [Buffer.from('\\u005'), Buffer.from('\\u006')];
/** Where it comes first, as it nearly always does. */
const FIRST_ID = /^\{\s{0,16}"_id"\s{0,16}:\s{0,16}"([ !#-[\]-~]{1,255})"/;
const FIRST_ID_BYTES = 320;

/** Whether a key in JSON text may be `_id`, at any level. */
export function mayHaveId(bytes: Buffer): boolean {
  return bytes.includes(ID_KEY) || ESCAPED.some((one) => bytes.includes(one));
}

/** The `_id` of a JSON object, given as text: undefined if it has none, null if only parsing can tell. */
export function idInText(bytes: Buffer): string | undefined | null {
  if (!mayHaveId(bytes)) return undefined;
  const [found, id] = FIRST_ID.exec(bytes.toString('latin1', 0, FIRST_ID_BYTES)) ?? [];
  return found === undefined || mayHaveId(bytes.subarray(found.length)) ? null : (id ?? null);
}

/** An item that is refused, with as much of its text as is kept. */
export function refusedItem(item: string, reason: string, text?: Buffer | string): RefusedItem {
  if (typeof text === 'string') return { item, reason, text: text.slice(0, REFUSED_TEXT_MAX) };
  // Half a character at the end is no matter: it is shown to a person.
  return { item, reason, text: text?.subarray(0, REFUSED_TEXT_MAX).toString() };
}

/** Collects what is read until it is enough for a batch. */
export interface Collecting {
  readonly isEmpty: boolean;
  readonly isFull: boolean;
  /** In bytes, about. */
  readonly size: number;
  /** `bytes`: the size of what it came from. */
  add(change: SourceChange, bytes: number): void;
  addRows(rows: TextRows): void;
  refuse(refused: RefusedItem): void;
  /** What was collected, and begins anew. */
  take(checkpoint: JsonObject, progress: SourceProgress): SourceBatch;
}

export function createCollecting(): Collecting {
  let changes: SourceChange[] = [];
  let rows: TextRows[] = [];
  let refused: RefusedItem[] = [];
  let [count, size] = [0, 0];
  return {
    get isEmpty() {
      return count === 0;
    },
    get isFull() {
      return count >= BATCH_ITEMS_MAX || size >= BATCH_BYTES_MAX;
    },
    get size() {
      return size;
    },
    add(change, bytes) {
      // In their order.
      if (rows.length > 0) changes.push(...rows.splice(0).flatMap(changesOf));
      changes.push(change);
      count += 1;
      size += bytes;
    },
    addRows(some) {
      rows.push(some);
      count += some.ends.length;
      size += some.bytes.length;
    },
    refuse(one) {
      refused.push(one);
      count += 1;
      size += one.text?.length ?? 0;
    },
    take(checkpoint, progress) {
      const batch = { changes, rows, refused, checkpoint, progress };
      changes = [];
      rows = [];
      refused = [];
      [count, size] = [0, 0];
      return batch;
    },
  };
}
