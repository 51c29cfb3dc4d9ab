import type { SheetRow, Span } from './xlsx-merges.ts';

/** Names of columns in two rows: groups above, such as years, and below them what there is of each. */

const LABEL_CHARS_MAX = 100;

export interface NamesOfTwo {
  /** By column. */
  names: Map<number, string>;
  /** One of both rows. */
  example: string;
}

/**
 * The names that two rows give together; undefined if the second one is none of names. It is one if it has a
 * text under each column of the groups, and would not do alone, having names twice or too few; and if the groups are merged
 * cells, or if the data below is numbers.
 */
export function namesOfTwo(head: SheetRow, rows: readonly SheetRow[], spans: readonly Span[]): NamesOfTwo | undefined {
  const [second, ...data] = rows;
  if (second === undefined || second.at !== head.at + 1 || head.cells.size < 2) return undefined;
  const labels = [...second.cells];
  if (!labels.every(([, label]) => typeof label === 'string' && label.length <= LABEL_CHARS_MAX)) return undefined;
  const merged = groupsOf(head, second, spans);
  const groups = merged.size > 0 ? merged : groupsOf(head, second, gapsOf(head, second));
  const grouped = [...groups.keys()];
  const isCovered = grouped.length > 0 && grouped.every((column) => second.cells.has(column));
  if (!isCovered || isEnough(head, second)) return undefined;
  const isNumber = (column: number) => {
    const values = data.flatMap((row) => row.cells.get(column) ?? []);
    return 2 * values.filter((value) => typeof value === 'number').length > values.length;
  };
  if (merged.size === 0 && !grouped.every(isNumber)) return undefined;
  const columns = [...new Set([...head.cells.keys(), ...second.cells.keys()])].sort((a, b) => a - b);
  const names = new Map(
    columns.map((column) => {
      const group = groups.get(column) ?? head.cells.get(column);
      const both = [group, second.cells.get(column)].filter((one) => one !== undefined);
      return [column, both.map((one) => String(one).trim()).join(' ')];
    }),
  );
  return { names, example: names.get(grouped[0] ?? -1) ?? '' };
}

/** By column, the name of the group that it is in. */
function groupsOf({ at, cells }: SheetRow, second: SheetRow, spans: readonly Span[]): Map<number, string> {
  const groups = new Map<number, string>();
  const last = lastOf(second);
  // Each column is in one group: a sheet may claim that it is in thousands.
  let next = 0;
  for (const { row, left, right } of spans.toSorted((a, b) => a.left - b.left)) {
    const name = row === at ? cells.get(left) : undefined;
    if (name === undefined) continue;
    for (next = Math.max(next, left); next <= Math.min(right, last); next += 1) groups.set(next, String(name));
  }
  return groups;
}

/** Cells that stand for those without a name behind them, as far as there are names below. */
function gapsOf(head: SheetRow, second: SheetRow): Span[] {
  const spans: Span[] = [];
  for (const left of head.cells.keys()) {
    let right = left;
    while (second.cells.has(right + 1) && !head.cells.has(right + 1)) right += 1;
    if (right > left) spans.push({ row: head.at, left, right });
  }
  return spans;
}

/** Whether a second row names all columns, each with a name of its own. */
function isEnough(head: SheetRow, second: SheetRow): boolean {
  const labels = [...second.cells.values()].map((label) => String(label).trim().toLowerCase());
  return new Set(labels).size === labels.length && [...head.cells.keys()].every((column) => second.cells.has(column));
}

const lastOf = ({ cells }: SheetRow) => Math.max(-1, ...cells.keys());
