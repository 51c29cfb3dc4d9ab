import type { ApiError } from '../../../contract/errors.ts';
import { nearest } from '../../../contract/nearest.ts';
import { foldName, type NamedTable, type Names, quoteName } from './names.ts';
import { errorAt, type Statement } from './statement.ts';

/** The workspace of unqualified names in SQL. */
export const DEFAULT_WORKSPACE = 'commons';

interface Context {
  statement: Statement;
  bytes: Buffer;
  names: Names;
}

interface Reference {
  /** As written: the last is the table, before it schema and catalog, if given. */
  path: string[];
  /** Byte offset of the first part. */
  at: number | undefined;
}

interface Resolved {
  table: NamedTable;
  at: number;
  splice: { at: number; length: number; text: string } | null;
}

/** An otherwise allowed reference to something that does not exist. */
export interface Missing {
  /** As `workspace.name`. */
  name: string;
  /** Made when it is asked for: a statement may name many things that do not exist, and only the first is reported. */
  error(): ApiError;
}

const POSSIBLE_NAME = /^(?!_)[A-Za-z0-9_-]{1,128}$/;
const POSSIBLE_WORKSPACE = /^[A-Za-z0-9-][A-Za-z0-9_-]*(?:\.[A-Za-z0-9-][A-Za-z0-9_-]*)*$/;

/** A name as it is written in SQL. */
function sqlName(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : quoteName(name);
}

export function sqlPath(table: NamedTable): string {
  return table.workspace === DEFAULT_WORKSPACE
    ? sqlName(table.name)
    : `${sqlName(table.workspace)}.${sqlName(table.name)}`;
}

function oneOf(choices: readonly string[]): string {
  if (choices.length === 0) return '';
  const last = choices.at(-1) ?? '';
  return ` Did you mean ${choices.length === 1 ? last : `${choices.slice(0, -1).join(', ')} or ${last}`}?`;
}

/** The same name in other workspaces first, then similar names, in this workspace before others. */
function suggestTables(names: Names, workspace: string, name: string): string[] {
  const tables = names.tables();
  const here = tables.filter((table) => foldName(table.workspace) === foldName(workspace));
  const same = tables.filter((table) => foldName(table.name) === foldName(name));
  const like = (among: NamedTable[]) => {
    const alike = nearest(
      name,
      among.map((table) => table.name),
    );
    return alike.flatMap((candidate) => among.filter((table) => table.name === candidate));
  };
  const near = like(here);
  return [...new Set([...same, ...(near.length > 0 ? near : like(tables))])].slice(0, 3).map(sqlPath);
}

function missingMessage(names: Names, path: string[]): string {
  const [table = '', workspace = DEFAULT_WORKSPACE] = path.toReversed();
  if (path.length > 2) {
    const dotted = path.slice(0, -1).join('.');
    return (
      `"${path.join('.')}" has ${path.length} parts, and a collection has two: workspace.collection. ` +
      `A workspace whose name has dots is quoted: ${quoteName(dotted)}.${sqlName(table)}.`
    );
  }
  if (!names.hasWorkspace(workspace)) {
    if (/^(?:information_schema|pg_catalog)$/i.test(workspace)) {
      return `There is no ${workspace} in queries: SHOW ALL TABLES lists what there is with its fields, DESCRIBE t the fields of t.`;
    }
    const same = names.tables().filter((candidate) => foldName(candidate.name) === foldName(table));
    const near = nearest(workspace, names.workspaces()).map((name) => `${sqlName(name)}.${sqlName(table)}`);
    const hints = new Set([...same.map(sqlPath), ...near]);
    return `Workspace with name "${workspace}" does not exist.${oneOf([...hints].slice(0, 3))}`;
  }
  const hint = oneOf(suggestTables(names, workspace, table));
  return `Collection "${table}" does not exist in workspace "${workspace}".${hint}`;
}

const IDENTIFIER = /^(?:"((?:[^"]|"")*)"|([A-Za-z_\u0080-\uffff][A-Za-z_\u0080-\uffff0-9$]*))/;
/** Names have at most 128 characters; quotes within may double them. */
const IDENTIFIER_BYTES_MAX = 2_048;

/** The name written at a byte offset. */
export function identifierAt(bytes: Buffer, at: number): { name: string; length: number } | undefined {
  const match = IDENTIFIER.exec(bytes.subarray(at, at + IDENTIFIER_BYTES_MAX).toString());
  if (match === null) return undefined;
  const name = match[1] === undefined ? (match[2] ?? '') : match[1].replaceAll('""', '"');
  return { name, length: Buffer.byteLength(match[0]) };
}

/**
 * What a reference to nothing names; null if it names something, or what no collection can be called: a file, or the
 * engine's own tables.
 */
export function findMissing({ statement, names }: Context, { path, at }: Reference): Missing | null {
  const [name = '', workspace = DEFAULT_WORKSPACE] = path.toReversed();
  if (path.length > 2 || names.find(workspace, name) !== undefined) return null;
  if (!POSSIBLE_NAME.test(name) || !POSSIBLE_WORKSPACE.test(workspace)) return null;
  return { name: `${workspace}.${name}`, error: () => errorAt(statement, at, missingMessage(names, path)) };
}

/**
 * The collection that a reference in SQL stands for, and the text that makes it explicit: the schema is always written
 * out, so that an engine-internal name is never looked up instead. Throws `query_error` with nearest names.
 */
export function resolveTable({ statement, bytes, names }: Context, { path, at }: Reference): Resolved {
  const [name = '', workspace] = path.toReversed();
  const table = path.length > 2 ? undefined : names.find(workspace ?? DEFAULT_WORKSPACE, name);
  if (table === undefined) throw errorAt(statement, at, missingMessage(names, path));
  const written = at === undefined ? undefined : identifierAt(bytes, at);
  if (at === undefined || written === undefined || foldName(written.name) !== foldName(path[0] ?? '')) {
    throw errorAt(
      statement,
      at,
      `Write the collection as ${sqlPath(table)}: this spelling of its name is not supported.`,
    );
  }
  const schema = quoteName(names.schemaOf(table.workspace));
  const splice =
    workspace === undefined ? { at, length: 0, text: `${schema}.` } : { at, length: written.length, text: schema };
  return { table, at, splice };
}
