import { STOPPABLE } from './guards.ts';
import type { NamedTable } from './names.ts';
import { nodesIn } from './tree.ts';

/**
 * The engine's name for an unnamed column, with its internal names and our marks turned back into what the SQL says.
 */
export function asWritten(name: string): string {
  return withoutStops(name)
    .replace(/(?:"_colloquy"|\b_colloquy)\.(?:"(?:[^"]|"")*"|\w+)\./g, '')
    .replace(/\bmain\.(?:"(\w+)"|(\w+))(?=\()/g, '$1$2')
    .replace(/\bo_vals(?=\()/g, 'values')
    .replaceAll('\u0001', '%')
    .replaceAll('\u0002', '');
}

/** Without our macro around the bodies of lambdas: the first bracket that closes and was not opened is the macro's. */
function withoutStops(name: string): string {
  const [before = '', ...bodies] = name.split(`${STOPPABLE}(`);
  if (bodies.length === 0) return name;
  const parts = [before];
  let open = 0;
  const depths: number[] = [];
  for (const body of bodies) {
    depths.push(open);
    for (const piece of body.split(/(?=[()])|(?<=[()])/)) {
      if (piece === ')' && open === depths.at(-1)) depths.pop();
      else parts.push(piece);
      if (piece === '(') open += 1;
      else if (piece === ')' && parts.at(-1) === piece) open -= 1;
    }
  }
  return parts.join('');
}

const INNER = [STOPPABLE, '_colloquy', 'main.', 'o_vals', '\u0001', '\u0002'];

/** The texts of a statement that `asWritten` would change: a column with such a name got it from the caller. */
export function innerLooking(sql: string, tree: unknown): ReadonlySet<string> {
  const found = new Set<string>();
  if (!INNER.some((text) => sql.includes(text))) return found;
  for (const node of nodesIn(tree)) {
    for (const text of Object.values(node).flat()) {
      if (typeof text === 'string' && asWritten(text) !== text) found.add(text);
    }
  }
  return found;
}

/**
 * Names of a result's columns: those given by the caller and the collections unchanged, the engine's own as written.
 */
export function resultNames(
  names: readonly string[],
  innerNames: ReadonlySet<string>,
  tables: readonly NamedTable[],
): readonly string[] {
  if (names.every((name) => asWritten(name) === name)) return names;
  const given = new Set([...innerNames, ...tables.flatMap((table) => table.columns())]);
  return names.map((name) => (given.has(name) ? name : asWritten(name)));
}

/**
 * Makes column names unique, as the engine does for tables: `x`, `x_1`, `x_2`. Names are equal if `sameAs` maps them to
 * the same text (default: the name itself).
 */
export function uniqueNames(names: readonly string[], sameAs = (name: string) => name): string[] {
  const taken = new Set(names.map(sameAs));
  const seen = new Set<string>();
  /** Numbers below these are in use: trying them again for many thousands of equal names would take minutes. */
  const nextCounts = new Map<string, number>();
  return names.map((name) => {
    const same = sameAs(name);
    let count = nextCounts.get(same) ?? 1;
    let unique = name;
    for (; seen.has(sameAs(unique)) || (unique !== name && taken.has(sameAs(unique))); count++)
      unique = `${name}_${count}`;
    nextCounts.set(same, count);
    seen.add(sameAs(unique));
    return unique;
  });
}
