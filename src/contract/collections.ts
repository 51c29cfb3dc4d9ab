import * as z from 'zod';
import { Alias } from './aliases.ts';
import { AnyObject, CollectionParam, NewName, resource, Timestamp, WorkspaceParam } from './fields.ts';
import type { Contract } from './row.ts';
import { Source } from './sources.ts';

export const CollectionStats = resource({
  doc_count: z.number().describe('Documents'),
  purged_doc_count: z.number().describe('Documents purged by retention'),
  dropped_doc_count: z.number().describe('Documents that the WHERE of its field_mapping_query left out'),
  fill_progress: z.number().describe('Fraction of the first read of its sources; null when it is over'),
  last_queried_ms: z.number().describe('Epoch milliseconds'),
  last_updated_ms: z.number().describe('Epoch milliseconds'),
  total_size: z.number().describe('Bytes of its documents as JSON, without compression; estimated for many'),
  total_index_size: z.number(),
  row_index_size: z.number(),
  column_index_size: z.number(),
  inverted_index_size: z.number(),
  range_index_size: z.number(),
  purged_doc_size: z.number(),
  bytes_inserted: z.number().describe('Bytes of documents written since creation, as they were sent'),
  bytes_overwritten: z.number().describe('Bytes of documents that replaced others'),
});
export type CollectionStats = z.infer<typeof CollectionStats>;

/** A change made to every incoming document. */
export const FieldMapping = resource({
  name: z.string(),
  is_drop_all_fields: z.boolean(),
  input_fields: z.array(
    resource({
      field_name: z.string(),
      if_missing: z.enum(['SKIP', 'PASS']),
      is_drop: z.boolean(),
      param: z.string().describe('Name under which `value` refers to the field'),
    }),
  ),
  output_field: resource({
    field_name: z.string(),
    value: z
      .union([z.string(), resource({ sql: z.string() })])
      .describe('SQL expression over :param; as {"sql": …}, it stays so in answers'),
    on_error: z.enum(['SKIP', 'FAIL']),
  }),
});
export type FieldMapping = z.infer<typeof FieldMapping>;

/** SQL that makes what is stored of each incoming document: `SELECT ... FROM _input WHERE ...`. */
export const FieldMappingQuery = resource({ sql: z.string() });
export type FieldMappingQuery = z.infer<typeof FieldMappingQuery>;

/** A field by which documents are clustered. */
export const PartitionSpec = resource({
  field_name: z.string(),
  type: z.string().describe('e.g. AUTO'),
  keys: z.array(z.string()).describe('Not needed when the type is AUTO'),
});
export type PartitionSpec = z.infer<typeof PartitionSpec>;

export const FieldSchema = resource({
  field_name: z.string(),
  field_options: AnyObject.describe('Which indexes are built on the field'),
});
export type FieldSchema = z.infer<typeof FieldSchema>;

/** The field of a document that has its event time. */
export const EventTimeInfo = resource({
  field: z.string(),
  format: z.string(),
  time_zone: z.string(),
});
export type EventTimeInfo = z.infer<typeof EventTimeInfo>;

/** A set of JSON documents. */
export const Collection = resource({
  created_at: Timestamp,
  created_by: z.string().describe('E-mail of the creator'),
  name: z.string().describe('Unique in its workspace'),
  description: z.string(),
  workspace: z.string(),
  status: z.string().describe('CREATED, READY or DELETED'),
  sources: z.array(Source),
  stats: CollectionStats,
  load_notes: z.array(z.string()).describe('What loads told of its rows, by day; absent: nothing'),
  retention_secs: z.int().describe('Documents older than this, by event time, are purged'),
  recognize_times: z.boolean().describe('Whether text that is an ISO 8601 date or time is DATE or TIMESTAMP in SQL'),
  event_time_info: EventTimeInfo.describe('Absent if documents have their _event_time themselves'),
  field_mappings: z.array(FieldMapping),
  field_mapping_query: FieldMappingQuery.describe('Absent if it has none'),
  clustering_key: z.array(PartitionSpec),
  aliases: z.array(Alias),
  field_schemas: z.array(FieldSchema),
  inverted_index_group_encoding_options: AnyObject,
  fieldPartitions: z.array(PartitionSpec),
});
export type Collection = z.infer<typeof Collection>;

const params = z.object({ workspace: WorkspaceParam, collection: CollectionParam });
const path = '/v1/orgs/self/ws/{workspace}/collections/{collection}';

export const collections = {
  createCollection: {
    number: 19,
    method: 'POST',
    path: '/v1/orgs/self/ws/{workspace}/collections',
    title: 'Create a collection',
    summary: 'Create an empty collection. Fields and types come from its documents.',
    effect: 'create',
    role: 'member',
    params: z.object({ workspace: WorkspaceParam }),
    body: z.object({
      name: NewName,
      description: z.string().optional(),
      sources: z.array(Source).optional().describe('See colloquy://docs/sources'),
      retention_secs: z.int().min(3_600).max(315_359_999).optional().describe('Purge older documents'),
      recognize_times: z.boolean().optional().describe('Store ISO 8601 text as DATE or TIMESTAMP'),
      event_time_info: EventTimeInfo.optional().describe('Field of the event time'),
      field_mappings: z.array(FieldMapping).optional().describe('Changes on the way in'),
      field_mapping_query: FieldMappingQuery.optional().describe('Or SQL: SELECT … FROM _input'),
      clustering_key: z.array(PartitionSpec).optional(),
      field_schemas: z.array(FieldSchema).optional(),
      inverted_index_group_encoding_options: AnyObject.optional(),
    }),
    result: Collection,
  },
  deleteCollection: {
    number: 20,
    method: 'DELETE',
    path,
    title: 'Delete a collection',
    summary: 'Delete a collection and all its documents.',
    effect: 'delete',
    role: 'member',
    trash: true,
    params,
    refuses: { contents: true },
    result: Collection,
  },
  getCollection: {
    number: 21,
    method: 'GET',
    path,
    title: 'Get a collection',
    summary: 'Get one collection with its status, settings and statistics.',
    effect: 'read',
    role: 'read-only',
    params,
    result: Collection,
  },
  listCollections: {
    number: 24,
    method: 'GET',
    path: '/v1/orgs/self/collections',
    title: 'List all collections',
    summary: 'List the collections of all workspaces, with their fields. Start here.',
    effect: 'read',
    role: 'read-only',
    result: z.array(Collection),
  },
  listWorkspaceCollections: {
    number: 25,
    method: 'GET',
    path: '/v1/orgs/self/ws/{workspace}/collections',
    title: 'List collections of a workspace',
    summary: 'List the collections of one workspace, with document counts.',
    effect: 'read',
    role: 'read-only',
    params: z.object({ workspace: WorkspaceParam }),
    result: z.array(Collection),
  },
} as const satisfies Contract;
