import type { JsonObject } from '../../contract/json.ts';
import { dataTable, type Table } from './catalog.ts';
import { EXTRA_COLUMN, ID_COLUMN, structureOfFields, type TableShape, TIME_COLUMN } from './columns.ts';
import { exactText } from './exact-text.ts';
import { quoteName, quoteText } from './names.ts';
import type { Sql } from './store.ts';

/** A document that fits its table's columns. */
export interface FittedDocument {
  id: string;
  eventTimeMicros: bigint;
  fields: JsonObject;
  /** Keys whose values go to the column `_extra`. */
  extraKeys: readonly string[];
}

/** Text that one statement carries, in UTF-16 units; a larger document goes alone. */
const TEXT_MAX = 4 * 1024 * 1024;

/**
 * Inserts documents, few statements for many of them: each carries one text, with one document as JSON on each line
 * (JSON text has no line break of its own). Measured: a third faster than lists of values, and twice as fast as one
 * JSON array.
 */
export async function insertDocuments(sql: Sql, table: Table, documents: Iterable<FittedDocument>): Promise<void> {
  const statement = insertStatement(dataTable(table.id), table.shape);
  let lines: string[] = [];
  let length = 0;
  const flush = async () => {
    if (lines.length > 0) await sql(statement, lines.join('\n'));
    lines = [];
    length = 0;
  };
  for (const document of documents) {
    const line = lineOf(document);
    if (length + line.length > TEXT_MAX) await flush();
    lines.push(line);
    length += line.length;
  }
  await flush();
}

function lineOf({ id, eventTimeMicros, fields, extraKeys }: FittedDocument): string {
  const head = `{"i":${JSON.stringify(id)},"t":${eventTimeMicros},"f":${exactText(fields)}`;
  if (extraKeys.length === 0) return `${head}}`;
  const members = extraKeys.map((key) => `${JSON.stringify(key)}:${exactText(fields[key] ?? null)}`);
  return `${head},"x":{${members.join(',')}}}`;
}

function insertStatement(table: string, shape: TableShape): string {
  const names = [...shape.columns.keys()];
  const targets = [ID_COLUMN, TIME_COLUMN, ...names].map(quoteName);
  const values = ['d.i', 'make_timestamptz(d.t)', ...names.map((name) => `d.f.${quoteName(name)}`)];
  const structure = ['"i":"VARCHAR"', '"t":"BIGINT"'];
  if (names.length > 0) structure.push(`"f":${structureOfFields(shape.columns)}`);
  if (shape.extra) {
    targets.push(quoteName(EXTRA_COLUMN));
    values.push('d.x');
    structure.push('"x":"JSON"');
  }
  const parsed = `from_json(unnest(string_split($1, chr(10))), ${quoteText(`{${structure.join(',')}}`)})`;
  return `INSERT INTO ${table} (${targets.join(', ')}) SELECT ${values.join(', ')} FROM (SELECT ${parsed} AS d)`;
}
