import { COMPAT_MACROS } from './compat.ts';
import { GUARD_MACROS } from './guards.ts';
import { MATCHING_MACROS } from './matching.ts';
import { tokens } from './tokens.ts';
import { WITHOUT_NULLS } from './without-nulls.ts';

/*
 * The macros that stand beside or in the place of the engine's functions. A reading connection gets those that a
 * statement calls when it first does: creating all of them would take longer than most queries.
 */

/** By name in lower case: what follows the name in the statement that creates it. */
const MACROS: ReadonlyMap<string, string> = new Map(
  [...COMPAT_MACROS, ...WITHOUT_NULLS, ...GUARD_MACROS].map(([name, overloads]) => [name, overloads.join(', ')]),
);

/** Macros of the engine itself that call, without naming its schema, what is shadowed here; a test compares them. */
export const CALLED_BY_ENGINE: ReadonlyMap<string, readonly string[]> = new Map([
  ['generate_subscripts', ['generate_series']],
  ['json_group_array', ['to_json']],
  ['json_group_object', ['to_json']],
]);

/** The functions that a definition calls without their schema: those with it are the engine's own. */
function calledIn(definition: string): string[] {
  const list = [...tokens(definition)];
  const isCalled = (at: number) => list[at + 1]?.text === '(' && list[at - 1]?.text !== '.';
  return list.flatMap(({ kind, text }, at) => (kind === 'word' && isCalled(at) ? [text.toLowerCase()] : []));
}

const known = new Map<string, readonly string[]>();

/** The macros that a call of this function, or of a macro of this name, needs: each after those that it calls itself. */
export function macrosFor(name: string): readonly string[] {
  const before = known.get(name);
  if (before !== undefined) return before;
  known.set(name, []);
  const definition = MACROS.get(name);
  const called = definition === undefined ? [] : calledIn(definition);
  const needed = [...(CALLED_BY_ENGINE.get(name) ?? []), ...called].flatMap(macrosFor);
  const all = [...new Set([...needed, ...(definition === undefined ? [] : [name])])];
  known.set(name, all);
  return all;
}

/** The statement that creates a macro on a connection; `name` may be one of `MATCHING_MACROS`. */
export function creating(name: string): string {
  return `CREATE OR REPLACE TEMP MACRO ${MATCHING_MACROS.get(name) ?? `${name}${MACROS.get(name)}`}`;
}
