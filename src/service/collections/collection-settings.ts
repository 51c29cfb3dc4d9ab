import type { FieldSchema, PartitionSpec } from '../../contract/collections.ts';
import type { ParsedInput } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import type { CollectionRecord } from '../catalog/records.ts';
import type { CallContext } from '../context.ts';
import { readEventTimeInfo } from '../ingest/event-time-info.ts';
import { readMappingQuery } from '../ingest/field-mapping-query.ts';
import { type Refuse, readFieldMappings } from '../ingest/field-mappings.ts';
import { isFile, readSources } from '../ingest/sources.ts';

/** The settings that a collection is created with and keeps. */
export type CollectionSettings = Pick<
  CollectionRecord,
  | 'retentionSecs'
  | 'recognizeTimes'
  | 'eventTimeInfo'
  | 'fieldMappings'
  | 'fieldMappingQuery'
  | 'sources'
  | 'clusteringKey'
  | 'fieldSchemas'
  | 'encodingOptions'
>;

/**
 * The settings of a new collection, checked and with defaults filled in; its sources are asked whether they can be read. Throws `invalid_input`, naming the setting, or
 * `query_error` for a field mapping, or a query over documents, that cannot be computed.
 */
export async function readCollectionSettings(
  { engine, catalog, sources: all, signal }: Pick<CallContext, 'engine' | 'catalog' | 'sources' | 'signal'>,
  input: ParsedInput<'createCollection'>,
): Promise<CollectionSettings> {
  const refuse: Refuse = (why) => new ApiError('invalid_input', `Cannot create collection "${input.name}": ${why}.`);
  const sources = readSources(catalog, input.sources ?? [], refuse);
  const clusteringKey = readClusteringKey(input.clustering_key ?? [], refuse);
  const fieldSchemas = readFieldSchemas(input.field_schemas ?? [], refuse);
  const { event_time_info: info, field_mappings: mappings = [], field_mapping_query: query } = input;
  if (query !== undefined && mappings.length > 0)
    throw refuse('"field_mappings" and "field_mapping_query" are both there; write what the mappings do in the query');
  const settings: CollectionSettings = {
    retentionSecs: input.retention_secs ?? null,
    recognizeTimes: input.recognize_times ?? false,
    eventTimeInfo: info === undefined ? null : await readEventTimeInfo(engine, info, refuse),
    fieldMappings: mappings.length === 0 ? [] : await readFieldMappings(engine, mappings, refuse),
    fieldMappingQuery: query === undefined ? null : await readMappingQuery(engine, query, refuse),
    sources,
    clusteringKey,
    fieldSchemas,
    encodingOptions: input.inverted_index_group_encoding_options ?? null,
  };
  // Last, since it takes the longest.
  for (const [index, source] of sources.entries()) {
    if (!isFile(source)) await all.check(source, signal, (why) => refuse(`sources[${index}] ${why}`));
  }
  return settings;
}

/** The type AUTO needs no keys; any other type lists the values to partition by. */
function readClusteringKey(given: readonly PartitionSpec[], refuse: Refuse): PartitionSpec[] {
  requireFieldNames('clustering_key', given, refuse);
  return given.map((spec, index) => {
    const type = spec.type ?? 'AUTO';
    if (type === '') throw refuse(`clustering_key[${index}].type is empty; leave it out, or write "AUTO"`);
    if (type !== 'AUTO' && (spec.keys ?? []).length === 0) {
      throw refuse(`clustering_key[${index}] has the type "${type}" and no "keys"; only "AUTO" needs none`);
    }
    return { ...spec, type };
  });
}

function readFieldSchemas(given: readonly FieldSchema[], refuse: Refuse): FieldSchema[] {
  requireFieldNames('field_schemas', given, refuse);
  return [...given];
}

function requireFieldNames(
  setting: string,
  given: readonly { field_name?: string | null | undefined }[],
  refuse: Refuse,
): void {
  const seen = new Set<string>();
  for (const [index, { field_name: name }] of given.entries()) {
    if ((name ?? '') === '') throw refuse(`${setting}[${index}].field_name is missing`);
    if (seen.has(name ?? '')) throw refuse(`${setting}[${index}].field_name "${name}" is there twice`);
    seen.add(name ?? '');
  }
}
