import { DescribeTableCommand, DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import {
  DescribeStreamCommand,
  DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
  type _Record as StreamRecord,
  type Shard as StreamShard,
} from '@aws-sdk/client-dynamodb-streams';
import { type JsonObject, type JsonValue, stringifyJson } from '../../contract/json/json.ts';
import { type AwsAsking, askAws, awsClientConfig, isAwsError } from './aws.ts';
import type { Shard, ShardLog } from './aws-shard-log.ts';
import { placesFrom, placesTo, readShards, type ShardPlaces } from './aws-shards.ts';
import { newScan, scanFrom, scanTable, type TableScan } from './dynamodb-scan.ts';
import { documentOfItem, type Item, keyText, UnknownTypeError } from './dynamodb-values.ts';
import { type Collecting, refusedItem } from './items.ts';
import { idOfKey } from './key-id.ts';
import { SourceError, type SourceOptions, type SourceProgress, type SourceReader } from './source.ts';

/*
 * A table of DynamoDB: the place in its stream first, then a scan, then the stream from that place. A scan may be behind by
 * a moment, so the stream is read from a while before it; what comes twice ends as it is.
 */

const TABLE = /^[\w.-]{3,255}$/;
const OVERLAP_MS = 15 * 60_000;
const STREAM_PAGE_MAX = 1_000;
const PACE_MS = 50;
const IDLE_MS = 500;
const VIEWS = ['NEW_IMAGE', 'NEW_AND_OLD_IMAGES'];
const PERMISSIONS =
  'dynamodb:DescribeTable, dynamodb:Scan, dynamodb:DescribeStream, dynamodb:GetShardIterator and dynamodb:GetRecords';

interface Table {
  stream: string;
  /** The names of its key's attributes, the hash key first. */
  key: readonly string[];
  items: number;
  /** Units of read capacity that it has a second; undefined: as many as are asked for. */
  capacity: number | undefined;
}

export async function openSource({
  connection,
  settings,
}: Pick<SourceOptions, 'connection' | 'settings'>): Promise<SourceReader> {
  const { table_name: name, cloud_region: region } = settings;
  if (typeof name !== 'string' || !TABLE.test(name))
    throw new SourceError('settings', 'table_name has to be the name of a table of DynamoDB.');
  const rcu = rcuOf(settings['rcu']);
  // It is how tables are read anyway.
  const isScanned = settings['use_scan_api'] ?? true;
  if (typeof isScanned !== 'boolean') throw new SourceError('settings', 'use_scan_api has to be true or false.');
  const config = awsClientConfig(connection, region);
  const clients = { tables: new DynamoDBClient(config), streams: new DynamoDBStreamsClient(config) };
  const asked: AwsAsking = {
    service: 'DynamoDB',
    thing: `the table ${name}`,
    permissions: PERMISSIONS,
    known: { ResourceNotFoundException: ['settings', `There is no table ${name} in this region and account.`] },
  };
  const tableNow = (signal: AbortSignal) => describeTable(clients.tables, name, asked, signal);
  return {
    async check(signal) {
      const table = await tableNow(signal);
      const scan = tableScan(clients.tables, name, asked);
      await scan.page({ segment: 0, segments: 1, after: undefined, max: 1 }, signal);
      const log = streamLog(clients.streams, name, table.stream, asked);
      const shards = await log.list(signal);
      const shard = shards.at(-1);
      if (shard !== undefined) await log.page(await log.iterator(shard.id, {}, signal), 1, signal);
    },
    async *read(checkpoint, signal) {
      const table = await tableNow(signal);
      const { stream } = table;
      if (checkpoint !== undefined && checkpoint['stream'] !== stream)
        throw lost(name, 'its stream was turned off and on again');
      const log = streamLog(clients.streams, name, stream, asked);
      const places = checkpoint === undefined ? await log.placesNow(signal) : placesFrom(checkpoint['shards']);
      const notBefore = Number(checkpoint?.['notBefore'] ?? timeThere(clients.tables) - OVERLAP_MS);
      const scan = scanFrom(checkpoint?.['scan']) ?? newScan(table.items);
      let streamMs = checkpoint?.['streamMs'];
      const checkpointWith = (shards: JsonObject): JsonObject => ({
        stream,
        shards,
        notBefore,
        scan: structuredClone(scan) as unknown as JsonObject,
        ...(streamMs !== undefined && { streamMs }),
      });
      const progress = (): SourceProgress => ({
        phase: scan.endMs === undefined ? 'scan' : 'changes',
        scanned: scan.scanned,
        scanTotal: Math.max(scan.total, scan.scanned),
      });
      const first = { changes: [], refused: [], checkpoint: checkpointWith(placesTo(places)), progress: progress() };
      if (checkpoint === undefined) yield first;
      if (scan.endMs === undefined) {
        const reading: TableScan = {
          ...tableScan(clients.tables, name, asked),
          rcu: rcu ?? (table.capacity === undefined ? undefined : Math.max(1, table.capacity / 2)),
          take: (item, bytes, into) => takeItem(name, table.key, item, bytes, into),
          batch: (from) => from.take(checkpointWith(placesTo(places)), progress()),
        };
        yield* scanTable(reading, scan, signal);
      }
      const changes: ShardLog<StreamRecord> = {
        ...log,
        take(record, _shard, into) {
          const time = log.timeOf(record);
          if (time !== undefined && time < notBefore) return;
          streamMs = time ?? streamMs;
          takeRecord(name, table.key, record, into);
        },
      };
      yield* readShards(changes, places, { checkpoint: checkpointWith, progress }, signal);
    },
    async close() {
      clients.tables.destroy();
      clients.streams.destroy();
    },
  };
}

/** The service's own time, which the client knows once it was asked anything and the clock here is another one. */
function timeThere({ config }: DynamoDBClient): number {
  return Date.now() + config.systemClockOffset;
}

function rcuOf(value: JsonValue | undefined): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && value >= 1) return value;
  throw new SourceError('settings', 'rcu has to be a number of units of read capacity a second, at least 1.');
}

