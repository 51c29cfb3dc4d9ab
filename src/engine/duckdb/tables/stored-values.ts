import { quoteName, quoteText } from '../sql/names.ts';
import { ITEMS, type Path, type Step, VALUES } from '../values/paths.ts';
import { dataTable, type Table } from './catalog.ts';
import { IS_LIVE } from './columns.ts';

/** SQL for the values that a table's documents have at a path, as `v`; with `max`, at most so many at each step. */
export function storedAt(table: Table, [column, ...steps]: Path, max?: number): string {
  const limit = max === undefined ? '' : ` LIMIT ${max}`;
  const first = `(SELECT ${quoteName(String(column))} AS v FROM ${dataTable(table.id)} WHERE ${IS_LIVE}${limit})`;
  return steps.reduce<string>((from, step) => `(SELECT ${stepSql(step)} AS v FROM ${from}${limit})`, first);
}

function stepSql(step: Step): string {
  if (step === ITEMS) return 'unnest(v)';
  return step === VALUES ? 'unnest(map_values(v))' : fieldSql(step);
}

/** SQL for a field of `v`. */
export function fieldSql(key: string): string {
  return `struct_extract(v, ${quoteText(key)})`;
}
