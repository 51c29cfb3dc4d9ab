import { CompressionError, unlz4, unsnapped, unzipped, unzstd } from '../../contract/compressed-blocks.ts';

/** Some messages that were written, and may be compressed, together; all of one producer. */
export interface RecordBatch {
  firstOffset: number;
  /** Also where the messages at the end were compacted away. */
  lastOffset: number;
  /** Holds no messages, but how a transaction ended. */
  isControl: boolean;
  isTransactional: boolean;
  producerId: bigint;
  codec: number;
  baseTimeMs: number;
  /** What all messages have, where the broker says when they were. */
  appendTimeMs: number | undefined;
  count: number;
  records: Buffer;
}

export interface KafkaMessage {
  offset: number;
  timeMs: number;
  key: Buffer | null;
  value: Buffer | null;
}

/** Why the messages of a batch cannot be read: a clause that follows its name. */
export class RecordsError extends Error {}

/** The form of batches before Kafka 0.11, which newer brokers do not have any more. */
export class OldFormatError extends Error {}

/** The most bytes of a batch when it is decompressed; by default brokers take batches of at most 1 MB. */
const BATCH_BYTES_MAX = 64 * 1024 * 1024;
const HEAD_BYTES = 61;
const MAGIC = 2;

/** The batches in what was fetched; one that is cut off at the end is left out. Throws `OldFormatError`. */
export function batchesIn(bytes: Buffer): RecordBatch[] {
  const batches: RecordBatch[] = [];
  for (let at = 0; at + HEAD_BYTES <= bytes.length; ) {
    const end = at + 12 + bytes.readInt32BE(at + 8);
    if (bytes.readInt8(at + 16) !== MAGIC) throw new OldFormatError();
    if (end > bytes.length || end < at + HEAD_BYTES) break;
    const firstOffset = Number(bytes.readBigInt64BE(at));
    const attributes = bytes.readInt16BE(at + 21);
    batches.push({
      firstOffset,
      lastOffset: firstOffset + bytes.readInt32BE(at + 23),
      codec: attributes & 7,
      appendTimeMs: (attributes & 8) === 0 ? undefined : Number(bytes.readBigInt64BE(at + 35)),
      isTransactional: (attributes & 16) !== 0,
      isControl: (attributes & 32) !== 0,
      baseTimeMs: Number(bytes.readBigInt64BE(at + 27)),
      producerId: bytes.readBigInt64BE(at + 43),
      count: bytes.readInt32BE(at + 57),
      records: bytes.subarray(at + HEAD_BYTES, end),
    });
    at = end;
  }
  return batches;
}

/** Those that hold messages, without those of transactions that were aborted, which the broker lists. */
export function* committed(
  batches: readonly RecordBatch[],
  aborted: readonly { producerId: bigint; firstOffset: number }[],
): Generator<RecordBatch> {
  const left = aborted.toSorted((a, b) => a.firstOffset - b.firstOffset);
  const within = new Set<bigint>();
  for (const batch of batches) {
    while (left[0] !== undefined && left[0].firstOffset <= batch.lastOffset) {
      within.add(left[0].producerId);
      left.shift();
    }
    if (batch.isControl) {
      if (isAbort(batch)) within.delete(batch.producerId);
    } else if (!batch.isTransactional || !within.has(batch.producerId)) yield batch;
  }
}

/** Its key has a version and then the kind: 0 for an abort. */
function isAbort(batch: RecordBatch): boolean {
  for (const { key } of messagesIn(batch, batch.records))
    return key !== null && key.length >= 4 && key.readInt16BE(2) === 0;
  return false;
}

/** The messages of a batch, one after the other; they throw a `RecordsError` where it is damaged, and so does this. */
export async function messagesOf(batch: RecordBatch): Promise<Generator<KafkaMessage>> {
  try {
    return messagesIn(batch, await decompressed(batch));
  } catch (error) {
    if (error instanceof CompressionError) throw new RecordsError(error.message, { cause: error });
    throw error;
  }
}

async function decompressed({ codec, records }: RecordBatch): Promise<Buffer> {
  switch (codec) {
    case 0:
      return records;
    case 1:
      return unzipped(records, BATCH_BYTES_MAX);
    case 2:
      return unsnappedFramed(records);
    case 3:
      return unlz4(records, BATCH_BYTES_MAX);
    case 4:
      return unzstd(records, BATCH_BYTES_MAX);
    default:
      throw new RecordsError(`is compressed in a way that is not known (${codec})`);
  }
}

/** How clients of Java write Snappy: a head, and then blocks, each behind its length. */
const FRAMED = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0]);

function unsnappedFramed(bytes: Buffer): Buffer {
  if (!bytes.subarray(0, FRAMED.length).equals(FRAMED)) return unsnapped(bytes, BATCH_BYTES_MAX);
  const blocks: Buffer[] = [];
  let length = 0;
  for (let at = 16; at + 4 <= bytes.length; ) {
    const end = at + 4 + bytes.readUInt32BE(at);
    if (end > bytes.length) throw new RecordsError('cannot be decompressed: it ends too early');
    const block = unsnapped(bytes.subarray(at + 4, end), BATCH_BYTES_MAX - length);
    length += block.length;
    blocks.push(block);
    at = end;
  }
  return Buffer.concat(blocks);
}

function* messagesIn(batch: RecordBatch, bytes: Buffer): Generator<KafkaMessage> {
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let unit = 1; ; unit *= 128) {
      const byte = bytes[at++];
      if (byte === undefined || unit > 2 ** 63) throw new RecordsError('is damaged');
      value += (byte & 127) * unit;
      if (byte < 128) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }
  };
  const take = (length: number, end: number) => {
    if (length < 0) return null;
    if (at + length > end) throw new RecordsError('is damaged');
    at += length;
    return bytes.subarray(at - length, at);
  };
  for (let index = 0; index < batch.count; index++) {
    const end = varint() + at;
    if (end > bytes.length || end <= at) throw new RecordsError('is damaged');
    at += 1;
    const timeMs = batch.appendTimeMs ?? batch.baseTimeMs + varint();
    if (batch.appendTimeMs !== undefined) varint();
    const offset = batch.firstOffset + varint();
    const key = take(varint(), end);
    const value = take(varint(), end);
    // Behind them are headers.
    at = end;
    yield { offset, timeMs, key, value };
  }
}
