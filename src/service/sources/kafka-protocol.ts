import type { Exchange } from 'kafkajs/src/cluster/index.js';
import { batchesIn, type RecordBatch } from './kafka-records.ts';

/*
 * The two requests of Kafka's protocol that are written here: what is fetched, with everything that its records say, and
 * what a topic's own id is. kafkajs has the connections and all other requests.
 */

export const FETCH = 1;
export const METADATA = 3;
/** Since Kafka 2.3. */
export const FETCH_VERSION = 11;
/** The first that tells ids of topics and can be sent without them; since Kafka 3.1. */
export const METADATA_VERSION = 12;
const READ_COMMITTED = 1;

/** What came of one partition. */
export interface Fetched {
  partition: number;
  /** 0: none. */
  errorCode: number;
  /** The offset up to which messages can be read: none of an open transaction. */
  stableOffset: number;
  aborted: { producerId: bigint; firstOffset: number }[];
  batches: RecordBatch[];
}

export interface FetchOptions {
  topic: string;
  /** The next offset of each partition. */
  from: ReadonlyMap<number, number>;
  /** Bytes of the answer, roughly: a batch is never divided. */
  maxBytes: number;
  partitionMaxBytes: number;
  /** How long the broker may wait for messages, in milliseconds. */
  waitMs: number;
}

export function fetchExchange({ topic, from, maxBytes, partitionMaxBytes, waitMs }: FetchOptions): Exchange<Fetched[]> {
  const writer = createWriter();
  const { int8, int16, int32, int64, text } = writer;
  int32(-1);
  int32(waitMs);
  int32(1);
  int32(maxBytes);
  int8(READ_COMMITTED);
  // No session: each request says everything.
  int32(0);
  int32(-1);
  int32(1);
  text(topic);
  int32(from.size);
  for (const [partition, offset] of from) {
    int32(partition);
    int32(-1);
    int64(offset);
    int64(-1);
    int32(partitionMaxBytes);
  }
  int32(0);
  int16(0);
  return exchange(FETCH, FETCH_VERSION, 'Fetch', writer.bytes(), (reader) => {
    const throttleMs = reader.int32();
    const errorCode = reader.int16();
    reader.int32();
    const fetched: Fetched[] = [];
    for (let topics = reader.int32(); topics > 0; topics--) {
      reader.skip(reader.int16());
      for (let partitions = reader.int32(); partitions > 0; partitions--) fetched.push(readPartition(reader));
    }
    if (errorCode !== 0) for (const one of from.keys()) fetched.push({ ...NOTHING, partition: one, errorCode });
    return { throttleMs, value: fetched };
  });
}

const NOTHING = { stableOffset: -1, aborted: [], batches: [] };

function readPartition(reader: Reader): Fetched {
  const partition = reader.int32();
  const errorCode = reader.int16();
  reader.skip(8);
  const stableOffset = reader.int64();
  reader.skip(8);
  const aborted: Fetched['aborted'] = [];
  for (let left = reader.int32(); left > 0; left--) {
    aborted.push({ producerId: reader.bigInt64(), firstOffset: reader.int64() });
  }
  reader.skip(4);
  const batches = batchesIn(reader.take(Math.max(0, reader.int32())));
  return { partition, errorCode, stableOffset, aborted, batches };
}

/** The id that a topic has as long as it is not deleted; another topic of its name has another. Null: there is no topic. */
export function topicIdExchange(topic: string): Exchange<string | null> {
  const writer = createWriter();
  const { int8, raw, compactText } = writer;
  // Its head may end with tagged fields, since this version; as any object here.
  int8(0);
  int8(2);
  raw(Buffer.alloc(16));
  compactText(topic);
  int8(0);
  int8(0);
  int8(0);
  int8(0);
  return exchange(METADATA, METADATA_VERSION, 'Metadata', writer.bytes(), (reader) => {
    reader.tags();
    const throttleMs = reader.int32();
    for (let brokers = reader.varint() - 1; brokers > 0; brokers--) {
      reader.skip(4);
      reader.compact();
      reader.skip(4);
      reader.compact();
      reader.tags();
    }
    reader.compact();
    reader.skip(4);
    if (reader.varint() < 2) return { throttleMs, value: null };
    const errorCode = reader.int16();
    reader.compact();
    const id = reader.take(16).toString('hex');
    return { throttleMs, value: errorCode === 0 ? id : null };
  });
}

function exchange<T>(
  apiKey: number,
  apiVersion: number,
  apiName: string,
  bytes: Buffer,
  read: (reader: Reader) => { throttleMs: number; value: T },
): Exchange<T> {
  return {
    request: { apiKey, apiVersion, apiName, encode: async () => ({ buf: bytes, buffer: bytes }) },
    response: {
      async decode(answer) {
        const { throttleMs, value } = read(createReader(answer));
        return { clientSideThrottleTime: throttleMs, value };
      },
      parse: async ({ value }) => value,
    },
  };
}

function createWriter() {
  const parts: Buffer[] = [];
  const fixed = (size: number, write: (bytes: Buffer) => void) => {
    const bytes = Buffer.alloc(size);
    write(bytes);
    parts.push(bytes);
  };
  const int8 = (value: number) => fixed(1, (bytes) => bytes.writeInt8(value));
  const int16 = (value: number) => fixed(2, (bytes) => bytes.writeInt16BE(value));
  return {
    int8,
    int16,
    int32: (value: number) => fixed(4, (bytes) => bytes.writeInt32BE(value)),
    int64: (value: number) => fixed(8, (bytes) => bytes.writeBigInt64BE(BigInt(value))),
    raw: (bytes: Buffer) => parts.push(bytes),
    text(value: string) {
      int16(Buffer.byteLength(value));
      parts.push(Buffer.from(value));
    },
    /** Names of topics have at most 249 bytes. */
    compactText(value: string) {
      const length = Buffer.byteLength(value) + 1;
      parts.push(length < 128 ? Buffer.from([length]) : Buffer.from([(length & 127) | 128, length >> 7]));
      parts.push(Buffer.from(value));
    },
    bytes: () => Buffer.concat(parts),
  };
}

type Reader = ReturnType<typeof createReader>;

/** Throws a `RangeError` where an answer ends too early. */
function createReader(bytes: Buffer) {
  let at = 0;
  const move = (size: number) => {
    const from = at;
    if (size > bytes.length - at) throw new RangeError('an answer of the broker ends too early');
    if (size > 0) at += size;
    return from;
  };
  const varint = () => {
    for (let value = 0, unit = 1; ; unit *= 128) {
      const byte = bytes.readUInt8(move(1));
      value += (byte & 127) * unit;
      if (byte < 128 || unit > 2 ** 28) return value;
    }
  };
  const skip = (size: number) => void move(size);
  return {
    skip,
    varint,
    int16: () => bytes.readInt16BE(move(2)),
    int32: () => bytes.readInt32BE(move(4)),
    bigInt64: () => bytes.readBigInt64BE(move(8)),
    int64: () => Number(bytes.readBigInt64BE(move(8))),
    take(size: number) {
      const from = move(size);
      return bytes.subarray(from, from + size);
    },
    compact: () => skip(varint() - 1),
    tags() {
      for (let left = varint(); left > 0; left--) {
        varint();
        skip(varint());
      }
    },
  };
}
