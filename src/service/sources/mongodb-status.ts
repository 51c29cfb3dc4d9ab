import type { JsonObject } from '../../contract/json/json.ts';
import type { PlainId } from './mongodb-ids.ts';

/** Changes of a kind that were read. */
export interface ChangeCount {
  count: number;
  /** When the last was read. */
  at: string | null;
}

/** How far a collection of MongoDB is read. */
export interface MongoCheckpoint {
  /** Resume token of the change stream, as canonical Extended JSON: the changes behind it are to be read. */
  token: JsonObject;
  /** Time of the cluster that what is read must not be older than, as seconds and a counter. */
  time: { t: number; i: number } | null;
  /** Null: no `_id` was read so far. */
  plain: PlainId | null;
  scan: {
    started: string;
    ended: string | null;
    seen: number;
    total: number | null;
    /** `_id` of the last document, as canonical Extended JSON. */
    last: string | null;
  };
  inserted: ChangeCount;
  updated: ChangeCount;
  deleted: ChangeCount;
}

/** The `status` of a source of the kind `mongodb` at a checkpoint. */
export function statusOf(checkpoint: JsonObject | null): JsonObject {
  if (checkpoint === null) return { state: 'INITIALIZING' };
  const { scan, inserted, updated, deleted } = checkpoint as unknown as MongoCheckpoint;
  return {
    scan_start_time: scan.started,
    scan_end_time: scan.ended,
    scan_records_processed: scan.seen,
    scan_total_records: scan.total,
    state: scan.ended === null ? 'SCANNING_TABLE' : 'PROCESSING_STREAM',
    stream_last_insert_processed_at: inserted.at,
    stream_last_update_processed_at: updated.at,
    stream_last_delete_processed_at: deleted.at,
    stream_records_inserted: inserted.count,
    stream_records_updated: updated.count,
    stream_records_deleted: deleted.count,
  };
}
