import type { JsonObject } from '../../../contract/json/json.ts';
import { EXTRA_COLUMN, ID_COLUMN, quoteName, quoteText, STRAYS_COLUMN, TIME_COLUMN } from '../sql/names.ts';
import type { Sql } from '../storage/store.ts';
import { documentText } from '../values/document-text.ts';
import { batchesOfLines } from '../values/lines.ts';
import type { Shape } from '../values/shape.ts';
import { merge, placeOf, split, straysFrom, straysText } from '../values/strays.ts';
import { structureOfFields, typeOf } from '../values/types.ts';
import { toJson } from './alter.ts';
import { dataTable, type Table } from './catalog.ts';
import { HASH_COLUMN, type TableShape } from './columns.ts';
import { requireAll, rowKeyOf } from './find-rows.ts';
import { columnsText, documentFrom } from './read-back.ts';

/** Rows that are read and written at once. */
const STEP = 5_000;

/**
 * The statements that give columns types that do not hold their values: each value becomes a stray. They must come
 * before the transaction's first change of a row; `refit` follows.
 */
export function emptyStatements(table: string, from: TableShape, to: ReadonlyMap<string, Shape>): string[] {
  const strays = quoteName(STRAYS_COLUMN);
  const statements: string[] = [];
  for (const [name, shape] of to) {
    const before = from.columns.get(name);
    if (before === undefined) continue;
    const column = quoteName(name);
    const place = placeOf([name]);
    const rest = `CASE WHEN ${strays} IS NULL THEN '}' ELSE ',' || substr(${strays}::VARCHAR, 2) END`;
    const added = `${quoteText(`{${JSON.stringify(place)}:`)} || CAST(${toJson(before, column, 0)} AS VARCHAR) || ${rest}`;
    const isThere = `list_contains(json_keys(${strays}), ${quoteText(place)})`;
    const all = `CASE WHEN ${column} IS NULL OR coalesce(${isThere}, false) THEN ${strays} ELSE CAST(${added} AS JSON) END`;
    statements.push(
      `ALTER TABLE ${table} ALTER COLUMN ${strays} SET DATA TYPE JSON USING ${all}`,
      `ALTER TABLE ${table} ALTER COLUMN ${column} SET DATA TYPE ${typeOf(shape)} USING CAST(NULL AS ${typeOf(shape)})`,
    );
  }
  return statements;
}

/** Puts the strays of these columns into them, as far as they fit now; documents in the trash, too. */
export async function refit(sql: Sql, table: Table, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const columns = new Map([...table.shape.columns].filter(([name]) => names.includes(name)));
  const data = dataTable(table.id);
  const { key, type } = keyOf(table);
  const places = names.map((name) => placeOf([name]));
  const under = places.map((place) => `p = ${quoteText(place)} OR starts_with(p, ${quoteText(`${place}/`)})`);
  const has = `len(list_filter(json_keys(${quoteName(STRAYS_COLUMN)}), lambda p: ${under.join(' OR ')})) > 0`;
  const rows = await sql(`SELECT ${key} FROM ${data} WHERE ${quoteName(STRAYS_COLUMN)} IS NOT NULL AND ${has}`);
  for (let from = 0; from < rows.length; from += STEP) {
    const list = `[${rows.slice(from, from + STEP).map(([one]) => (type === 'BIGINT' ? String(one) : JSON.stringify(one)))}]`;
    const found = await sql(
      `SELECT ${key}, ${columnsText(names)}, ${quoteName(STRAYS_COLUMN)}::VARCHAR FROM ${data}
       WHERE ${key} IN (SELECT unnest(from_json($1, '["${type}"]')))`,
      list,
    );
    const statement = updateStatement(table, columns);
    const lineOf = ([one, text, strays]: (typeof found)[number]) => {
      const fitted = refitted(columns, places, String(text), String(strays));
      const k = type === 'BIGINT' ? String(one) : JSON.stringify(one);
      const rest = fitted.strays === null ? '' : `,"s":${fitted.strays}`;
      return `{"k":${k},"f":${documentText(fitted.fields, columns)}${rest}}`;
    };
    for await (const lines of batchesOfLines(found, lineOf)) {
      const [counted] = await sql(statement, lines.join('\n'));
      requireAll(lines, Number(counted?.[0]));
    }
  }
}

function refitted(
  columns: ReadonlyMap<string, Shape>,
  places: readonly string[],
  text: string,
  strays: string,
): { fields: JsonObject; strays: string | null } {
  const all = [...straysFrom(strays)];
  const isUnder = (place: string) => places.some((one) => place === one || place.startsWith(`${one}/`));
  const fields = documentFrom(columns, text);
  merge(fields, new Map(all.filter(([place]) => isUnder(place))));
  const now = split(fields, columns);
  return {
    fields: now.fields,
    strays: straysText(new Map([...all.filter(([place]) => !isUnder(place)), ...now.strays])),
  };
}

/** SQL for what tells apart all rows of a table, those in the trash included. */
function keyOf(table: Table, of = ''): { key: string; type: 'BIGINT' | 'VARCHAR' } {
  const { column, type } = rowKeyOf(table);
  const key = type === 'BIGINT' ? `${of}${column}` : `concat(${of}${quoteName(HASH_COLUMN)}, ' ', ${of}${column})`;
  return { key, type };
}

/** Names that no field can have. */
const SOURCE = quoteName(TIME_COLUMN);
const TARGET = quoteName(EXTRA_COLUMN);
const KEY = quoteName(ID_COLUMN);

function updateStatement(table: Table, columns: ReadonlyMap<string, Shape>): string {
  const names = [...columns.keys()].map(quoteName);
  const strays = quoteName(STRAYS_COLUMN);
  const { key, type } = keyOf(table, `${TARGET}.`);
  const structure = `{"k":"${type}","f":${structureOfFields(columns)},"s":"JSON"}`;
  const parsed = `from_json(unnest(string_split($1, chr(10))), ${quoteText(structure)})`;
  const set = [...names, strays].map((name) => `${name} = ${SOURCE}.${name}`);
  return `UPDATE ${dataTable(table.id)} AS ${TARGET} SET ${set.join(', ')}
    FROM (SELECT d.k AS ${KEY}, ${names.map((name) => `d.f.${name}`).join(', ')}, d.s AS ${strays} FROM (SELECT ${parsed} AS d)) AS ${SOURCE}
    WHERE ${key} = ${SOURCE}.${KEY}`;
}
