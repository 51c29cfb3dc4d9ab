import { numbersIn } from './row-sums.ts';
import type { SeenRow } from './seen-rows.ts';
import { isBalance } from './total-words.ts';

/** One in so many entries may have no amount. */
const WITHOUT_AMOUNT = 20;

/**
 * The rows of a statement of an account that have its balance alone, and say so: where the entries have an amount beside
 * their balance. `sums` are none of the entries.
 */
export function balanceRows(rows: readonly SeenRow[], sums: ReadonlySet<SeenRow>): SeenRow[] {
  const named = rows.filter(
    (row) => !sums.has(row) && row.cells.some((cell, at) => row.forms[at] === 'text' && isBalance(cell)),
  );
  if (named.length === 0) return [];
  const places = new Set(named.flatMap((row) => numbersIn(row).map(([at]) => at)));
  if (places.size !== 1) return [];
  const entries = rows.filter((row) => !sums.has(row) && !named.includes(row));
  const without = entries.filter((row) => numbersIn(row).every(([at]) => places.has(at))).length;
  return entries.length > 0 && without <= Math.floor(entries.length / WITHOUT_AMOUNT) ? named : [];
}
