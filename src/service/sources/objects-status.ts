import type { JsonObject } from '../../contract/json/json.ts';

/** The objects of a bucket that were met, and those that were read. */
export function figuresOf(checkpoint: JsonObject | null): JsonObject {
  const figures = checkpoint?.['figures'];
  return { ...NONE, ...(figures as JsonObject | undefined) };
}

const NONE = {
  object_count_total: 0,
  object_count_downloaded: 0,
  object_bytes_total: 0,
  object_bytes_downloaded: 0,
};
