import { hash } from 'node:crypto';
import { ApiError } from '../../../contract/errors.ts';
import { type JsonObject, type JsonValue, parseJson, stringifyJson } from '../../../contract/json/json.ts';
import type { StoredRecord } from '../../engine.ts';
import type { Sql, Transaction } from '../connections/store.ts';
import {
  CATALOG,
  createNames,
  foldName,
  ID_COLUMN,
  type NamedTable,
  type NameIndex,
  quoteName,
  quoteText,
  type ShownColumn,
  TIME_COLUMN,
} from '../sql/names.ts';
import { holdsTyped } from '../values/as-written.ts';
import { jsonFieldsOf } from '../values/json-fields.ts';
import { objectsIn } from '../values/shape.ts';
import { typeOf } from '../values/types.ts';
import {
  columnNames,
  HASH_COLUMN,
  hasId,
  lastColumns,
  NO_COLUMNS,
  type TableShape,
  tableShapeFromJson,
  tableShapeToJson,
} from './columns.ts';
import { newSpellings } from './field-news.ts';
import { fieldAt, fieldsIn, itemPlaces, pathsTo, placeIn, typeIn, writtenAt } from './places.ts';
import { andKept } from './retention.ts';
import { spelledAlike, unionShape } from './union.ts';

/** A collection: its table, and what its documents look like. */
export interface Table extends NamedTable {
  readonly id: string;
  readonly shape: TableShape;
  /** Documents with an older event time are invisible to everyone; null: all are visible. */
  readonly retentionSecs: number | null;
  definition(): string;
}

/** A name for the documents of one or more collections. */
export interface Alias extends NamedTable {
  readonly tables: readonly string[];
}

/** The part of the stored metadata that the engine keeps in memory: changed only after the change is durable. */
export interface Catalog {
  readonly names: NameIndex;
  /** How views show columns where that is not as they are. */
  readonly shown: ShownColumn | undefined;
  /** By table id. */
  readonly tables: Map<string, Table>;
  /** By table id: tables in the trash, which have no name. */
  readonly trashed: Map<string, Table>;
  /** By `aliasKey`. */
  readonly aliases: Map<string, Alias>;
  /** Ids of the tables that have rows in the trash. */
  readonly withDeleted: Set<string>;
  records: readonly StoredRecord[];
}

export function createCatalog(shown?: ShownColumn): Catalog {
  const trashed = new Map<string, Table>();
  return {
    names: createNames(trashed),
    shown,
    tables: new Map(),
    trashed,
    aliases: new Map(),
    withDeleted: new Set(),
    records: [],
  };
}

/** A table before it has columns. */
export function newTable(table: Pick<Table, 'id' | 'workspace' | 'name' | 'retentionSecs'>, times = false): Table {
  return tableOf(table, { ...NO_COLUMNS, times });
}

/** The same table with these columns. */
export function tableOf(
  { id, workspace, name, retentionSecs }: Pick<Table, 'id' | 'workspace' | 'name' | 'retentionSecs'>,
  shape: TableShape,
): Table {
  const columns = () => columnNames(shape);
  const jsonFields = () => jsonFieldsOf(shape.columns);
  const objects = () => [...shape.columns.values()].flatMap(objectsIn);
  const lookup = {
    rows: (wanted: string, shown: ShownColumn | undefined) =>
      visibleRows({ id, shape, retentionSecs }, hasId(wanted), shown),
    size: `SELECT estimated_size FROM duckdb_tables()
      WHERE database_name = ${quoteText(CATALOG)} AND schema_name = '_data' AND table_name = ${quoteText(id)}`,
  };
  let defined: string | undefined;
  const definition = () => {
    if (defined !== undefined) return defined;
    const types = [...shape.columns].map(([column, one]) => [column, typeOf(one)]);
    defined = hash('sha256', JSON.stringify([types, ...lastColumns(shape)]), 'hex');
    return defined;
  };
  return {
    id,
    workspace,
    name,
    kind: 'collection',
    shape,
    retentionSecs,
    columns,
    jsonFields,
    objects,
    strays: shape.strays,
    spellings: newSpellings(shape),
    written: holdsTyped({ fields: shape.columns }) ? (place) => writtenAt(shape.columns, place) : undefined,
    placeOf: (path) => placeIn(shape.columns, path),
    typeAt: (path) => typeIn(shape.columns, path),
    fieldsIn: (path) => fieldsIn(shape.columns, path),
    pathsTo: (name) => pathsTo(shape.columns, name),
    itemPlaces: (column) => itemPlaces(shape.columns, column),
    fieldAt: (place) => fieldAt(shape.columns, place),
    lookup,
    definition,
  };
}

