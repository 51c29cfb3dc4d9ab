import { isObject, type JsonValue } from '../../contract/json/json.ts';
import type { DocumentsText } from '../../engine/engine.ts';
import type { CollectionRecord } from '../catalog/records.ts';
import { newDocumentId } from './document-id.ts';
import { eventTimeMicros, isNear1970 } from './event-time.ts';
import { isFieldNear1970, plainTime, plainTimeField } from './event-time-info.ts';
import { problemOfIdField, withIdField } from './id-field.ts';
import { readGiven } from './intake.ts';
import { isTooOld } from './write-warnings.ts';

/** How the engine reads the documents of a text. */
export interface TextIntake extends Pick<DocumentsText, 'idField' | 'timeField' | 'makeId' | 'readTime' | 'read'> {
  /** What is to be told of the documents that were stored. */
  told(outcomes: readonly { id: string }[]): { withoutId: number; tooOld: number; near1970: number };
}

/** Undefined if each of the collection's documents has to be parsed: for its field mappings, or for its event time. */
export function textIntake(collection: CollectionRecord, idField?: string): TextIntake | undefined {
  const { fieldMappings, fieldMappingQuery, eventTimeInfo: info } = collection;
  const timeField = info === null ? undefined : plainTimeField(info);
  const isMade = fieldMappings.length > 0 || fieldMappingQuery !== null;
  if (isMade || (info !== null && timeField === undefined)) return undefined;
  // By id, since the engine may read a document twice, with a different id if ids are generated.
  const made = new Set<string>();
  const old = new Set<string>();
  const early = new Set<string>();
  return {
    idField,
    timeField,
    makeId() {
      const id = newDocumentId();
      made.add(id);
      return id;
    },
    readTime(value, isField) {
      const micros = isField && info !== null ? plainTime(info, value) : eventTimeMicros(value);
      const isNear = isField && info !== null ? isFieldNear1970(info, value) : isNear1970(value);
      const isOdd = micros === undefined || isNear || isTooOld(collection, micros);
      return isOdd ? undefined : micros;
    },
    read(json: JsonValue) {
      const given = problemOfIdField(json, idField) === undefined ? withIdField(json, idField) : undefined;
      const document = given === undefined ? undefined : readGiven(given);
      if (document === undefined || !isObject(json)) return undefined;
      const own = timeField !== undefined && Object.hasOwn(json, timeField) ? (json[timeField] ?? null) : null;
      if (own !== null && info !== null) {
        const micros = typeof own === 'string' || typeof own === 'number' ? plainTime(info, own) : undefined;
        if (micros === undefined) return undefined;
        document.eventTimeMicros = micros;
      }
      if (idField === undefined && (json['_id'] ?? null) === null) made.add(document.id);
      if (isTooOld(collection, document.eventTimeMicros)) old.add(document.id);
      const isNear = own !== null && info !== null ? isFieldNear1970(info, own) : isNear1970(json['_event_time']);
      if (isNear) early.add(document.id);
      return document;
    },
    told(outcomes) {
      const countIn = (ids: ReadonlySet<string>) =>
        ids.size === 0 ? 0 : outcomes.filter(({ id }) => ids.has(id)).length;
      return { withoutId: countIn(made), tooOld: countIn(old), near1970: countIn(early) };
    },
  };
}
