import type { DuckDBValue } from '@duckdb/node-api';
import type { ColumnType } from '../../../contract/column-types.ts';
import { type Cell, documentOfCells } from '../../../contract/json/csv-cells.ts';
import { type JsonValue, parseJson } from '../../../contract/json/json.ts';
import type { CsvPart, CsvRows } from '../../rows.ts';
import { ID_COLUMN, quoteText, TIME_COLUMN } from '../sql/names.ts';
import type { Shape } from '../values/shape.ts';
import { typeOf } from '../values/types.ts';
import { besideNotes } from './beside.ts';
import type { ColumnNote } from './column-notes.ts';
import { cellSql, cellValue, cellValueFor, givenValue, isSafe } from './csv-cells.ts';
import { mixedSql } from './csv-mixed.ts';
import { withThousands } from './csv-thousands.ts';
import { AT_ONCE, cellKinds, sqlList, textNote } from './csv-types.ts';
import { versionNotes } from './csv-versions.ts';
import type { Ask, Part, Relation, RelationOptions, RowAsDocument, RowColumn } from './relation.ts';
import { keyOf, type TimeSource, textTime, withId } from './row-key.ts';
import { textNotesOf } from './text-notes.ts';

/** A cell of a record, as SQL; `l` is the number of its line. */
const cellAt = (index: number) => `c${index}`;
/** What `draftOf` of the service leaves out, too: its own. */
const META = '_meta';

/** The least that the engine reads at once. */
const BUFFER_BYTES_MIN = 8 * 1024 * 1024;

/** The rows of a CSV file, with the types that all of their cells have. */
export async function csvRelation(ask: Ask, rows: CsvRows, { idField, times }: RelationOptions): Promise<Relation> {
  const { fileField } = rows;
  const names = fileField === undefined ? rows.names : [...rows.names, fileField.name];
  const types: CsvRows['types'] = fileField === undefined ? rows.types : [...rows.types, 'STRING'];
  const all = readCsv(rows, rows.parts);
  const indexOf = (name: string) => names.indexOf(name);
  const isField = (name: string) => name !== ID_COLUMN && name !== TIME_COLUMN && name !== META;
  const open = names.flatMap((name, at) => (isField(name) && types[at] === undefined ? [cellAt(at)] : []));
  const { kinds, first } = await cellKinds(ask, all, rows.parts.length === 0 ? [] : open, times);
  const found: RowColumn[] = [];
  const noValues: string[] = [];
  const integers = await integerShapes(
    ask,
    all,
    types.flatMap((type, at) => (type === 'INTEGER' && isField(names[at] ?? '') ? [cellAt(at)] : [])),
    rows.parts.length === 0,
  );
  for (const [at, name] of names.entries()) {
    if (!isField(name)) continue;
    const sql = cellAt(at);
    const given = types[at];
    if (given === undefined) {
      const { kind, shape, mixed } = kinds.get(sql) ?? { kind: undefined, shape: 'null' };
      const valueFor = (text: string) =>
        kind === undefined ? text : mixed === undefined ? cellSql(text, kind) : mixedSql(text, kind);
      found.push({ name, shape, sql: valueFor(sql), cell: { sql, valueFor, kind, given, mixed } });
    } else found.push(givenColumn({ name, sql, given }, noValues, integers));
  }
  const textNotes = new Map<string, ColumnNote>();
  const columns = await withThousands(ask, all, found, { separator: rows.separator, first, notes: textNotes });
  for (const { name, cell } of columns) {
    const others = cell && kinds.get(cell.sql)?.others;
    if (others !== undefined) textNotes.set(name, textNote(name, others));
  }
  const texts = columns.filter(({ shape, cell }) => shape === 'string' && cell?.given === undefined);
  textNotesOf(
    texts.map(({ name, cell }) => ({ name, texts: first.get(cell?.sql ?? '') ?? [] })),
    textNotes,
  );
  const timeAt = indexOf(TIME_COLUMN);
  const time: TimeSource | undefined = timeAt < 0 ? undefined : textTime(cellAt(timeAt));
  const [ownAt, idAt] = [indexOf(ID_COLUMN), idField === undefined ? -1 : indexOf(idField)];
  const key = keyOf({
    own: ownAt < 0 ? undefined : cellAt(ownAt),
    idField: idField === undefined ? undefined : idAt < 0 ? 'NULL::VARCHAR' : cellAt(idAt),
    time,
    faults: noValues,
  });
  const byName = new Map(columns.map((column) => [column.name, column]));
  return {
    names,
    columns,
    parts: rows.parts.map((part) => partOf(rows, part)),
    key,
    documentSql: () => `l, to_json([${names.map((_, at) => cellAt(at)).join(', ')}])::VARCHAR`,
    document: (values, held) => csvDocument(values, { names, types, columns: byName, idField }, held),
    notes: besideNotes(names),
    textNotes,
    numberNotes: versionNotes(columns, first),
  };
}

