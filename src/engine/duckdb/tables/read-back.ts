import { type JsonObject, parseJson, setField } from '../../../contract/json/json.ts';
import { STRAYS_COLUMN } from '../../../contract/strays.ts';
import type { Sql } from '../connections/store.ts';
import { EXTRA_COLUMN, ID_COLUMN, quoteName, quoteText } from '../sql/names.ts';
import { asWritten } from '../values/as-written.ts';
import { declaredJson, isDeclaredShape } from '../values/declared.ts';
import type { Shape } from '../values/shape.ts';
import { merge, straysFrom } from '../values/strays.ts';
import { dataTable, type Table } from './catalog.ts';
import type { TableShape } from './columns.ts';
import { conditionOf, type FoundRow, requireAll } from './find-rows.ts';

export interface StoredDocument {
  eventTimeMicros: bigint;
  hasStrays: boolean;
  /** The fields, as a new object on each call. */
  read(): JsonObject;
}

/** Reads the documents of these rows, or their part in `shape`, by id: as they were written, without null members. */
export async function readDocuments(
  sql: Sql,
  table: Table,
  rows: readonly FoundRow[],
  shape = table.shape,
): Promise<Map<string, StoredDocument>> {
  const times = new Map(rows.map(({ id, eventTimeMicros }) => [id, eventTimeMicros]));
  const { condition, lists } = conditionOf(table, rows);
  const documents = new Map<string, StoredDocument>();
  for (const list of lists) {
    const found = await sql(
      `SELECT ${quoteName(ID_COLUMN)}, ${rowTexts(shape)} FROM ${dataTable(table.id)} WHERE ${condition}`,
      list,
    );
    for (const [id, ...texts] of found) {
      if (!times.has(String(id)))
        throw new Error('another document was met under the row number of one that was found');
      documents.set(String(id), {
        eventTimeMicros: times.get(String(id)) ?? 0n,
        hasStrays: texts[2] !== null,
        read: () => documentOf(shape, texts),
      });
    }
  }
  requireAll(rows, documents.size);
  return documents;
}

/** SQL for the texts of a row that `documentOf` reads: its columns, `_extra` and `_strays`; null without them. */
export function rowTexts({ columns, extra, strays }: TableShape): string {
  const textOf = (has: boolean, column: string) => (has ? `${quoteName(column)}::VARCHAR` : 'NULL::VARCHAR');
  return `${columnsText([...columns.keys()], columns)}, ${textOf(extra, EXTRA_COLUMN)}, ${textOf(strays.size > 0, STRAYS_COLUMN)}`;
}

/** SQL that turns columns of a row into the text of one JSON object; without their shapes, for its size alone. */
export function columnsText(names: readonly string[], columns?: ReadonlyMap<string, Shape>): string {
  const sqlOf = (name: string) => {
    const shape = columns?.get(name);
    return isDeclaredShape(shape) ? declaredJson(quoteName(name), shape) : quoteName(name);
  };
  const fields = names.map((name) => `${quoteName(name)} := ${sqlOf(name)}`);
  return fields.length === 0 ? quoteText('{}') : `to_json(struct_pack(${fields.join(', ')}))::VARCHAR`;
}

/** The document of a row of this shape, exactly as it was written, without null members. */
export function documentOf(shape: TableShape, [text, extraText, straysText]: readonly unknown[]): JsonObject {
  const document = documentFrom(shape.columns, String(text));
  if (typeof straysText === 'string') merge(document, straysFrom(straysText));
  if (typeof extraText === 'string') {
    const extra = parseJson(extraText) as JsonObject;
    for (const [key, value] of Object.entries(extra)) setField(document, key, value);
  }
  return document;
}

/** The same for what `columnsText` gives, without strays. */
export function documentFrom(columns: ReadonlyMap<string, Shape>, text: string): JsonObject {
  return asWritten(parseJson(text), { fields: columns }) as JsonObject;
}
