import type { DuckDBConnection, DuckDBType, DuckDBValue } from '@duckdb/node-api';
import { DuckDBTypeId, VARCHAR } from '@duckdb/node-api';
import { fieldTaken } from '../../../contract/errors.ts';
import { type JsonObject, parseJson, setField } from '../../../contract/json/json.ts';
import { ITEM_BYTES_MAX } from '../../../contract/json/json-scan.ts';
import type { ParquetRows } from '../../rows.ts';
import { foldName, ID_COLUMN, quoteText, TIME_COLUMN } from '../sql/names.ts';
import { uniqueNames } from '../sql/result-names.ts';
import { INSTANT_IDS, INTEGER_IDS } from '../sql/type-kinds.ts';
import { toJson } from '../tables/alter.ts';
import { declaredJson, isDeclaredShape } from '../values/declared.ts';
import type { Shape } from '../values/shape.ts';
import { isTimeShape, timeType } from '../values/time-text.ts';
import { typeOf } from '../values/types.ts';
import { typeName } from '../values/values.ts';
import { BESIDE, besideNotes, isCollectionSql, mergeBeside } from './beside.ts';
import { type ColumnNote, groupedNotes } from './column-notes.ts';
import { isSafe } from './csv-cells.ts';
import { timesAmong } from './csv-types.ts';
import { durationNotes } from './parquet-durations.ts';
import { holdsLongDecimals, type TypedValues, typedValues } from './parquet-types.ts';
import type { Ask, Part, Relation, RelationOptions, RowAsDocument, RowColumn } from './relation.ts';
import { bytesOf, isTooLarge } from './row-bytes.ts';
import { instantTime, integerTime, keyOf, type TimeSource, textTime, withId } from './row-key.ts';
import { type TextColumn, textNotesOf } from './text-notes.ts';

/** A column of the file, as SQL; `l` is the number of its row. */
const columnAt = (index: number) => `c${index}`;
const META = '_meta';
/** Beside the columns, which have other names here: one of the file may be called so, too. */
const ROW_NUMBER = 'file_row_number';
/**
 * Rows, and uncompressed bytes, of a part: half a second of storing them; halves take half as long again in all. Fewer rows
 * than a row group of the engine would go through the log, and to merge that keeps writes to all collections waiting.
 */
const PART_ROWS = 250_000;
const PART_BYTES = 64 * 1024 * 1024;
const TEXT_IDS = new Set([DuckDBTypeId.VARCHAR, DuckDBTypeId.ENUM, DuckDBTypeId.UUID]);
const AS_TEXT = new Set([DuckDBTypeId.INTERVAL, DuckDBTypeId.TIME_TZ, DuckDBTypeId.BIT, DuckDBTypeId.BIGNUM]);

/** The folder's name may look like a partition's. */
const AS_IT_IS = 'hive_partitioning = false';

interface Source {
  name: string;
  sql: string;
  type: DuckDBType;
}

