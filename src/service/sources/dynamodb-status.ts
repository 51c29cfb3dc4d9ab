import { isObject, type JsonObject } from '../../contract/json/json.ts';

/** What a checkpoint of a table of DynamoDB says about its scan and its stream, as `status` of a source has it. */
export function statusOf(checkpoint: JsonObject | null): JsonObject {
  const { scan, streamMs } = checkpoint ?? {};
  if (!isObject(scan)) return {};
  const { startMs, endMs, scanned = 0, total = null } = scan;
  return {
    state: typeof endMs === 'number' ? 'PROCESSING_STREAM' : 'SCANNING_TABLE',
    scan_start_time: timeOf(startMs),
    scan_end_time: timeOf(endMs),
    scan_records_processed: scanned,
    scan_total_records: total,
    stream_last_processed_at: timeOf(streamMs),
  };
}

function timeOf(ms: unknown): string | null {
  return typeof ms === 'number' ? new Date(ms).toISOString() : null;
}
