import { isObject, type JsonObject, type JsonValue, parseJson } from '../../contract/json.ts';
import { dataTable, type Table } from './catalog.ts';
import { EXTRA_COLUMN, ID_COLUMN, type TableShape, TIME_COLUMN } from './columns.ts';
import { quoteName, quoteText } from './names.ts';
import { oldestKeptMicros } from './retention.ts';
import { isListShape, isObjectShape, type Shape } from './shape.ts';
import type { Sql } from './store.ts';

/** A document as stored. */
export interface StoredDocument {
  eventTimeMicros: bigint;
  /** The fields, as a new object on each call. */
  read(): JsonObject;
}

/** Reads the documents with these ids that are there to see, exactly as they were written, without members that are null. */
export async function readDocuments(
  sql: Sql,
  table: Table,
  ids: readonly string[],
): Promise<Map<string, StoredDocument>> {
  const rest = table.shape.extra ? quoteName(EXTRA_COLUMN) : 'NULL';
  const rows = await sql(
    `SELECT ${quoteName(ID_COLUMN)}, epoch_us(${quoteName(TIME_COLUMN)}), ${rowText(table.shape)}, ${rest}::VARCHAR
     FROM ${dataTable(table.id)} WHERE ${quoteName(ID_COLUMN)} IN (SELECT unnest(from_json($1, '["VARCHAR"]')))`,
    JSON.stringify(ids),
  );
  const oldest = oldestKeptMicros(table.retentionSecs);
  const documents = new Map<string, StoredDocument>();
  for (const [id, time, text, extraText] of rows) {
    if (oldest !== null && (time as bigint) < oldest) continue;
    documents.set(String(id), {
      eventTimeMicros: time as bigint,
      read: () => documentOf(table.shape, String(text), typeof extraText === 'string' ? extraText : null),
    });
  }
  return documents;
}

/** SQL for the columns of a row as the text that `documentOf` reads. */
export function rowText({ columns }: TableShape): string {
  const fields = [...columns.keys()].map((name) => `${quoteName(name)} := ${quoteName(name)}`);
  return fields.length === 0 ? quoteText('{}') : `to_json(struct_pack(${fields.join(', ')}))::VARCHAR`;
}

/** The document of a row of this shape, exactly as it was written, without members that are null. */
export function documentOf(shape: TableShape, text: string, extraText: string | null): JsonObject {
  const document = parseJson(text) as JsonObject;
  dropNulls(document, shape.columns);
  if (extraText !== null) {
    const extra = parseJson(extraText) as JsonObject;
    for (const key of Object.keys(extra)) {
      // Plain assignment of a key `__proto__` would set the prototype.
      Object.defineProperty(document, key, {
        value: extra[key],
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
  }
  return document;
}

/** Takes out the members that a struct has and the document had not. JSON inside is as it was written. */
function dropNulls(object: JsonObject, fields: ReadonlyMap<string, Shape>): void {
  for (const [key, shape] of fields) {
    const value = object[key];
    if (value === null) delete object[key];
    else cleanValue(value, shape);
  }
}

function cleanValue(value: JsonValue | undefined, shape: Shape): void {
  if (isListShape(shape) && Array.isArray(value)) {
    for (const item of value) cleanValue(item, shape.element);
  } else if (isObjectShape(shape) && isObject(value)) {
    dropNulls(value, shape.fields);
  }
}
