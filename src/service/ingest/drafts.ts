import type { JsonObject } from '../../contract/json.ts';

/** A document on its way in. */
export interface Draft {
  /** As it came, without `_meta`. */
  readonly given: JsonObject;
  /** As it is now, with `_id` and `_event_time` where it has them; replaced, never changed in place. */
  fields: JsonObject;
  /** Why it cannot be stored; null as long as it can. */
  problem: string | null;
  /** Whether it came as text of the collection's file. */
  readonly isFromFile: boolean;
}

/** A draft of a document as it came; `_meta` is the service's own, so that documents read from it can be added again. */
export function draftOf(document: JsonObject, isFromFile: boolean): Draft {
  const { _meta, ...given } = document;
  return { given, fields: given, problem: null, isFromFile };
}

/** A draft that cannot be stored, whatever it was. */
export function refusedDraft(problem: string, isFromFile: boolean): Draft {
  return { given: {}, fields: {}, problem, isFromFile };
}
