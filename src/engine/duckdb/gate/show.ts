import type { JsonValue } from '../../../contract/json/json.ts';
import { foldName, type NamedTable, type Names } from '../sql/names.ts';
import { errorAt, type Statement } from '../sql/statement.ts';
import { tokens } from '../sql/tokens.ts';
import { clausesOf, isNode, modifiersOf, type Node, nodesOf, textOf } from '../sql/tree.ts';
import type { Rows } from '../values/rows.ts';

export interface Show {
  what: 'tables' | 'all tables' | 'schemas';
  /** The workspace of SHOW TABLES FROM. */
  workspace: string | null;
}

/** What a statement's tree asks to show; null if it is not such a statement. */
export function readShow(statement: Statement, node: Node, names: Names): Show | null {
  const from = node['from_table'];
  if (!isNode(from) || from['type'] !== 'SHOW_REF' || from['query'] !== undefined) return null;
  const workspace = textOf(from['schema_name']);
  if (from['show_type'] === 'SHOW_FROM' && textOf(from['catalog_name']) === '') {
    const known = names.workspaces().find((candidate) => foldName(candidate) === foldName(workspace));
    if (known === undefined) throw errorAt(statement, undefined, `Workspace with name "${workspace}" does not exist`);
    return { what: 'tables', workspace: known };
  }
  const what = textOf(from['table_name']).replaceAll('"', '').toLowerCase();
  if (what === '__show_tables_expanded') return { what: 'all tables', workspace: null };
  if (what === 'tables') return { what: 'tables', workspace: null };
  if (what === 'schemas' || what === 'databases') return { what: 'schemas', workspace: null };
  throw errorAt(
    statement,
    undefined,
    `SHOW ${what} is not available. Use SHOW TABLES, SHOW SCHEMAS or DESCRIBE a collection.`,
  );
}

/** The collection or alias that a statement describes: `DESCRIBE t`, and not what the engine does in the same way. */
export function readDescribed(
  { body, explain }: Statement,
  node: Node,
  tables: ReadonlyMap<Node, NamedTable>,
): NamedTable | null {
  const from = node['from_table'];
  const query =
    isNode(from) && from['type'] === 'SHOW_REF' && from['show_type'] === 'DESCRIBE' ? from['query'] : undefined;
  if (!isNode(query) || explain !== '' || !/^desc(?:ribe)?$/i.test(tokens(body).next().value?.text ?? '')) return null;
  const [star, ...more] = nodesOf(query['select_list']);
  const isWhole =
    star?.['class'] === 'STAR' && more.length === 0 && clausesOf(query).length === 0 && modifiersOf(node).length === 0;
  // `DESCRIBE SELECT * FROM t` says what the query gives; its star has a place in the text.
  const isTable = isWhole && star['query_location'] === undefined;
  return (isTable && isNode(query['from_table']) && tables.get(query['from_table'])) || null;
}

/** The answer of SHOW, taken from the names that SQL can use, never from the engine's catalog. */
export function answerShow({ what, workspace }: Show, names: Names): Rows {
  if (what === 'schemas') {
    const rows = names
      .workspaces()
      .toSorted()
      .map((name) => [name]);
    return { columns: [{ name: 'workspace', type: 'VARCHAR' }], rows, cut: null };
  }
  const hasTypes = what === 'all tables';
  const isAsked = (table: NamedTable) => workspace === null || foldName(table.workspace) === foldName(workspace);
  const rows = names
    .tables()
    .filter(isAsked)
    .map((table): JsonValue[] => {
      const columns = [...table.columns()];
      const types = columns.map((column) => table.typeAt?.([column]) ?? null);
      return [table.workspace, table.name, table.kind, columns, ...(hasTypes ? [types] : [])];
    })
    .toSorted((a, b) => (`${a[0]}\n${a[1]}` < `${b[0]}\n${b[1]}` ? -1 : 1));
  const columns = ['workspace', 'name', 'kind'].map((name) => ({ name, type: 'VARCHAR' }));
  const lists = ['columns', ...(hasTypes ? ['types'] : [])].map((name) => ({ name, type: 'VARCHAR[]' }));
  return { columns: [...columns, ...lists], rows, cut: null };
}