/** The rows of a Parquet file, with its types. */
export async function parquetRelation(
  connection: DuckDBConnection,
  ask: Ask,
  { path, skip, fileField }: ParquetRows,
  { idField, times, hasIntegers }: RelationOptions,
): Promise<Relation> {
  const described = await connection.run(`SELECT * FROM read_parquet(${quoteText(path)}, ${AS_IT_IS}) LIMIT 0`);
  const types = described.columnTypes();
  const sources = uniqueNames(described.columnNames()).map(
    (name, at): Source => ({ name, sql: columnAt(at), type: types[at] as DuckDBType }),
  );
  const read = `read_parquet(${quoteText(path)}, ${AS_IT_IS}) AS r(${sources.map(({ sql }) => sql).join(', ')})`;
  const added = fileField && { name: fileField.name, sql: columnAt(sources.length), type: VARCHAR };
  const constant = added === undefined ? '' : `, ${quoteText(fileField?.text ?? '')} AS ${added.sql}`;
  const select = `SELECT *${constant}, ${ROW_NUMBER} + 1 AS l FROM ${read}`;
  if (added !== undefined) {
    if (sources.some(({ name }) => foldName(name) === foldName(added.name))) throw fieldTaken(added.name);
    sources.push(added);
  }
  const parts = await partsOf(ask, path, skip, select);
  const all = `(${select} WHERE ${ROW_NUMBER} >= ${skip})`;
  const isExport = (await ask(isCollectionSql(path))).length > 0;
  const beside = BESIDE.map((name) =>
    isExport ? sources.find((one) => one.name === name && TEXT_IDS.has(one.type.typeId))?.sql : undefined,
  );
  const fields = sources.filter(
    ({ name, sql }) => ![ID_COLUMN, TIME_COLUMN, META].includes(name) && !beside.includes(sql),
  );
  const notes = isExport ? [] : [...besideNotes(sources.map(({ name }) => name)), ...(await durationNotes(ask, path))];
  const { columns, bytesMax, texts } = await columnsOf(ask, all, fields, { times, hasIntegers, notes });
  const names = new Set(columns.map(({ name }) => name));
  // Of nearly all files this is known without reading them once more.
  const tooLarge = bytesMax > ITEM_BYTES_MAX ? isTooLarge(fields) : undefined;
  const [found = []] = tooLarge === undefined ? [] : await ask(`SELECT bool_or(${tooLarge}) FROM ${all}`);
  const find = (name: string) => sources.find((one) => one.name === name);
  const [own, timeColumn] = [find(ID_COLUMN), find(TIME_COLUMN)];
  const idSource = idField === undefined ? undefined : find(idField);
  const time = timeColumn && timeOf(timeColumn);
  const ownText = own && (idText(own) ?? `CAST(${own.sql} AS VARCHAR)`);
  const idSql = idField === undefined ? undefined : ((idSource && idText(idSource)) ?? 'NULL::VARCHAR');
  const timeText = timeColumn && typedValues(timeColumn.type, timeColumn.sql, true);
  // Only as a document does a row have what is beside its columns in its place.
  const faults = beside.flatMap((sql) => (sql === undefined ? [] : [`${sql} IS NOT NULL`]));
  return {
    names: sources.map(({ name }) => name),
    columns,
    parts,
    key: keyOf({ own: ownText, idField: idSql, time, faults }),
    isTooLarge: found[0] === true ? tooLarge : undefined,
    check: `bit_xor(hash(${['l', ...sources.map(({ sql }) => sql)].join(', ')}))`,
    documentSql: () =>
      [
        'l',
        ownText ?? 'NULL',
        idSql ?? 'NULL',
        timeText === undefined ? 'NULL' : `${jsonOf(timeText)}::VARCHAR`,
        columns.length === 0
          ? "'{}'"
          : `json_object(${columns.map((column, at) => `'${at}', ${jsonOf(column)}`).join(', ')})::VARCHAR`,
        ...beside.map((sql) => (sql === undefined ? 'NULL' : `${sql}::VARCHAR`)),
      ].join(', '),
    document: (values) => parquetDocument(values, { columns, names, idField }),
    notes,
    textNotes: isExport ? undefined : textNotesOf(texts),
  };
}

function jsonOf({ shape, sql }: Pick<TypedValues, 'shape' | 'sql'>): string {
  if (isDeclaredShape(shape)) return declaredJson(sql, shape);
  return toJson(shape, sql);
}

/** SQL for the text of a value that can be an id. */
function idText({ type, sql }: Source): string | undefined {
  if (TEXT_IDS.has(type.typeId) || INTEGER_IDS.has(type.typeId)) return `CAST(${sql} AS VARCHAR)`;
  const whole = `CASE WHEN ${sql} = trunc(${sql}) AND abs(${sql}) < 1e15 THEN CAST(CAST(${sql} AS BIGINT) AS VARCHAR) ELSE CAST(${sql} AS VARCHAR) END`;
  return type.typeId === DuckDBTypeId.DOUBLE || type.typeId === DuckDBTypeId.DECIMAL ? whole : undefined;
}

