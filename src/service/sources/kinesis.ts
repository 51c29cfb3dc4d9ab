import {
  DescribeStreamSummaryCommand,
  GetRecordsCommand,
  GetShardIteratorCommand,
  KinesisClient,
  type _Record as KinesisRecord,
  ListShardsCommand,
  type ShardIteratorType,
} from '@aws-sdk/client-kinesis';
import type { JsonObject } from '../../contract/json/json.ts';
import { type AwsAsking, askAws, awsClientConfig, isAwsError } from './aws.ts';
import type { Shard, ShardLog, ShardPage, ShardPlace } from './aws-shard-log.ts';
import { placesFrom, readShards } from './aws-shards.ts';
import { kinesisChanges } from './kinesis-records.ts';
import { SourceError, type SourceOptions, type SourceReader } from './source.ts';

/*
 * A stream of Amazon Kinesis, from its oldest record or from the time when the collection was made. Kinesis passes over what
 * it has dropped without a word, so a place that is older than what the stream keeps has to be proved first.
 */

const STREAM = /^[\w.-]{1,128}$/;
const PAGE_RECORDS_MAX = 5_000;
/** A shard may be asked five times a second. */
const PACE_MS = 200;
const IDLE_MS = 1_000;
const SHARDS_PAGE = 1_000;
/** A place in the stream is proved by the record that it is behind, which mostly comes with the first answer. */
const PROOF_PAGES = 5;
const PERMISSIONS =
  'kinesis:DescribeStreamSummary, kinesis:ListShards, kinesis:GetShardIterator and kinesis:GetRecords';

export async function openSource({
  connection,
  settings,
  createdMs,
}: Pick<SourceOptions, 'connection' | 'settings' | 'createdMs'>): Promise<SourceReader> {
  const { stream_name: stream, cloud_region: region, offset_reset_policy: policy } = settings;
  if (typeof stream !== 'string' || !STREAM.test(stream))
    throw new SourceError('settings', 'stream_name has to be the name of a stream of Kinesis.');
  const isLatest = isLatestOf(policy);
  const changesOf = kinesisChanges(stream, settings['dms_primary_key']);
  const client = new KinesisClient(awsClientConfig(connection, region));
  const kinesis = createAsking(client, stream);
  return {
    async check(signal) {
      const { status } = await kinesis.describe(signal);
      if (status === 'DELETING') throw new SourceError('settings', `The stream ${stream} is being deleted.`);
      const [shard] = await kinesis.list(signal);
      if (shard === undefined) return;
      const iterator = await kinesis.iterator(shard.id, 'LATEST', {}, signal);
      await kinesis.page(iterator, 1, signal);
    },
    async *read(checkpoint, signal) {
      const { createdAt, keptMs } = await kinesis.describe(signal);
      if (checkpoint !== undefined && checkpoint['createdAt'] !== createdAt)
        throw lost(stream, 'it was deleted and made anew');
      const start = isLatest ? { Timestamp: new Date(createdMs) } : undefined;
      let isThrough = checkpoint?.['isThrough'] === true;
      let scanned = Number(checkpoint?.['scanned'] ?? 0);
      const log: ShardLog<KinesisRecord> = {
        ...shardLog(kinesis, stream, keptMs, start),
        async take(record, shard, into) {
          if (!isThrough) scanned += 1;
          await changesOf(record, shard, into);
        },
      };
      yield* readShards(
        log,
        placesFrom(checkpoint?.['shards']),
        {
          checkpoint: (shards): JsonObject => ({ createdAt, shards, scanned, isThrough }),
          progress(isNowThrough) {
            isThrough ||= isNowThrough;
            return { phase: isThrough ? 'changes' : 'scan', scanned };
          },
        },
        signal,
      );
    },
    async close() {
      client.destroy();
    },
  };
}

function isLatestOf(policy: unknown): boolean {
  if (policy === undefined || policy === null || policy === 'EARLIEST') return false;
  if (policy === 'LATEST') return true;
  throw new SourceError('settings', 'offset_reset_policy has to be EARLIEST or LATEST.');
}

function lost(stream: string, why: string): SourceError {
  return new SourceError(
    'lost',
    `Records of the stream ${stream} are missing between what was read and what Kinesis still has: ${why}. A new initial read begins with what it has.`,
  );
}

function shardLog(
  kinesis: Asking,
  stream: string,
  keptMs: number,
  start: { Timestamp: Date } | undefined,
): Omit<ShardLog<KinesisRecord>, 'take'> {
  const isDoubtful = ({ seen }: ShardPlace) => seen !== undefined && seen < Date.now() - keptMs;
  const gone = (shard: string) => lost(stream, `the place in its shard ${shard} is older than what the stream keeps`);
  return {
    list: kinesis.list,
    page: kinesis.page,
    async iterator(shard, place, signal) {
      const { after } = place;
      if (after === undefined) {
        if (isDoubtful(place)) throw gone(shard);
        const from = start === undefined ? 'TRIM_HORIZON' : 'AT_TIMESTAMP';
        return kinesis.iterator(shard, from, start ?? {}, signal);
      }
      if (isDoubtful(place) && !(await kinesis.has(shard, after, signal))) throw gone(shard);
      return kinesis.iterator(shard, 'AFTER_SEQUENCE_NUMBER', { StartingSequenceNumber: after }, signal);
    },
    sequenceOf: ({ SequenceNumber = '' }) => SequenceNumber,
    bytesOf: ({ Data }) => Data?.length ?? 0,
    timeOf: ({ ApproximateArrivalTimestamp: time }) => time?.getTime(),
    isDoubtful,
    lost: (shard) => lost(stream, `its shard ${shard} is no more`),
    busy: (shard) =>
      new SourceError(
        'unreachable',
        `Kinesis limits how often the shard ${shard} of the stream ${stream} may be read; perhaps others read it, too.`,
      ),
    pageMax: PAGE_RECORDS_MAX,
    paceMs: PACE_MS,
    idleMs: IDLE_MS,
  };
}

