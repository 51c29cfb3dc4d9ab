import type { DuckDBConnection } from '@duckdb/node-api';
import { foldName, type NamedTable, quoteText } from '../sql/names.ts';
import { nodesIn } from '../sql/tree.ts';
import { textConstant } from './json-values.ts';

/** Whether the pattern of a `COLUMNS('…')` matches a column's folded name; false for what was not asked. */
export type Matches = (pattern: string, name: string) => boolean;

/** More patterns and longer ones are not asked about. */
const PATTERNS_MAX = 10;
const PATTERN_CHARS_MAX = 1_000;

/**
 * What the patterns in a statement's `COLUMNS('…')` match among the columns that are JSON. The engine says so: a pattern
 * from outside never becomes one of ours, which could take for ever.
 */
export async function columnPatterns(
  connection: DuckDBConnection,
  tree: unknown,
  tables: readonly NamedTable[],
): Promise<Matches> {
  const found = new Set<string>();
  const names = [...new Set(tables.flatMap((table) => [...(table.jsonFields?.().keys() ?? [])].map(foldName)))];
  const patterns = names.length === 0 ? [] : patternsIn(tree);
  if (patterns.length > 0) {
    const lists = [patterns, names].map((texts) => `unnest([${texts.map(quoteText).join(', ')}])`);
    const result = await connection.runAndReadAll(
      `SELECT p, n FROM (SELECT ${lists[0]} AS p), (SELECT ${lists[1]} AS n) WHERE TRY(regexp_matches(n, p, 'i'))`,
    );
    for (const [pattern, name] of result.getRows()) found.add(`${pattern}\0${name}`);
  }
  return (pattern, name) => found.has(`${pattern}\0${name}`);
}

function patternsIn(tree: unknown): string[] {
  const patterns = new Set<string>();
  for (const node of nodesIn(tree)) {
    const pattern = node['class'] === 'STAR' ? textConstant(node['expr']) : undefined;
    if (pattern === undefined || pattern.length > PATTERN_CHARS_MAX || pattern.includes('\0')) continue;
    patterns.add(pattern);
    if (patterns.size === PATTERNS_MAX) break;
  }
  return [...patterns];
}
