import type { JsonValue } from '../../contract/json.ts';
import type { Show } from './gate.ts';
import { foldName, type NamedTable, type Names } from './names.ts';
import type { Rows } from './rows.ts';

/** What SHOW answers: from the names that SQL can use, never from the engine's catalog. */
export function answerShow({ what, workspace }: Show, names: Names): Rows {
  if (what === 'schemas') {
    const rows = names
      .workspaces()
      .toSorted()
      .map((name) => [name]);
    return { columns: [{ name: 'workspace', type: 'VARCHAR' }], rows, cut: null };
  }
  const isAsked = (table: NamedTable) => workspace === null || foldName(table.workspace) === foldName(workspace);
  const rows = names
    .tables()
    .filter(isAsked)
    .map((table): JsonValue[] => [table.workspace, table.name, table.kind, [...table.columns()]])
    .toSorted((a, b) => (`${a[0]}\n${a[1]}` < `${b[0]}\n${b[1]}` ? -1 : 1));
  const columns = ['workspace', 'name', 'kind'].map((name) => ({ name, type: 'VARCHAR' }));
  return { columns: [...columns, { name: 'columns', type: 'VARCHAR[]' }], rows, cut: null };
}