function timeOf({ type, sql }: Source): TimeSource {
  if (INSTANT_IDS.has(type.typeId)) return instantTime(sql);
  if (INTEGER_IDS.has(type.typeId)) return integerTime(`TRY_CAST(${sql} AS BIGINT)`);
  if (type.typeId === DuckDBTypeId.VARCHAR) return textTime(sql);
  return { time: 'NULL::TIMESTAMP WITH TIME ZONE', isOdd: `(${sql} IS NOT NULL)` };
}

/** What is to be known of all values of a column, as SQL; undefined: nothing of that kind. */
interface Figures {
  least?: string | undefined;
  most?: string | undefined;
  lost?: string | undefined;
  isWhole?: string | undefined;
  bytes?: string | undefined;
}

/** The same as they were found. */
type Found = Readonly<Partial<Record<keyof Figures, DuckDBValue>>>;

/** Of columns, in one statement; the engine plans as many aggregates of constants for as long as the others. */
async function figuresOf(ask: Ask, from: string, columns: readonly Figures[]): Promise<Found[]> {
  const wanted = columns.flatMap((figures) => Object.values(figures).filter((sql) => sql !== undefined));
  const [row = []] = wanted.length === 0 ? [] : await ask(`SELECT ${wanted.join(', ')} FROM ${from}`);
  let at = 0;
  return columns.map((figures) => {
    const named = Object.entries(figures).filter(([, sql]) => sql !== undefined);
    return Object.fromEntries(named.map(([key]) => [key, row[at++] ?? null]));
  });
}

/**
 * The fields as a collection has them: some of their types depend on all values. `bytesMax`: no row has more bytes of text
 * and lists.
 */
async function columnsOf(
  ask: Ask,
  from: string,
  sources: readonly Source[],
  { times, hasIntegers, notes }: Pick<RelationOptions, 'times' | 'hasIntegers'> & { notes: string[] },
): Promise<{ columns: RowColumn[]; bytesMax: number; texts: TextColumn[] }> {
  const typed = sources.map((source) => ({ source, values: typedValues(source.type, source.sql, times) }));
  const found = await figuresOf(
    ask,
    from,
    typed.map(({ source, values: { shape, sql, isLost } }): Figures => {
      const isLong = shape === 'int64' || shape === 'hugeint';
      const bytes = bytesOf(source.type, source.sql);
      return {
        least: isLong ? `min(${sql})` : undefined,
        most: isLong ? `max(${sql})` : undefined,
        lost: isLost === undefined ? undefined : `count(*) FILTER (${isLost})`,
        isWhole:
          shape === 'double' && hasIntegers(source.name)
            ? `bool_and(${sql} = trunc(${sql}) AND ${isSafe(sql)})`
            : undefined,
        bytes: bytes === undefined ? undefined : `max(${bytes})`,
      };
    }),
  );
  const bytesMax = found.reduce((sum, { bytes }) => sum + Number(bytes ?? 0), 0);
  const ofText = typed.filter(({ values }) => times && values.shape === 'string');
  const { found: timeShapes, texts: first } = await timesAmong(
    ask,
    from,
    ofText.map(({ values }) => values.sql),
  );
  const told: [string, ColumnNote][] = [];
  const columns = typed.map(({ source, values }, index): RowColumn => {
    const { least, most, lost = 0, isWhole } = found[index] ?? {};
    const { name, type } = source;
    const tell = (cause: string, text: string) => told.push([name, { cause, text }]);
    const shown = JSON.stringify(name);
    if (AS_TEXT.has(type.typeId)) {
      const what = `of type ${typeName(type)}, which are text here`;
      tell(`have values ${what}`, `${shown} has values ${what}.`);
    }
    if (holdsLongDecimals(type)) {
      const what = 'decimals of more than 15 digits in lists or objects, which are text here';
      tell(`have ${what}`, `${shown} has ${what}.`);
    }
    if (Number(lost) > 0) {
      const what = 'none of JSON (NaN, an infinity, or a time out of the years 1 to 9999): they are left out';
      tell('have values that JSON has not, which are left out', `${lost} values of ${shown} are ${what}.`);
    }
    const column = { ...values, name };
    const time = timeShapes.get(values.sql);
    if (time !== undefined) return { ...column, shape: time, sql: `TRY_CAST(${values.sql} AS ${typeOf(time)})` };
    // Most files have none, and then nothing has to look for them again.
    if (values.shape === 'double' && type.typeId === DuckDBTypeId.DOUBLE && Number(lost) === 0) {
      return { ...column, sql: source.sql, isWhole: isWhole === true };
    }
    if (isTimeShape(values.shape) && Number(lost) === 0) {
      return { ...column, sql: `CAST(${source.sql} AS ${timeType(values.shape)})` };
    }
    if (values.shape !== 'int64' && values.shape !== 'hugeint') return column;
    const shape = integerShape(BigInt(String(least ?? 0)), BigInt(String(most ?? 0)));
    return { ...column, shape, sql: `CAST(${values.sql} AS ${typeOf(shape)})` };
  });
  notes.push(...groupedNotes(told));
  const texts = ofText.flatMap(({ source: { name, type }, values }) =>
    type.typeId === DuckDBTypeId.VARCHAR ? [{ name, texts: first.get(values.sql) ?? [] }] : [],
  );
  return { columns, bytesMax, texts };
}

