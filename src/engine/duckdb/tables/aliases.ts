import type { Sql } from '../connections/store.ts';
import { foldName, ID_COLUMN, quoteName, TIME_COLUMN } from '../sql/names.ts';
import { typeOf } from '../values/types.ts';
import { convert } from './alter.ts';
import type { Alias, Table } from './catalog.ts';
import { lastColumns, type TableShape } from './columns.ts';
import { unionShape } from './union.ts';
import { viewOf } from './views.ts';

/**
 * Creates or replaces the view through which SQL sees an alias: after a change of the columns of `tables`, or to point
 * it at others. A query that runs meanwhile sees the earlier view.
 *
 * Types are reconciled here, table by table: the engine's own union turns differing types into text or a double, which
 * loses values.
 */
export async function createAliasView(sql: Sql, alias: Alias, tables: readonly Table[]): Promise<void> {
  const union = unionShape(tables.map((table) => table.shape));
  const selects = tables.map((table, index) => selectFrom(table, union, index === 0));
  await sql(`CREATE OR REPLACE VIEW ${viewOf(alias)} AS ${selects.join(' UNION ALL BY NAME ')}`);
}

/** Stores what an alias stands for, replacing what it stood for before. */
export async function storeAlias(sql: Sql, alias: Alias): Promise<void> {
  await forgetAlias(sql, alias);
  const tables = JSON.stringify(alias.tables);
  await sql('INSERT INTO "_meta"."aliases" VALUES ($1, $2, $3)', alias.workspace, alias.name, tables);
}

export async function forgetAlias(sql: Sql, alias: Alias): Promise<void> {
  await sql('DELETE FROM "_meta"."aliases" WHERE workspace = $1 AND name = $2', alias.workspace, alias.name);
}

/** The first one names all columns, which fixes their order; the others omit those that they do not have. */
function selectFrom(table: Table, union: TableShape, isFirst: boolean): string {
  const own = new Map([...table.shape.columns.keys()].map((name) => [foldName(name), name]));
  const columns = [ID_COLUMN, TIME_COLUMN].map(quoteName);
  for (const [name, shape] of union.columns) {
    const before = own.get(foldName(name));
    const from = before === undefined ? undefined : table.shape.columns.get(before);
    if (before !== undefined && from !== undefined) {
      columns.push(`${convert(from, shape, quoteName(before))} AS ${quoteName(name)}`);
    } else if (isFirst) {
      columns.push(`NULL::${typeOf(shape)} AS ${quoteName(name)}`);
    }
  }
  const last = lastColumns(table.shape);
  for (const name of lastColumns(union)) {
    if (last.includes(name)) columns.push(quoteName(name));
    else if (isFirst) columns.push(`NULL::JSON AS ${quoteName(name)}`);
  }
  // Through the collection's view, which leaves out what its retention hides.
  return `SELECT ${columns.join(', ')} FROM ${viewOf(table)}`;
}