/**
 * What a collection's view shows of the rows that meet `condition`. A transaction that began later may see columns that
 * the shape does not know yet: they come after the known ones, as they do in the view.
 */
function visibleRows(
  { id, shape, retentionSecs }: Pick<Table, 'id' | 'shape' | 'retentionSecs'>,
  condition: string,
  shown: ShownColumn | undefined,
) {
  const known = columnNames(shape).map(quoteName);
  const first = known.slice(0, known.length - lastColumns(shape).length);
  const others = `* EXCLUDE (${[quoteName(HASH_COLUMN), ...known].join(', ')})`;
  // Of those that are not known, how they are shown is not either.
  const columns = shown === undefined ? [...first, others, ...known.slice(first.length)] : shownColumns(shape, shown);
  const kept = andKept(retentionSecs);
  return `SELECT ${columns.join(', ')} FROM ${dataTable(id)} WHERE ${condition}${kept}`;
}

/** An alias of these tables; `catalog` has to hold them for as long as it holds the alias. */
export function aliasOf(catalog: Catalog, workspace: string, name: string, tables: readonly string[]): Alias {
  const behind = () => tables.flatMap((id) => catalog.tables.get(id) ?? []);
  const shape = () => unionShape(behind().map((table) => table.shape));
  const columns = () => columnNames(shape());
  const jsonFields = () => jsonFieldsOf(shape().columns);
  const objects = () => [...shape().columns.values()].flatMap(objectsIn);
  const definition = () =>
    behind()
      .map((table) => table.definition())
      .join(',');
  const placeOf = (path: readonly string[]) => placeIn(shape().columns, path);
  return {
    workspace,
    name,
    kind: 'alias',
    tables,
    columns,
    jsonFields,
    objects,
    get strays() {
      return shape().strays;
    },
    get written() {
      const columns = spelledAlike(
        shape(),
        behind().map((table) => table.shape),
      );
      return holdsTyped({ fields: columns }) ? (place: string) => writtenAt(columns, place) : undefined;
    },
    placeOf,
    typeAt: (path) => typeIn(shape().columns, path),
    fieldsIn: (path) => fieldsIn(shape().columns, path),
    pathsTo: (name) => pathsTo(shape().columns, name),
    behind,
    definition,
  };
}

/** The table of a collection. Throws `not_found` if the collection was deleted since it was looked up. */
export function requireTable(catalog: Catalog, id: string): Table {
  const table = catalog.tables.get(id);
  if (table !== undefined) return table;
  throw new ApiError('not_found', `The collection with table ${JSON.stringify(id)} does not exist any more.`, {
    messageKey: 'COLLECTION_DOES_NOT_EXIST',
  });
}

export function putTable(catalog: Catalog, table: Table): void {
  catalog.tables.set(table.id, table);
  catalog.names.putTable(table);
}

export function dropTable(catalog: Catalog, table: Table): void {
  catalog.tables.delete(table.id);
  catalog.names.dropTable(table);
}

export function aliasKey(workspace: string, name: string): string {
  // Neither name contains a line break.
  return `${foldName(workspace)}\n${foldName(name)}`;
}

