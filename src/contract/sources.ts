import * as z from 'zod';
import { AnyObject, resource, Timestamp } from './fields.ts';
import { secret } from './secret.ts';

/** Progress of a source. */
const SourceStatus = resource({
  state: z.string().describe('e.g. INITIALIZING'),
  since: Timestamp,
  message: z.string(),
  last_processed_at: Timestamp,
  last_processed_item: z.string(),
  total_processed_items: z.int(),
  last_error_at: Timestamp,
  last_error_item: z.string(),
  last_error_reason: z.string(),
  total_error_items: z.int(),
  behind_items: z.int().describe('At the source and not read yet, where it says so'),
  behind_ms: z.int().describe('Age of the newest change that was read, when it was read'),
});

const scan = {
  scan_start_time: Timestamp,
  scan_end_time: Timestamp,
  scan_records_processed: z.int(),
  scan_total_records: z.int(),
  state: z.string().describe('e.g. SCANNING_TABLE'),
};

const DynamoScanStatus = resource({ ...scan, stream_last_processed_at: Timestamp });

const MongoScanStatus = resource({
  ...scan,
  stream_last_insert_processed_at: Timestamp,
  stream_last_update_processed_at: Timestamp,
  stream_last_delete_processed_at: Timestamp,
  stream_records_inserted: z.int(),
  stream_records_updated: z.int(),
  stream_records_deleted: z.int(),
});

export const CsvParams = resource({
  firstLineAsColumnNames: z.boolean(),
  separator: z.string(),
  encoding: z.string(),
  columnNames: z.array(z.string()),
  columnTypes: z.array(z.string()).describe('e.g. BOOLEAN, INTEGER, FLOAT, STRING'),
  quoteChar: z.string(),
  escapeChar: z.string(),
});

const XmlParams = resource({
  root_tag: z.string(),
  encoding: z.string(),
  doc_tag: z.string(),
  value_tag: z.string(),
  attribute_prefix: z.string(),
});

const OffsetReset = z.string().describe('EARLIEST (default) or LATEST');

const objectCounts = {
  settings: resource({ s3_scan_frequency: z.string().describe('ISO-8601 duration, default PT1M') }),
  object_count_total: z.int(),
  object_count_downloaded: z.int(),
  object_bytes_total: z.int(),
  object_bytes_downloaded: z.int(),
};

/** Where a collection ingests from; exactly one of the per-kind objects is set. */
export const Source = resource({
  integration_name: z.string(),
  on_error: z.enum(['skip', 'stop']).describe('What an item that is no document does; default skip'),
  s3: resource({
    access_key: z.string(),
    secret_access: secret(z.string()),
    prefix: z.string(),
    pattern: z.string(),
    region: z.string(),
    bucket: z.string(),
    prefixes: z.union([z.string(), z.array(z.string())]),
    format: z.string(),
    mappings: z.array(resource({ input_path: z.array(z.string()), mask: resource({ args: AnyObject }) })),
    ...objectCounts,
  }),
  kinesis: resource({
    stream_name: z.string(),
    cloud_region: z.string(),
    offset_reset_policy: OffsetReset,
    dms_primary_key: z.array(z.string()),
  }),
  gcs: resource({ bucket: z.string(), prefix: z.string(), pattern: z.string(), ...objectCounts }),
  redshift: resource({
    database: z.string(),
    schema: z.string(),
    table_name: z.string(),
    incremental_field: z.string(),
    primary_key: z.union([z.string(), z.array(z.string())]),
  }),
  dynamodb: resource({
    cloud_region: z.string(),
    table_name: z.string(),
    rcu: z.int(),
    use_scan_api: z.boolean(),
    status: DynamoScanStatus,
  }),
  file_upload: resource({ file_name: z.string(), file_size: z.int(), file_upload_time: Timestamp }),
  kafka: resource({
    kafka_topic_name: z.string(),
    offset_reset_policy: OffsetReset,
    consumer_group_id: z.string(),
    client_id: z.string(),
    status: resource({ state: z.string(), last_consumed_time: Timestamp, num_documents_processed: z.int() }),
  }),
  mongodb: resource({
    database_name: z.string(),
    collection_name: z.string(),
    retrieve_full_document: z.boolean(),
    status: MongoScanStatus,
  }),
  segment: resource({}),
  status: SourceStatus,
  format_params: resource({
    json: z.boolean(),
    csv: CsvParams,
    xml: XmlParams,
    parquet: z.boolean(),
    avro: z.boolean(),
  }),
});
export type Source = z.infer<typeof Source>;
