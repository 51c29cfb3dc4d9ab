import { foldName, type NamedTable } from '../sql/names.ts';
import { constantOf, constantText, type Node, nodesIn, nodesOf, textOf, textsOf } from '../sql/tree.ts';

/*
 * What is allowed and cannot be meant: it gives no error, and an answer that is empty or null.
 */

const WARNINGS_MAX = 3;
/** The engine's names of types, as its own TYPEOF gives them. */
const ENGINE_TYPE =
  /^(?:VARCHAR|U?(?:BIG|SMALL|TINY|HUGE)INT|U?INTEGER|DOUBLE|FLOAT|DECIMAL|BOOLEAN|JSON|STRUCT|MAP|LIST|BLOB|DATE|TIMESTAMP|TIME|UUID)\b|\[\]$/;

/** What the author of a statement should know of it. */
export function trapWarnings(tree: unknown, tables: readonly NamedTable[]): string[] {
  const found = new Set<string>();
  for (const node of nodesIn(tree)) {
    const warning = firstOfNone(node, tables) ?? engineType(node);
    if (warning !== undefined) found.add(warning);
    if (found.size === WARNINGS_MAX) break;
  }
  return [...found];
}

/** `l[0]` of a list, which counts from 1. */
function firstOfNone(node: Node, tables: readonly NamedTable[]): string | undefined {
  if (node['type'] !== 'ARRAY_EXTRACT') return undefined;
  const [list, index] = nodesOf(node['children']);
  if (list?.['class'] !== 'COLUMN_REF' || Number(constantOf(index) ?? Number.NaN) !== 0) return undefined;
  const path = textsOf(list['column_names']);
  const isList = tables.some((table) =>
    [0, 1, 2].some((at) => at < path.length && table.typeAt?.(path.slice(at))?.endsWith('[]')),
  );
  const shown = path.join('.');
  return isList
    ? `${shown}[0] is always null: the items of a list count from 1, so ${shown}[1] is the first.`
    : undefined;
}

/** `TYPEOF(x) = 'VARCHAR'`. */
function engineType(node: Node): string | undefined {
  const sides =
    node['class'] === 'COMPARISON'
      ? [node['left'], node['right']]
      : textOf(node['type']).startsWith('COMPARE_')
        ? nodesOf(node['children'])
        : [];
  const isAsked = nodesOf(sides).some((side) => foldName(textOf(side['function_name'])) === 'typeof');
  const name = isAsked
    ? sides.map(constantText).find((text) => text !== undefined && ENGINE_TYPE.test(text))
    : undefined;
  if (name === undefined) return undefined;
  return `TYPEOF is never '${name}': it gives int, float, string, bool, array, object and the like. The engine's name of a type is upper(pg_typeof(x)).`;
}