export function putAlias(catalog: Catalog, alias: Alias): void {
  catalog.aliases.set(aliasKey(alias.workspace, alias.name), alias);
  catalog.names.putTable(alias);
}

export function dropAlias(catalog: Catalog, alias: Alias): void {
  catalog.aliases.delete(aliasKey(alias.workspace, alias.name));
  catalog.names.dropTable(alias);
}

/** The aliases that stand for a table. */
export function aliasesOver(catalog: Catalog, table: string): Alias[] {
  return [...catalog.aliases.values()].filter((alias) => alias.tables.includes(table));
}

interface StoredNames {
  workspaces: readonly string[];
  tables: readonly {
    table: Pick<Table, 'id' | 'workspace' | 'name' | 'retentionSecs'>;
    shape: string;
    isTrashed: boolean;
  }[];
  aliases: readonly { workspace: string; name: string; tables: readonly string[] }[];
  withDeleted: readonly string[];
}

/** Reloads everything. */
export async function loadCatalog(catalog: Catalog, transaction: Transaction): Promise<void> {
  const { names, records } = await transaction(async (sql) => ({
    names: await readNames(sql),
    records: await sql('SELECT kind, key, value FROM "_meta"."records"'),
  }));
  catalog.names.clear();
  catalog.tables.clear();
  catalog.trashed.clear();
  catalog.aliases.clear();
  catalog.withDeleted.clear();
  applyNames(catalog, names);
  catalog.records = records.map(([kind, key, value]) => ({
    kind: String(kind),
    key: String(key),
    value: parseJson(String(value)) as JsonObject,
  }));
}

/** Takes over what other processes changed of everything but the records; what they did not change stays as it is. */
export async function reloadNames(catalog: Catalog, read: Transaction): Promise<void> {
  const versionOf = () => `${catalog.names.version} ${catalog.trashed.size} ${catalog.withDeleted.size}`;
  for (;;) {
    const before = versionOf();
    const stored = await read(readNames);
    // What this process changed meanwhile is newer.
    if (versionOf() === before) return applyNames(catalog, stored);
  }
}

async function readNames(sql: Sql): Promise<StoredNames> {
  const workspaces = await sql('SELECT name FROM "_meta"."workspaces"');
  const tables = await sql('SELECT id, workspace, name, shape, retention_secs, trashed FROM "_meta"."tables"');
  const aliases = await sql('SELECT workspace, name, tables FROM "_meta"."aliases"');
  const withDeleted = await sql('SELECT DISTINCT table_id FROM "_meta"."trash" WHERE table_id IS NOT NULL');
  return {
    workspaces: workspaces.map(([name]) => String(name)),
    tables: tables.map(([id, workspace, name, shape, retention, trashed]) => ({
      table: {
        id: String(id),
        workspace: String(workspace),
        name: String(name),
        retentionSecs: typeof retention === 'bigint' ? Number(retention) : null,
      },
      shape: String(shape),
      isTrashed: trashed === true,
    })),
    aliases: aliases.map(([workspace, name, ids]) => ({
      workspace: String(workspace),
      name: String(name),
      tables: (parseJson(String(ids)) as JsonValue[]).map(String),
    })),
    withDeleted: withDeleted.map(([id]) => String(id)),
  };
}

