import type { JsonObject } from '../contract/json/json.ts';

/** A piece of metadata: the service decides which kinds exist and what the values mean. */
export interface StoredRecord {
  kind: string;
  key: string;
  value: JsonObject;
}

export type RecordChange =
  | { do: 'putRecord'; kind: string; key: string; value: JsonObject }
  | { do: 'deleteRecord'; kind: string; key: string };

export type WriteOutcome =
  | { status: 'added' | 'replaced' | 'deleted' | 'changed' }
  | { status: 'error'; message: string };
