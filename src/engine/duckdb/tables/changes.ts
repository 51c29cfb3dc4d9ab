import { ApiError } from '../../../contract/errors.ts';
import type { Change, RecordChange } from '../../engine.ts';
import type { Sql } from '../connections/store.ts';
import { CATALOG, DEFAULT_SCHEMA, foldName, quoteName, schemaOf } from '../sql/names.ts';
import { createAliasView, forgetAlias, storeAlias } from './aliases.ts';
import {
  aliasesOver,
  aliasKey,
  aliasOf,
  type Catalog,
  createCatalog,
  dataTable,
  dropAlias,
  dropTable,
  insertTable,
  newTable,
  putAlias,
  putTable,
  requireTable,
  type Table,
  updateTrashed,
} from './catalog.ts';
import { columnDefinitions } from './columns.ts';
import { forgetMemory } from './memory.ts';
import { storeRecord } from './records.ts';
import { dropKept, storeKeptAsText } from './trash.ts';
import { createView, viewOf } from './views.ts';

/** One change: what it does to the database, and afterwards to memory. */
interface Step {
  run(sql: Sql): Promise<unknown>;
  remember(): void;
}

const TABLE_ID = /^[A-Za-z0-9_]{1,128}$/;

/**
 * Checks changes, each against the current state and the changes before it, and plans them. Throws `already_exists`,
 * `not_found`, `dependent_resources` or `invalid_input`.
 */
export function planChanges(catalog: Catalog, changes: readonly Change[]): Step {
  const staged = createCatalog();
  for (const workspace of catalog.names.workspaces()) staged.names.putWorkspace(workspace);
  for (const table of catalog.tables.values()) putTable(staged, table);
  for (const table of catalog.trashed.values()) staged.trashed.set(table.id, table);
  for (const { workspace, name, tables } of catalog.aliases.values()) {
    putAlias(staged, aliasOf(staged, workspace, name, tables));
  }
  const steps = changes.map((change) => planChange(catalog, staged, change));
  return {
    async run(sql) {
      for (const step of steps) await step.run(sql);
    },
    remember() {
      for (const step of steps) step.remember();
    },
  };
}

function planChange(catalog: Catalog, staged: Catalog, change: Change): Step {
  switch (change.do) {
    case 'putRecord':
    case 'deleteRecord':
      return planRecord(change);
    case 'createWorkspace':
      return planCreateWorkspace(catalog, staged, change.workspace);
    case 'dropWorkspace':
      return planDropWorkspace(catalog, staged, change.workspace);
    case 'createCollection': {
      const { table: id, workspace, name, retentionSecs = null, recognizeTimes } = change;
      return planCreateCollection(catalog, staged, newTable({ id, workspace, name, retentionSecs }, recognizeTimes));
    }
    case 'dropCollection':
      return planDropCollection(catalog, staged, change.table);
    case 'trashCollection':
      return planTrashCollection(catalog, staged, requireTable(staged, change.table));
    case 'restoreCollection':
      return planRestoreCollection(catalog, staged, change.table);
    case 'dropDocuments':
      return { run: (sql) => dropKept(sql, change.trash), remember: () => undefined };
    case 'forgetMemory':
      return { run: (sql) => forgetMemory(sql, change.table, change.source), remember: () => undefined };
    case 'putAlias':
      return planPutAlias(catalog, staged, change);
    case 'dropAlias':
      return planDropAlias(catalog, staged, change);
  }
}

function planRecord(change: RecordChange): Step {
  return { run: (sql) => storeRecord(sql, change), remember: () => undefined };
}

function planCreateWorkspace(catalog: Catalog, staged: Catalog, name: string): Step {
  if (staged.names.hasWorkspace(name)) {
    throw new ApiError(
      'already_exists',
      `Cannot create workspace "${name}": a workspace of that name exists (letter case makes no difference).`,
    );
  }
  staged.names.putWorkspace(name);
  return {
    async run(sql) {
      // The default workspace's schema exists from the start: connections need it.
      await sql(`CREATE SCHEMA IF NOT EXISTS ${quoteName(CATALOG)}.${quoteName(schemaOf(name))}`);
      await sql('INSERT INTO "_meta"."workspaces" VALUES ($1)', name);
    },
    remember: () => catalog.names.putWorkspace(name),
  };
}

function planDropWorkspace(catalog: Catalog, staged: Catalog, name: string): Step {
  if (!staged.names.hasWorkspace(name)) {
    throw noSuchWorkspace(name);
  }
  if (foldName(name) === DEFAULT_SCHEMA) {
    throw new ApiError('invalid_input', `Cannot delete workspace "${name}": it is the default workspace.`);
  }
  const left = staged.names.tables().filter((table) => foldName(table.workspace) === foldName(name));
  if (left.length > 0) {
    const list = left.map((table) => `"${table.name}"`).join(', ');
    throw new ApiError('dependent_resources', `Cannot delete workspace "${name}": it still holds ${list}.`);
  }
  staged.names.dropWorkspace(name);
  return {
    async run(sql) {
      await sql(`DROP SCHEMA ${quoteName(CATALOG)}.${quoteName(schemaOf(name))}`);
      await sql('DELETE FROM "_meta"."workspaces" WHERE lower(name) = lower($1)', name);
    },
    remember: () => catalog.names.dropWorkspace(name),
  };
}

