import { randomBytes } from 'node:crypto';
import type { Collection, CollectionStats, EventTimeInfo } from '../../contract/collections.ts';
import type { ParsedInput } from '../../contract/contract.ts';
import { createPace } from '../../contract/turns/turns.ts';
import type { Change, TableStats } from '../../engine/engine.ts';
import { put } from '../catalog/catalog.ts';
import {
  collectionKey,
  collectionsOf,
  recordsOfAll,
  requireCollection,
  requireWorkspace,
} from '../catalog/not-found.ts';
import type { CollectionRecord, EventTimeRecord } from '../catalog/records.ts';
import { requireFreeName } from '../catalog/table-names.ts';
import type { CallContext } from '../context.ts';
import { isFile, toFileSource } from '../ingest/sources.ts';
import { sourcesOf, stateOf } from '../sources/states.ts';
import { toSource } from '../sources/views.ts';
import { collectionDeletion, deletionBy } from '../trash/trash-entries.ts';
import { toAlias } from './aliases.ts';
import { readCollectionSettings } from './collection-settings.ts';
import { aliasesNaming, refuseWithDependents } from './dependents.ts';

/**
 * Creates an empty collection (docs/api.md #19). Throws `not_found`, `already_exists`, `invalid_input`, or `query_error` for
 * a field mapping, or a query over documents, that cannot be computed.
 */
export async function createCollection(ctx: CallContext, input: ParsedInput<'createCollection'>): Promise<Collection> {
  const { catalog } = ctx;
  requireWorkspace(catalog, input.workspace);
  const settings = await readCollectionSettings(ctx, input);
  const created = await catalog.change(() => {
    const workspace = requireWorkspace(catalog, input.workspace).name;
    requireFreeName(catalog, 'collection', workspace, input.name);
    const record: CollectionRecord = {
      name: input.name,
      workspace,
      table: `c_${randomBytes(8).toString('hex')}`,
      description: input.description ?? null,
      createdAt: new Date().toISOString(),
      createdBy: ctx.caller.user.email,
      ...settings,
    };
    const changes: Change[] = [
      put('collection', collectionKey(workspace, record.name), record),
      {
        do: 'createCollection',
        table: record.table,
        workspace,
        name: record.name,
        retentionSecs: record.retentionSecs,
        recognizeTimes: record.recognizeTimes,
      },
    ];
    return { changes, result: toCollection(ctx, record, 'CREATED') };
  });
  ctx.sources.changed();
  return created;
}

/** Deletes a collection with its documents, into the trash (docs/api.md #20); its name is free again at once. */
export async function deleteCollection(
  ctx: CallContext,
  input: { workspace: string; collection: string },
): Promise<Collection> {
  const { catalog, usage } = ctx;
  const deleted = await catalog.change(() => {
    const record = requireCollection(catalog, input.workspace, input.collection);
    refuseWithDependents(catalog, 'collection', collectionKey(record.workspace, record.name));
    const deletion = deletionBy(ctx, record.workspace);
    const changes = collectionDeletion(catalog, record, usage.of(record), deletion);
    const result: Collection = {
      name: record.name,
      workspace: record.workspace,
      status: 'DELETED',
      sources: [],
      field_mappings: [],
      clustering_key: [],
      aliases: [],
      field_schemas: [],
      fieldPartitions: [],
    };
    return { changes, result };
  });
  ctx.sources.changed();
  return deleted;
}

/** One collection with its figures (docs/api.md #21). */
export async function getCollection(
  ctx: CallContext,
  input: { workspace: string; collection: string },
): Promise<Collection> {
  const record = requireCollection(ctx.catalog, input.workspace, input.collection);
  const found = await withStats(ctx, record);
  // Deleted while its figures were read: the catalog now says so.
  if (found === undefined) requireCollection(ctx.catalog, input.workspace, input.collection);
  return found ?? toCollection(ctx, record, 'READY');
}

/** The collections of all workspaces, by workspace and name (docs/api.md #24). */
export async function listCollections(ctx: CallContext): Promise<Collection[]> {
  return listed(ctx, recordsOfAll(ctx.catalog, 'collection'));
}

/** The collections of one workspace, by name (docs/api.md #25). */
export async function listWorkspaceCollections(ctx: CallContext, input: { workspace: string }): Promise<Collection[]> {
  return listed(ctx, collectionsOf(ctx.catalog, requireWorkspace(ctx.catalog, input.workspace).name));
}

/** How many collections are counted at a time: each takes a connection. */
const COUNTED_AT_ONCE = 4;

