import { AGGREGATES } from './compat/aggregates.ts';
import { ARRAYS } from './compat/arrays.ts';
import { CAST_MACROS, CASTS } from './compat/casts.ts';
import type { CompatFunction } from './compat/entry.ts';
import { GEOGRAPHY } from './compat/geography.ts';
import { HASH_MACROS } from './compat/hashes.ts';
import { EXTREME_MACROS, NUMBERS } from './compat/numbers.ts';
import { fieldsOf, OBJECTS } from './compat/objects.ts';
import { STRINGS } from './compat/strings.ts';
import { TIME_MACROS, TIMES } from './compat/times.ts';
import { VECTORS } from './compat/vectors.ts';

/**
 * The functions of other SQL services that the engine lacks or spells differently; by group, in the order of the
 * documentation.
 *
 * A function that the engine has under another name is renamed in place, so that DISTINCT, FILTER and OVER work with it
 * as usual. The others are macros, created on a reading connection when a statement first calls them there. The
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

/** Replaces `VALUES` in `VALUES(object)`, since that is a keyword of the engine: a name of the same length. */
export const VALUES_OF = 'o_vals';

/** The engine's own names, by the name in lower case. */
export const RENAMED_FUNCTIONS: ReadonlyMap<string, string> = new Map(
  COMPAT_FUNCTIONS.flatMap(({ name, renamed }) => (renamed === undefined ? [] : [[name.toLowerCase(), renamed]])),
);

/** By name in lower case: parameters with AS and the expression, one for each number of arguments. */
export const COMPAT_MACROS: ReadonlyMap<string, readonly string[]> = new Map([
  ...COMPAT_FUNCTIONS.flatMap(({ name, macro }) => (macro === undefined ? [] : [[name.toLowerCase(), macro] as const])),
  ...CAST_MACROS,
  ...EXTREME_MACROS,
  ...HASH_MACROS,
  ...TIME_MACROS,
  [VALUES_OF, [`(o) AS map_values(${fieldsOf('o')})`]] as const,
]);
