import { type JsonObject, parseJson } from '../../../contract/json/json.ts';
import { mapInTurns } from '../../../contract/turns/turns.ts';
import type { Engine, WriteOutcome } from '../../engine.ts';
import type { Transaction } from '../storage/store.ts';
import { exactText } from '../values/exact-text.ts';
import type { AcceptedDocument } from './accept.ts';
import type { Table } from './catalog.ts';
import type { TableShape } from './columns.ts';
import { describeFault } from './faults.ts';
import { type FoundRow, findRows, visibleOf } from './find-rows.ts';
import { readDocuments, type StoredDocument } from './read-back.ts';
import { fits, updateRows } from './update.ts';

/**
 * Changes documents in place if `change` reads and writes only the fields of `part`: they are neither read whole nor
 * stored anew. Undefined means that nothing was done, since the result does not fit into these columns.
 */
export function changePart(
  transaction: Transaction,
  table: Table,
  part: TableShape,
  ids: readonly string[],
  change: Change,
): Promise<WriteOutcome[] | undefined> {
  return transaction(async (sql) => {
    const rows = visibleOf(table, await findRows(sql, table, [...new Set(ids)]));
    const { changed, outcomes } = await changeAll(await readDocuments(sql, table, rows, part), ids, change);
    const documents = rows.flatMap((row): [FoundRow, JsonObject][] => {
      const document = changed.get(row.id);
      return document === undefined ? [] : [[row, document.fields]];
    });
    const fields = documents.map(([, fields]) => fields);
    if (!(await fits(part, fields))) return undefined;
    await updateRows(sql, table, part, documents);
    return outcomes;
  });
}

type Change = Parameters<Engine['changeDocuments']>[2];

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
    const fault = describeFault(fields);
    if (fault !== null) throw new TypeError(`Cannot store document ${JSON.stringify(id)}: ${fault}.`);
    // A copy, which the next change is free to modify.
    document.read = () => parseJson(exactText(fields)) as JsonObject;
    changed.set(id, { id, fields, eventTimeMicros: document.eventTimeMicros });
    return { status: 'changed' };
  } catch (error) {
    return { status: 'error', message: error instanceof Error ? error.message : String(error) };
  }
}

export function missing(id: string): WriteOutcome {
  return { status: 'error', message: `document ${JSON.stringify(id)} does not exist` };
}
