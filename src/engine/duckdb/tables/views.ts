import type { Sql } from '../connections/store.ts';
import { CATALOG, type NamedTable, quoteName, schemaOf } from '../sql/names.ts';
import { type Catalog, dataTable, shownColumns, type Table } from './catalog.ts';
import { IS_LIVE } from './columns.ts';
import { isKept } from './retention.ts';

/**
 * Creates the view through which SQL sees a collection, or replaces it: after a change of columns, or of whether there
 * are rows in the trash. Only then does it leave these out, since the engine plans joins by the number of conditions.
 */
export async function createView(
  sql: Sql,
  catalog: Pick<Catalog, 'shown'>,
  table: Table,
  hasDeleted: boolean,
): Promise<void> {
  const columns = shownColumns(table.shape, catalog.shown).join(', ');
  const conditions = [
    ...(hasDeleted ? [IS_LIVE] : []),
    ...(table.retentionSecs === null ? [] : [isKept(table.retentionSecs)]),
  ];
  const visible = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  await sql(`CREATE OR REPLACE VIEW ${viewOf(table)} AS SELECT ${columns} FROM ${dataTable(table.id)}${visible}`);
}

export function viewOf(table: NamedTable): string {
  return `${quoteName(CATALOG)}.${quoteName(schemaOf(table.workspace))}.${quoteName(table.name)}`;
}