interface Asking {
  /** `keptMs`: how long the stream keeps a record. */
  describe(signal: AbortSignal): Promise<{ status: string | undefined; createdAt: string; keptMs: number }>;
  list(signal: AbortSignal): Promise<Shard[]>;
  iterator(
    shard: string,
    type: ShardIteratorType,
    from: { StartingSequenceNumber?: string; Timestamp?: Date },
    signal: AbortSignal,
  ): Promise<string>;
  page(iterator: string, max: number, signal: AbortSignal): Promise<ShardPage<KinesisRecord> | 'expired' | 'busy'>;
  /** Whether the stream still has a record. */
  has(shard: string, sequence: string, signal: AbortSignal): Promise<boolean>;
}

/** What errors mean: of the stream, of a place in it, and of a time. */
function askedOf(stream: string): { asked: AwsAsking; atPlace: AwsAsking; atTime: AwsAsking } {
  const asked: AwsAsking = {
    service: 'Kinesis',
    thing: `the stream ${stream}`,
    permissions: PERMISSIONS,
    known: {
      ResourceNotFoundException: ['settings', `There is no stream ${stream} in this region and account.`],
    },
  };
  const atPlace: AwsAsking = {
    ...asked,
    known: {
      // Sequence numbers of another stream, or of one that was made anew.
      InvalidArgumentException: ['lost', lost(stream, 'Kinesis no longer knows the place').message],
      ResourceNotFoundException: ['lost', lost(stream, 'Kinesis no longer knows the place').message],
    },
  };
  const atTime: AwsAsking = {
    ...asked,
    known: {
      ...asked.known,
      InvalidArgumentException: [
        'unreachable',
        `Kinesis does not take the time from which the stream ${stream} is to be read; the clock of this machine is probably ahead.`,
      ],
    },
  };
  return { asked, atPlace, atTime };
}

function createAsking(client: KinesisClient, stream: string): Asking {
  const StreamName = stream;
  const { asked, atPlace, atTime } = askedOf(stream);
  const ask = <T>(signal: AbortSignal, work: () => Promise<T>, as = asked) => askAws(as, signal, work);
  const asking: Asking = {
    async describe(signal) {
      const { StreamDescriptionSummary: summary } = await ask(signal, () =>
        client.send(new DescribeStreamSummaryCommand({ StreamName }), { abortSignal: signal }),
      );
      return {
        status: summary?.StreamStatus,
        createdAt: summary?.StreamCreationTimestamp?.toISOString() ?? '',
        keptMs: (summary?.RetentionPeriodHours ?? 24) * 3_600_000,
      };
    },
    async list(signal) {
      const shards: Shard[] = [];
      let next: string | undefined;
      do {
        const which = next === undefined ? { StreamName } : { NextToken: next };
        const command = new ListShardsCommand({ ...which, MaxResults: SHARDS_PAGE });
        const answer = await ask(signal, () => client.send(command, { abortSignal: signal }));
        for (const { ShardId: id = '', ParentShardId, AdjacentParentShardId } of answer.Shards ?? [])
          shards.push({ id, parents: [ParentShardId, AdjacentParentShardId].filter((one) => one !== undefined) });
        next = answer.NextToken;
      } while (next !== undefined);
      return shards;
    },
    async iterator(ShardId, ShardIteratorType, from, signal) {
      const command = new GetShardIteratorCommand({ StreamName, ShardId, ShardIteratorType, ...from });
      const as = from.StartingSequenceNumber === undefined ? from.Timestamp && atTime : atPlace;
      const { ShardIterator = '' } = await ask(signal, () => client.send(command, { abortSignal: signal }), as);
      return ShardIterator;
    },
    async page(ShardIterator, Limit, signal) {
      return ask(signal, async () => {
        try {
          const answer = await client.send(new GetRecordsCommand({ ShardIterator, Limit }), { abortSignal: signal });
          const { Records: records = [], NextShardIterator: next, MillisBehindLatest: behindMs } = answer;
          return { records, next, behindMs };
        } catch (error) {
          if (isAwsError(error, 'ExpiredIteratorException')) return 'expired';
          if (isAwsError(error, 'ProvisionedThroughputExceededException', 'LimitExceededException')) return 'busy';
          throw error;
        }
      });
    },
    async has(shard, sequence, signal) {
      let next = await asking.iterator(shard, 'AT_SEQUENCE_NUMBER', { StartingSequenceNumber: sequence }, signal);
      for (let pages = 0; pages < PROOF_PAGES; pages++) {
        const page = await asking.page(next, 1, signal);
        if (typeof page !== 'object') continue;
        const [record] = page.records;
        if (record !== undefined) return record.SequenceNumber === sequence;
        if (page.next === undefined) return false;
        next = page.next;
      }
      return false;
    },
  };
  return asking;
}
