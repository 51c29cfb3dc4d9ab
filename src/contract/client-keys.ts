import { contract, type Operation } from './contract.ts';
import type { Row } from './row.ts';

/**
 * A key that published clients of the hosted service send although docs/api.md does not name it. Unknown keys are
 * refused as well, so this list says why, and which ones are no reason to.
 */
export interface ClientKey {
  /** The requests that may carry it. */
  readonly in: readonly Operation[];
  /** Paths in the body: `[]` stands for any entry of a list, `*` at the end for any other key. */
  readonly keys: readonly string[];
  /** Why nobody misses it: an answer is the same without it. */
  readonly ignored?: string;
  /** Why it cannot be had here, or what to do instead. */
  readonly refused?: string;
  /** Of a refused one: the value that asks for nothing, and is ignored. */
  readonly unless?: boolean;
}

const QUERIES = ['runQuery', 'validateQuery'] as const;
const RUNS = [...QUERIES, 'executeLambdaVersion', 'executeLambdaTag'] as const;
const KEYS = ['createApiKey', 'createUserApiKey'] as const;
const LAMBDAS = ['createLambda', 'createLambdaVersion'] as const;

const NO_SOURCES = 'this service does not read this kind of source; add the documents with addDocuments';
const NO_SETTING = 'integrations of this service have no such setting';

export const CLIENT_KEYS: readonly ClientKey[] = [
  {
    in: RUNS,
    keys: ['async', 'paginate'],
    unless: false,
    refused: 'a query is answered when it is done, with all its rows',
  },
  {
    in: RUNS,
    keys: ['async_options', 'initial_paginate_response_doc_count'],
    ignored: 'it counts only beside `async` or `paginate`, which are refused',
  },
  {
    in: QUERIES,
    keys: ['sql.initial_paginate_response_doc_count'],
    ignored: 'it counts only beside `paginate`, which is refused',
  },
  {
    in: RUNS,
    keys: ['max_initial_results'],
    refused: 'a result has no pages: all its rows are in the answer. Write a LIMIT, or give a default_row_limit',
  },
  {
    in: RUNS,
    keys: ['timeout_ms'],
    refused: 'the service sets the time of a query (`--query-timeout-ms`); one whose caller hangs up stops sooner',
  },
  { in: RUNS, keys: ['debug_threshold_ms'], ignored: 'it only adds to a log' },
  { in: QUERIES, keys: ['sql.profiling_enabled'], ignored: 'it only adds to a log' },
  { in: RUNS, keys: ['virtual_instance_id'], ignored: 'there is one virtual instance, and rows do not depend on it' },
  {
    in: ['createCollection'],
    keys: ['storage_compression_type', 'force_bulk_load', 'instance_type', 'source_download_soft_limit_bytes'],
    ignored: 'it is about storing or loading faster; documents and answers are the same',
  },
  {
    in: ['createCollection'],
    keys: ['sources[].id', 'sources[].suspended_at', 'sources[].resume_at'],
    ignored: 'the hosted service says it of a source; nobody sets it',
  },
  {
    in: ['createCollection'],
    keys: ['sources[].dynamodb.settings', 'sources[].kafka.use_v3'],
    ignored: 'it changes how the hosted service reads, not what is read',
  },
  {
    in: ['createCollection'],
    keys: [
      'azure_blob_storage',
      'azure_event_hubs',
      'azure_service_bus',
      'snapshot',
      'snowflake',
      'system',
      'write_api',
    ].map((kind) => `sources[].${kind}`),
    refused: NO_SOURCES,
  },
  {
    in: ['createCollection'],
    keys: ['sources[].ingest_transformation'],
    refused: 'SQL for the documents of one source: use field_mapping_query, which is for all of the collection',
  },
  {
    in: ['createCollection'],
    keys: ['bson', 'mssql_dms', 'mysql_dms', 'oracle_dms', 'postgres_dms'].map(
      (format) => `sources[].format_params.${format}`,
    ),
    unless: false,
    refused: 'files are JSON, CSV, XML, Parquet or Avro here',
  },
  { in: LAMBDAS, keys: ['is_public'], unless: false, refused: 'every call needs an API key' },
  {
    in: KEYS,
    keys: ['role'],
    refused: 'a key has the roles of its user. Create a user with fewer, and a key for it',
  },
  { in: KEYS, keys: ['expiry_time'], refused: 'keys do not expire. Delete the key when its time has come' },
  { in: KEYS, keys: ['created_by'], refused: 'the service says who created a key' },
  { in: ['createUser'], keys: ['first_name', 'last_name'], refused: 'users have no names here, only an e-mail' },
  {
    in: ['createIntegration'],
    keys: ['azure_blob_storage', 'azure_event_hubs', 'azure_service_bus', 'snowflake'],
    refused: 'there is no such kind of integration here',
  },
  { in: ['createIntegration'], keys: ['is_write_enabled'], unless: false, refused: NO_SETTING },
  {
    in: ['createIntegration'],
    keys: ['dynamodb.s3_export_bucket_name', 'kafka.aws_role', 'kafka.connection_string'],
    refused: NO_SETTING,
  },
  {
    in: ['createIntegration'],
    keys: ['kafka.source_status_by_topic'],
    ignored: 'the hosted service says it of an integration; nobody sets it',
  },
  {
    in: ['updateVirtualInstance'],
    keys: ['auto_suspend_enabled', 'enable_remount_on_resume', 'monitoring_enabled'],
    unless: false,
    refused: 'the virtual instance is a share of this machine; only its size can be changed',
  },
  {
    in: ['updateVirtualInstance'],
    keys: [
      'name',
      'description',
      'auto_scaling_policy',
      'auto_suspend_seconds',
      'instance_class',
      'microbatch_policy',
      'mount_refresh_interval_seconds',
      'mount_type',
    ],
    refused: 'the virtual instance is a share of this machine; only its size can be changed',
  },
];

const byRow = new Map<Row, Map<string, ClientKey>>();
for (const entry of CLIENT_KEYS) {
  for (const operation of entry.in) {
    const keys = byRow.get(contract[operation]) ?? new Map<string, ClientKey>();
    for (const key of entry.keys) keys.set(key, entry);
    byRow.set(contract[operation], keys);
  }
}

/** What the list says of an unknown key of a request. */
export function clientKeyAt(row: Row, path: readonly (string | number)[]): ClientKey | undefined {
  const keys = byRow.get(row);
  const steps = path.map((step) => (typeof step === 'number' ? '[]' : step));
  const textOf = (some: readonly string[]) => some.join('.').replaceAll('.[]', '[]');
  const found = keys?.get(textOf(steps));
  if (found !== undefined || keys === undefined) return found;
  for (let length = steps.length - 1; length > 0; length--) {
    const below = keys.get(`${textOf(steps.slice(0, length))}.*`);
    if (below !== undefined) return below;
  }
  return undefined;
}

/** Clients write the name of the hosted service's provider where docs/api.md has `cloud`: the key they send for it. */
export function providerKey(key: string): string | undefined {
  return key.startsWith('cloud_') ? key.replace('cloud_', 'aws_') : undefined;
}
