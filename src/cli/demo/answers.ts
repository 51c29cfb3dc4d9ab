import type { Cell, Table } from './check.ts';

/** Makes a table from a tool's structured content. */
export type AnswerReader = (content: Readonly<Record<string, unknown>>) => Table;

type Item = Readonly<Record<string, unknown>>;

const isItem = (value: unknown): value is Item => typeof value === 'object' && value !== null;

function itemsOf(content: Item, key: string): Item[] {
  const items = content[key];
  return Array.isArray(items) ? items.filter(isItem) : [];
}

/** Sorts the items of a list by name; the service may list them in any order. */
function byName(rows: Cell[][]): Cell[][] {
  return rows.toSorted((a, b) => a.join('.').localeCompare(b.join('.')));
}

const cell = (value: unknown) => (value ?? null) as Cell;

/** The answer of run_query. */
export const queryTable: AnswerReader = (content) => ({
  columns: Array.isArray(content['columns']) ? content['columns'].map(String) : [],
  rows: Array.isArray(content['rows']) ? content['rows'].filter((row) => Array.isArray(row)) : [],
});

/** The answer of list_workspaces. */
export const workspacesTable: AnswerReader = (content) => ({
  columns: ['workspace', 'collections'],
  rows: byName(itemsOf(content, 'items').map((item) => [cell(item['name']), cell(item['collection_count'])])),
});

/** The answer of list_collections. */
export const collectionsTable: AnswerReader = (content) => ({
  columns: ['workspace', 'collection', 'documents'],
  rows: byName(
    itemsOf(content, 'items').map((item) => {
      const stats = item['stats'];
      return [cell(item['workspace']), cell(item['name']), cell(isItem(stats) ? stats['doc_count'] : null)];
    }),
  ),
});

/** The answer of describe_collection, limited to these paths, since all fields would fill the screen. */
export function fieldsTable(paths: readonly string[]): AnswerReader {
  return (content) => {
    const { rows } = queryTable(content);
    const shown = paths.flatMap((path) => rows.filter((row) => row[0] === path));
    return {
      columns: ['path', 'type', 'present', 'examples'],
      rows: shown.map(([path, type, present, examples]) => [path, type, present, examplesText(examples)] as Cell[]),
    };
  };
}

function examplesText(examples: unknown): string {
  return Array.isArray(examples) ? examples.map((example) => JSON.stringify(example)).join(', ') : '';
}

/** The answer of delete_collection. */
export const deletedTable: AnswerReader = (content) => ({
  columns: ['workspace', 'collection', 'status'],
  rows: [[cell(content['workspace']), cell(content['name']), cell(content['status'])]],
});
