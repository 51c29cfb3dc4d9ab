import { type JsonObject, stringifyJson } from '../../../contract/json/json.ts';
import { createPace } from '../../../contract/turns/turns.ts';
import type { WriteOutcome } from '../../engine.ts';
import type { Sql, Transaction } from '../connections/store.ts';
import type { Table } from '../tables/catalog.ts';
import { type Change, changeAll } from '../tables/change.ts';
import { IS_LIVE, type TableShape, widenTable } from '../tables/columns.ts';
import { type FoundRow, findRows, rowKeyOf, visibleOf } from '../tables/find-rows.ts';
import { readDocuments } from '../tables/read-back.ts';
import { updateRows } from '../tables/update-rows.ts';
import { documentText } from '../values/document-text.ts';

/**
 * Changes fields of documents in their columns: the documents are neither read whole nor stored anew.
 *
 * Wins: a patch of 1,000 documents of 65 fields 3 times, of 5 fields hardly (`npm run bench -- p`).
 */
export interface ColumnUpdates {
  /**
   * Applies `change`, which reads and writes only these fields. Undefined, with nothing done, unless each field has a
   * column, the results fit, and none of the documents has strays.
   */
  try(
    transaction: Transaction,
    table: Table,
    fields: ReadonlySet<string>,
    ids: readonly string[],
    change: Change,
  ): Promise<WriteOutcome[] | undefined>;
}

export const columnUpdates: ColumnUpdates = {
  async try(transaction, table, fields, ids, change) {
    const part = partOf(table.shape, fields);
    if (part === undefined) return undefined;
    return transaction(async (sql) => {
      const rows = visibleOf(table, await findRows(sql, table, [...new Set(ids)]));
      const stored = await readDocuments(sql, table, rows, part);
      if ([...stored.values()].some(({ hasStrays }) => hasStrays)) return undefined;
      const { changed, outcomes } = await changeAll(stored, ids, change);
      const documents = rows.flatMap((row): [FoundRow, JsonObject][] => {
        const document = changed.get(row.id);
        return document === undefined ? [] : [[row, document.fields]];
      });
      const changedFields = documents.map(([, one]) => one);
      if (!(await fits(part, changedFields))) return undefined;
      await updateFields(sql, table, part, documents);
      return outcomes;
    });
  },
};

/** The columns of these fields, as a shape; undefined unless each field has a column. */
function partOf(shape: TableShape, fields: ReadonlySet<string>): TableShape | undefined {
  const columns = new Map([...shape.columns].filter(([name]) => fields.has(name)));
  return columns.size > 0 && columns.size === fields.size ? { ...shape, columns, extra: false } : undefined;
}

/** Whether documents fit into the columns without widening them. */
async function fits(shape: TableShape, documents: Iterable<JsonObject>): Promise<boolean> {
  const widening = widenTable(shape);
  const pace = createPace();
  for (const document of documents) {
    if (widening.add(document).hasStrays || widening.changes > 0) return false;
    const turn = pace();
    if (turn !== undefined) await turn;
  }
  return true;
}

/** Stores the fields of `documents`, which fit, in the columns of `part`. */
async function updateFields(
  sql: Sql,
  table: Table,
  { columns }: TableShape,
  documents: Iterable<readonly [FoundRow, JsonObject]>,
): Promise<void> {
  const { compared, type, of } = rowKeyOf(table);
  const among = type === 'VARCHAR' ? (target: string) => `${target}${IS_LIVE}` : undefined;
  const match = { key: compared, type, among };
  await updateRows(
    sql,
    table,
    { part: { columns, strays: false }, match },
    documents,
    ([row, fields]) => `{"k":${stringifyJson(of(row))},"f":${documentText(fields, columns)}}`,
  );
}
