import { isObject, type JsonValue } from '../../contract/json/json.ts';
import type { DocumentsText } from '../../engine/engine.ts';
import type { CollectionRecord } from '../catalog/records.ts';
import { newDocumentId } from './document-id.ts';
import { eventTimeMicros, isNear1970 } from './event-time.ts';
import { problemOfIdField, withIdField } from './id-field.ts';
import { readGiven } from './intake.ts';
import { isTooOld } from './write-warnings.ts';

/** How the engine reads the documents of a text for a collection that takes them as given. */
export interface TextIntake extends Pick<DocumentsText, 'idField' | 'makeId' | 'readTime' | 'read'> {
  /** What is to be told of the documents that were stored. */
  told(outcomes: readonly { id: string }[]): { withoutId: number; tooOld: number; near1970: number };
}

export function textIntake(collection: CollectionRecord, idField?: string): TextIntake {
  // By id, since the engine may read a document twice, with a different id if ids are generated.
  const made = new Set<string>();
  const old = new Set<string>();
  const early = new Set<string>();
  return {
    idField,
    makeId() {
      const id = newDocumentId();
      made.add(id);
      return id;
    },
    readTime(value) {
      const micros = eventTimeMicros(value);
      return micros === undefined || isNear1970(value) || isTooOld(collection, micros) ? undefined : micros;
    },
    read(json: JsonValue) {
      const document =
        problemOfIdField(json, idField) === undefined ? readGiven(withIdField(json, idField)) : undefined;
      if (document === undefined || !isObject(json)) return undefined;
      if (idField === undefined && (json['_id'] ?? null) === null) made.add(document.id);
      if (isTooOld(collection, document.eventTimeMicros)) old.add(document.id);
      if (isNear1970(json['_event_time'])) early.add(document.id);
      return document;
    },
    told(outcomes) {
      const countIn = (ids: ReadonlySet<string>) =>
        ids.size === 0 ? 0 : outcomes.filter(({ id }) => ids.has(id)).length;
      return { withoutId: countIn(made), tooOld: countIn(old), near1970: countIn(early) };
    },
  };
}
