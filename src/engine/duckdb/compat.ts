import { AGGREGATES } from './compat/aggregates.ts';
import { ARRAYS } from './compat/arrays.ts';
import { CASTS } from './compat/casts.ts';
import type { CompatFunction } from './compat/entry.ts';
import { GEOGRAPHY } from './compat/geography.ts';
import { NUMBERS } from './compat/numbers.ts';
import { fieldsOf, OBJECTS } from './compat/objects.ts';
import { STRINGS } from './compat/strings.ts';
import { TIMES } from './compat/times.ts';
import { VECTORS } from './compat/vectors.ts';

/**
 * The functions that users of other SQL services bring along, and that the engine lacks or spells otherwise; by group, in
 * the order of the documentation.
 *
 * A function that the engine has under another name is renamed where it stands, so that DISTINCT, FILTER and OVER work
 * with it as ever. The others are macros, made on a connection that reads when a statement first calls them there. The
 * documentation of SQL is generated from this table, and a test runs every example.
 */
export const COMPAT_FUNCTIONS: readonly CompatFunction[] = [
  ...CASTS,
  ...AGGREGATES,
  ...ARRAYS,
  ...OBJECTS,
  ...STRINGS,
  ...TIMES,
  ...NUMBERS,
  ...VECTORS,
  ...GEOGRAPHY,
];

/** What `VALUES(object)` is spelled like for the engine, for which VALUES is a keyword: as long as that. */
export const VALUES_OF = 'o_vals';

/** Names in lower case, and the engine's own name for each. */
export const RENAMED_FUNCTIONS: ReadonlyMap<string, string> = new Map(
  COMPAT_FUNCTIONS.flatMap(({ name, renamed }) => (renamed === undefined ? [] : [[name.toLowerCase(), renamed]])),
);

const MACROS: ReadonlyMap<string, readonly string[]> = new Map([
  ...COMPAT_FUNCTIONS.flatMap(({ name, macro }) => (macro === undefined ? [] : [[name.toLowerCase(), macro] as const])),
  [VALUES_OF, [`(o) AS map_values(${fieldsOf('o')})`]] as const,
]);

/** Names of the macros in lower case. */
export const COMPAT_MACROS: ReadonlySet<string> = new Set(MACROS.keys());

/** The statement that makes one of the macros on a connection. */
export function compatMacro(name: string): string {
  const overloads = MACROS.get(name) ?? [];
  return `CREATE OR REPLACE TEMP MACRO ${name}${overloads.join(', ')}`;
}
