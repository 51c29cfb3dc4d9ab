import type { JsonObject } from '../contract/json/json.ts';

export interface NewDocument {
  id: string;
  /** Microseconds since the epoch; null: the replaced document's, or else now. */
  eventTimeMicros: bigint | null;
  /** The document's fields, without `_id`, `_event_time` and `_meta`. */
  fields: JsonObject;
  /** The fields that have another type than JSON gives them, if their values fit it. */
  declared?: ReadonlyMap<string, DeclaredType> | undefined;
}

/** `time`: a date or timestamp; `clock`: a time of day; `decimal`, with its number of digits and of those in fractions. */
export type DeclaredType = 'time' | 'clock' | 'uuid' | 'binary' | `decimal ${number} ${number}`;
