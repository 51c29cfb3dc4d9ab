import { isUtf8 } from 'node:buffer';
import { isObject, type JsonObject, type JsonValue, stringifyJson } from '../../contract/json/json.ts';
import { ITEM_BYTES_MAX } from '../../contract/json/json-scan.ts';
import { problemOfId } from '../ingest/document-id.ts';
import { documentAtOnce, documentOf, refusedItem } from './items.ts';
import type { KafkaMessage } from './kafka-records.ts';
import type { SchemaRegistry } from './kafka-registry.ts';
import type { ParsedChange, RefusedItem, SourceChange } from './source.ts';

export interface MessageOptions {
  topic: string;
  /** Whether the key of a message is the `_id` of its document. */
  isKeyed: boolean;
  /** Undefined: messages are JSON. */
  registry: SchemaRegistry | undefined;
}

export type ReadMessage = { change: SourceChange } | { refused: RefusedItem };

/** What a message says: at once where that is possible, since a promise takes as long as a small message. */
export type MessageReader = (partition: number, message: KafkaMessage) => ReadMessage | Promise<ReadMessage>;

type Value = { document: JsonObject; declared?: SourceChange['declared'] } | { reason: string };

/** The years of which an event time can be. */
const TIME_MS_MAX = Date.UTC(9999, 11, 31);
const CONTROL = /[\p{Cc}]/u;

/**
 * What a message says. The `_id` is that of the value; otherwise the key, where that is what the topic is about; otherwise
 * `topic/partition/offset`. A message without a value deletes the document whose `_id` is its key.
 */
export function createMessageReader({ topic, isKeyed, registry }: MessageOptions): MessageReader {
  const isoOf = createIsoText();

  function changeOf(item: string, value: Value, id: string, { timeMs, value: bytes }: KafkaMessage): ReadMessage {
    if ('reason' in value) return { refused: refusedItem(item, value.reason, bytes ?? undefined) };
    const { document, declared } = value;
    const own = document['_id'] ?? id;
    if (Object.hasOwn(document, '_id')) delete document['_id'];
    if ((document['_event_time'] ?? null) === null && timeMs >= 0 && timeMs < TIME_MS_MAX) {
      document['_event_time'] = isoOf(timeMs);
    }
    return withId(item, own, declared === undefined ? { document } : { document, declared }, bytes);
  }

  /** One that asks the registry, or whose JSON is large, or none. */
  async function readLater(item: string, message: KafkaMessage): Promise<ReadMessage> {
    const { key, value } = message;
    if (value === null) {
      const id = registry === undefined ? textOfKey(key) : await avroKey(key, registry);
      if (id === undefined) return { refused: refusedItem(item, 'has neither a value nor a key') };
      return withId(item, id, { document: null }, null);
    }
    const read = registry === undefined ? await documentOf(value) : await avroDocument(value, registry);
    const id = isKeyed ? await (registry === undefined ? textOfKey(key) : avroKey(key, registry)) : undefined;
    return changeOf(item, read, id ?? item, message);
  }

  return (partition, message) => {
    const item = `${topic}/${partition}/${message.offset}`;
    const { key, value } = message;
    const document = registry === undefined && value !== null ? documentAtOnce(value) : undefined;
    if (document === undefined) return readLater(item, message);
    return changeOf(item, { document }, (isKeyed ? textOfKey(key) : undefined) ?? item, message);
  };
}

/** The time as ISO text. Many messages are of the same millisecond. */
function createIsoText(): (ms: number) => string {
  let last = Number.NaN;
  let text = '';
  return (ms) => {
    if (ms !== last) text = new Date(ms).toISOString();
    last = ms;
    return text;
  };
}

function withId(
  item: string,
  id: JsonValue,
  change: Pick<ParsedChange, 'document' | 'declared'>,
  bytes: Buffer | null,
): ReadMessage {
  const problem = problemOfId(id);
  if (problem === undefined) return { change: { id: id as string, item, ...change } };
  return { refused: refusedItem(item, `has an "_id" that is none: ${problem}`, bytes ?? undefined) };
}

async function avroDocument(bytes: Buffer, registry: SchemaRegistry): Promise<Value> {
  if (bytes.length > ITEM_BYTES_MAX) {
    return { reason: `has ${bytes.length} bytes, and one document may have ${ITEM_BYTES_MAX}` };
  }
  const read = await registry.decode(bytes);
  if ('reason' in read) return read;
  const { value, declared } = read;
  return isObject(value) ? { document: value, declared } : { reason: 'is no record' };
}

/** A key as text: its own, or its bytes in hexadecimal digits if it is none. */
function textOfKey(key: Buffer | null): string | undefined {
  if (key === null || key.length === 0) return undefined;
  const text = isUtf8(key) ? key.toString() : '';
  return text === '' || CONTROL.test(text) ? key.toString('hex') : text;
}

/** A key in Avro, where it is one: text as it is, all else as JSON. */
async function avroKey(key: Buffer | null, registry: SchemaRegistry): Promise<string | undefined> {
  if (key !== null && key[0] === 0 && key.length > 5) {
    const read = await registry.decode(key);
    if ('value' in read) return typeof read.value === 'string' ? read.value : stringifyJson(read.value);
  }
  return textOfKey(key);
}