async function listed(ctx: CallContext, records: readonly CollectionRecord[]): Promise<Collection[]> {
  const collections: (Collection | undefined)[] = [];
  const left = records.entries();
  const pace = createPace();
  const count = async () => {
    for (const [index, record] of left) {
      collections[index] = await withStats(ctx, record);
      await pace();
    }
  };
  await Promise.all(Array.from({ length: COUNTED_AT_ONCE }, count));
  return collections.filter((collection) => collection !== undefined);
}

/** The collection with its figures; undefined if it was deleted while they were read. */
async function withStats(ctx: CallContext, record: CollectionRecord): Promise<Collection | undefined> {
  const key = collectionKey(record.workspace, record.name);
  try {
    const stats = toStats(ctx, record, await ctx.engine.stats(record.table));
    return { ...toCollection(ctx, record, 'READY'), stats };
  } catch (error) {
    if (ctx.catalog.all('collection').get(key)?.table !== record.table) return undefined;
    throw error;
  }
}

function toStats(ctx: CallContext, record: CollectionRecord, table: TableStats): CollectionStats {
  const usage = ctx.usage.of(record);
  // Missing only if the service was killed in a collection's first moments; what is stored is then a lower bound.
  const least = table.docCount > 0 ? { updatedMs: Date.parse(record.createdAt), bytes: table.totalBytes } : undefined;
  return {
    doc_count: table.docCount,
    purged_doc_count: usage.purgedDocCount,
    ...(record.fieldMappingQuery === null ? {} : { dropped_doc_count: usage.droppedDocCount }),
    fill_progress: fillProgress(ctx, record),
    last_queried_ms: usage.lastQueriedMs,
    last_updated_ms: usage.lastUpdatedMs || (least?.updatedMs ?? 0),
    total_size: table.totalBytes,
    total_index_size: 0,
    row_index_size: 0,
    column_index_size: 0,
    inverted_index_size: 0,
    range_index_size: 0,
    purged_doc_size: usage.purgedBytes,
    bytes_inserted: usage.bytesInserted || (least?.bytes ?? 0),
    bytes_overwritten: usage.bytesOverwritten,
  };
}

/** How much of the initial reads is done; null if nothing is being read: 1 would be no fraction for clients that tell integers from them. */
function fillProgress({ catalog }: CallContext, record: CollectionRecord): number | null {
  const scans = sourcesOf(record).flatMap((placed) => {
    const { phase, scanned, scanTotal } = stateOf(catalog, placed);
    return phase === 'scan' && scanTotal !== null ? [{ scanned: scanned ?? 0, scanTotal }] : [];
  });
  const total = scans.reduce((sum, { scanTotal }) => sum + scanTotal, 0);
  if (total === 0) return null;
  return Math.min(0.999, scans.reduce((sum, { scanned }) => sum + scanned, 0) / total);
}

function toEventTimeInfo({ field, format, timeZone }: EventTimeRecord): EventTimeInfo {
  return { field, format, time_zone: timeZone };
}

const DAY_CHARS = '2024-03-01'.length;

/** A collection as returned, without the figures that only the engine has. */
export function toCollection(ctx: CallContext, record: CollectionRecord, status: 'CREATED' | 'READY'): Collection {
  const { catalog, usage } = ctx;
  const { notes } = usage.of(record);
  return {
    created_at: record.createdAt,
    created_by: record.createdBy,
    name: record.name,
    description: record.description,
    workspace: record.workspace,
    status,
    sources: record.sources.map((source, index) =>
      isFile(source)
        ? toFileSource(source, status, usage.of(record).file)
        : toSource(ctx, { collection: record, index, source }),
    ),
    ...(notes.length === 0 ? {} : { load_notes: notes.map(({ at, text }) => `${at.slice(0, DAY_CHARS)}: ${text}`) }),
    retention_secs: record.retentionSecs,
    ...(record.recognizeTimes ? { recognize_times: true } : {}),
    ...(record.eventTimeInfo === null ? {} : { event_time_info: toEventTimeInfo(record.eventTimeInfo) }),
    field_mappings: record.fieldMappings,
    ...(record.fieldMappingQuery === null ? {} : { field_mapping_query: record.fieldMappingQuery }),
    clustering_key: record.clusteringKey,
    aliases: aliasesNaming(catalog, collectionKey(record.workspace, record.name)).map(toAlias),
    field_schemas: record.fieldSchemas,
    inverted_index_group_encoding_options: record.encodingOptions,
    fieldPartitions: record.clusteringKey,
  };
}
