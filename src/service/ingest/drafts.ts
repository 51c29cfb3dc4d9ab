import type { RefusalKind } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json/json.ts';
import type { NewDocument } from '../../engine/engine.ts';

/** A document being taken in. */
export interface Draft {
  /** As received, without `_meta`. */
  readonly given: JsonObject;
  /** As it is now, with `_id` and `_event_time` if it has them; replaced, never changed in place. */
  fields: JsonObject;
  /** The types that mappings gave fields. */
  declared?: NewDocument['declared'];
  /** Why it cannot be stored; null if it can. */
  problem: string | null;
  kind?: RefusalKind;
  /** Whether the collection's query leaves it out. */
  isDropped?: boolean;
  /** Whether its event time was read from a number that is about 1970 as microseconds. */
  isNear1970?: boolean;
  /** Whether it came from text of the collection's file. */
  readonly isFromFile: boolean;
}

/** A draft of a document as received, without the service's own `_meta`, so that documents can be added as read. */
export function draftOf(document: JsonObject, isFromFile: boolean): Draft {
  const { _meta, ...given } = document;
  return { given, fields: given, problem: null, isFromFile };
}

/** A draft of something that cannot be stored. */
export function refusedDraft(problem: string, isFromFile: boolean): Draft {
  return { given: {}, fields: {}, problem, isFromFile };
}
