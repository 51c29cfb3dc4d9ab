import { contract, type Operation } from './contract.ts';
import type { Row } from './row.ts';

/**
 * A key that published clients of the hosted service send although docs/api.md does not name it. Unknown keys are
 * refused as well, with what is known in their place, so this list has those that are no reason to, and those of which
 * there is more to say: what to do instead.
 */
export interface ClientKey {
  /** The requests that may carry it. */
  readonly in: readonly Operation[];
  /** Paths in the body: `[]` stands for any entry of a list. */
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
    refused: 'this service does not read this kind of source; add the documents with addDocuments',
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
  {
    in: ['createIntegration'],
    keys: ['is_write_enabled'],
    unless: false,
    refused: 'integrations of this service have no such setting',
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
  const steps = path.map((step) => (typeof step === 'number' ? '[]' : step));
  return byRow.get(row)?.get(steps.join('.').replaceAll('.[]', '[]'));
}

/** Clients write the name of the hosted service's provider where docs/api.md has `cloud`: the key they send for it. */
export function providerKey(key: string): string | undefined {
  return key.startsWith('cloud_') ? key.replace('cloud_', 'aws_') : undefined;
}