function lost(table: string, why: string): SourceError {
  return new SourceError(
    'lost',
    `Changes of the table ${table} are missing between what was read and what its stream still has: ${why}. A new initial read begins with the table as it is.`,
  );
}

async function describeTable(
  client: DynamoDBClient,
  name: string,
  asked: AwsAsking,
  signal: AbortSignal,
): Promise<Table> {
  const { Table: table } = await askAws(asked, signal, () =>
    client.send(new DescribeTableCommand({ TableName: name }), { abortSignal: signal }),
  );
  const { StreamEnabled: isOn, StreamViewType: view = '' } = table?.StreamSpecification ?? {};
  const stream = table?.LatestStreamArn;
  if (isOn !== true || stream === undefined || !VIEWS.includes(view)) {
    const has = isOn === true ? `its stream has ${view} only` : 'it has no stream';
    throw new SourceError(
      'settings',
      `Changes of the table ${name} cannot be followed: ${has}. Give it one with NEW_IMAGE or NEW_AND_OLD_IMAGES: aws dynamodb update-table --table-name ${name} --stream-specification StreamEnabled=true,StreamViewType=NEW_IMAGE${isOn === true ? ', after StreamEnabled=false' : ''}.`,
    );
  }
  const schema = table?.KeySchema ?? [];
  const partOf = (type: string) => schema.flatMap((part) => (part.KeyType === type ? [part.AttributeName ?? ''] : []));
  const isOnDemand = table?.BillingModeSummary?.BillingMode === 'PAY_PER_REQUEST';
  return {
    stream,
    key: [...partOf('HASH'), ...partOf('RANGE')],
    items: table?.ItemCount ?? 0,
    // Tables that were never anything else but on demand have no units.
    capacity: isOnDemand ? undefined : table?.ProvisionedThroughput?.ReadCapacityUnits || undefined,
  };
}

function tableScan(client: DynamoDBClient, name: string, asked: AwsAsking): Pick<TableScan, 'page' | 'busy'> {
  return {
    page({ segment, segments, after, max }, signal) {
      const command = new ScanCommand({
        TableName: name,
        Segment: segment,
        TotalSegments: segments,
        ExclusiveStartKey: after,
        Limit: max,
        ReturnConsumedCapacity: 'TOTAL',
      });
      return askAws(asked, signal, () => client.send(command, { abortSignal: signal }).catch(busyOf));
    },
    busy: () =>
      new SourceError(
        'unreachable',
        `DynamoDB has no read capacity left for the table ${name}; give the source a smaller rcu, or the table more.`,
      ),
  };
}

function busyOf(error: unknown): 'busy' {
  const names = ['ProvisionedThroughputExceededException', 'LimitExceededException', 'ThrottlingException'];
  if (isAwsError(error, ...names, 'RequestLimitExceeded')) return 'busy';
  throw error;
}

type StreamLog = Omit<ShardLog<StreamRecord>, 'take'> & {
  /** The place in the stream now: shards that have ended are not read, those that are open are. */
  placesNow(signal: AbortSignal): Promise<ShardPlaces>;
};

interface ListedShard extends Shard {
  start: string | undefined;
  hasEnded: boolean;
}

function listedShard({
  ShardId: id = '',
  ParentShardId: parent,
  SequenceNumberRange: range,
}: StreamShard): ListedShard {
  const parents = parent === undefined ? [] : [parent];
  return { id, parents, start: range?.StartingSequenceNumber, hasEnded: range?.EndingSequenceNumber !== undefined };
}

