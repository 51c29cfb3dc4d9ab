import { placeOf, STRAYS_COLUMN, stepsOf } from '../../../contract/strays.ts';
import { EXTRA_COLUMN, foldName, ID_COLUMN, type NamedTable, quoteName, TIME_COLUMN } from '../sql/names.ts';
import type { Splice } from '../sql/splices.ts';
import type { Statement } from '../sql/statement.ts';
import { tokenList } from '../sql/token-list.ts';
import { clausesOf, isNode, modifiersOf, type Node, nodesOf, textOf, textsOf } from '../sql/tree.ts';
import { isMany, itemsOf } from './column-names.ts';

/**
 * A statement that picks fields of one collection, and may compute others beside them: each value that is picked is shown
 * as its document has it, also one that does not fit its column, and a time as it was spelled. For this the result has the
 * column of strays in addition, if there is one, which no answer shows.
 */
export interface PlainRead {
  /**
   * For each column of the select list its place, as in `strays.ts`, and as it is spelled here; `star`: all columns of the
   * table come here; null: it is computed, or has no strays.
   */
  items: readonly (string | 'star' | null)[];
  computed: readonly Node[];
  /** What the text needs for the strays, and its node in the tree; null if they are there already, or there are none. */
  added: { splice: Splice; node: Node } | null;
  hasStrays: boolean;
  written: NamedTable['written'];
  /** The place of the field that SQL reads by the names of a place. */
  fieldAt(place: string): string;
}

const CLAUSES: ReadonlySet<string> = new Set(['where_clause', 'modifiers']);
const MODIFIERS: ReadonlySet<string> = new Set(['ORDER_MODIFIER', 'LIMIT_MODIFIER', 'LIMIT_PERCENT_MODIFIER']);
/** Of a table in FROM without anything else, such as other names for its columns. */
export const TABLE_KEYS: ReadonlySet<string> = new Set([
  'type',
  'alias',
  'query_location',
  'schema_name',
  'table_name',
]);
const STAR_KEYS: ReadonlySet<string> = new Set(['class', 'type', 'relation_name', 'exclude_list', 'query_location']);
const OTHERS: ReadonlySet<string> = new Set([ID_COLUMN, TIME_COLUMN, EXTRA_COLUMN, STRAYS_COLUMN]);
const has = (node: Node, keys: ReadonlySet<string>) => Object.keys(node).every((key) => keys.has(key));

/** The plain read that a statement is; null if it is none, or if its collection has neither strays nor times. */
export function readPlain(statement: Statement, query: Node, tables: ReadonlyMap<Node, NamedTable>): PlainRead | null {
  const from = query['from_table'];
  const table = isNode(from) ? tables.get(from) : undefined;
  if (table?.placeOf === undefined || !isNode(from) || !has(from, TABLE_KEYS)) return null;
  const hasStrays = (table.strays?.size ?? 0) > 0;
  if ((!hasStrays && table.written === undefined) || query['type'] !== 'SELECT_NODE') return null;
  if (!clausesOf(query).every((clause) => CLAUSES.has(clause))) return null;
  if (!modifiersOf(query).every(({ type }) => MODIFIERS.has(textOf(type)))) return null;
  const list = nodesOf(query['select_list']);
  if (list.filter((item) => item['class'] === 'STAR').length > 1) return null;
  const items: PlainRead['items'][number][] = [];
  const computed: Node[] = [];
  let isThere = false;
  for (const item of list) {
    if (item['class'] === 'STAR') {
      if (!has(item, STAR_KEYS) || !isOfTable(table, from, textOf(item['relation_name']))) return null;
      isThere ||= !textsOf(item['exclude_list']).some((name) => foldName(name) === STRAYS_COLUMN);
      items.push('star');
      continue;
    }
    const place = item['class'] === 'COLUMN_REF' ? columnPlace(table, from, textsOf(item['column_names'])) : undefined;
    if (place === undefined && isMany(item)) return null;
    if (place === undefined) computed.push(item);
    items.push(place ?? null);
  }
  // Nothing is picked that could be a stray.
  if (items.every((item) => item === null)) return null;
  const { written } = table;
  const fieldAt = (place: string) => table.placeOf?.(stepsOf(place)) ?? place;
  const added = !hasStrays || isThere ? null : addedTo(statement);
  if (hasStrays && !isThere && added === null) return null;
  return { items, computed, added, hasStrays, written, fieldAt };
}

/** Whether a star is of the table, and not of an object: `o.*` has the fields of `o`. */
function isOfTable(table: NamedTable, from: Node, name: string): boolean {
  return name === '' || foldName(name) === foldName(textOf(from['alias']) || table.name);
}

/**
 * The place of a column, which may have the names of its table before its own: these come first, as the engine reads
 * them. Null for one that has no strays, undefined if it is no column.
 */
function columnPlace(table: NamedTable, from: Node, path: readonly string[]): string | null | undefined {
  const around = [textOf(from['alias']) || table.name, table.workspace].map(foldName);
  for (const at of [2, 1, 0]) {
    const before = path.slice(0, at).reverse();
    if (at >= path.length || !before.every((name, index) => foldName(name) === around[index])) continue;
    if (table.placeOf?.(path.slice(at)) !== undefined) return placeOf(path.slice(at));
    if (at === path.length - 1 && OTHERS.has(foldName(path[at] ?? ''))) return null;
  }
  return undefined;
}

/** Puts the column of strays at the end of the select list. */
function addedTo({ body }: Statement): PlainRead['added'] {
  const list = tokenList(body);
  const end = list[itemsOf(list).at(-1)?.[1] ?? -1]?.end;
  if (end === undefined) return null;
  const node = { class: 'COLUMN_REF', type: 'COLUMN_REF', column_names: [STRAYS_COLUMN] };
  const at = Buffer.byteLength(body.slice(0, end));
  return { splice: { at, length: 0, text: `, ${quoteName(STRAYS_COLUMN)} ` }, node };
}
