import { VALUES_OF } from './compat.ts';
import { OFFSET, STOPPABLE } from './guards.ts';
import { type NamedTable, quoteName } from './names.ts';
import { tokens } from './tokens.ts';

/**
 * The engine's name for an unnamed column, with its internal names and our marks turned back into what the SQL says.
 */
function asWritten(given: string): string {
  if (!isInnerLooking(given)) return given;
  const name = [STOPPABLE, OFFSET].reduce(withoutMacro, given);
  const list = [...tokens(name)];
  const parts: string[] = [];
  let at = 0;
  const replace = (from: number, to: number, text: string) => {
    parts.push(name.slice(at, from), text);
    at = to;
  };
  for (const [index, { kind, text, start, end }] of list.entries()) {
    const [dot, inner, next] = [list[index + 1], list[index + 2], list[index + 3]];
    const isPath = dot?.text === '.' && (inner?.kind === 'word' || inner?.kind === 'quoted');
    if (start < at) continue;
    if (/^"?_colloquy"?$/.test(text) && isPath && next?.text === '.') replace(start, next.end, '');
    else if (text === 'main' && isPath && next?.text === '(') {
      const plain = /^"(\w+)"$/.exec(inner.text)?.[1] ?? inner.text;
      if (/^\w+$/.test(plain)) replace(start, inner.end, plain);
    } else if (text === VALUES_OF && dot?.text === '(') replace(start, end, 'values');
    // A struct's field may have the name of a call.
    else if (kind === 'quoted' && CLOSED.test(text)) {
      replace(start, end, quoteName(asWritten(text.slice(1, -1).replaceAll('""', '"'))));
    }
  }
  parts.push(name.slice(at));
  return parts.join('').replaceAll('\u0001', '%').replaceAll('\u0002', '');
}

/** Without a macro of ours around a part of it: the first bracket that closes and was not opened is the macro's. */
function withoutMacro(name: string, macro: string): string {
  const [before = '', ...bodies] = name.split(`${macro}(`);
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

const CLOSED = /^"(?:[^"]|"")*"$/;
const INNER = [STOPPABLE, OFFSET, '_colloquy', 'main.', VALUES_OF, '\u0001', '\u0002'];

function isInnerLooking(text: string): boolean {
  return INNER.some((inner) => text.includes(inner));
}

/**
 * Names of a result's columns: those given by the caller, in `sql`, and by the collections unchanged, the engine's own as
 * written.
 */
export function resultNames(names: readonly string[], sql: string, tables: readonly NamedTable[]): readonly string[] {
  const written = names.map(asWritten);
  if (names.every((name, index) => name === written[index])) return names;
  // A name that looks like the engine's own has to be quoted.
  const given = new Set(tables.flatMap((table) => table.columns()));
  for (const { kind, text } of tokens(sql)) {
    const quote = text[0] ?? '';
    if (kind === 'quoted' || kind === 'string') given.add(text.slice(1, -1).replaceAll(quote + quote, quote));
  }
  return names.map((name, index) => (given.has(name) ? name : (written[index] ?? name)));
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
