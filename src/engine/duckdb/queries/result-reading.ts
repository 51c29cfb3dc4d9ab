import { join } from 'node:path';
import { type DuckDBConnection, DuckDBListType, DuckDBStructType, type DuckDBType } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import { nearest } from '../../../contract/nearest.ts';
import type { EngineLimits } from '../../engine.ts';
import type { ResultPage, ResultRows, Results } from '../../results.ts';
import { open } from '../gate/parse.ts';
import { toQueryError } from '../gate/sql-errors.ts';
import { writeParquet } from '../results/parquet-write.ts';
import { fromTable, type KeptColumn, type KeptTable, RESULT_TABLE, type ResultStore } from '../results/result-store.ts';
import { foldName, ITEM, type NamedTable, type Names, quoteName } from '../sql/names.ts';
import { DEFAULT_WORKSPACE } from '../sql/references.ts';
import { isNode, modifiersOf, type Node } from '../sql/tree.ts';
import { jsonFieldsOfTypes } from '../values/json-fields.ts';
import { type Caps, readRows, type Shown } from '../values/rows.ts';
import { AS_LINES, typeName } from '../values/values.ts';
import { attemptAgain } from './again.ts';
import { lookAt } from './looks/looks.ts';
import { CONDITION_KIND, type Part as OwnPart, readPart as readOwnPart } from './parts.ts';
import type { Queries } from './queries.ts';
import { keptData, readProfile } from './result-profile.ts';
import { secondSpellings } from './spellings.ts';
import { castWarnings, requireCasts, timeCasts } from './time-casts.ts';

/** The engine's name for the row number in a table. */
const ROW_PLACE = 'rowid';
interface Context {
  store: ResultStore;
  queries: Pick<Queries, 'inPlace'>;
  limits: EngineLimits;
  exportsFolder: string;
}

