import type { JsonObject } from '../../../contract/json/json.ts';
import { placeOf, STRAYS_COLUMN } from '../../../contract/strays.ts';
import type { ColumnStep, Sql } from '../connections/store.ts';
import { quoteName, quoteText } from '../sql/names.ts';
import { documentText } from '../values/document-text.ts';
import type { Shape } from '../values/shape.ts';
import { merge, split, straysFrom, straysText } from '../values/strays.ts';
import { typeOf } from '../values/types.ts';
import { toJson } from './alter.ts';
import { dataTable, type Table } from './catalog.ts';
import { HASH_COLUMN, type TableShape } from './columns.ts';
import { keyText, rowKeyOf } from './find-rows.ts';
import { columnsText, documentFrom } from './read-back.ts';
import { type RowMatch, updateRows } from './update-rows.ts';

/** Rows that are read and written at once. */
const STEP = 5_000;

/**
 * The steps that give columns types that do not hold their values: each value becomes a stray, of which a column of
 * text has the text. They must come before the transaction's first change of a row; `refit` follows.
 */
export function emptySteps(from: TableShape, to: ReadonlyMap<string, Shape>): ColumnStep[] {
  const strays = quoteName(STRAYS_COLUMN);
  const steps: ColumnStep[] = [];
  const set = (column: string, type: string, using: string) => {
    steps.push({ do: 'set', column, type, using, onlyAddsFields: false });
  };
  for (const [name, shape] of to) {
    const before = from.columns.get(name);
    if (before === undefined) continue;
    const column = quoteName(name);
    const place = placeOf([name]);
    const rest = `CASE WHEN ${strays} IS NULL THEN '}' ELSE ',' || substr(${strays}::VARCHAR, 2) END`;
    const added = `${quoteText(`{${JSON.stringify(place)}:`)} || CAST(${toJson(before, column)} AS VARCHAR) || ${rest}`;
    const isThere = `list_contains(json_keys(${strays}), ${quoteText(place)})`;
    const all = `CASE WHEN ${column} IS NULL OR coalesce(${isThere}, false) THEN ${strays} ELSE CAST(${added} AS JSON) END`;
    set(strays, 'JSON', all);
    if (shape !== 'string') set(column, typeOf(shape), `CAST(NULL AS ${typeOf(shape)})`);
    else {
      // Most rows have no other stray: then what is text needs none.
      const isOnlyText = `${isTextStray(place)} AND len(json_keys(${strays})) = 1`;
      set(column, typeOf(shape), `json_extract_string(${strays}, ${pointer(place)})`);
      set(strays, 'JSON', `CASE WHEN ${isOnlyText} THEN NULL ELSE ${strays} END`);
    }
  }
  return steps;
}

/** Puts the strays of these columns into them, as far as they fit now; documents in the trash, too. */
export async function refit(sql: Sql, table: Table, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const columns = new Map([...table.shape.columns].filter(([name]) => names.includes(name)));
  const data = dataTable(table.id);
  const match = matchOf(table);
  const key = match.key('');
  const places = names.map((name) => placeOf([name]));
  const isUnder = (place: string) => `starts_with(p, ${quoteText(`${place}/`)})`;
  const isAt = (place: string) => `p = ${quoteText(place)} OR ${isUnder(place)}`;
  const holds = (is: string) => `len(list_filter(json_keys(${quoteName(STRAYS_COLUMN)}), lambda p: ${is})) > 0`;
  // A column of text has the text of every stray already.
  const has = names
    .map((name) => ({ place: placeOf([name]), isText: columns.get(name) === 'string' }))
    .map(({ place, isText }) => (isText ? `${isTextStray(place)} OR ${holds(isUnder(place))}` : holds(isAt(place))))
    .join(' OR ');
  const rows = await sql(`SELECT ${key} FROM ${data} WHERE ${quoteName(STRAYS_COLUMN)} IS NOT NULL AND (${has})`);
  for (let from = 0; from < rows.length; from += STEP) {
    const list = `[${rows.slice(from, from + STEP).map(([one]) => keyText(one))}]`;
    const found = await sql(
      `SELECT ${key}, ${columnsText(names, columns)}, ${quoteName(STRAYS_COLUMN)}::VARCHAR FROM ${data}
       WHERE ${key} IN (SELECT unnest(from_json($1, '["${match.type}"]')))`,
      list,
    );
    const lineOf = ([one, text, strays]: (typeof found)[number]) => {
      const fitted = refitted(columns, places, String(text), String(strays));
      const rest = fitted.strays === null ? '' : `,"s":${fitted.strays}`;
      return `{"k":${keyText(one)},"f":${documentText(fitted.fields, columns, true)}${rest}}`;
    };
    await updateRows(sql, table, { part: { columns, strays: true }, match }, found, lineOf);
  }
}

/** SQL for the JSON pointer to a place among strays. */
function pointer(place: string): string {
  return quoteText(`/${placeOf([place])}`);
}

function isTextStray(place: string): string {
  return `coalesce(json_type(json_extract(${quoteName(STRAYS_COLUMN)}, ${pointer(place)})) = 'VARCHAR', false)`;
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

/** What tells apart all rows of a table, those in the trash included. */
function matchOf(table: Table): RowMatch {
  const { column, type } = rowKeyOf(table);
  const hash = quoteName(HASH_COLUMN);
  return { key: (of) => (type === 'BIGINT' ? `${of}${column}` : `concat(${of}${hash}, ' ', ${of}${column})`), type };
}
