import type { JsonObject } from '../../../contract/json/json.ts';
import { measure } from '../../../contract/json/measure.ts';
import { mapInTurns } from '../../../contract/turns/turns.ts';
import type { NewDocument, WriteOutcome } from '../../engine.ts';

/** A document that will be stored. */
export interface AcceptedDocument {
  id: string;
  fields: JsonObject;
  /** As in `NewDocument`. */
  declared?: NewDocument['declared'];
  /** Null: that of the replaced document, or else now. */
  eventTimeMicros: bigint | null;
}

/** Documents nested deeper than this are refused. */
const LEVELS_MAX = 1_000;
/** Years 0000 to 9999, which ISO 8601 writes with four digits. */
const TIME_MIN = -62_167_219_200_000_000n;
const TIME_MAX = 253_402_300_799_999_999n;

/** The result of checking the documents of one write by themselves. */
export interface Acceptance {
  /** By id. Of several with one id the last, with the last event time that any of them gave. */
  documents: ReadonlyMap<string, AcceptedDocument>;
  /** The errors, in the order given; undefined for a document that is accepted. */
  errors: readonly (string | undefined)[];
}

export async function acceptDocuments(given: readonly NewDocument[]): Promise<Acceptance> {
  const documents = new Map<string, AcceptedDocument>();
  const errors = await mapInTurns(given, ({ id, eventTimeMicros, fields, declared }) => {
    const fault = faultOf(id, eventTimeMicros, fields);
    if (fault !== null) return `Cannot store document ${JSON.stringify(id)}: ${fault}.`;
    const eventTime = eventTimeMicros ?? documents.get(id)?.eventTimeMicros ?? null;
    documents.set(id, { id, fields, declared, eventTimeMicros: eventTime });
    return undefined;
  });
  return { documents, errors };
}

/** The outcomes of a write as if its documents had been stored one after the other. */
export function outcomesOf(
  given: readonly NewDocument[],
  { errors }: Acceptance,
  existed: ReadonlyMap<string, unknown>,
): WriteOutcome[] {
  const seen = new Set<string>();
  return given.map(({ id }, index) => {
    const message = errors[index];
    if (message !== undefined) return { status: 'error', message };
    const isReplaced = existed.has(id) || seen.has(id);
    seen.add(id);
    return { status: isReplaced ? 'replaced' : 'added' };
  });
}

/** Why a document cannot be stored, as a clause; null if it can. */
export function faultOf(id: string, eventTimeMicros: bigint | null, fields: JsonObject): string | null {
  if (!id.isWellFormed()) return 'its _id holds half of a surrogate pair, which is not a character';
  if (eventTimeMicros !== null && (eventTimeMicros < TIME_MIN || eventTimeMicros > TIME_MAX)) {
    return `its _event_time ${eventTimeMicros} (microseconds since 1970) is outside the years 0000 to 9999`;
  }
  return contentFault(fields);
}

/** The same for a document's fields alone. */
export function contentFault(fields: JsonObject): string | null {
  const { problem } = measure(fields, LEVELS_MAX);
  return problem === undefined ? null : `its content ${problem}`;
}