/** Reads kept results like collections: in turn, through the gate, in a read-only transaction. */
export function createResults({ store, queries, limits, exportsFolder }: Context): Results {
  const reading = async <T>(
    id: string,
    signal: AbortSignal | undefined,
    work: (connection: DuckDBConnection, table: KeptTable, stop: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    store.find(id);
    return queries.inPlace({ signal }, async (_, stop) => {
      const table = store.find(id);
      try {
        return await store.run(stop, (connection) => work(connection, table, stop));
      } catch (error) {
        // It may have been dropped meanwhile.
        store.find(id);
        throw error;
      }
    });
  };
  return {
    exportsFolder,
    read: (id, page, signal) =>
      reading(id, signal, (connection, table, stop) => readPage(connection, table, page, limits, stop)),
    profile: (id, signal) => reading(id, signal, readProfile),
    writeParquet: (id, name, signal) =>
      reading(id, signal, (connection, table) =>
        writeParquet(connection, { table: fromTable(table), columns: table.stored }, join(exportsFolder, name)),
      ),
    drop: (id) => store.drop(id),
  };
}

/** The only name that SQL over a result can use: the result. */
function namesOf(table: KeptTable): Names {
  const isDefault = (workspace: string) => foldName(workspace) === DEFAULT_WORKSPACE;
  const types = new Map(table.stored.map(({ name, type }) => [foldName(name), type]));
  const named: NamedTable = {
    workspace: DEFAULT_WORKSPACE,
    name: RESULT_TABLE,
    kind: 'collection',
    columns: () => table.stored.map(({ name }) => name),
    typeAt: ([name = '', ...within]) => typeWithin(types.get(foldName(name)), within),
    jsonFields: () => jsonFieldsOfTypes(new Map(table.columns.map(({ name, type }) => [name, type]))),
    shownAs: 'the result',
  };
  return {
    version: 0,
    workspaces: () => [DEFAULT_WORKSPACE],
    tables: () => [named],
    find: (workspace, name) => (isDefault(workspace) && foldName(name) === RESULT_TABLE ? named : undefined),
    hasWorkspace: isDefault,
    isTrashed: () => false,
    schemaOf: () => table.schema,
  };
}

/** The SQL type of what a path names within a value; `ITEM` steps into a list. */
function typeWithin(type: DuckDBType | undefined, path: readonly string[]): string | undefined {
  let at = type;
  for (const step of path) {
    if (at instanceof DuckDBListType) at = step === ITEM ? at.valueType : undefined;
    else if (at instanceof DuckDBStructType)
      at = at.entryTypes[at.entryNames.findIndex((name) => foldName(name) === foldName(step))];
    else return undefined;
  }
  return at === undefined ? undefined : typeName(at);
}

type Part = 'where' | 'order_by';

const PARTS: Record<Part, (text: string) => Omit<OwnPart, 'name'>> = {
  where: (text) => ({
    probe: `SELECT 1 FROM ${RESULT_TABLE} WHERE (\n${text}\n)`,
    clause: 'where_clause',
    kind: CONDITION_KIND,
  }),
  order_by: (text) => ({
    probe: `SELECT 1 FROM ${RESULT_TABLE} ORDER BY\n${text}\n`,
    clause: 'modifiers',
    kind: 'columns such as amount DESC, name',
  }),
};

function readPart(connection: DuckDBConnection, part: Part, text: string, signal: AbortSignal): Promise<Node> {
  return readOwnPart(connection, { name: part, ...PARTS[part](text) }, signal);
}

/**
 * Whether it is ORDER BY ALL, which must stand alone and needs no tie-break: rows that are equal by it look the same.
 */
function isByAll(select: Node): boolean {
  const [order] = modifiersOf(select).flatMap(({ orders }) => (Array.isArray(orders) ? orders : []));
  return isNode(order) && isNode(order['expression']) && order['expression']['class'] === 'STAR';
}

/** Runs `work`, giving positions of errors relative to the part in which they are. */
async function within<T>(parts: readonly { part: Part; text: string; from: number }[], work: () => Promise<T>) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'query_error') throw error;
    const { line, ...details } = error.details;
    const at = parts.findLast(({ from }) => line !== undefined && line > from);
    const hint = /^Collection "|^Workspace with name "|^There is no /.test(error.message)
      ? ' Only the kept result can be named here, as "result"; collections need a query of their own.'
      : '';
    const where = at === undefined || error.message.startsWith(at.part) ? '' : `In ${at.part}: `;
    const message = `${where}${error.message}${hint}`;
    if (at === undefined || line === undefined) throw new ApiError(error.code, message, { cause: error });
    throw new ApiError(error.code, message, { ...details, line: line - at.from, cause: error });
  }
}

async function readPage(
  connection: DuckDBConnection,
  table: KeptTable,
  page: ResultPage,
  limits: EngineLimits,
  signal: AbortSignal,
): Promise<ResultRows> {
  const columns = columnsOf(table, page.columns);
  const { where, orderBy } = page;
  if (where !== undefined) {
    const parts = [{ part: 'where' as const, text: where, from: 1 }];
    await within(parts, () => readPart(connection, 'where', where, signal));
  }
  let isAll = false;
  if (orderBy !== undefined) {
    const parts = [{ part: 'order_by' as const, text: orderBy, from: 1 }];
    isAll = isByAll(await within(parts, () => readPart(connection, 'order_by', orderBy, signal)));
  }
  const numbers = page.hasBigints === true ? AS_LINES : undefined;
  const run = (text: string, rowsMax: number, shown?: Shown) =>
    runGated(connection, table, text, { rowsMax, bytesMax: limits.resultBytesMax, numbers, shown }, signal);
  const filter = where === undefined ? '' : ` WHERE (\n${where}\n)`;
  const order = orderBy === undefined ? '' : ` ORDER BY\n${orderBy}\n${isAll ? '' : `, ${tieBreak(table)}`}`;
  const { read, shown } = shownOf(table, columns);
  const list = read.map(({ name }) => quoteName(name)).join(', ');
  const listLines = list.split('\n').length - 1;
  const whereLines = where === undefined ? 0 : where.split('\n').length + 1;
  const parts = [
    ...(where === undefined ? [] : [{ part: 'where' as const, text: where, from: listLines + 1 }]),
    ...(orderBy === undefined ? [] : [{ part: 'order_by' as const, text: orderBy, from: listLines + whereLines + 1 }]),
  ];
  return within(parts, async () => {
    const limit = `LIMIT ${page.limit} OFFSET ${page.offset}`;
    const found = await run(`SELECT ${list} FROM ${RESULT_TABLE}${filter}${order} ${limit}`, page.limit, shown);
    const total =
      where === undefined
        ? table.rows
        : Number((await run(`SELECT count(*) FROM ${RESULT_TABLE}${filter}`, 1)).rows[0]?.[0] ?? 0);
    const isFiltered = where !== undefined || orderBy !== undefined;
    const ofFilter = shown?.strays !== undefined && isFiltered ? [STRAYS_FILTERED] : [];
    const warnings = [...new Set([...table.warnings, ...ofFilter, ...found.warnings])];
    const typed = columns.map(({ name, type }) => ({ name, type: typeName(type) }));
    return { columns: typed, rows: found.rows, total, cut: found.cut, warnings };
  });
}

