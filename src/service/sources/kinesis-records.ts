import type { _Record as KinesisRecord } from '@aws-sdk/client-kinesis';
import { isObject, type JsonObject, type JsonValue } from '../../contract/json/json.ts';
import { type Collecting, documentOf, isUnparsed, mayHaveId, refusedItem } from './items.ts';
import { idOfKey } from './key-id.ts';
import { SourceError } from './source.ts';

/** How records begin into which Amazon's library for producers packs several. */
const PACKED = Buffer.from([0xf3, 0x89, 0x9a, 0xc2]);

type TakeRecord = (record: KinesisRecord, shard: string, into: Collecting) => Promise<void>;
type Meaning =
  | { id?: string; document: JsonObject | null; oldId?: string | undefined }
  | { reason: string }
  | 'nothing';

/**
 * Makes changes of records, each of which is one JSON object. `primaryKey`: names of fields; the records are those of the AWS
 * Database Migration Service then, and these fields' values the ids.
 */
export function kinesisChanges(stream: string, primaryKey: JsonValue | undefined): TakeRecord {
  const key = keyOf(primaryKey);
  return async ({ Data = new Uint8Array(), SequenceNumber, ApproximateArrivalTimestamp: time }, shard, into) => {
    const place = `${shard}/${SequenceNumber}`;
    const item = `${stream}/${place}`;
    const bytes = Buffer.from(Data.buffer, Data.byteOffset, Data.byteLength);
    if (key === undefined && isUnparsed(bytes) && !mayHaveId(bytes)) {
      into.add({ id: place, text: bytes, timeMs: time?.getTime(), item }, bytes.length);
      return;
    }
    const read = bytes.subarray(0, PACKED.length).equals(PACKED)
      ? { reason: 'is packed by the Kinesis Producer Library: set AggregationEnabled to false there' }
      : await documentOf(bytes);
    const meant = 'reason' in read ? read : meaningOf(read.document, key);
    if (meant === 'nothing') return;
    if ('reason' in meant) {
      into.refuse(refusedItem(item, meant.reason, bytes));
      return;
    }
    const { id = place, document, oldId } = meant;
    if (oldId !== undefined && oldId !== id) into.add({ id: oldId, document: null, item }, 0);
    const isTimed = document === null || time === undefined || document['_event_time'] !== undefined;
    into.add(
      { id, document: isTimed ? document : { ...document, _event_time: time.toISOString() }, item },
      bytes.length,
    );
  };
}

function keyOf(value: JsonValue | undefined): readonly string[] | undefined {
  if (value === undefined || value === null) return undefined;
  const names = (Array.isArray(value) ? value : [value]).filter((name) => typeof name === 'string' && name !== '');
  const isMeant = names.length > 0 && names.length === (Array.isArray(value) ? value.length : 1);
  if (isMeant) return names as string[];
  throw new SourceError('settings', 'dms_primary_key has to be a list of the names of the fields that are the key.');
}

function meaningOf(record: JsonObject, key: readonly string[] | undefined): Meaning {
  if (key !== undefined) return migratedOf(record, key);
  const { _id: own, ...document } = record;
  if (own === undefined || own === null) return { document };
  const id = scalarText(own);
  return id === undefined ? { reason: 'has an _id that is neither text nor a number' } : { id, document };
}

/** A record of the AWS Database Migration Service. */
function migratedOf(record: JsonObject, key: readonly string[]): Meaning {
  const { data, metadata, 'before-image': before } = record;
  if (!isObject(metadata))
    return { reason: 'is no record of the Database Migration Service, which has data and metadata' };
  if (metadata['record-type'] === 'control') return 'nothing';
  if (!isObject(data)) return { reason: 'has no data' };
  const id = idIn(data, key);
  if (id === undefined) return { reason: `lacks a value of its key (${key.join(', ')})` };
  if (metadata['operation'] === 'delete') return { id, document: null };
  const oldId = isObject(before) ? idIn({ ...data, ...before }, key) : undefined;
  const { _id: _, ...document } = data;
  return { id, document, oldId };
}

function idIn(data: JsonObject, key: readonly string[]): string | undefined {
  const values = key.map((name) => scalarText(data[name]));
  return values.every((value) => value !== undefined) ? idOfKey(values) : undefined;
}

function scalarText(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : undefined;
}