function streamLog(client: DynamoDBStreamsClient, name: string, StreamArn: string, as: AwsAsking): StreamLog {
  const isGone = lost(name, 'the stream no longer has the place, or is no more').message;
  const asked: AwsAsking = {
    ...as,
    thing: `the stream of the table ${name}`,
    known: { TrimmedDataAccessException: ['lost', isGone], ResourceNotFoundException: ['lost', isGone] },
  };
  const ask = <T>(signal: AbortSignal, work: () => Promise<T>) => askAws(asked, signal, work);
  /** The first sequence numbers of the shards. */
  let starts = new Map<string, string | undefined>();
  async function listed(signal: AbortSignal) {
    const shards: ListedShard[] = [];
    let after: string | undefined;
    do {
      const sent = new DescribeStreamCommand({ StreamArn, ExclusiveStartShardId: after });
      const { StreamDescription: page } = await ask(signal, () => client.send(sent, { abortSignal: signal }));
      if (page?.StreamStatus === 'DISABLED' || page?.StreamStatus === 'DISABLING')
        throw lost(name, 'its stream was turned off');
      shards.push(...(page?.Shards ?? []).map(listedShard));
      after = page?.LastEvaluatedShardId;
    } while (after !== undefined);
    starts = new Map(shards.map(({ id, start }) => [id, start]));
    return shards;
  }
  const iteratorAt = (ShardId: string, SequenceNumber: string, isAfter: boolean, signal: AbortSignal) =>
    client.send(
      new GetShardIteratorCommand({
        StreamArn,
        ShardId,
        ShardIteratorType: isAfter ? 'AFTER_SEQUENCE_NUMBER' : 'AT_SEQUENCE_NUMBER',
        SequenceNumber,
      }),
      { abortSignal: signal },
    );
  return {
    list: listed,
    async placesNow(signal) {
      const shards = await listed(signal);
      return new Map(shards.map(({ id, hasEnded }) => [id, hasEnded ? 'ended' : {}]));
    },
    async iterator(ShardId, { after }, signal) {
      const start = after ?? starts.get(ShardId);
      const { ShardIterator = '' } = await ask(signal, async () => {
        const oldest = new GetShardIteratorCommand({ StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' });
        if (start === undefined) return client.send(oldest, { abortSignal: signal });
        try {
          // Unlike from the oldest record on, this says if the beginning is no longer there.
          return await iteratorAt(ShardId, start, after !== undefined, signal);
        } catch (error) {
          if (after !== undefined || !isAwsError(error, 'ValidationException')) throw error;
          return client.send(oldest, { abortSignal: signal });
        }
      });
      return ShardIterator;
    },
    page(ShardIterator, Limit, signal) {
      return ask(signal, async () => {
        try {
          const answer = await client.send(new GetRecordsCommand({ ShardIterator, Limit }), { abortSignal: signal });
          return { records: answer.Records ?? [], next: answer.NextShardIterator };
        } catch (error) {
          if (isAwsError(error, 'ExpiredIteratorException')) return 'expired';
          return busyOf(error);
        }
      });
    },
    sequenceOf: ({ dynamodb }) => dynamodb?.SequenceNumber ?? '',
    bytesOf: ({ dynamodb }) => dynamodb?.SizeBytes ?? 0,
    timeOf: ({ dynamodb }) => dynamodb?.ApproximateCreationDateTime?.getTime(),
    lost: (shard) => lost(name, `its shard ${shard} is no more`),
    busy: () =>
      new SourceError('unreachable', `DynamoDB limits how often the stream of the table ${name} may be read.`),
    pageMax: STREAM_PAGE_MAX,
    paceMs: PACE_MS,
    idleMs: IDLE_MS,
  };
}

function takeRecord(name: string, key: readonly string[], record: StreamRecord, into: Collecting): void {
  const { Keys: keys = {}, NewImage: image, SizeBytes: bytes = 0 } = record.dynamodb ?? {};
  if (record.eventName !== 'REMOVE') takeItem(name, key, image ?? keys, bytes, into);
  else {
    const id = idOf(key, keys);
    into.add({ id, document: null, item: `${name}/${id}` }, bytes);
  }
}

function takeItem(name: string, key: readonly string[], item: Item, bytes: number, into: Collecting): void {
  const id = idOf(key, item);
  const place = `${name}/${id}`;
  const made = documentOf(item);
  if (made === undefined) {
    into.refuse(refusedItem(place, 'has an attribute of a type that is not known here'));
    return;
  }
  const { _id: own, ...document } = made.document;
  if (own === undefined || key.includes('_id')) into.add({ id, document, declared: made.declared, item: place }, bytes);
  else {
    const reason = 'has an attribute _id that is not its key, and a document can have the key only as its _id';
    into.refuse(refusedItem(place, reason, Buffer.from(stringifyJson(made.document))));
  }
}

function documentOf(item: Item): ReturnType<typeof documentOfItem> | undefined {
  try {
    return documentOfItem(item);
  } catch (error) {
    if (error instanceof UnknownTypeError) return undefined;
    throw error;
  }
}

function idOf(key: readonly string[], item: Item): string {
  return idOfKey(key.map((name) => keyText(item[name]) ?? ''));
}
