import { EXTRA_COLUMN, ID_COLUMN, quoteName, quoteText, TIME_COLUMN } from '../sql/names.ts';
import type { TableShape } from '../tables/columns.ts';
import { declaredJson, isDeclaredShape } from '../values/declared.ts';
import { isListShape, isMapShape, isObjectShape, type Shape } from '../values/shape.ts';
import { isTimeShape, spelledSql } from '../values/time-text.ts';

/*
 * SQL that writes rows as documents. The engine does it on all its threads, and most of the time of an export would
 * otherwise be that of making objects in JavaScript only to make text of them. What this gives is what
 * `documentOf` and `jsonLine` give (`tables/read-back.ts`), but for rows with strays, which it leaves to these.
 */

/** SQL for a row without strays as a document's text, on one line. */
export function documentLine({ columns, extra }: TableShape): string {
  const own = [...columns].map(([name, shape]) => member(name, quoteName(name), shape));
  const text = `CAST(${quoteName(EXTRA_COLUMN)} AS VARCHAR)`;
  const rest = extra ? [`nullif(substr(${text}, 2, length(${text}) - 2), '')`] : [];
  return braced([...headMembers(), ...own, ...rest]);
}

/** SQL for `_id` and `_event_time` as members of a document. */
function headMembers(): string[] {
  return [member(ID_COLUMN, quoteName(ID_COLUMN), 'string'), `'"${TIME_COLUMN}":"' || ${eventTimeSql()} || '"'`];
}

/** SQL for the beginning of a row's document, to which its other members can be added. */
export function documentHead(): string {
  return joined(headMembers());
}

/** SQL for a row without strays as a record of CSV. */
export function csvRecord({ columns, extra }: TableShape): string {
  const own = [...columns].map(([name, shape]) => cell(quoteName(name), shape));
  return csvJoined([
    csvHeadCells(),
    ...own,
    ...(extra ? [quotedSql(`CAST(${quoteName(EXTRA_COLUMN)} AS VARCHAR)`)] : []),
  ]);
}

/** SQL for the first two cells of a row. */
export function csvHeadCells(): string {
  return csvJoined([csvText(quoteName(ID_COLUMN)), eventTimeSql()]);
}

/** An event time is of the years 1 to 9999. */
function eventTimeSql(): string {
  return `strftime(make_timestamp(epoch_us(${quoteName(TIME_COLUMN)})), '%Y-%m-%dT%H:%M:%S.%fZ')`;
}

function joined(members: readonly string[]): string {
  // It leaves out what is NULL.
  return `concat_ws(',', ${members.join(', ')})`;
}

function braced(members: readonly string[]): string {
  return `'{' || ${joined(members)} || '}'`;
}

function member(name: string, sql: string, shape: Shape, level = 0): string {
  return `CASE WHEN ${sql} IS NOT NULL THEN ${quoteText(`${JSON.stringify(name)}:`)} || ${jsonSql(sql, shape, level)} END`;
}

/** SQL for the JSON text of a value that is not NULL, as its document has it; NULL for a JSON null. */
function jsonSql(sql: string, shape: Shape, level: number): string {
  if (isTimeShape(shape)) return `'"' || ${spelledSql(sql, shape)} || '"'`;
  if (isDeclaredShape(shape)) return `CAST(${declaredJson(sql, shape)} AS VARCHAR)`;
  if (isListShape(shape)) return listSql(sql, shape.element, level);
  if (isMapShape(shape)) {
    const entry = `e${level}`;
    const value = jsonSql(`${entry}.value`, shape.values, level + 1);
    const text = `CASE WHEN ${entry}.value IS NOT NULL THEN CAST(to_json(${entry}.key) AS VARCHAR) || ':' || ${value} END`;
    return `'{' || array_to_string(list_transform(map_entries(${sql}), lambda ${entry}: ${text}), ',') || '}'`;
  }
  if (isObjectShape(shape)) {
    if (shape.fields.size === 0) return `CAST(${sql} AS VARCHAR)`;
    const fields = [...shape.fields].map(([name, field]) =>
      member(name, `struct_extract(${sql}, ${quoteText(name)})`, field, level),
    );
    return braced(fields);
  }
  return scalarSql(sql, shape);
}

function scalarSql(sql: string, shape: Shape): string {
  switch (shape) {
    case 'json':
    case 'null':
      return `nullif(CAST(${sql} AS VARCHAR), 'null')`;
    case 'string':
      return `CAST(to_json(${sql}) AS VARCHAR)`;
    case 'double':
      // Not `1.0`: a number that was written as an integer stays one. Larger ones would be read as other integers.
      return `CASE WHEN abs(${sql}) <= 9007199254740991 AND ${sql} = trunc(${sql}) THEN CAST(CAST(${sql} AS BIGINT) AS VARCHAR) ELSE CAST(to_json(${sql}) AS VARCHAR) END`;
    default:
      return `CAST(${sql} AS VARCHAR)`;
  }
}

/** Lists of these are JSON by themselves. */
const PLAIN: ReadonlySet<Shape> = new Set(['boolean', 'int53', 'int64', 'hugeint', 'string']);

function listSql(sql: string, element: Shape, level: number): string {
  if (PLAIN.has(element)) return `CAST(to_json(${sql}) AS VARCHAR)`;
  const item = `i${level}`;
  const text = `CASE WHEN ${item} IS NULL THEN 'null' ELSE coalesce(${jsonSql(item, element, level + 1)}, 'null') END`;
  return `'[' || array_to_string(list_transform(${sql}, lambda ${item}: ${text}), ',') || ']'`;
}

function csvJoined(cells: readonly string[]): string {
  return cells.map((one) => `coalesce(${one}, '')`).join(" || ',' || ");
}

function cell(sql: string, shape: Shape): string {
  if (shape === 'string') return csvText(sql);
  if (isDeclaredShape(shape)) return `trim(${jsonSql(sql, shape, 0)}, '"')`;
  if (isTimeShape(shape)) return spelledSql(sql, shape);
  if (shape === 'json' || shape === 'null') return jsonCell(sql);
  if (typeof shape === 'string') return scalarSql(sql, shape);
  return `CASE WHEN ${sql} IS NOT NULL THEN ${quotedSql(jsonSql(sql, shape, 0))} END`;
}

/** JSON may be a text, which stands in its cell as such. */
function jsonCell(sql: string): string {
  const text = scalarSql(sql, 'json');
  return `CASE left(${text}, 1) WHEN '"' THEN ${csvText(`(${sql} ->> '$')`)} WHEN '{' THEN ${quotedSql(text)} WHEN '[' THEN ${quotedSql(text)} ELSE ${text} END`;
}

function csvText(sql: string): string {
  // One regular expression for all of it would take several times as long.
  const odd = [
    ...[`'"'`, "','", 'chr(10)', 'chr(13)'].map((part) => `contains(${sql}, ${part})`),
    `${sql} = ''`,
    `${sql} <> trim(${sql}, ${SPACES})`,
  ];
  return `CASE WHEN ${odd.join(' OR ')} THEN ${quotedSql(sql)} ELSE ${sql} END`;
}

/** Line breaks are quoted anyway. */
const SPACES = "' ' || chr(9) || chr(11) || chr(12)";

function quotedSql(sql: string): string {
  return `'"' || replace(${sql}, '"', '""') || '"'`;
}
