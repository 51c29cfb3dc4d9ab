import type { JsonValue } from '../../../contract/json/json.ts';
import { inQuotes } from '../../../contract/text.ts';
import type { NewSpelling } from '../../field-news.ts';

/** The catalog in which everything stored is. */
export const CATALOG = '_colloquy';
/** Schema of unqualified names in SQL. */
export const DEFAULT_SCHEMA = 'commons';

/** The columns that every collection has: a document's id, and its event time. */
export const ID_COLUMN = '_id';
export const TIME_COLUMN = '_event_time';
/** The columns that each document has a value of its own in. */
export const OWN_COLUMNS: readonly string[] = [ID_COLUMN, TIME_COLUMN];
/** Column of the fields that have none of their own, if there are any. */
export const EXTRA_COLUMN = '_extra';

/** The name under which the items of a list are a field of it. */
export const ITEM = '[]';

/**
 * Fields that are JSON because no other type holds what documents have there, and maps, by folded name; for an object or
 * list, its own fields.
 */
export type JsonFields = ReadonlyMap<string, JsonField>;
export type JsonField = JsonFields | MapField | 'json';

/** An object whose keys are data. */
export interface MapField {
  kind: 'map';
  /** The keys that any document has had; undefined: too many to list. */
  keys: ReadonlySet<string> | undefined;
  values: JsonField | null;
}

export function isMapField(field: JsonField): field is MapField {
  return typeof field === 'object' && 'kind' in field;
}

/** What a path of SQL names, with the fields of an object, of a list's items, or of a map's values. */
export interface FieldsThere {
  kind: 'object' | 'list' | 'map' | 'value';
  /** The types are in few words: those of objects do not say what is in them. */
  fields: readonly { name: string; type: string }[];
}

/** A collection or an alias, as SQL sees it. */
export interface NamedTable {
  workspace: string;
  name: string;
  kind: 'collection' | 'alias';
  /** Names of the columns visible in SQL, in order. */
  columns(): readonly string[];
  jsonFields?(): JsonFields;
  /** What messages call it; default: its workspace and name. */
  shownAs?: string;
  /** The names of the fields of each object in the columns. */
  objects?(): readonly string[][];
  /** The place of a field that SQL names so, as in `values/strays.ts`; undefined: there is no such field. */
  placeOf?(path: readonly string[]): string | undefined;
  /** The SQL type of what SQL names so; undefined: there is none, or it is not known. */
  typeAt?(path: readonly string[]): string | undefined;
  /** The fields of what SQL names so, `ITEM` being an item of a list; undefined: there is nothing, or it is not known. */
  fieldsIn?(path: readonly string[]): FieldsThere | undefined;
  /** The paths of the fields within columns whose last name is this one. */
  pathsTo?(name: string): string[][];
  /** The places in a column that are those of a list's items, or of a map's values, as in `contract/strays.ts`. */
  itemPlaces?(column: string): string[];
  /** The field at a place of strays, in words, and its SQL type; null: it has none, as its name cannot be a field's. */
  fieldAt?(place: string): { path: string; type: string | null };
  /**
   * What documents have at a place, but for its strays, given what an answer has for it; undefined: the same. Absent: it is
   * the same everywhere.
   */
  written?: ((place: string) => ((value: JsonValue) => JsonValue) | undefined) | undefined;
  /** The columns that have, or had, values that do not fit. */
  strays?: ReadonlySet<string>;
  /** How to find a document without reading the whole collection. */
  lookup?: {
    /** The SELECT of what SQL sees of the rows with this id, an SQL expression for a text without U+0000. */
    rows(id: string, shown: ShownColumn | undefined): string;
    /** The SELECT of the number of rows, those that take up space after being deleted included. */
    size: string;
  };
  /** The fields that documents spell in another letter case than their column. */
  spellings?: readonly NewSpelling[];
  /** The collections that an alias currently stands for. */
  behind?(): readonly NamedTable[];
  /** A short text that is the same for the same columns, also over restarts. */
  definition?(): string;
}

/** SQL for what views show of a column, given its name as SQL and its type. */
export type ShownColumn = (name: string, type: string) => string;

