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

/** Where a collection ingests from; exactly one of the per-kind objects is set. */
export const Source = resource({
  integration_name: z.string(),
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
  }),
  kinesis: resource({ stream_name: z.string(), cloud_region: z.string() }),
  gcs: resource({ bucket: z.string(), prefix: z.string() }),
  redshift: resource({
    database: z.string(),
    schema: z.string(),
    table_name: z.string(),
    incremental_field: z.string(),
  }),
  dynamodb: resource({
    cloud_region: z.string(),
    table_name: z.string(),
    rcu: z.int(),
    status: DynamoScanStatus,
  }),
  file_upload: resource({ file_name: z.string(), file_size: z.int(), file_upload_time: Timestamp }),
  kafka: resource({
    kafka_topic_name: z.string(),
    status: resource({ state: z.string(), last_consumed_time: Timestamp, num_documents_processed: z.int() }),
  }),
  mongodb: resource({ database_name: z.string(), collection_name: z.string(), status: MongoScanStatus }),
  status: SourceStatus,
  format_params: resource({ json: z.boolean(), csv: CsvParams, xml: XmlParams }),
});
export type Source = z.infer<typeof Source>;