/** The narrowest shape of integers between two of them. */
function integerShape(least: bigint, most: bigint): Shape {
  if (least >= Number.MIN_SAFE_INTEGER && most <= Number.MAX_SAFE_INTEGER) return 'int53';
  return BigInt.asIntN(64, least) === least && BigInt.asIntN(64, most) === most ? 'int64' : 'hugeint';
}

/** Whole row groups, as far as they are not too large: the engine reads one only as a whole. */
async function partsOf(ask: Ask, path: string, skip: number, select: string): Promise<Part[]> {
  const groups = await ask(
    `SELECT any_value(row_group_num_rows)::BIGINT, sum(total_uncompressed_size)::BIGINT FROM parquet_metadata(${quoteText(path)}) GROUP BY row_group_id ORDER BY row_group_id`,
  );
  const parts: Part[] = [];
  let [from, to, bytes] = [0, 0, 0];
  const cut = (end: number) => {
    const start = Math.max(from, skip);
    if (start < end) {
      const where = `${ROW_NUMBER} >= ${start} AND ${ROW_NUMBER} < ${end}`;
      parts.push({ from: `(${select} WHERE ${where})`, rows: end - start, first: start + 1, last: end });
    }
    from = end;
    bytes = 0;
  };
  for (const [count, size] of groups) {
    const [groupRows, groupBytes] = [Number(count), Number(size)];
    if (to > from && (to - from + groupRows > PART_ROWS || bytes + groupBytes > PART_BYTES)) cut(to);
    to += groupRows;
    bytes += groupBytes;
    const rowsMax = Math.max(1, Math.min(PART_ROWS, Math.floor((groupRows * PART_BYTES) / Math.max(1, groupBytes))));
    while (to - from > rowsMax * 1.5) cut(from + rowsMax);
  }
  if (to > from) cut(to);
  return parts;
}

function parquetDocument(
  [row, own, id, time, text, ...beside]: readonly DuckDBValue[],
  {
    columns,
    names,
    idField,
  }: { columns: readonly RowColumn[]; names: ReadonlySet<string>; idField?: string | undefined },
): RowAsDocument {
  const values = parseJson(String(text)) as JsonObject;
  const document: JsonObject = {};
  if (own !== null && own !== undefined) setField(document, ID_COLUMN, String(own));
  if (typeof time === 'string') {
    const shown = parseJson(time);
    if (shown !== null) setField(document, TIME_COLUMN, shown);
  }
  for (const [at, { name }] of columns.entries()) {
    const value = values[at] ?? null;
    if (value !== null) setField(document, name, value);
  }
  const idValue = idField === undefined ? undefined : typeof id === 'string' ? id : null;
  const why = mergeBeside(document, beside, names);
  return withId({ at: Number(row), document, why }, idField, idValue);
}