/** What names in SQL currently stand for: always in step with the last committed change. */
export interface Names {
  /** Increases with every change. */
  readonly version: number;
  workspaces(): string[];
  tables(): NamedTable[];
  /** Case-insensitive, as SQL folds names. */
  find(workspace: string, name: string): NamedTable | undefined;
  /** Case-insensitive. */
  hasWorkspace(name: string): boolean;
  /** Whether a collection of this name is in the trash; case-insensitive. */
  isTrashed(workspace: string, name: string): boolean;
  /** Schema of a workspace's views: the workspace's own name, except for reserved ones. */
  schemaOf(workspace: string): string;
}

/** The names, with the changes that keep them in step with the database. */
export interface NameIndex extends Names {
  putWorkspace(name: string): void;
  dropWorkspace(name: string): void;
  putTable(table: NamedTable): void;
  dropTable(table: NamedTable): void;
  clear(): void;
  /** A text that is the same as long as `workspace.name` stands for the same: for nothing, or for these columns. */
  definitionOf(fullName: string): string;
}

/** Schemas and catalogs of DuckDB: as a workspace's schema these would be ambiguous, or are not ours to fill. */
const RESERVED = new Set(['main', 'temp', 'system', 'memory', 'information_schema', 'pg_catalog', 'localmemdb']);

/** Schema of a workspace. No workspace starts with `_`, so a prefixed name is always free. */
export function schemaOf(workspace: string): string {
  return RESERVED.has(foldName(workspace)) ? `_${workspace}` : workspace;
}

/** A name as DuckDB compares it: only the letters A to Z are folded. */
export function foldName(name: string): string {
  return name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** A name as an identifier in SQL text: the only way that names get into statements. */
export function quoteName(name: string): string {
  return inQuotes(name, '"');
}

/** A string literal in SQL text. The text must not contain U+0000. */
export function quoteText(text: string): string {
  return inQuotes(text, "'");
}

/** The fields of what a path names, with or without what its collection is called before it. */
export function fieldsAt(tables: readonly NamedTable[], path: readonly string[]): FieldsThere | undefined {
  for (const from of [0, 1, 2].slice(0, path.length)) {
    for (const table of tables) {
      const there = table.fieldsIn?.(path.slice(from));
      if (there !== undefined) return there;
    }
  }
  return undefined;
}

/** `trashed` are the collections in the trash, at any time. */
export function createNames(
  trashed: Pick<ReadonlyMap<string, Pick<NamedTable, 'workspace' | 'name'>>, 'values'> = new Map(),
): NameIndex {
  const workspaces = new Map<string, string>();
  const tables = new Map<string, NamedTable>();
  // Names contain no line breaks, so no two pairs share a key.
  const keyOf = (workspace: string, name: string) => `${foldName(workspace)}\n${foldName(name)}`;
  let version = 0;
  const changed = (_: unknown) => {
    version += 1;
  };
  const find = (workspace: string, name: string) => tables.get(keyOf(workspace, name));
  return {
    get version() {
      return version;
    },
    workspaces: () => [...workspaces.values()],
    tables: () => [...tables.values()],
    find,
    definitionOf(fullName) {
      const found: string[] = [];
      // A workspace's name may contain dots.
      for (let dot = fullName.indexOf('.'); dot >= 0; dot = fullName.indexOf('.', dot + 1)) {
        found.push(find(fullName.slice(0, dot), fullName.slice(dot + 1))?.definition?.() ?? '');
      }
      return found.join(' ');
    },
    hasWorkspace: (name) => workspaces.has(foldName(name)),
    isTrashed: (workspace, name) =>
      [...trashed.values()].some((one) => keyOf(one.workspace, one.name) === keyOf(workspace, name)),
    schemaOf,
    putWorkspace: (name) => changed(workspaces.set(foldName(name), name)),
    dropWorkspace: (name) => changed(workspaces.delete(foldName(name))),
    putTable: (table) => changed(tables.set(keyOf(table.workspace, table.name), table)),
    dropTable: (table) => changed(tables.delete(keyOf(table.workspace, table.name))),
    clear() {
      workspaces.clear();
      tables.clear();
      version += 1;
    },
  };
}

/** A key as a path into JSON; as a JSON pointer where a quoted path could not hold it. */
export function jsonPath(key: string): string {
  if (/^[A-Za-z_]\w*$/.test(key)) return `$.${key}`;
  return /["\\]/.test(key) ? `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}` : `$."${key}"`;
}
