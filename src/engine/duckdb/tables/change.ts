import { type JsonObject, parseJson } from '../../../contract/json/json.ts';
import { mapInTurns } from '../../../contract/turns/turns.ts';
import type { Engine, WriteOutcome } from '../../engine.ts';
import { storedText } from '../values/exact-text.ts';
import { type AcceptedDocument, contentFault } from './accept.ts';
import type { StoredDocument } from './read-back.ts';

export type Change = Parameters<Engine['changeDocuments']>[2];

/** Applies `change` to each document; returns the documents to store, by id. */
export async function changeAll(
  stored: ReadonlyMap<string, StoredDocument>,
  ids: readonly string[],
  change: Change,
): Promise<{ changed: Map<string, AcceptedDocument>; outcomes: WriteOutcome[] }> {
  const changed = new Map<string, AcceptedDocument>();
  const outcomes = await mapInTurns(ids, (one, index) =>
    changeOne(stored, changed, one, (fields) => change(fields, index)),
  );
  return { changed, outcomes };
}

/**
 * Applies `change` to one document; the result goes into `changed` and is what the next change of that document sees.
 */
function changeOne(
  stored: ReadonlyMap<string, StoredDocument>,
  changed: Map<string, AcceptedDocument>,
  id: string,
  change: (fields: JsonObject) => JsonObject,
): WriteOutcome {
  const document = stored.get(id);
  if (document === undefined) return missing(id);
  try {
    const fields = change(document.read());
    const fault = contentFault(fields);
    if (fault !== null) throw new TypeError(`Cannot store document ${JSON.stringify(id)}: ${fault}.`);
    // A copy, which the next change is free to modify.
    document.read = () => parseJson(storedText(fields)) as JsonObject;
    changed.set(id, { id, fields, eventTimeMicros: document.eventTimeMicros });
    return { status: 'changed' };
  } catch (error) {
    return { status: 'error', message: error instanceof Error ? error.message : String(error) };
  }
}

function missing(id: string): WriteOutcome {
  return { status: 'error', message: `document ${JSON.stringify(id)} does not exist` };
}