function planCreateCollection(catalog: Catalog, staged: Catalog, table: Table): Step {
  const what = `Cannot create collection "${table.name}"`;
  if (!TABLE_ID.test(table.id)) {
    throw new ApiError('invalid_input', `${what}: the table id "${table.id}" is not made of letters, digits and "_".`);
  }
  requireFreeName(staged, what, table);
  if ([...staged.tables.keys(), ...staged.trashed.keys()].some((id) => foldName(id) === foldName(table.id))) {
    throw new ApiError('already_exists', `${what}: the table id "${table.id}" is taken.`);
  }
  putTable(staged, table);
  return {
    async run(sql) {
      await sql(`CREATE TABLE ${dataTable(table.id)} (${columnDefinitions(table.shape)})`);
      await createView(sql, catalog, table, false);
      await insertTable(sql, table);
    },
    remember: () => putTable(catalog, table),
  };
}

function requireFreeName(staged: Catalog, what: string, { workspace, name }: Table): void {
  if (!staged.names.hasWorkspace(workspace)) throw noSuchWorkspace(workspace);
  const other = staged.names.find(workspace, name);
  if (other === undefined) return;
  throw new ApiError(
    'already_exists',
    `${what}: workspace "${workspace}" has the ${other.kind} "${other.name}" (letter case makes no difference).`,
  );
}

/** A collection in the trash has no view, and no aliases. */
function planDropCollection(catalog: Catalog, staged: Catalog, id: string): Step {
  const hidden = staged.trashed.get(id);
  const table = hidden ?? requireTable(staged, id);
  if (hidden === undefined) forgetName(staged, table);
  staged.trashed.delete(id);
  return {
    async run(sql) {
      if (hidden === undefined) await sql(`DROP VIEW ${viewOf(table)}`);
      if (catalog.withDeleted.has(id)) await storeKeptAsText(sql, table);
      await sql(`DROP TABLE ${dataTable(id)}`);
      await sql('DELETE FROM "_meta"."tables" WHERE id = $1', id);
      await forgetMemory(sql, id);
    },
    remember() {
      catalog.trashed.delete(id);
      catalog.withDeleted.delete(id);
      if (hidden === undefined) dropTable(catalog, table);
    },
  };
}

function planTrashCollection(catalog: Catalog, staged: Catalog, table: Table): Step {
  forgetName(staged, table);
  staged.trashed.set(table.id, table);
  return {
    async run(sql) {
      await sql(`DROP VIEW ${viewOf(table)}`);
      await updateTrashed(sql, table.id, true);
    },
    remember() {
      dropTable(catalog, table);
      catalog.trashed.set(table.id, table);
    },
  };
}

function planRestoreCollection(catalog: Catalog, staged: Catalog, id: string): Step {
  const table = staged.trashed.get(id);
  if (table === undefined) throw new ApiError('not_found', `There is no table ${JSON.stringify(id)} in the trash.`);
  requireFreeName(staged, `Cannot restore collection "${table.name}"`, table);
  staged.trashed.delete(id);
  putTable(staged, table);
  return {
    async run(sql) {
      await createView(sql, catalog, table, catalog.withDeleted.has(id));
      await updateTrashed(sql, id, false);
    },
    remember() {
      catalog.trashed.delete(id);
      putTable(catalog, table);
    },
  };
}

/** Removes a collection's name. Throws `dependent_resources` if aliases stand for it. */
function forgetName(staged: Catalog, table: Table): void {
  const aliases = aliasesOver(staged, table.id);
  if (aliases.length > 0) {
    const list = aliases.map((alias) => `"${alias.workspace}.${alias.name}"`).join(', ');
    throw new ApiError(
      'dependent_resources',
      `Cannot delete collection "${table.name}" in workspace "${table.workspace}": the aliases ${list} stand for it. Repoint or delete these first.`,
    );
  }
  dropTable(staged, table);
}

function planPutAlias(
  catalog: Catalog,
  staged: Catalog,
  { workspace, name, tables: ids }: Extract<Change, { do: 'putAlias' }>,
): Step {
  const what = `Cannot point alias "${name}" at collections`;
  if (!staged.names.hasWorkspace(workspace)) throw noSuchWorkspace(workspace);
  const other = staged.names.find(workspace, name);
  if (other !== undefined && (other.kind !== 'alias' || other.name !== name)) {
    throw new ApiError(
      'already_exists',
      `${what}: workspace "${workspace}" has the ${other.kind} "${other.name}" (letter case makes no difference).`,
    );
  }
  if (ids.length === 0 || new Set(ids).size < ids.length) {
    throw new ApiError('invalid_input', `${what}: it needs at least one, and each only once.`);
  }
  const tables = ids.map((id) => requireTable(staged, id));
  putAlias(staged, aliasOf(staged, workspace, name, ids));
  const alias = aliasOf(catalog, workspace, name, ids);
  return {
    async run(sql) {
      await createAliasView(sql, alias, tables);
      await storeAlias(sql, alias);
    },
    remember: () => putAlias(catalog, alias),
  };
}

function planDropAlias(
  catalog: Catalog,
  staged: Catalog,
  { workspace, name }: Extract<Change, { do: 'dropAlias' }>,
): Step {
  const alias = staged.aliases.get(aliasKey(workspace, name));
  if (alias === undefined) {
    throw new ApiError('not_found', `Alias "${name}" does not exist in workspace "${workspace}"`, {
      messageKey: 'ALIAS_NOT_FOUND',
    });
  }
  dropAlias(staged, alias);
  return {
    async run(sql) {
      await sql(`DROP VIEW ${viewOf(alias)}`);
      await forgetAlias(sql, alias);
    },
    remember: () => dropAlias(catalog, alias),
  };
}

function noSuchWorkspace(name: string): ApiError {
  return new ApiError('not_found', `Workspace with name "${name}" does not exist`, {
    messageKey: 'WORKSPACE_NOT_FOUND',
  });
}