function partOf(rows: CsvRows, part: CsvPart): Part {
  const { first, last } = part;
  return { from: readCsv(rows, [part]), rows: part.rows, first, last };
}

/** SQL for the records of some parts, all of them text. */
function readCsv(rows: CsvRows, parts: readonly CsvPart[]): string {
  const { names, separator, quote, escaping, recordBytes, fileField } = rows;
  const columns = ["'l': 'BIGINT'", ...names.map((_, at) => `'${cellAt(at)}': 'VARCHAR'`)];
  const options = [
    'auto_detect = false',
    // The folder's name may look like a partition's.
    'hive_partitioning = false',
    'header = false',
    `delim = ${quoteText(separator)}`,
    `quote = ${quoteText(quote)}`,
    `escape = ${quoteText(escaping)}`,
    "nullstr = ''",
    'allow_quoted_nulls = false',
    "new_line = '\\n'",
    `max_line_size = ${recordBytes + 1_024}`,
    `buffer_size = ${Math.max(BUFFER_BYTES_MIN, 2 * (recordBytes + 1_024))}`,
    // Read from several places at once, a line break within quotes may be taken for the end of a record.
    ...(parts.some(({ hasBreaks, hasShort }) => hasBreaks || hasShort) ? ['parallel = false'] : []),
    // Written out, what short records lack may be many times the file. The engine pads them in sequence only.
    ...(parts.some(({ hasShort }) => hasShort) ? ['null_padding = true'] : []),
    `columns = {${columns.join(', ')}}`,
  ];
  const read = `read_csv(${sqlList(parts.map(({ path }) => path))}, ${options.join(', ')})`;
  return fileField === undefined
    ? read
    : `(SELECT *, ${quoteText(fileField.text)} AS ${cellAt(names.length)} FROM ${read})`;
}

function givenColumn(
  { name, sql, given }: { name: string; sql: string; given: ColumnType },
  faults: string[],
  integers: ReadonlyMap<string, Shape>,
): RowColumn {
  const column = (shape: Shape, valueFor: (text: string) => string): RowColumn => {
    return { name, shape, sql: valueFor(sql), cell: { sql, valueFor, kind: undefined, given } };
  };
  if (given === 'STRING') return column('string', (text) => text);
  faults.push(givenValue(sql, given).isNone);
  const valueFor = (text: string) => givenValue(text, given).value;
  if (given !== 'INTEGER') return column(given === 'BOOLEAN' ? 'boolean' : 'double', valueFor);
  const shape = integers.get(sql) ?? 'int53';
  return column(shape, (text) => `TRY_CAST(${valueFor(text)} AS ${typeOf(shape)})`);
}

/** The narrowest shape of all integers of each of some columns. */
async function integerShapes(
  ask: Ask,
  from: string,
  cells: readonly string[],
  isEmpty: boolean,
): Promise<Map<string, Shape>> {
  const shapes = new Map<string, Shape>();
  for (let at = 0; at < cells.length && !isEmpty; at += AT_ONCE) {
    const some = cells.slice(at, at + AT_ONCE);
    const figures = some.map((cell) => {
      const { value } = givenValue(cell, 'INTEGER');
      return `bool_and(${isSafe(value)}), bool_and(TRY_CAST(${value} AS BIGINT) IS NOT NULL OR ${value} IS NULL)`;
    });
    const [row = []] = await ask(`SELECT ${figures.join(', ')} FROM ${from}`);
    for (const [index, cell] of some.entries()) {
      const [isSmall, isLong] = row.slice(2 * index);
      shapes.set(cell, isSmall === false ? (isLong === false ? 'hugeint' : 'int64') : 'int53');
    }
  }
  return shapes;
}

interface CsvDocumentContext {
  names: readonly string[];
  types: CsvRows['types'];
  columns: ReadonlyMap<string, RowColumn>;
  idField: string | undefined;
}

/** A record as a document: with the values that its cells have in columns of `held`. */
function csvDocument(
  [line, text]: readonly DuckDBValue[],
  { names, types, columns, idField }: CsvDocumentContext,
  held: ReadonlyMap<string, Shape>,
): RowAsDocument {
  const cells = parseJson(String(text)) as Cell[];
  const row = documentOfCells(cells, { names, types }, (cell, name) =>
    fieldValue(cell, columns.get(name), held.get(name)),
  );
  const idCell = idField === undefined ? undefined : (cells[names.indexOf(idField)] ?? null);
  return withId({ at: Number(line), ...row }, idField, idCell);
}

function fieldValue(cell: string, column: RowColumn | undefined, held: Shape | undefined): JsonValue {
  const { kind, mixed } = column?.cell ?? {};
  if (held === 'string') return cell;
  if (column !== undefined && mixed !== undefined) return cellValueFor(cell, column.shape);
  if (kind === undefined && held !== undefined) return cellValueFor(cell, held);
  return cellValue(cell, kind);
}