const STRAYS_FILTERED =
  'Some values do not fit the type of their column: where and order_by see NULL instead, or the text of one in a column of text.';

/** The columns to read for these, and where the strays among them go. */
function shownOf(
  { stored, shown }: KeptTable,
  columns: readonly KeptColumn[],
): { read: readonly KeptColumn[]; shown: Shown | undefined } {
  if (shown === undefined) return { read: columns, shown: undefined };
  const own = columns.map((column) => shown.columns[stored.indexOf(column)] ?? { place: null, written: undefined });
  const strays = shown.strays === undefined ? undefined : stored[shown.strays];
  if (strays === undefined) return { read: columns, shown: { ...shown, strays: undefined, columns: own } };
  return { read: [...columns, strays], shown: { ...shown, strays: columns.length, columns: own } };
}

/**
 * The tie-break for rows that are equal in the given order, so that pages do not overlap: the row numbers or, if a
 * column's name hides these, all columns.
 */
function tieBreak({ stored: columns }: KeptTable): string {
  const names = columns.map(({ name }) => name);
  return names.some((name) => foldName(name) === ROW_PLACE) ? names.map(quoteName).join(', ') : ROW_PLACE;
}

async function runGated(connection: DuckDBConnection, table: KeptTable, text: string, caps: Caps, signal: AbortSignal) {
  return attemptAgain(connection, text, [timeCasts, secondSpellings], async (statement) => {
    const opened = await open(connection, statement, namesOf(table), signal);
    const { passed } = opened;
    requireCasts(opened, new Map());
    const warnings = [...castWarnings(statement), ...opened.warnings];
    try {
      const prepared = await connection.prepare(passed.sql);
      try {
        const read = await readRows(await prepared.stream(), caps, signal);
        const asked = { ...read, sql: text, ran: passed.sql, values: new Map(), data: keptData(table, connection) };
        return { ...read, warnings: [...(await lookAt(passed.valueUses, asked)), ...warnings] };
      } finally {
        prepared.destroySync();
      }
    } catch (error) {
      if (signal.aborted) throw error;
      throw toQueryError(error, { statement, tables: passed.tables, originOf: passed.originOf });
    }
  });
}

function columnsOf(table: KeptTable, wanted: readonly string[] | undefined): readonly KeptColumn[] {
  if (wanted === undefined || wanted.length === 0) return table.columns;
  return wanted.map((name) => {
    const found = table.columns.find((column) => foldName(column.name) === foldName(name));
    if (found !== undefined) return found;
    const names = table.columns.map((column) => column.name);
    const near = nearest(name, names);
    const hint = near.length > 0 ? `Did you mean ${near.map(quoted).join(' or ')}?` : `It has ${some(names)}.`;
    throw new ApiError('invalid_input', `The result has no column ${quoted(name)}. ${hint}`);
  });
}

function quoted(name: string): string {
  return `"${name}"`;
}

function some(names: readonly string[]): string {
  const shown = names.slice(0, 20).map(quoted).join(', ');
  return names.length > 20 ? `${shown} and ${names.length - 20} more` : shown;
}
