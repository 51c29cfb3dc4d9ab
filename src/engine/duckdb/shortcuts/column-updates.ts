import { type JsonObject, stringifyJson } from '../../../contract/json/json.ts';
import { createPace } from '../../../contract/turns/turns.ts';
import type { WriteOutcome } from '../../engine.ts';
import { EXTRA_COLUMN, ID_COLUMN, quoteName, quoteText, TIME_COLUMN } from '../sql/names.ts';
import type { Sql, Transaction } from '../storage/store.ts';
import { dataTable, type Table } from '../tables/catalog.ts';
import { type Change, changeAll } from '../tables/change.ts';
import { IS_LIVE, type TableShape, widenTable } from '../tables/columns.ts';
import { type FoundRow, findRows, type RowKey, requireAll, rowKeyOf, visibleOf } from '../tables/find-rows.ts';
import { readDocuments } from '../tables/read-back.ts';
import { documentText } from '../values/document-text.ts';
import { batchesOfLines } from '../values/lines.ts';
import { structureOfFields } from '../values/types.ts';

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
      await updateRows(sql, table, part, documents);
      return outcomes;
    });
  },
};

/** The columns of these fields, as a shape; undefined unless each field has a column. */
function partOf(shape: TableShape, fields: ReadonlySet<string>): TableShape | undefined {
  const columns = new Map([...shape.columns].filter(([name]) => fields.has(name)));
  return columns.size > 0 && columns.size === fields.size ? { columns, extra: false, strays: shape.strays } : undefined;
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

/**
 * Stores the fields of `documents`, which fit, in the columns of `part`; the other columns of these rows stay as they
 * are.
 */
async function updateRows(
  sql: Sql,
  table: Table,
  part: TableShape,
  documents: Iterable<readonly [FoundRow, JsonObject]>,
): Promise<void> {
  const key = rowKeyOf(table);
  const statement = updateStatement(table, key, part);
  const lineOf = ([row, fields]: readonly [FoundRow, JsonObject]) =>
    `{"k":${stringifyJson(key.of(row))},"f":${documentText(fields, part.columns)}}`;
  for await (const lines of batchesOfLines(documents, lineOf)) {
    const [counted] = await sql(statement, lines.join('\n'));
    requireAll(lines, Number(counted?.[0]));
  }
}

/** Names that no field can have, so that they are never taken for a field's column. */
const SOURCE = quoteName(TIME_COLUMN);
const KEY = quoteName(ID_COLUMN);

function updateStatement(table: Table, key: RowKey, { columns }: TableShape): string {
  const names = [...columns.keys()].map(quoteName);
  const structure = `{"k":"${key.type}","f":${structureOfFields(columns)}}`;
  const parsed = `from_json(unnest(string_split($1, chr(10))), ${quoteText(structure)})`;
  const target = quoteName(EXTRA_COLUMN);
  return `UPDATE ${dataTable(table.id)} AS ${target} SET ${names.map((name) => `${name} = ${SOURCE}.${name}`).join(', ')}
    FROM (SELECT d.k AS ${KEY}, ${names.map((name) => `d.f.${name}`).join(', ')} FROM (SELECT ${parsed} AS d)) AS ${SOURCE}
    WHERE ${target}.${key.column} = ${SOURCE}.${KEY}${key.type === 'VARCHAR' ? ` AND ${target}.${IS_LIVE}` : ''}`;
}