function applyNames(catalog: Catalog, stored: StoredNames): void {
  for (const name of catalog.names.workspaces())
    if (!stored.workspaces.includes(name)) catalog.names.dropWorkspace(name);
  for (const name of stored.workspaces) if (!catalog.names.hasWorkspace(name)) catalog.names.putWorkspace(name);
  const [live, trashed] = [stored.tables.filter((one) => !one.isTrashed), stored.tables.filter((one) => one.isTrashed)];
  dropMissing(catalog, live, stored.aliases);
  for (const { table, shape } of live) {
    const known = catalog.tables.get(table.id);
    if (known !== undefined && isSame(known, table, shape)) continue;
    if (known !== undefined) dropTable(catalog, known);
    putTable(catalog, tableOf(table, storedShape(table.id, shape)));
  }
  catalog.trashed.clear();
  for (const { table, shape } of trashed) catalog.trashed.set(table.id, tableOf(table, storedShape(table.id, shape)));
  for (const { workspace, name, tables } of stored.aliases) {
    const known = catalog.aliases.get(aliasKey(workspace, name));
    if (known?.tables.join() !== tables.join()) putAlias(catalog, aliasOf(catalog, workspace, name, tables));
  }
  // Others may have made a view anew meanwhile, which then hides nothing.
  catalog.withDeleted.clear();
  for (const id of stored.withDeleted) catalog.withDeleted.add(id);
}

/** Before others take their names. */
function dropMissing(catalog: Catalog, live: StoredNames['tables'], aliases: StoredNames['aliases']): void {
  const ids = new Set(live.map(({ table }) => table.id));
  const keys = new Set(aliases.map(({ workspace, name }) => aliasKey(workspace, name)));
  for (const alias of [...catalog.aliases.values()])
    if (!keys.has(aliasKey(alias.workspace, alias.name))) dropAlias(catalog, alias);
  for (const table of [...catalog.tables.values()]) if (!ids.has(table.id)) dropTable(catalog, table);
}

function isSame(known: Table, table: Pick<Table, 'workspace' | 'name' | 'retentionSecs'>, shape: string): boolean {
  const { workspace, name, retentionSecs } = table;
  const isNamedSo = known.workspace === workspace && known.name === name && known.retentionSecs === retentionSecs;
  return isNamedSo && stringifyJson(tableShapeToJson(known.shape)) === shape;
}

/** Reads a stored shape. Throws `internal` if it cannot be read. */
export function storedShape(id: string, text: string): TableShape {
  try {
    return tableShapeFromJson(parseJson(text));
  } catch (error) {
    throw new ApiError('internal', `The database is damaged: the stored shape of table "${id}" cannot be read.`, {
      cause: error,
    });
  }
}

/** A collection's table, as a name in SQL. */
export function dataTable(id: string): string {
  return `${quoteName(CATALOG)}."_data".${quoteName(id)}`;
}

/** Stores a new table. */
export async function insertTable(sql: Sql, table: Table): Promise<void> {
  const retention = table.retentionSecs === null ? null : BigInt(table.retentionSecs);
  await sql(
    'INSERT INTO "_meta"."tables" (id, workspace, name, shape, retention_secs) VALUES ($1, $2, $3, $4, $5::BIGINT)',
    table.id,
    table.workspace,
    table.name,
    stringifyJson(tableShapeToJson(table.shape)),
    retention,
  );
}

/** Stores whether a table is in the trash. */
export async function updateTrashed(sql: Sql, id: string, trashed: boolean): Promise<void> {
  await sql('UPDATE "_meta"."tables" SET trashed = $2 WHERE id = $1', id, trashed);
}

/** Stores a table's new shape. */
export async function updateShape(sql: Sql, table: Table): Promise<void> {
  await sql(
    'UPDATE "_meta"."tables" SET shape = $2 WHERE id = $1',
    table.id,
    stringifyJson(tableShapeToJson(table.shape)),
  );
}

/** The columns of a collection's view, as SQL. */
export function shownColumns(shape: TableShape, shown: ShownColumn | undefined): string[] {
  if (shown === undefined) return columnNames(shape).map(quoteName);
  const show = (name: string, type: string) => `${shown(quoteName(name), type)} AS ${quoteName(name)}`;
  return [
    show(ID_COLUMN, 'VARCHAR'),
    quoteName(TIME_COLUMN),
    ...[...shape.columns].map(([name, one]) => show(name, typeOf(one))),
    ...lastColumns(shape).map((name) => show(name, 'JSON')),
  ];
}
