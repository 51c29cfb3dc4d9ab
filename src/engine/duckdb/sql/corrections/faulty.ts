import type { Edit } from '../forms/edit.ts';
import type { NamedTable, Names } from '../names.ts';
import type { TokenList } from '../token-list.ts';

/** SQL that failed, as it was sent. */
export interface Faulty {
  sql: string;
  list: TokenList;
  /** Index of the token at the place of the error; -1 if it has none. */
  at: number;
  /** The first line of the error, and all of it. */
  said: string;
  message: string;
  /** The collections that its text names. */
  tables: readonly NamedTable[];
  /** All that there are. */
  names: Names;
}

/**
 * What may be put right, each by its edits, the likeliest first; empty if that is not clear. It is only tried: whether it
 * is valid is for the engine to say.
 */
export type Correct = (faulty: Faulty) => Edit[][];

/** The text with edits made, which do not overlap. */
export function edited(sql: string, edits: readonly Edit[]): string {
  let [text, from] = ['', 0];
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    text += sql.slice(from, edit.start) + edit.text;
    from = edit.end;
  }
  return text + sql.slice(from);
}

/** The text of the tokens from `first` up to `end`, which is not one of them. */
export function textOf({ sql, list }: Pick<Faulty, 'sql' | 'list'>, first: number, end: number): string {
  return sql.slice(list[first]?.start ?? 0, list[end - 1]?.end ?? 0);
}

/** The edit that replaces the tokens from `first` up to `end`. */
export function instead({ list }: Pick<Faulty, 'list'>, first: number, end: number, text: string): Edit {
  return { start: list[first]?.start ?? 0, end: list[end - 1]?.end ?? 0, text };
}
